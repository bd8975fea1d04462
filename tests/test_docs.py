"""The documentation: links lead somewhere, commands exist, and examples run.

What a fenced block is held to stands in the line that opens it:

- ``console``: the commands after ``$`` exist, with the options they use;
- ``console run``: they are also run, in an empty folder, and have to succeed;
- ``python run``: the block is run; the blocks of one page share their names and an empty folder;
- ``console live``, ``python live``: the same, where this machine can emulate;
- ``toml scenario``: the block is a complete scenario.

The examples in docstrings run too.
"""

import contextlib
import doctest
import importlib
import io
import os
import pkgutil
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import cellwind
from cellwind import _core
from cellwind.cli.main import build_parser, parse

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benches/**/*.md")])


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: Path
    line: int
    opening: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    def commands(self) -> list[str]:
        """The commands after ``$``, with lines that end in a backslash joined."""
        joined = self.text.replace("\\\n", " ")
        return [line.removeprefix("$ ") for line in joined.splitlines() if line.startswith("$ ")]


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    fence = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    return [
        Block(page, text.count("\n", 0, match.start()) + 1, match[1].strip(), match[2])
        for match in fence.finditer(text)
    ]


def prose(page: Path) -> str:
    """A page without its fenced blocks and code spans."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", "", text)


def anchors(page: Path) -> set[str]:
    """The names of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ +(.+?) *$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


ALL_BLOCKS = [block for page in PAGES for block in blocks(page)]


def opened_as(*openings: str) -> list[Block]:
    return [block for block in ALL_BLOCKS if block.opening in openings]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    """By following every relative link of the page to its file and heading."""
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors(file)):
            broken.append(target)
    assert not broken, f"{page.relative_to(ROOT)} links to what is not there: {broken}"


def make_targets() -> set[str]:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z][a-z-]*):", makefile, flags=re.MULTILINE))


def complaint(command: str) -> str | None:
    """What is wrong with a command of a page, if anything."""
    program, *words = shlex.split(command, comments=True) or [""]
    if program == "make":
        unknown = [word for word in words if "=" not in word and word not in make_targets()]
        return f"no such make target: {unknown}" if unknown else None
    if program == "cellwind":
        said = io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            try:
                parse(build_parser(), words)
            except SystemExit as end:
                return said.getvalue() if end.code else None
    return None


@pytest.mark.parametrize("block", opened_as("console", "console run", "console live"), ids=str)
def test_commands_exist(block: Block) -> None:
    """By comparing each command with the Makefile, or giving it to the parser of the command line."""
    assert block.commands(), f"{block}: a console block shows commands after `$ `"
    wrong = {command: why for command in block.commands() if (why := complaint(command))}
    assert not wrong, f"{block}: {wrong}"


@pytest.mark.parametrize("block", opened_as("console live"), ids=str)
@pytest.mark.usefixtures("emulator")
def test_live_console_examples_run(block: Block, tmp_path: Path) -> None:
    """By running each command in an empty folder."""
    run_console(block, tmp_path)


@pytest.mark.parametrize("block", opened_as("console run"), ids=str)
def test_console_examples_run(block: Block, tmp_path: Path) -> None:
    """By running each command in an empty folder."""
    run_console(block, tmp_path)


def run_console(block: Block, tmp_path: Path) -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for command in block.commands():
        done = subprocess.run(
            shlex.split(command, comments=True),
            cwd=tmp_path,
            env=os.environ | {"PATH": path},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{block}: `{command}` fails:\n{done.stdout}\n{done.stderr}"


def pages_with(opening: str) -> list[Path]:
    return sorted({block.page for block in opened_as(opening)})


@pytest.mark.parametrize("page", pages_with("python live"), ids=lambda page: page.relative_to(ROOT).as_posix())
@pytest.mark.usefixtures("emulator")
def test_live_python_examples_run(page: Path, tmp_path: Path) -> None:
    """By running the page's blocks one after the other in a fresh interpreter."""
    run_python(page, "python live", tmp_path)


@pytest.mark.parametrize("page", pages_with("python run"), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_python_examples_run(page: Path, tmp_path: Path) -> None:
    """By running the page's blocks one after the other in a fresh interpreter."""
    run_python(page, "python run", tmp_path)


def run_python(page: Path, opening: str, tmp_path: Path) -> None:
    script = tmp_path / "example.py"
    # Each block keeps its line numbers, so that a traceback points into the page.
    lines: list[str] = []
    for block in blocks(page):
        if block.opening == opening:
            lines += [""] * (block.line - len(lines)) + block.text.splitlines()
    script.write_text("\n".join(lines) + "\n", encoding="utf-8")
    done = subprocess.run([sys.executable, script.name], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, f"{page.relative_to(ROOT)}, same line numbers:\n{done.stderr}"


MODULES = sorted(module.name for module in pkgutil.walk_packages(cellwind.__path__, "cellwind."))


@pytest.mark.parametrize("module", [module for module in MODULES if not module.endswith("__main__")])
def test_docstring_examples_run(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By Python's own doctest, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.testmod(importlib.import_module(module), optionflags=flags).failed == 0


@pytest.mark.parametrize("block", opened_as("toml scenario"), ids=str)
def test_scenario_examples_are_valid(block: Block) -> None:
    """By parsing each of them."""
    _core.Scenario.parse(block.text, str(block))


def test_every_block_says_what_it_is() -> None:
    """By the words that open the blocks: a misspelt one would be an example that nobody runs."""
    held = {"console", "console run", "console live", "python run", "python live", "toml scenario"}
    plain = {"", "text", "toml", "json", "make", "rust", "mermaid"}
    unknown = [f"{block}: ```{block.opening}" for block in ALL_BLOCKS if block.opening not in held | plain]
    assert not unknown, f"open blocks with one of {sorted(held | plain)}: {unknown}"
