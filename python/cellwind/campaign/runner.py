"""Runs replications on threads; the core leaves the interpreter free while it simulates."""

from __future__ import annotations

import contextlib
import importlib
import itertools
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from cellwind import _core
from cellwind.scenario import Scenario, issue_warnings

from .provenance import provenance
from .results import Results, ScenarioInfo
from .rows import MOST_REPLICATIONS, RunRecord
from .store import Finished, RunDirectory

if TYPE_CHECKING:
    import pyarrow as pa

Progress: TypeAlias = Callable[[int, int], None]
"""Called in the calling thread with the number of replications done and wanted."""


Order: TypeAlias = Literal["random", "given"]
"""In which order live replications run."""


@dataclass(frozen=True)
class Failure:
    """A replication that could not be finished, and why."""

    scenario: str
    replication: int
    reason: str


class CampaignError(_core.RunError):
    """Some replications failed; ``results`` holds those that did not, ``failures`` says why."""

    def __init__(self, failures: Sequence[Failure], results: Results) -> None:
        self.failures = tuple(failures)
        self.results = results
        lines = [f"{f.scenario}, replication {f.replication}: {f.reason}" for f in self.failures]
        total = len(self.failures) + len(results)
        super().__init__("\n".join([f"{len(lines)} of {total} replications failed:", *lines]))


class InterruptedCampaign(KeyboardInterrupt):
    """Ctrl-C: ``done`` of ``wanted`` replications are finished; those in a run directory stay."""

    def __init__(self, done: int, wanted: int) -> None:
        super().__init__(f"interrupted after {done} of {wanted} replications")
        self.done = done
        self.wanted = wanted


def run(
    scenarios: Scenario | Iterable[Scenario],
    replications: int | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    facts: bool = False,
    out: str | os.PathLike[str] | None = None,
    pcap: bool = False,
    live: bool = False,
    order: Order = "random",
) -> Results:
    """Runs one or more scenarios and answers their results; simulated, they are the same whatever ``jobs`` is.

    Parameters
    ----------
    scenarios:
        A scenario, or several with different names, such as the variants of ``Scenario.vary``.
    replications:
        How often each is run; None takes what the scenario says.
    seed:
        Seed of all random streams; None takes what the scenario says.
    jobs:
        Threads that simulate; None takes one per processor. Live: replications at the same time; None is one.
    facts:
        Keep what every machine observed, for plots and ``Results.facts``. Some 10 to 100 MB per run of 16 MB.
    out:
        Run directory. Complete replications found there are not run again. None keeps everything in memory.
    pcap:
        Write the packets of both ends as pcapng files; needs ``out``.
    live:
        Run under the wall clock, with the kernel's TCP in place of the simulated one and the scenario's workloads.
        A replication whose packets left too late fails. See docs/live.md.
    order:
        Of live replications: ``"random"``, drawn from the seed of the first scenario over all scenarios, or
        ``"given"``.

    Raises CampaignError after all others are done when a replication fails, RunDirectoryError when ``out`` cannot be
    used, ValueError for an argument out of range. Ctrl-C raises KeyboardInterrupt; what ``out`` holds then stays.
    Warnings of the scenarios are issued as ``ScenarioWarning``, each once.

    >>> import cellwind
    >>> scenario = cellwind.Scenario.load("umts-384", {"flow.download.bulk": "20 kB"})
    >>> len(cellwind.run(scenario, replications=2))
    2
    """
    chosen = [scenarios] if isinstance(scenarios, Scenario) else list(scenarios)
    if not all(isinstance(scenario, Scenario) for scenario in chosen):
        raise TypeError("run takes a Scenario or several; Scenario.load reads one from a file or a ready-made name")
    issue_warnings(chosen, live, stacklevel=2)
    return carry_out(chosen, replications, seed, jobs, facts, out, pcap, live, order)


def carry_out(
    chosen: Sequence[Scenario],
    replications: int | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    facts: bool = False,
    out: str | os.PathLike[str] | None = None,
    pcap: bool = False,
    live: bool = False,
    order: Order = "random",
) -> Results:
    """What ``run`` does, without the warnings of the scenarios."""
    if pcap and out is None:
        raise ValueError("pcap=True writes files: say where with out=")
    if seed is not None:
        chosen = [scenario.with_values({"seed": seed}) for scenario in chosen]
    infos = plan(chosen, replications)
    command = "cellwind.run, from Python"
    options: dict[str, Any] = {"jobs": jobs, "facts": facts, "live": live, "order": order}
    if out is None:
        results, failures = execute(chosen, infos, **options)
    else:
        with RunDirectory(Path(out), infos, command, live=live).open() as directory:
            results, failures = execute(chosen, infos, **options, pcap=pcap, directory=directory)
    if failures:
        raise CampaignError(failures, results)
    return results


def plan(scenarios: Sequence[Scenario], replications: int | None = None) -> list[ScenarioInfo]:
    """What is to be run of each scenario. Raises ValueError when that makes no sense."""
    if not scenarios:
        raise ValueError("there is no scenario to run")
    if replications is not None and not 1 <= replications <= MOST_REPLICATIONS:
        raise ValueError(f"replications are from 1 to {MOST_REPLICATIONS}, not {replications}")
    names = Counter(scenario.name for scenario in scenarios)
    twice = next((name for name, count in names.items() if count > 1), None)
    if twice is not None:
        raise ValueError(f"two scenarios are named {twice}; results could not tell them apart")
    return [ScenarioInfo.of(s, s.replications if replications is None else replications) for s in scenarios]


def check_simulated(scenarios: Iterable[Scenario]) -> None:
    """Raises ScenarioError when a scenario has no flow, and so nothing to simulate."""
    for scenario in scenarios:
        if not scenario.flows:
            _core.run(scenario.core, 0)


def check_live(scenarios: Iterable[Scenario]) -> None:
    """Raises ValueError when a scenario cannot be run live because nothing would end it."""
    from cellwind.live.replicate import check_end

    for scenario in scenarios:
        check_end(scenario)


def execute(
    scenarios: Sequence[Scenario],
    infos: Sequence[ScenarioInfo],
    *,
    jobs: int | None = None,
    facts: bool = False,
    pcap: bool = False,
    directory: RunDirectory | None = None,
    progress: Progress | None = None,
    live: bool = False,
    order: Order = "random",
) -> tuple[Results, list[Failure]]:
    """Runs what ``directory`` does not hold yet; ``infos`` is the plan for ``scenarios``.

    Raises RunDirectoryError as soon as a replication cannot be kept, and InterruptedCampaign on Ctrl-C.
    """
    if jobs is not None and jobs < 1:
        raise ValueError(f"jobs is at least 1, not {jobs}")
    (check_live if live else check_simulated)(scenarios)
    wanted = [(s, r) for s, info in zip(scenarios, infos, strict=True) for r in range(info.replications)]
    pending = [(s, r) for s, r in wanted if directory is None or not directory.holds(s.name, r, facts, pcap)]
    outcome = _Outcome(len(wanted), len(wanted) - len(pending), progress)
    if pending:
        if directory is not None or facts:
            preload("pyarrow.parquet")
        threads = jobs or (1 if live else os.cpu_count() or 1)
        worker = _LiveWorker(facts, pcap, directory, threads) if live else _Worker(facts, pcap, directory)
        todo = _shuffled(pending, scenarios[0].seed) if live and order == "random" else pending
        try:
            _run_all(todo, worker, min(threads, len(pending)), outcome)
        except KeyboardInterrupt:
            # Counted on disk: a thread may have finished its replication after the signal.
            held = (directory is not None and directory.holds(s.name, r, facts, pcap) for s, r in wanted)
            raise InterruptedCampaign(sum(held), len(wanted)) from None
    if directory is not None:
        skipped = set(wanted) - set(pending)
        outcome.records += [directory.read(s.name, r) for s, r in wanted if (s, r) in skipped]
        kept = {(s.name, r): directory.facts(s.name, r) for s, r in wanted}
        outcome.facts = {key: path for key, path in kept.items() if path is not None}
    source = directory.provenance if directory is not None else provenance("cellwind.run, from Python")
    return Results(infos, outcome.records, outcome.facts, source), outcome.failures


def preload(*modules: str) -> None:
    """Imports modules in the background: what is needed after a run can load while the core simulates."""

    def load() -> None:
        for module in modules:
            # Whoever needs the module imports it again, and reports what is wrong with it.
            with contextlib.suppress(ImportError):
                importlib.import_module(module)

    threading.Thread(target=load, name="preload").start()


class _Outcome:
    """What a campaign has come to so far; only the calling thread touches it."""

    def __init__(self, wanted: int, done: int, progress: Progress | None) -> None:
        self.wanted = wanted
        self.done = done
        self.records: list[RunRecord] = []
        self.facts: dict[tuple[str, int], pa.Table | Path] = {}
        self.failures: list[Failure] = []
        self._progress = progress
        self._tell()

    def take(self, scenario: Scenario, replication: int, future: Future[tuple[RunRecord, pa.Table | None]]) -> None:
        """Adds a replication that is done. Raises what it raised, unless that is a failure of its own."""
        try:
            record, facts = future.result()
        except _core.RunError as error:
            self.failures.append(Failure(scenario.name, replication, str(error)))
        else:
            self.records.append(record)
            self.done += 1
            if facts is not None:
                self.facts[scenario.name, replication] = facts
        self._tell()

    def _tell(self) -> None:
        if self._progress is not None:
            self._progress(self.done + len(self.failures), self.wanted)


class _Worker:
    """Runs and keeps one replication at a time, in a thread of the pool."""

    def __init__(self, facts: bool, pcap: bool, directory: RunDirectory | None) -> None:
        self._facts = facts
        self._pcap = pcap
        self._directory = directory
        self._cancel = _core.CancelFlag()

    def __call__(self, scenario: Scenario, replication: int) -> tuple[RunRecord, pa.Table | None]:
        run = _core.run(scenario.core, replication, self._facts, self._pcap, self._cancel)
        return self._keep(Finished.of(scenario.name, run, self._facts, self._pcap))

    def cancel(self) -> None:
        """Stops what is running."""
        self._cancel.cancel()

    def _keep(self, finished: Finished) -> tuple[RunRecord, pa.Table | None]:
        if self._directory is not None:
            return self._directory.write(finished), None
        return finished.record, finished.facts


class _LiveWorker(_Worker):
    """Runs replications under the wall clock."""

    def __init__(self, facts: bool, pcap: bool, directory: RunDirectory | None, at_once: int) -> None:
        super().__init__(facts, pcap, directory)
        self._stop = threading.Event()
        # Several clocks that watch for their instants would take the processors from each other.
        self._spin_us = 0.0 if at_once > 1 else None

    def __call__(self, scenario: Scenario, replication: int) -> tuple[RunRecord, pa.Table | None]:
        from cellwind.live.replicate import replicate

        try:
            done = replicate(
                scenario,
                replication,
                facts=self._facts,
                pcap=self._pcap,
                stop=self._stop,
                spin_us=self._spin_us,
                spool=None if self._directory is None else self._directory.path,
            )
        except _core.EmulationError as error:
            raise _core.RunError(str(error)) from error
        if done.valid:
            return self._keep(done.finished)
        where = ""
        if self._directory is not None:
            where = f"; what it recorded is in {self._directory.set_aside(done.finished)}"
        raise _core.RunError(f"not valid: {'; '.join(done.complaints)}{where}")

    def cancel(self) -> None:
        self._stop.set()


def _shuffled(pending: Sequence[tuple[Scenario, int]], seed: int) -> list[tuple[Scenario, int]]:
    """The same order for the same seed, so that a campaign can be repeated as it was."""
    import numpy as np

    return [pending[place] for place in np.random.default_rng(seed).permutation(len(pending))]


def _run_all(pending: Sequence[tuple[Scenario, int]], worker: _Worker, threads: int, outcome: _Outcome) -> None:
    """Fills ``outcome`` with the pending replications, in the order in which they finish."""
    waiting = iter(pending)
    running: dict[Future[tuple[RunRecord, pa.Table | None]], tuple[Scenario, int]] = {}
    # One thread also for one job: the calling thread stays free to hear Ctrl-C.
    pool = ThreadPoolExecutor(threads, thread_name_prefix="replication")
    try:
        while True:
            # A thread that is done finds the next replication waiting, and a campaign of millions takes no memory.
            for scenario, replication in itertools.islice(waiting, 2 * threads - len(running)):
                running[pool.submit(worker, scenario, replication)] = scenario, replication
            if not running:
                break
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                outcome.take(*running.pop(future), future)
    except BaseException:
        worker.cancel()
        pool.shutdown(wait=True, cancel_futures=True)
        raise
    pool.shutdown()
    place = {(scenario.name, replication): index for index, (scenario, replication) in enumerate(pending)}
    outcome.failures.sort(key=lambda failure: place[failure.scenario, failure.replication])
