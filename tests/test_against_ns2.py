"""Each transport beside ns-2 2.35, in one run: the sending instants of every segment; and the windows of Linux.

Another implementation of the same algorithms, written by other people. The presets `ns2-…` do as its agents do, and
send every segment when those do, until a timeout fires; where not, the reason stands in `DEPARTURES`, and all outcomes
in docs/protocols/against-ns2.md, which CELLWIND_UPDATE=1 writes anew.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from cellwind import _core

PAGE = Path(__file__).parents[1] / "docs" / "protocols" / "against-ns2.md"
PAYLOAD = 960
# ns-2 sends the very first packet without its 40 bytes of header: all that follows is that much earlier.
SHORT_FIRST_PACKET_S = 40 * 8 / 384_000


@dataclass(frozen=True)
class Agent:
    """A preset of cellwind, the agents of ns-2 that it mimics, and whether those open the connection with a SYN."""

    preset: str
    sender: str
    sink: str
    linux: str = ""
    two_way: bool = False
    # The initial window, segments. ns-2's Vegas takes no round trip of what leaves at time zero.
    window: int = 10
    # Settings beside the preset.
    settings: str = ""

    @property
    def title(self) -> str:
        """The agent, with the algorithm of Agent/TCP/Linux."""
        return f"{self.sender} {self.linux}".strip()


NO_LIMITED_TRANSMIT = "limited_transmit = false"
AGENTS = (
    Agent("ns2-tahoe", "TCP", "TCPSink"),
    Agent("ns2-reno", "TCP/Reno", "TCPSink"),
    Agent("ns2-newreno", "TCP/Newreno", "TCPSink"),
    Agent("ns2-sack1", "TCP/Sack1", "TCPSink/Sack1"),
    Agent("ns2-fack", "TCP/Fack", "TCPSink/Sack1"),
    Agent("ns2-vegas", "TCP/Vegas", "TCPSink", window=1),
    Agent("ns2-fulltcp", "TCP/FullTcp", "TCP/FullTcp", two_way=True),
    Agent("ns2-tahoe", "TCP/FullTcp/Tahoe", "TCP/FullTcp/Tahoe", two_way=True, settings=NO_LIMITED_TRANSMIT),
    Agent("ns2-newreno", "TCP/FullTcp/Newreno", "TCP/FullTcp/Newreno", two_way=True, settings=NO_LIMITED_TRANSMIT),
    Agent("ns2-sack1", "TCP/FullTcp/Sack", "TCP/FullTcp/Sack", two_way=True, settings=NO_LIMITED_TRANSMIT),
)


@dataclass(frozen=True)
class Fault:
    """What happens on the way, to packets counted from 1 in the order of sending, out of so many segments."""

    title: str
    drop: tuple[int, ...] = ()
    acks: tuple[int, ...] = ()
    late: tuple[int, float] | None = None
    # Also the first retransmission.
    again: bool = False
    segments: int = 40


FAULTS = {
    "none": Fault("nothing"),
    "single": Fault("a single loss", drop=(3,)),
    "two": Fault("two losses", drop=(3, 7)),
    "burst": Fault("a burst of four", drop=(13, 14, 15, 16)),
    "alternate": Fault("four alternate losses", drop=(11, 13, 15, 17)),
    "again": Fault("a lost retransmission", drop=(13,), again=True),
    "tail": Fault("a lost tail", drop=(38, 39, 40)),
    "acks": Fault("a burst of ten ACKs lost", acks=tuple(range(5, 15))),
    "reordering": Fault("a segment late by 0.2 s", late=(15, 0.2)),
    "delay": Fault("a delay of 5 s", late=(15, 5.0)),
    "list": Fault("3 % of 200 segments", drop=(17, 58, 59, 103, 131, 188), segments=200),
}

Sent = list[tuple[float, int]]


def ours(agent: Agent, fault: Fault, drops: tuple[int, ...]) -> tuple[Sent, int]:
    """When each segment was sent, in seconds after the first, and its number from 0; how many before any timeout."""
    down = [f"{{ drop_data = {packet} }}" for packet in drops]
    late = ""
    if fault.late is not None:
        packet, delay = fault.late
        overtaking = "true" if delay < 1 else "false"
        late = f'{{ delay_segment = {packet}, by = "{delay} s", overtaking = {overtaking} }}'
    up = [f"{{ drop_ack = {packet} }}" for packet in fault.acks]
    run = _core.run(
        _core.Scenario.parse(
            f"""
            [link.faults]
            down.faults = [{", ".join(down)}]
            up.faults = [{", ".join(up)}]
            [link.wire]
            delay = "135 ms"
            down.rate = "384 kbit/s"
            [link.late]
            down.faults = [{late}]
            [flow.f]
            bulk = "{fault.segments} segments"
            [flow.f.transport]
            extends = "{agent.preset}"
            mss = "{PAYLOAD} B"
            initial_window = "{agent.window} segments"
            receive_window = "64 segments"
            initial_ssthresh = "64 segments"
            rto.minimum = "1 s"
            rto.granularity = "1 ms"
            {agent.settings}
            """
        ),
        0,
        facts=True,
    )
    facts = run.facts()
    kinds = [run.kind_names.index(kind) for kind in ("segment_sent", "segment_resent")]
    timeout = run.kind_names.index("timeout")
    sent = [place for place, kind in enumerate(facts["kind"]) if kind in kinds]
    first_timeout = next((place for place, kind in enumerate(facts["kind"]) if kind == timeout), len(facts["kind"]))
    start = facts["time_ns"][sent[0]]
    rows = [(float(facts["time_ns"][n] - start) * 1e-9, int(facts["seq"][n] - 1) // PAYLOAD) for n in sent]
    return rows, sum(place < first_timeout for place in sent)


def ns2(ns: str, agent: Agent, fault: Fault, drops: tuple[int, ...]) -> Sent:
    """The same from ns-2's trace of the sender's queue, with the first packet's length made good."""
    script = Path(__file__).parent / "ns2" / "exchange.tcl"
    # FullTcp's SYN, and the ACK of the handshake, are packets as well, and its SYN-ACK an ACK.
    first, first_ack = (1, 0) if agent.two_way else (-1, -1)
    words = [f"drop={','.join(str(packet + first) for packet in drops)}"] if drops else []
    if fault.acks:
        words.append(f"acks={','.join(str(packet + first_ack) for packet in fault.acks)}")
    if fault.late is not None:
        packet, delay = fault.late
        # Behind a packet that later ones may not overtake, those are late too.
        numbers = range(packet + first, packet + first + (1 if delay < 1 else 100))
        words.append(f"late={delay},{','.join(map(str, numbers))}")
    if agent.linux:
        words.append(f"linux={agent.linux}")
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace"
        line = [ns, str(script), agent.sender, agent.sink, str(fault.segments), str(trace), *words]
        subprocess.run(line, check=True, capture_output=True)
        rows = [row.split() for row in trace.read_text(encoding="ascii").splitlines()]
    sent = [row for row in rows if row[0] == "+" and row[2:4] == ["0", "1"] and int(row[5]) > 40]
    start = float(sent[0][1])
    if agent.two_way:
        # The ACK of the handshake goes before the data on the link.
        return [(max(0.0, float(row[1]) - start - SHORT_FIRST_PACKET_S), int(row[10]) // PAYLOAD) for row in sent]
    times = [float(row[1]) for row in sent]
    if agent.sender == "TCP/Vegas":
        return [(t, int(row[10])) for t, row in zip(times, sent, strict=True)]  # no packet has a header
    return [(t + SHORT_FIRST_PACKET_S if t > 0 else t, int(row[10])) for t, row in zip(times, sent, strict=True)]


@dataclass(frozen=True)
class Outcome:
    """How many segments agree, of how many we sent in all, and before any timeout."""

    agree: int
    before_timeout: int
    total: int
    theirs: int

    @property
    def is_same(self) -> bool:
        """Whether all agree for as long as no timeout fires."""
        return self.agree >= self.before_timeout and (self.before_timeout < self.total or self.total == self.theirs)

    def __str__(self) -> str:
        if not self.is_same:
            return f"first {self.agree} of {self.total}"
        return f"all {self.total}" if self.agree == self.total else f"all {self.agree} before the timeout"


@functools.cache
def compare(agent: Agent, name: str) -> Outcome:
    """Both sides, up to where they part; ns-2 prints six digits of time."""
    ns, fault = shutil.which("ns"), FAULTS[name]
    assert ns is not None
    drops = fault.drop
    mine, before = ours(agent, fault, drops)
    if fault.again:
        numbers = [number for _, number in mine]
        resent = next(place for place, number in enumerate(numbers) if number in numbers[:place])
        drops = (*drops, resent + 1)
        mine, before = ours(agent, fault, drops)
    theirs = ns2(ns, agent, fault, drops)
    pairs = zip(mine, theirs, strict=False)
    agree = [m[1] == t[1] and m[0] == pytest.approx(t[0], abs=2e-6, rel=6e-6) for m, t in pairs]
    return Outcome(agree.index(False) if False in agree else len(agree), before, len(mine), len(theirs))


# Why the two part before a timeout: deliberate departures, by agent of ns-2 and fault.
OLD_SEGMENTS = (
    "Agent/TCP's Limited Transmit also sends the next old segment, while it comes again after a fast retransmit; "
    "RFC 3042 §2 is for new data."
)
UNSENT = (
    "On the ACK after a fast retransmit Agent/TCP/Vegas takes a segment that was never sent for one whose fine timeout "
    "is over, and sends it twice: its table says that it left at -1 s. No segment is resent here before it is sent."
)
DECIMALS = (
    "Agent/TCP/Vegas adds 1/cwnd in decimals, of which five times 0.2 is a little less than one, so that the window "
    "grows an ACK later; here that is one segment exactly."
)
DEFLATION = (
    "On a partial ACK Agent/TCP/FullTcp/Newreno deflates the window to the threshold; RFC 6582 §3.2 step 3 deflates it "
    "by what the ACK covers, as Agent/TCP/Newreno does."
)
LAST_ACK = (
    "Agent/TCP/FullTcp/Sack lets the window grow with the ACK that ends recovery; Agent/TCP/Sack1 does not, nor does "
    "RFC 6675 §5 (A)."
)
DEPARTURES = {
    ("TCP", "alternate"): OLD_SEGMENTS,
    **{("TCP/Vegas", fault): UNSENT for fault in ("burst", "list")},
    ("TCP/Vegas", "again"): DECIMALS,
    **{("TCP/FullTcp/Newreno", fault): DEFLATION for fault in ("two", "alternate", "reordering", "list")},
    **{("TCP/FullTcp/Sack", fault): LAST_ACK for fault in ("single", "two", "list")},
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.title.replace("/", "-"))
def test_every_segment_is_sent_when_ns2_sends_it(agent: Agent, fault: str) -> None:
    """By both lists of instants and numbers, for as long as no timeout fires; a departure that is none is an error."""
    look_for_ns2()
    outcome = compare(agent, fault)
    if (agent.title, fault) in DEPARTURES:
        assert not outcome.is_same, "this is no departure any more"
    else:
        assert outcome.is_same, outcome


def test_the_page_has_the_outcomes() -> None:
    """By writing its tables; CELLWIND_UPDATE=1 puts them into the page."""
    look_for_ns2()
    before, marker, _ = PAGE.read_text(encoding="utf-8").partition("## Outcomes\n")
    page = before + marker + outcomes()
    if os.environ.get("CELLWIND_UPDATE"):
        PAGE.write_text(page, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page, "CELLWIND_UPDATE=1 writes it anew"


def outcomes() -> str:
    """The end of the page: a row for each agent, a column for each fault, and the reasons."""
    reasons = list(dict.fromkeys(DEPARTURES.values()))
    lines = ["", "| ns-2 | cellwind | " + " | ".join(fault.title for fault in FAULTS.values()) + " |"]
    lines.append("|---" * (len(FAULTS) + 2) + "|")
    for agent in AGENTS:
        preset = f"`{agent.preset}`" + (", no Limited Transmit" if agent.settings == NO_LIMITED_TRANSMIT else "")
        cells = [f"`{agent.title}`", preset]
        for name in FAULTS:
            reason = DEPARTURES.get((agent.title, name))
            cells.append(str(compare(agent, name)) + ("" if reason is None else f" ({reasons.index(reason) + 1})"))
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", "### Departures", ""]
    lines += [f"{number}. {reason}" for number, reason in enumerate(reasons, start=1)]
    return "\n".join(lines) + "\n"


def look_for_ns2() -> None:
    if shutil.which("ns") is None:
        pytest.skip("ns-2 is not installed (Debian: ns2)")


WESTWOOD = """
congestion = { type = "westwood", filter = "linux", after_loss = "threshold", growth = "when-limiting" }
"""
VEGAS = """
slow_start.per_ack = "1 segment"
congestion = { type = "vegas", alpha = 2, beta = 4, gamma = 1 }
"""


def windows(preset: str, settings: str, drops: list[int], seconds: int) -> list[tuple[float, float]]:
    """Instants in seconds after the first segment, and the congestion window from then on, in segments."""
    faults = ", ".join(f"{{ drop_data = {packet} }}" for packet in drops)
    run = _core.run(
        _core.Scenario.parse(
            f"""
            stop_at = "{seconds + 1} s"
            [link.loss]
            down.faults = [{faults}]
            [link.wire]
            delay = "50 ms"
            down.rate = "10 Mbit/s"
            [flow.f]
            bulk = "unlimited"
            [flow.f.transport]
            extends = "{preset}"
            receive_window = "100000 segments"
            slow_start.exit = "none"
            {settings}
            """
        ),
        0,
        facts=True,
    )
    facts = run.facts()
    cwnd = run.kind_names.index("cwnd")
    rows = zip(facts["time_ns"], facts["kind"], facts["a"], strict=True)
    return [(float(t) * 1e-9 - 0.1, float(a) / 1448) for t, kind, a in rows if kind == cwnd]


def windows_of_ns2(algorithm: str, drops: list[int], seconds: int) -> list[tuple[float, float]]:
    """The same of Agent/TCP/Linux, every 50 ms."""
    ns = shutil.which("ns")
    assert ns is not None
    script = Path(__file__).parent / "ns2" / "linux.tcl"
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "windows"
        words = [ns, str(script), algorithm, str(trace), str(seconds), *(str(packet - 1) for packet in drops)]
        subprocess.run(words, check=True, capture_output=True)
        rows = [row.split() for row in trace.read_text(encoding="ascii").splitlines()]
    return [(float(row[0]), float(row[1])) for row in rows]


def window_at(rows: list[tuple[float, float]], t: float) -> float:
    return next(cwnd for start, cwnd in reversed(rows) if start <= t)


@pytest.mark.parametrize(
    ("algorithm", "preset", "settings", "drops", "share"),
    [
        ("reno", "linux-reno", "", [], 0.008),  # one segment: ns-2's first packet has no header, so that it is ahead
        ("reno", "linux-reno", "", [301], 0.008),
        # Its tcp_cubic is that of Linux 2.6, with a beta of 0.8, whole segments and an estimate of the segments per
        # ACK that lets the window grow faster at first.
        ("cubic", "linux-cubic", "congestion.beta = 0.8", [], 0.045),
        ("cubic", "linux-cubic", "congestion.beta = 0.8", [301], 0.045),
        # Not with a loss: the agent never tells tcp_westwood that recovery is over, so that Reno's threshold stays.
        ("westwood", "linux-reno", WESTWOOD, [], 0.008),
    ],
    ids=["reno-none", "reno-single", "cubic-none", "cubic-single", "westwood-none"],
)
def test_the_window_is_that_of_ns2_s_linux_agent(
    algorithm: str, preset: str, settings: str, drops: list[int], share: float
) -> None:
    """By samples every 50 ms of 12 s, leaving out the recovery, in which Linux shrinks the window by steps."""
    look_for_ns2()
    mine = windows(preset, settings, drops, 12)
    compared = 0
    for t, theirs in windows_of_ns2(algorithm, drops, 12):
        if (drops and 0.6 < t < 1.2) or t == 0:
            continue
        compared += 1
        assert window_at(mine, t) == pytest.approx(theirs, rel=share, abs=1.5), t
    assert compared > 200


def test_vegas_settles_where_ns2_s_linux_agent_does() -> None:
    """By the windows from 30 to 60 s, to two segments: the width of α to β.

    Not before: tcp_vegas doubles the window each round trip in slow start, and comes down from there by one a round
    trip; Brakmo and Peterson's Vegas, which is ours, doubles it every other one.
    """
    look_for_ns2()
    mine = windows("linux-reno", VEGAS, [], 60)
    settled = [(t, cwnd) for t, cwnd in windows_of_ns2("vegas", [], 60) if t >= 30]
    assert len(settled) > 500
    for t, theirs in settled:
        assert window_at(mine, t) == pytest.approx(theirs, abs=2), t


@pytest.mark.parametrize("every", [50, 200])
def test_tfrc_reaches_the_rate_of_ns2_under_fixed_loss(every: int, tmp_path: Path) -> None:
    """By the packets that arrive from 60 to 260 s while every n-th is lost, to 5 %."""
    ns = shutil.which("ns")
    if ns is None:
        pytest.skip("ns-2 is not installed (Debian: ns2)")
    script, trace = Path(__file__).parent / "ns2" / "tfrc.tcl", tmp_path / "trace"
    subprocess.run([ns, str(script), str(every), str(trace)], check=True, capture_output=True)
    lines = (line.split() for line in trace.read_text(encoding="ascii").splitlines())
    theirs = sum(word[0] == "r" and float(word[1]) > 60 for word in lines)

    faults = ", ".join(f"{{ drop_data = {packet} }}" for packet in range(every, 60_000, every))
    run = _core.run(
        _core.Scenario.parse(
            f"""
            stop_at = "260 s"
            [link.loss]
            down.faults = [{faults}]
            [link.wire]
            delay = "50 ms"
            down.rate = "100 Mbit/s"
            [flow.f]
            bulk = "unlimited"
            transport = {{ extends = "tfrc", segment = "1000 B" }}
            """
        ),
        0,
        facts=True,
    )
    facts = run.facts()
    received = run.kind_names.index("segment_received")
    mine = sum(k == received and t > 60e9 for k, t in zip(facts["kind"], facts["time_ns"], strict=True))
    assert mine == pytest.approx(theirs, rel=0.05)
