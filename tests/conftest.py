"""What the tests share: the command line as a user runs it, and tools that a machine may lack."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# Nobody watches: figures are drawn to files, and tables are as wide as their columns need.
os.environ["MPLBACKEND"] = "Agg"
os.environ.setdefault("COLUMNS", "120")

CommandLine = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture
def cellwind(tmp_path: Path) -> CommandLine:
    """Runs ``cellwind`` with the given words in an empty folder and returns what came of it.

    The exit code has to be ``code`` (default 0). Keyword ``env`` adds to the environment, ``cwd`` takes
    another folder, ``timeout`` is in seconds.
    """

    def run(
        *words: str | Path,
        code: int = 0,
        env: dict[str, str] | None = None,
        cwd: Path = tmp_path,
        timeout: float = 300,
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "cellwind", *map(str, words)],
            cwd=cwd,
            env=os.environ | (env or {}),
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        shown = f"cellwind {' '.join(map(str, words))}\n{done.stdout}\n{done.stderr}"
        assert done.returncode == code, f"exit code {done.returncode} instead of {code} from: {shown}"
        return done

    return run


@pytest.fixture(scope="session")
def emulator() -> None:
    """Skips the test, with the reason, where this machine cannot emulate. CELLWIND_NO_SKIP=1 makes that a failure."""
    from cellwind import EmulationError, Scenario, _core

    try:
        _core.Emulation.start(Scenario.load("umts-384").core).stop()
    except EmulationError as error:
        if os.environ.get("CELLWIND_NO_SKIP"):
            pytest.fail(f"skipped, which CELLWIND_NO_SKIP forbids: {error}")
        pytest.skip(str(error))


@pytest.fixture
def tool() -> Callable[[str], str]:
    """Returns the path of a program, or skips the test with a reason where it is missing."""

    def find(name: str) -> str:
        path = shutil.which(name)
        if path is None:
            pytest.skip(f"{name} is not installed")
        return path

    return find
