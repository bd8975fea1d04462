"""The run directory: results on disk, complete or absent.

A replication is written in a temporary directory beside its final place, made durable, and renamed: the final
directory exists exactly when the replication is complete, whatever kills the process. ``docs/reference/results.md``
describes the layout.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import itertools
import json
import os
import re
import shutil
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from .provenance import provenance, same_version
from .results import Results, ScenarioInfo
from .rows import BEARER_COLUMNS, FLOW_COLUMNS, LINK_COLUMNS, BearerRow, FlowRow, LinkRow, RunRecord
from .tables import facts_of, table_of

if TYPE_CHECKING:
    import pyarrow as pa

    from cellwind import _core

PROVENANCE = "provenance.json"
REPORT = "report.html"
_FACTS = "facts.parquet"
# Of several captures this one is put in place last, so that it stands for all of them.
_LAST_CAPTURE = "server.pcapng"
_LONGEST_NAME = 120


class RunDirectoryError(RuntimeError):
    """A run directory, or a file in it, cannot be read or written. The text names it."""


class DirectoryConflictError(RunDirectoryError):
    """The directory is in order, but holds something else or is in use. The text says what and what to do."""


Capture: TypeAlias = "bytes | Callable[[Path], None]"


@dataclass(frozen=True)
class Finished:
    """Everything that is kept of one finished replication.

    ``captures`` are pcapng files by the end where they were taken: their content, or what writes it to a path.
    ``tables`` and ``texts`` are further files by name.
    """

    record: RunRecord
    facts: pa.Table | None = None
    captures: Mapping[str, Capture] = field(default_factory=dict)
    tables: Mapping[str, pa.Table] = field(default_factory=dict)
    texts: Mapping[str, bytes] = field(default_factory=dict)

    @classmethod
    def of(cls, scenario: str, run: _core.Run, facts: bool, pcap: bool) -> Finished:
        """What is kept of a simulated run; its facts can be taken once."""
        record = RunRecord.of(scenario, run)
        return cls(record, facts_of(run) if facts else None, run.capture() if pcap else {})


class RunDirectory:
    """A run directory opened for one invocation; no other process writes to it meanwhile.

    ``open`` creates what is missing, removes what a killed process left half-written, and records the provenance;
    the directory is then a context manager that closes itself.

    ``open`` raises DirectoryConflictError when another process is writing there, when it holds results of another
    scenario of the same name, or of another version; RunDirectoryError when it cannot be written. Live and simulated
    results of one scenario do not go together.
    """

    def __init__(self, path: Path, scenarios: Sequence[ScenarioInfo], command: str, live: bool = False) -> None:
        self.path = path
        self.provenance: dict[str, Any] = {}
        self._scenarios = scenarios
        self._command = command
        self._live = {"kernel": os.uname().release} if live else None
        self._places = {scenario.name: path / directory_name(scenario.name) for scenario in scenarios}
        self._lock: int | None = None

    def open(self) -> RunDirectory:
        """Takes the directory for this process; see the class for what it raises."""
        try:
            with _naming("write to", self.path):
                if self.path.exists() and not self.path.is_dir():
                    raise RunDirectoryError(f"cannot write results to {self.path}: it is a file, not a directory")
                self.path.mkdir(parents=True, exist_ok=True)
                self._take_lock()
                known = self._known_provenance()
                self._check_digests()
                self._check_live(known)
                self._record_provenance(known)
                for scenario in self._scenarios:
                    self._prepare(scenario)
        except BaseException:
            self.close()
            raise
        return self

    def close(self) -> None:
        """Lets others write to the directory."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> RunDirectory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def holds(self, scenario: str, replication: int, facts: bool, pcap: bool) -> bool:
        """Whether a replication is complete, with its facts and captures if they are asked for."""
        final = self.place(scenario, replication)
        return (
            final.is_dir()
            and (not facts or (final / _FACTS).exists())
            and (not pcap or (final / _LAST_CAPTURE).exists())
        )

    def place(self, scenario: str, replication: int) -> Path:
        """Directory of a replication, whether it exists or not."""
        return self._places[scenario] / "runs" / f"r{replication:04d}"

    def facts(self, scenario: str, replication: int) -> Path | None:
        """The facts of a replication, if they were kept."""
        path = self.place(scenario, replication) / _FACTS
        return path if path.exists() else None

    def read(self, scenario: str, replication: int) -> RunRecord:
        """The rows of a complete replication. Raises RunDirectoryError when they cannot be read."""
        return _read_record(self.place(scenario, replication), scenario, replication)

    def first_missing(self, scenario: str) -> int:
        """The first replication that is not there."""
        return next(r for r in itertools.count() if not self.place(scenario, r).exists())

    def write(self, finished: Finished) -> RunRecord:
        """Keeps a finished replication, all of it or nothing. Raises RunDirectoryError when that fails."""
        record = finished.record
        self._write(finished, self.place(record.scenario, record.replication))
        return record

    def set_aside(self, finished: Finished) -> Path:
        """Keeps a replication that does not count where no results are read from, and answers where.

        One that was set aside before gives way. Raises RunDirectoryError when that fails.
        """
        place = self.place(finished.record.scenario, finished.record.replication)
        aside = place.with_name(f"{place.name}.invalid")
        self._write(finished, aside)
        return aside

    def _write(self, finished: Finished, final: Path) -> None:
        draft = final.parent / f".{final.name}.{os.getpid()}.tmp"
        record = finished.record
        tables = {
            "flows.parquet": table_of(record.flow_rows(), FLOW_COLUMNS),
            "bearers.parquet": table_of(record.bearer_rows(), BEARER_COLUMNS),
            "links.parquet": table_of(record.link_rows(), LINK_COLUMNS),
            **finished.tables,
        }
        if finished.facts is not None:
            tables[_FACTS] = finished.facts
        with _naming("write", final):
            try:
                draft.mkdir()
                for name, table in tables.items():
                    _write_table(draft / name, table)
                for name, text in finished.texts.items():
                    _write_bytes(draft / name, text)
                for end, capture in finished.captures.items():
                    _write_capture(draft / f"{directory_name(end)}.pcapng", capture)
                _sync(draft)
                if self._live is not None:
                    # Run live, it never comes out the same again: files of two runs do not belong together.
                    _make_room(final)
                _publish(draft, final)
                _sync(final.parent)
            finally:
                shutil.rmtree(draft, ignore_errors=True)

    def _take_lock(self) -> None:
        import fcntl

        lock = os.open(self.path / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.read(lock, 32).decode(errors="replace").strip()
            os.close(lock)
            raise DirectoryConflictError(
                f"{self.path} is in use: another cellwind{f' (process {owner})' if owner else ''} is writing to it.\n"
                "Wait until it is done, or choose another directory with --out."
            ) from None
        except OSError:
            # A file system without locks. Renaming keeps replications whole even when two processes meet; only
            # the drafts of a killed process stay, because they cannot be told from those of a living one.
            os.close(lock)
            return
        os.ftruncate(lock, 0)
        os.write(lock, f"{os.getpid()}\n".encode())
        self._lock = lock

    def _known_provenance(self) -> Mapping[str, Any]:
        if not (self.path / PROVENANCE).exists():
            return {}
        known = _read_provenance(self.path)
        if not same_version(known):
            raise DirectoryConflictError(
                f"{self.path} holds results of cellwind {known.get('version', 'of unknown version')}, "
                f"this is {provenance('')['version']}.\nChoose another directory with --out, or remove that one."
            )
        return known

    def _check_digests(self) -> None:
        for scenario in self._scenarios:
            path = self._places[scenario.name] / "digest"
            found = path.read_text(encoding="utf-8").strip() if path.exists() else scenario.digest
            if found != scenario.digest:
                raise DirectoryConflictError(
                    f"{path.parent} holds results of another scenario named {scenario.name} "
                    f"(digest {found[:8]}, now {scenario.digest[:8]}).\n"
                    "Choose another directory with --out, or remove that one."
                )

    def _check_live(self, known: Mapping[str, Any]) -> None:
        for scenario in self._scenarios:
            kept = known.get("scenarios", {}).get(scenario.name)
            if kept is not None and (kept.get("live") is None) != (self._live is None):
                there = "simulated" if kept.get("live") is None else "live"
                raise DirectoryConflictError(
                    f"{self.path} holds {there} results of {scenario.name}; they do not go together with "
                    f"{'live' if self._live else 'simulated'} ones.\nChoose another directory with --out."
                )

    def _record_provenance(self, known: Mapping[str, Any]) -> None:
        scenarios = dict(known.get("scenarios", {}))
        for scenario in self._scenarios:
            before = scenarios.get(scenario.name, {}).get("replications", 0)
            scenarios[scenario.name] = {
                "directory": self._places[scenario.name].name,
                "digest": scenario.digest,
                "seed": scenario.seed,
                "replications": max(before, scenario.replications),
                "title": scenario.title,
                "description": scenario.description,
                "factors": dict(scenario.factors),
            }
            if self._live is not None:
                scenarios[scenario.name]["live"] = self._live
        self.provenance = provenance(self._command)
        self.provenance["created"] = known.get("created", self.provenance["created"])
        if self._live is not None:
            self.provenance["live"] = self._live
        self.provenance["scenarios"] = scenarios
        _replace_text(self.path / PROVENANCE, json.dumps(self.provenance, indent=2, ensure_ascii=False) + "\n")

    def _prepare(self, scenario: ScenarioInfo) -> None:
        place = self._places[scenario.name]
        (place / "runs").mkdir(parents=True, exist_ok=True)
        if not (place / "digest").exists():
            _replace_text(place / "scenario.toml", scenario.toml)
            _replace_text(place / "digest", scenario.digest + "\n")
        if self._lock is not None:
            for draft in (place / "runs").glob(".r*.tmp"):
                shutil.rmtree(draft, ignore_errors=True)


def default_directory(scenarios: Sequence[ScenarioInfo], live: bool = False) -> Path:
    """Where results go when nobody says: the same scenarios always find the same directory again.

    >>> print(default_directory([ScenarioInfo("umts-384", "", "", 1, 20, "1a2b3c4d5e6f", "")]))
    results/umts-384-1a2b3c4d
    """
    first, others = scenarios[0], scenarios[1:]
    name, digest = first.name, first.digest
    if others:
        name = f"{name}-and-{len(others)}-more"
        digest = hashlib.sha256("".join(s.name + s.digest for s in scenarios).encode()).hexdigest()
    return Path("results") / f"{directory_name(name)}-{digest[:8]}{'-live' if live else ''}"


def directory_name(name: str) -> str:
    """A name as one directory: as it is when every file system takes it, else cleaned and marked with a hash.

    >>> directory_name("umts-384[access.umts.errors=0.1]")
    'umts-384[access.umts.errors=0.1]'
    """
    plain = unicodedata.normalize("NFC", name)
    clean = re.sub(r"[^\w.,=+@()\[\] -]", "_", plain, flags=re.ASCII).strip(" ").lstrip(".") or "_"
    if clean == name and len(clean) <= _LONGEST_NAME:
        return clean
    return f"{clean[:_LONGEST_NAME]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def load_results(directory: Path) -> Results:
    """Reads a run directory, as far as it is complete. Raises RunDirectoryError."""
    with _naming("read", directory):
        known = _read_provenance(directory)
        scenarios, records, facts = [], [], {}
        for name, kept in known.get("scenarios", {}).items():
            place = directory / kept["directory"]
            done = sorted(_complete(place))
            if not done:
                continue
            scenarios.append(
                ScenarioInfo(
                    name=name,
                    title=kept["title"],
                    description=kept["description"],
                    seed=kept["seed"],
                    replications=len(done),
                    digest=kept["digest"],
                    toml=(place / "scenario.toml").read_text(encoding="utf-8"),
                    factors=kept["factors"],
                )
            )
            for replication, run in done:
                records.append(_read_record(run, name, replication))
                if (run / _FACTS).exists():
                    facts[name, replication] = run / _FACTS
    if not records:
        raise RunDirectoryError(f"{directory} holds no complete replication yet")
    return Results(scenarios, records, facts, known)


def read_table(path: Path) -> pa.Table:
    """Reads a Parquet file. Raises RunDirectoryError, naming the file."""
    import pyarrow as pa

    # ParquetFile instead of read_table: the latter loads the whole dataset machinery first.
    import pyarrow.parquet as pq

    with _naming("read", path):
        try:
            return pq.ParquetFile(path).read()
        except pa.ArrowInvalid as error:
            raise RunDirectoryError(f"cannot read {path}: {error}") from error


def _complete(place: Path) -> Iterator[tuple[int, Path]]:
    runs = place / "runs"
    for run in runs.iterdir() if runs.is_dir() else ():
        if re.fullmatch(r"r\d{4,}", run.name):
            yield int(run.name[1:]), run


def _read_record(place: Path, scenario: str, replication: int) -> RunRecord:
    def rows(file: str) -> list[dict[str, Any]]:
        kept: list[dict[str, Any]] = read_table(place / file).drop_columns(["scenario", "replication"]).to_pylist()
        return kept

    flows = [{"name": row.pop("flow"), **row} for row in rows("flows.parquet")]
    return RunRecord(
        scenario,
        replication,
        cast(list[FlowRow], flows),
        cast(list[BearerRow], rows("bearers.parquet")),
        cast(list[LinkRow], rows("links.parquet")),
    )


def _read_provenance(directory: Path) -> dict[str, Any]:
    path = directory / PROVENANCE
    if not path.exists():
        raise RunDirectoryError(f"{directory} is not a run directory: it has no {PROVENANCE}")
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise RunDirectoryError(f"cannot read {path}: {error}") from error
    if not isinstance(known, dict):
        raise RunDirectoryError(f"cannot read {path}: it is no JSON object")
    return known


def _make_room(final: Path) -> None:
    if final.exists():
        old = final.with_name(f".{final.name}.{os.getpid()}.old.tmp")
        os.rename(final, old)
        shutil.rmtree(old, ignore_errors=True)


def _publish(draft: Path, final: Path) -> None:
    """Puts a durable draft in place. What is there already stays: a replication has only one outcome."""
    try:
        os.rename(draft, final)
    except OSError as error:
        if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
            raise
        files = sorted(draft.iterdir(), key=lambda file: (file.name == _LAST_CAPTURE, file.name))
        for file in files:
            if not (final / file.name).exists():
                os.rename(file, final / file.name)
        _sync(final)


def _write_table(path: Path, table: pa.Table) -> None:
    import pyarrow.parquet as pq

    with open(path, "xb") as file:
        pq.write_table(table, file, compression="zstd")
        file.flush()
        os.fsync(file.fileno())


def _write_bytes(path: Path, content: bytes) -> None:
    with open(path, "xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _write_capture(path: Path, capture: Capture) -> None:
    if isinstance(capture, bytes):
        _write_bytes(path, capture)
        return
    capture(path)
    with open(path, "rb") as file:
        os.fsync(file.fileno())


def _replace_text(path: Path, text: str) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        _write_bytes(draft, text.encode())
        os.replace(draft, path)
        _sync(path.parent)
    finally:
        draft.unlink(missing_ok=True)


def _sync(directory: Path) -> None:
    """Makes the names in a directory durable."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def _naming(action: str, path: Path) -> Iterator[None]:
    """Turns what the operating system refuses into one sentence with the path in it."""
    try:
        yield
    except OSError as error:
        where = error.filename if isinstance(error.filename, str) else path
        raise RunDirectoryError(f"cannot {action} {where}: {error.strerror or error}") from error
