"""The house rules that a program can check, with messages that say what to do instead."""

import ast
import importlib.metadata
import json
import re
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from cellwind import _core

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("benches", "crates", "data", "docs", "fuzz", "python", "scenarios", "scripts", "tests")

# The only crate that may meet the operating system: it drives the machines by the wall clock.
EMULATOR = "crates/emulator/"


def files(*patterns: str) -> list[Path]:
    """The files of the checkout that match, sorted; build results and hidden folders are left out."""
    found = {path for pattern in patterns for path in ROOT.glob(pattern)}
    return sorted(path for path in found if "__pycache__" not in path.parts)


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def rust_code(path: Path) -> Iterator[tuple[int, str]]:
    """The numbered lines of a Rust file without comments and the contents of string literals."""
    literal = re.compile(r'"(?:[^"\\]|\\.)*"')
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        yield number, re.sub(r"//.*", "", literal.sub('""', line))


def rust_matches(pattern: str, *, besides: tuple[str, ...] = ()) -> list[str]:
    """The places in Rust code that match, except below the given folders, as ``file:line: code``."""
    expression = re.compile(pattern)
    return [
        f"{name(path)}:{number}: {line.strip()}"
        for path in files("crates/*/src/**/*.rs", "crates/*/tests/**/*.rs")
        if not name(path).startswith(besides)
        for number, line in rust_code(path)
        if expression.search(line)
    ]


def python_calls(path: Path) -> Iterator[tuple[int, str, ast.Call]]:
    """The calls in a Python file: line, dotted name as written, node."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            yield node.lineno, ast.unparse(node.func), node


def report(places: list[str], advice: str) -> None:
    assert not places, advice + "\n  " + "\n  ".join(places)


def test_machines_do_not_read_a_clock() -> None:
    """By searching the sources for the standard clocks; CPU time is measured in the Python crate."""
    places = rust_matches(r"\b(Instant|SystemTime)\b|std::time::(?!Duration)", besides=(EMULATOR, "crates/python/"))
    report(places, "time is an argument: take `now: Time`, only the emulator's driver reads a clock")


def test_results_do_not_depend_on_the_time_of_day() -> None:
    """By searching the calls in all Python but the record of when a campaign ran, the progress line, and live runs."""
    clocks = re.compile(r"^(time\.(time|monotonic|perf_counter)(_ns)?|(datetime\.)*datetime\.(now|utcnow|today))$")
    places = [
        f"{name(path)}:{line}: {called}()"
        for path in files("python/cellwind/**/*.py")
        if not name(path).startswith(("python/cellwind/campaign/", "python/cellwind/cli/", "python/cellwind/live/"))
        for line, called, _ in python_calls(path)
        if clocks.match(called)
    ]
    report(places, "results are a function of scenario and seed: take the time from the facts")


def test_random_numbers_come_from_named_streams() -> None:
    """By searching the sources for generators that are global, or seeded by the operating system."""
    places = rust_matches(r"\b(thread_rng|from_entropy|from_os_rng|OsRng|getrandom|RandomState|rand::(rng|random))\b")
    legacy = re.compile(r"^((np|numpy)\.random\.[a-z]\w*|random\.\w+)$")
    for path in files("python/cellwind/**/*.py"):
        for line, called, call in python_calls(path):
            if called.endswith("random.default_rng"):
                if not call.args and not call.keywords:
                    places.append(f"{name(path)}:{line}: {called}() without a seed")
            elif legacy.match(called):
                places.append(f"{name(path)}:{line}: {called}()")
    report(places, "draw from a named stream of the engine, or from numpy.random.default_rng(seed)")


def test_machines_do_not_iterate_in_random_order() -> None:
    """By banning the hashed collections of std, whose order changes from run to run, where runs are made."""
    crates = ("engine", "transport", "path", "radio", "scenario")
    others = tuple(name(path) + "/" for path in files("crates/*") if path.is_dir() and path.name not in crates)
    places = rust_matches(r"\b(HashMap|HashSet)\b", besides=others)
    report(places, "use BTreeMap, BTreeSet or an indexed Vec: a run is the same bits every time")


def test_libraries_do_not_print() -> None:
    """By searching for print in Rust crates, and in Python outside the command line."""
    places = rust_matches(r"\b(e?println?|dbg)!")
    places += [
        f"{name(path)}:{line}: print()"
        for path in files("python/cellwind/**/*.py")
        if not name(path).startswith("python/cellwind/cli/") and path.name != "__main__.py"
        for line, called, _ in python_calls(path)
        if called == "print"
    ]
    report(places, "return the text, or emit a fact; only the command line prints")


def test_only_the_emulator_is_unsafe() -> None:
    """By searching for the keyword, and for crates that do not take the workspace's lints, which forbid it."""
    report(rust_matches(r"\bunsafe\b", besides=(EMULATOR,)), "only the emulator needs unsafe code")
    lints = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["lints"]
    assert lints["rust"]["unsafe_code"] == "forbid"
    free = [
        name(path)
        for path in files("crates/*/Cargo.toml")
        if tomllib.loads(path.read_text()).get("lints") != {"workspace": True} and not name(path).startswith(EMULATOR)
    ]
    report(free, "take the workspace's lints: [lints] workspace = true")


def test_every_rust_file_belongs_to_its_crate() -> None:
    """By looking for the `mod` line of each file in its own crate."""
    roots = {"lib.rs", "main.rs", "mod.rs", "build.rs"}
    places = []
    for crate in files("crates/*"):
        sources = sorted((crate / "src").rglob("*.rs"))
        text = "\n".join(path.read_text(encoding="utf-8") for path in sources)
        for path in sources:
            module = path.parent.name if path.name == "mod.rs" else path.stem
            if path.name not in roots - {"mod.rs"} and not re.search(rf"\bmod {module}\b", text):
                places.append(name(path))
    report(places, "no module declares these files: declare or delete them")


def test_every_scenario_file_can_be_used() -> None:
    """By asking the core for each file below scenarios/, and parsing each complete scenario."""
    listed = {(kind, preset) for kind, preset, _ in _core.presets()}
    places = []
    embedded = [*files("scenarios/**/*.toml"), *files("scenarios/errors/*.runs")]
    for path in embedded:
        kind = "scenario" if path.parent.name == "scenarios" else path.parent.name
        if (kind, path.stem) not in listed:
            places.append(f"{name(path)}: the core does not know a {kind} of this name")
        elif _core.preset_text(kind, path.stem) != path.read_text(encoding="utf-8"):
            places.append(f"{name(path)}: the core was built from another text")
        elif kind == "scenario":
            assert _core.Scenario.load(path.stem).name == path.stem
    report(places, "ready-made scenarios are files of scenarios/ that the core embeds")
    assert len(listed) == len(embedded)


def test_every_preset_says_what_it_is() -> None:
    """By the summaries that `cellwind list` shows, which come from each file's first comment."""
    silent = [f"{kind} {preset}" for kind, preset, summary in _core.presets() if not summary.strip()]
    report(silent, "begin the file with a comment: one sentence with the numbers that matter")


def test_nothing_knows_its_author_s_machine() -> None:
    """By searching tracked kinds of files for paths into somebody's home."""
    home = re.compile(r"(?<![\w.~])/(home|root|Users)/\w")
    patterns = ("*", ".ci/*", ".cargo/*", *(f"{room}/**/*" for room in ROOMS))
    places = [
        f"{name(path)}:{number}: {line.strip()}"
        for path in files(*patterns)
        if path.is_file() and path.suffix not in {".so", ".png", ".pcapng", ".parquet", ".lock"}
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if home.search(line)
    ]
    report(places, "write paths relative to the checkout")


def test_the_lock_file_names_the_public_index_only() -> None:
    """By the source of each package in uv.lock."""
    packages = tomllib.loads((ROOT / "uv.lock").read_text())["package"]
    sources = {package["source"].get("registry") for package in packages if package["name"] != "cellwind"}
    assert sources == {"https://pypi.org/simple"}


def run_time_packages() -> set[str]:
    """The names of all packages that an installed cellwind pulls in."""
    names: set[str] = set()
    todo = ["cellwind"]
    while todo:
        package = todo.pop()
        if package in names:
            continue
        names.add(package)
        for text in importlib.metadata.requires(package) or []:
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                todo.append(requirement.name)
    return names - {"cellwind"}


def test_run_time_python_packages_are_not_under_the_gpl() -> None:
    """By the licence fields and classifiers of the installed packages."""
    places = []
    for package in sorted(run_time_packages()):
        metadata = importlib.metadata.metadata(package)
        licence = metadata["License-Expression"] or ""
        classifiers = [c for c in metadata.get_all("Classifier") or [] if c.startswith("License ::")]
        if re.search(r"(?<!L)GPL(?!.*WITH GCC)", licence) or any("(GPL" in c for c in classifiers):
            places.append(f"{package}: {licence} {classifiers}")
    report(places, "find another package, or keep it out of the run-time dependencies")


def test_crates_are_not_under_the_gpl(tool: Callable[[str], str]) -> None:
    """By the licence expressions that cargo reports; a choice that includes a permissive one is fine."""
    words = [tool("cargo"), "metadata", "--format-version=1", "--locked", "--offline"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"cargo cannot read all crates offline: {done.stderr.strip().splitlines()[-1]}")
    places = [
        f"{package['name']}: {package['license']}"
        for package in json.loads(done.stdout)["packages"]
        if all("GPL" in choice for choice in re.split(r" OR |/", package["license"] or ""))
    ]
    report(places, "find another crate")
