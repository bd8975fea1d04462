"""One download as its ends and the handover saw it, and the questions that the traces of chapter 7 answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cellwind.analysis.series import FactTable, Points, TimeSequence, rtt, time_sequence, window

from .cells import FLOW

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

# Reasons of the fact `drop`.
HANDOVER = 5

# An instant lies before another when it is at least this much earlier, in seconds.
_APART = 1e-9


@dataclass(frozen=True)
class Connection:
    """A download: what was sent, received, acknowledged, measured and dropped, in seconds and bytes."""

    sequence: TimeSequence
    ack_numbers: Points
    ack_news: Floats
    first_data: tuple[Floats, Floats]
    first_ack: tuple[float, float]
    round_trips: Points
    rto: Points
    flight: Points
    undone_s: Floats
    fast_retransmit_duplicates: Floats
    handover_s: tuple[float, float]
    kept_down: int
    before_handover: tuple[Floats, Floats]
    lost_otherwise: int

    # Where things stand when the handover begins.

    @property
    def start_s(self) -> float:
        """When the handover begins."""
        return self.handover_s[0]

    @property
    def end_s(self) -> float:
        """When it is over."""
        return self.handover_s[1]

    @property
    def rtt_before_s(self) -> float:
        """The last round trip that was measured before the handover."""
        return last_before(self.round_trips, self.start_s)

    @property
    def rto_before_s(self) -> float:
        """The retransmission timeout when the handover begins."""
        return last_before(self.rto, self.start_s)

    @property
    def flight_before(self) -> float:
        """Bytes sent and not acknowledged when the handover begins."""
        return last_before(self.flight, self.start_s)

    # Silence and repair.

    def idle_after_handover_s(self) -> float:
        """From the end of the handover to the next segment."""
        sent = self.sends()
        return float(sent[sent >= self.end_s - _APART][0]) - self.end_s

    def cut_off_s(self) -> float:
        """From the end of the handover until the terminal gets a segment."""
        times = self.sequence.received.time_s
        return float(times[times >= self.end_s - _APART][0]) - self.end_s

    def longest_silence_s(self) -> float:
        """The longest time without a segment after the first one that follows the handover, while data is left."""
        import numpy as np

        sent = self.sends()
        return float(np.diff(sent[sent >= self.end_s - _APART]).max())

    def sends(self) -> Floats:
        """When segments were sent or sent again."""
        import numpy as np

        return np.sort(np.concatenate([self.sequence.sent.time_s, self.sequence.resent.time_s]))

    def timeouts_after(self, since_s: float) -> list[float]:
        """When the timer expired from then on."""
        times = self.sequence.timeouts.time_s
        return [float(time) for time in times[times >= since_s - _APART]]

    def timeouts_of_handover(self) -> list[float]:
        """The timeouts from when it begins until the first retransmission after it is acknowledged."""
        times = self.timeouts_after(self.start_s)
        repaired = self.repair()[1]
        return [time for time in times if time < repaired]

    def resent(self) -> tuple[float, float]:
        """When the repair begins to send again after the handover, and when it does so for the last time."""
        begun, done = self.repair()
        times = self.sequence.resent.time_s
        found = times[(times >= begun - _APART) & (times <= done)]
        return float(found[0]), float(found[-1])

    def repair(self) -> tuple[float, float]:
        """From the first retransmission after the handover until what was outstanding before it is acknowledged."""
        import numpy as np

        outstanding = float(self.sequence.sent.value[self.sequence.sent.time_s <= self.start_s].max())
        resent = self.sequence.resent.time_s
        after = resent[resent >= self.end_s - _APART]
        begun = float(after[0]) if len(after) else self.end_s
        done = self.ack_numbers.time_s[self.ack_numbers.value > outstanding]
        return begun, float(done[0]) if len(done) else float(np.nan)

    def sent_by(self, time_s: float) -> float:
        """The highest byte sent by then."""
        sent = self.sequence.sent
        return float(sent.value[sent.time_s <= time_s].max())

    def redundant(self) -> int:
        """Segments that the receiver had when they came again."""
        return len(self.sequence.resent) - self._repaired()

    def _repaired(self) -> int:
        import numpy as np

        received = self.sequence.received
        # Of the segments that were sent again, those that came once.
        values, counts = np.unique(received.value, return_counts=True)
        once = values[counts == 1]
        return int(np.isin(self.sequence.resent.value, once).sum())

    def duplicate_acks(self, since_s: float, until_s: float) -> list[float]:
        """When acknowledgements of nothing new came in that time."""
        times = self.ack_numbers.time_s
        found = times[(times > since_s) & (times < until_s) & (self.ack_news == 0)]
        return [float(time) for time in found]

    def new_data_after(self, since_s: float) -> float:
        """When the next new segment was sent."""
        times = self.sequence.sent.time_s
        return float(times[times > since_s][0])

    # The networks.

    def departures_during_handover(self) -> int:
        """Segments and acknowledgements that arrived while it went on."""
        arrived = (self.sequence.received.time_s, self.ack_numbers.time_s)
        return sum(int(((times > self.start_s) & (times < self.end_s - _APART)).sum()) for times in arrived)

    def reordered(self) -> int:
        """Segments that were sent once and arrived after one with a higher number that was sent later."""
        import numpy as np

        resent = np.unique(self.sequence.resent.value)
        received = self.sequence.received.value
        once = received[~np.isin(received, resent)]
        return int((once < np.maximum.accumulate(once)).sum()) if len(once) else 0

    def arrivals_after_handover(self, count: int) -> Floats:
        """When the next segments arrived, in seconds from its end."""
        times = self.sequence.received.time_s
        return times[times > self.end_s + _APART][:count] - self.end_s


def connection(facts: FactTable) -> Connection:
    """The download that these facts tell of."""
    import numpy as np

    sequence = time_sequence(facts, FLOW)
    round_trip = rtt(facts, FLOW)
    acks = facts.of_end("sender", FLOW, "ack_received")
    started, ended = (facts.select(f"handover_{what}") for what in ("started", "ended"))
    drops = facts.select("drop")
    sent_data = facts.of_end("sender", FLOW, "segment_sent")
    data = sent_data.length > 1
    count = int(min(3, data.sum()))
    received = facts.of_end("receiver", FLOW, "segment_received")
    replied = facts.of_end("receiver", FLOW, "ack_sent")
    first = sent_data.seq[data][:count]
    arrived = np.array([received.time_s[received.seq == seq][0] for seq in first])
    reply = replied.time_s[replied.seq > 1]
    heard = acks.time_s[acks.seq > 1]
    return Connection(
        sequence=sequence,
        ack_numbers=Points(acks.time_s, acks.seq.astype(np.float64)),
        ack_news=np.maximum(acks.seq - acks.a, 0).astype(np.float64),
        first_data=(sent_data.time_s[data][:count], arrived),
        first_ack=(float(reply[0]), float(heard[0])),
        round_trips=round_trip.samples,
        rto=round_trip.rto,
        flight=window(facts, FLOW).flight,
        fast_retransmit_duplicates=facts.of_end("sender", FLOW, "fast_retransmit").b.astype(np.float64),
        undone_s=facts.of_end("sender", FLOW, "reaction_undone").time_s,
        handover_s=(float(started.time_s[0]), float(ended.time_s[0])) if len(started) else (np.nan, np.nan),
        kept_down=kept_down(facts),
        before_handover=_before(sequence, float(started.time_s[0])) if len(started) else (np.empty(0), np.empty(0)),
        lost_otherwise=int((drops.a != HANDOVER).sum()),
    )


def kept_down(facts: FactTable) -> int:
    """Packets for the terminal that entered the new access when its handover was over."""
    return int(facts.select("handover_ended", machine="handover/ue/down").b.sum())


def _before(sequence: TimeSequence, start_s: float) -> tuple[Floats, Floats]:
    """When the full segments that arrived before a handover were sent, and when they arrived."""
    import numpy as np

    of_data = sequence.received.value > 0
    arrived, numbers = sequence.received.time_s[of_data], sequence.received.value[of_data]
    numbers = numbers[arrived < start_s]
    places = np.searchsorted(sequence.sent.value, numbers)
    return sequence.sent.time_s[places], arrived[arrived < start_s]


def last_before(points: Points, time_s: float) -> float:
    """The last value before an instant. Raises IndexError when there is none."""
    return float(points.value[points.time_s < time_s][-1])
