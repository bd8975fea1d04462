"""Measures speed and memory, and compares with ns-2 where it is installed; live, with a bare loop and the kernel.

Usage: ``make bench``. Each line of the table says what is compared with what, the target, and whether it
holds here. Times of the simulator are CPU seconds inside the run, of both simulators; pairs are run in
turns, so that a busy machine slows both, and the shortest of each are shown: whoever shares a core with us only adds
to the time, and adds to a run of 10 ms and one of 50 ms unequally. Targets are for a machine with nothing else to do;
a missed one is said and is not an error.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

import scenarios
from cellwind import _core
from lines import Line
from live import bench as live

HERE = Path(__file__).resolve().parent
SECONDS = 1000
PAIRS = 9


def run(text: str, facts: bool = False) -> _core.Run:
    return _core.run(_core.Scenario.parse(text), 0, facts=facts)


def interleaved(first: Callable[[], float], second: Callable[[], float], pairs: int = PAIRS) -> tuple[float, float]:
    """The shortest of two measurements that are taken in turns, after one of each that does not count."""
    first(), second()
    taken = [(first(), second()) for _ in range(pairs)]
    return min(a for a, _ in taken), min(b for _, b in taken)


def ratio_line(what: str, against: str, ours: float, theirs: float, most: float | None) -> Line:
    ratio = ours / theirs
    measured = f"{duration(ours)} against {duration(theirs)}: {ratio:.2f} times"
    if most is None:
        return Line(what, against, measured)
    return Line(what, against, measured, f"at most {most:g} times", ratio <= most)


def duration(seconds: float) -> str:
    """Three digits with a unit that suits them."""
    for scale, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "µs")):
        if seconds * scale >= 1.0:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def ns2_cpu_s(ns: str, headers: str = "all", trace: Path | None = None) -> float:
    """CPU seconds that ns-2 spends inside ``$ns run``.

    With ``headers="all"`` packets carry every header ns-2 knows, as they do unless a script says otherwise;
    ``"few"`` leaves those of IP and TCP only.
    """
    words = [ns, str(HERE / "ns2" / "reno.tcl"), str(SECONDS), headers, *([str(trace)] if trace else [])]
    printed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return float(dict(line.split() for line in printed.splitlines())["cpu_s"])


def against_ns2() -> list[Line]:
    plain = f"one Reno flow, {SECONDS} simulated seconds"
    facts = "the same with all facts in memory"
    ns = shutil.which("ns")
    if ns is None:
        missing = "ns-2 is not installed (Debian: ns2)"
        return [Line(plain, "ns-2 without trace", missing), Line(facts, "ns-2 with trace-all", missing)]
    text = scenarios.flow(SECONDS)
    ours, theirs = interleaved(lambda: run(text).cpu_s, lambda: ns2_cpu_s(ns))
    lines = [ratio_line(plain, "ns-2 2.35 as scripts run it, without trace", ours, theirs, 0.25)]
    ours, theirs = interleaved(lambda: run(text).cpu_s, lambda: ns2_cpu_s(ns, headers="few"))
    lines.append(ratio_line(plain, "ns-2 2.35 stripped of unused headers", ours, theirs, None))
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "all.tr"
        ours, theirs = interleaved(lambda: run(text, facts=True).cpu_s, lambda: ns2_cpu_s(ns, trace=trace))
    return [*lines, ratio_line(facts, "ns-2 2.35 with trace-all to a file", ours, theirs, 0.05)]


def per_packet_s(text: str) -> float:
    """CPU seconds per segment that the flow sent."""
    done = run(text)
    return done.cpu_s / done.flows[0]["segments_sent"]


def bearer() -> list[Line]:
    """Per packet, because the bearer's delays cost the flow some of its packets."""
    lines = []
    for what, pdu, most in (
        ("a block-ARQ bearer with 10 % block errors", "one per TTI", 3.0),
        ("the same with 24 blocks per TTI", "40 B", None),
    ):
        radio, wire = scenarios.bearer(SECONDS, pdu), scenarios.flow(SECONDS)
        ours, theirs = interleaved(partial(per_packet_s, radio), partial(per_packet_s, wire))
        lines.append(ratio_line(f"{what}, per packet", "the same flow without the bearer", ours, theirs, most))
    return lines


def acknowledged() -> list[Line]:
    """A flow over the whole of RLC in acknowledged mode."""
    seconds = 10 * SECONDS
    done = [run(scenarios.rlc(seconds)) for _ in range(PAIRS)]
    cpu_s = min(one.cpu_s for one in done)
    pdus = sum(bearer["blocks_sent"] for bearer in done[0].bearers)
    pace, each = seconds / cpu_s, cpu_s / pdus
    what = "acknowledged RLC at 384 kbit/s, 40 B PDUs, 10 % in error, bulk Reno"
    return [
        Line(what, "CPU time", f"{pace:,.0f} simulated seconds per second", "at least 20,000", pace >= 20_000),
        Line("the same, per PDU, TCP included", "CPU time", duration(each), "below 25 ns", each < 25e-9),
    ]


def acks() -> Table | None:
    """What an ACK costs the sender by the size of the window; none where there is no cargo."""
    if shutil.which("cargo") is None:
        return None
    words = ["cargo", "bench", "--quiet", "--package", "cellwind-transport", "--bench", "acks"]
    printed = subprocess.run(words, cwd=HERE.parent, capture_output=True, text=True, check=True).stdout
    rows: dict[tuple[str, str], dict[int, str]] = {}
    for recovery, loss, segments, sender, _receiver in (line.split() for line in printed.splitlines()):
        rows.setdefault((recovery, loss), {})[int(segments)] = f"{float(sender):.0f} ns"
    windows = sorted({segments for row in rows.values() for segments in row})
    table = Table("sender's time per ACK", "loss", *(f"{segments} segments" for segments in windows))
    for (recovery, loss), row in rows.items():
        table.add_row(recovery, loss, *(row.get(segments, "") for segments in windows))
    return table


def rlc() -> Table | None:
    """What a PDU costs RLC acknowledged mode with nothing around it; none where there is no cargo."""
    if shutil.which("cargo") is None:
        return None
    words = ["cargo", "bench", "--quiet", "--package", "cellwind-radio", "--bench", "rlc"]
    printed = subprocess.run(words, cwd=HERE.parent, capture_output=True, text=True, check=True).stdout
    table = Table("12 PDUs per TTI of 10 ms, SDUs of", "PDUs sent per PDU needed", "time per PDU sent")
    for line in printed.splitlines():
        *what, ratio, ns = line.split()
        table.add_row(" ".join(what), ratio, f"{float(ns):.1f} ns")
    return table


SCHEDULERS = ("fair-throughput", "fair-resource", "c-i", "proportional-fair")


def cells() -> list[Line]:
    """Fifty terminals with a scheduler each, and what a block costs where a cell grows with its terminals."""
    lines = []
    for scheduler in SCHEDULERS:
        text = scenarios.cell(50, 200, scheduler)
        taken = min(run(text).cpu_s for _ in range(3))
        measured = f"{200 / taken:.0f} simulated seconds per second"
        lines.append(
            Line(f"50 terminals share a cell, {scheduler}", "CPU time", measured, "at least 300", taken < 2 / 3)
        )
    costs = {}
    for terminals in (1, 10, 100, 1000):
        done = [run(scenarios.growing_cell(terminals, 20)) for _ in range(2)]
        blocks = sum(bearer["blocks_sent"] for bearer in done[0].bearers)
        costs[terminals] = min(one.cpu_s for one in done) / blocks
    measured = ", ".join(f"{terminals}: {duration(cost)}" for terminals, cost in costs.items())
    is_linear = costs[1000] <= 2 * costs[1]
    what = "a PDU of a cell with 40 kbit/s for each of its terminals"
    return [*lines, Line(what, "CPU time, by number of terminals", measured, "at most twice that of one", is_linear)]


def transports() -> list[Line]:
    """Every TCP among the presets, in turns with Reno; the dearest first."""
    names = [name for kind, name, _ in _core.presets() if kind == "transport" and name != "reno"]
    types = {name: tomllib.loads(_core.preset_text("transport", name)).get("type", "tcp") for name in names}
    tcps = [name for name in names if types[name] == "tcp"]
    reno = partial(per_packet_s, scenarios.transport("reno", SECONDS))
    measured = [(name, *interleaved(partial(per_packet_s, scenarios.transport(name, SECONDS)), reno)) for name in tcps]
    measured.sort(key=lambda one: one[2] / one[1])
    return [
        ratio_line(f"{name}, per packet", "Reno on the same path", ours, theirs, 2.0) for name, ours, theirs in measured
    ]


def ten_gigabits() -> list[Line]:
    """CPU per packet where a window holds 83 000 of them."""
    lines = []
    for preset in ("sack", "linux-cubic", "bbr", "bbr-v3"):
        done = [run(scenarios.fast(preset, 4)) for _ in range(2)]
        sent = done[0].flows[0]["segments_sent"]
        taken = min(one.cpu_s for one in done) / sent
        measured = f"{duration(taken)} each of {sent / 1e6:.1f} million packets"
        lines.append(Line(f"{preset} at 10 Gbit/s × 100 ms", "CPU time", measured, "at most 1 µs", taken <= 1e-6))
    return lines


def peak_kib(seconds: int) -> int:
    """Peak resident memory of a process that runs the bearer scenario and keeps no facts."""
    words = [sys.executable, __file__, "--peak", str(seconds)]
    return int(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


def print_peak(seconds: int) -> None:
    run(scenarios.bearer(seconds))
    # Not getrusage: its maximum includes the parent's memory before exec.
    status = Path("/proc/self/status").read_text()
    print(status.partition("VmHWM:")[2].split()[0])


def memory() -> Line:
    short, long = peak_kib(SECONDS), peak_kib(10 * SECONDS)
    measured = f"{long / 1024:.1f} MiB against {short / 1024:.1f} MiB"
    # A megabyte is the noise of the interpreter and of the allocator.
    what = f"peak memory of {10 * SECONDS} simulated seconds"
    return Line(what, f"that of {SECONDS} seconds", measured, "at most 1 MiB more", long - short <= 1024)


def wall_s(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def two_cores() -> Line:
    what, against = "two replications at once", "one after the other, wall clock"
    if (os.cpu_count() or 1) < 2:
        return Line(what, against, "this machine has one core")
    scenario = _core.Scenario.parse(scenarios.bearer(20 * SECONDS))
    with ThreadPoolExecutor(2) as pool:

        def at_once() -> float:
            return wall_s(lambda: list(pool.map(lambda number: _core.run(scenario, number), range(2))))

        def in_turn() -> float:
            return wall_s(lambda: [_core.run(scenario, number) for number in range(2)])

        together, alone = interleaved(at_once, in_turn, pairs=5)
    return ratio_line(what, against, together, alone, 0.6)


def start(what: str, *words: str) -> Line:
    """Wall-clock time of a whole Python process; the fastest, so that what it reads is in memory.

    Python may keep its compiled modules, as it does for users; some build machines forbid it.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def once() -> float:
        command = partial(subprocess.run, [sys.executable, *words], env=environment, capture_output=True, check=True)
        with tempfile.TemporaryDirectory() as folder:
            return wall_s(lambda: command(cwd=folder))

    taken = min(once() for _ in range(PAIRS))
    return Line(what, "wall clock", f"{1e3 * taken:.0f} ms", "below 300 ms", taken < 0.3)


def starts() -> list[Line]:
    bulk = 'flow.download.bulk="10 kB"'
    api = "import cellwind; cellwind.run(cellwind.Scenario.load('umts-384', {'flow.download.bulk': '10 kB'}), 1)"
    command = ["-m", "cellwind", "run", "umts-384", "--replications", "1", "--set", bulk]
    return [
        start("cellwind --help", "-m", "cellwind", "--help"),
        start("a run of 10 kB from Python", "-c", api),
        start("the same from the command line, with its report", *command),
    ]


def throughput() -> list[Line]:
    lines = []
    for what, text in (
        ("events of the Reno flow", scenarios.flow(10 * SECONDS)),
        ("events with the bearer", scenarios.bearer(10 * SECONDS)),
    ):
        done = [run(text) for _ in range(3)]
        cpu_s = min(one.cpu_s for one in done)
        per_packet = f"{1e9 * cpu_s / done[0].flows[0]['segments_sent']:.0f} ns per data packet with its ACK"
        lines.append(Line(what, "CPU time", f"{done[0].events / cpu_s / 1e6:.1f} million per second, {per_packet}"))
    return lines


def main() -> None:
    table = Table("measured", "compared with", "result", "target", "")
    for measure in (
        against_ns2,
        bearer,
        acknowledged,
        cells,
        transports,
        ten_gigabits,
        lambda: [memory()],
        lambda: [two_cores()],
        starts,
        throughput,
        live.lines,
    ):
        for line in measure():
            verdict = {True: "holds", False: "[bold red]MISSED[/]", None: ""}[line.holds]
            table.add_row(line.what, line.against, line.measured, line.target, verdict)
    console = Console(width=None if sys.stdout.isatty() else 150)
    console.print(table)
    for more in (acks(), rlc()):
        if more is not None:
            console.print(more)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peak"]:
        print_peak(int(sys.argv[2]))
    else:
        main()
