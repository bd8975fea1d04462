"""Scripted conformance: each file of tests/scripts/ on cellwind's own sender or receiver."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cellwind.tcp import Script

ROOT = Path(__file__).parent / "scripts"
SCRIPTS = sorted(ROOT.glob("**/*.script"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_script(path: Path) -> None:
    """By the instants and headers of all segments, in virtual time."""
    result = Script.load(path).play()
    assert result.holds, "\n" + result.report


def test_every_script_says_what_it_shows() -> None:
    """By the first comment of each file, which the command prints."""
    silent = [path.name for path in SCRIPTS if not Script.load(path).summary]
    assert not silent


def test_the_kernel_plays_a_script(tmp_path: Path) -> None:
    """By a handshake and one window, with a tolerance that no machine misses; what the kernel does later is its own."""
    if os.geteuid() != 0 or not Path("/dev/net/tun").exists():
        if os.environ.get("CELLWIND_NO_SKIP"):
            pytest.fail("skipped, which CELLWIND_NO_SKIP forbids: needs root and /dev/net/tun")
        pytest.skip("needs root and /dev/net/tun, for a network namespace with a TUN device")
    from cellwind.live.script import replay

    for name in ("windows/initial-rfc6928", "receiver/rfc2018-case-3"):
        text = (ROOT / f"{name}.script").read_text(encoding="utf-8")
        text = text.replace("kernel.follows = true", 'kernel = { follows = true, tolerance = "5 s" }')
        result, _ = replay(Script.parse(text, name))
        assert result.holds, "\n" + result.table


def command(*words: str | Path) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "cellwind", "script", *map(str, words)]
    return subprocess.run(line, capture_output=True, text=True, check=False)


def test_the_command_tells_differences_and_mistakes(tmp_path: Path) -> None:
    """By one script that holds, one that does not, and one that cannot be read."""
    good, bad, wrong = (tmp_path / name for name in ("good.script", "bad.script", "wrong.script"))
    head = '# A SYN leaves\ntest = "sender"\ntransport = "newreno"\n---\n0 open\n'
    good.write_text(head + "0 > syn\n")
    bad.write_text(head + "0 > syn\n2s > syn\n")
    wrong.write_text(head + "0 > sny\n")
    done = command(good)
    assert (done.returncode, done.stdout) == (0, f"{good}: ok — A SYN leaves\n")
    differs = command(good, bad)
    assert differs.returncode == 1
    assert f"{bad}:7: `syn` was sent at 1 s, not at 2 s" in differs.stdout
    mistaken = command(wrong, good)
    assert mistaken.returncode == 2
    assert mistaken.stderr.startswith(f"{wrong}:6:5: error: no such segment travels this way")
    assert f"{good}: ok" in mistaken.stdout
    assert "0 s  syn" in command("--all", good).stdout
