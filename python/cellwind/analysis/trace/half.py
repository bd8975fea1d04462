"""One direction of a TCP connection as one capture shows it: its data, and the acknowledgements that come back.

Sequence numbers are unwrapped to 64 bits and count from the SYN, which is 0, as in facts; without a SYN in the capture
the first number seen is 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from .capture import ACK, FIN, HAS_MSS, HAS_SACK_PERMITTED, HAS_TIMESTAMPS, HAS_WINDOW_SCALE, RST, SYN

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from .capture import Conversation, Trace

    Integers = npt.NDArray[np.int64]
    Flags = npt.NDArray[np.bool_]

_NEVER = -1


@dataclass(frozen=True)
class Blocks:
    """SACK blocks: the row of the packet that carries each, its place in the option, and its edges."""

    row: Integers
    place: Integers
    start: Integers
    end: Integers


class Half:
    """Arrays over all packets of a connection, in both directions and in the order of time.

    ``sent`` marks the packets of the end whose data is looked at; the others acknowledge. Times are nanoseconds.
    """

    def __init__(self, trace: Trace, conversation: Conversation, forward: bool, origin_ns: int) -> None:
        import numpy as np

        self._trace = trace
        self._rows = conversation.rows
        self.sent: Flags = conversation.forward if forward else ~conversation.forward
        self.time: Integers = self.column("time_ns") - origin_ns
        self.flags = trace.columns["flags"][self._rows]
        self.payload = self.column("payload")
        options = trace.columns["options"][self._rows]
        self._options = options
        self.stamped: Flags = (options & HAS_TIMESTAMPS) != 0
        self.syn: Flags = (self.flags & SYN) != 0
        self.fin: Flags = (self.flags & FIN) != 0
        self.reset: Flags = (self.flags & RST) != 0
        self.acks: Flags = ~self.sent & ((self.flags & ACK) != 0) & ~self.reset
        #: Packets that take up sequence numbers.
        self.occupies: Flags = self.sent & ((self.payload > 0) | self.syn | self.fin) & ~self.reset
        #: The 32-bit number that counts as 0.
        self.base = self._first_number()
        numbers = self.column("seq")
        self.start = _unwrapped(np.where(self.occupies, numbers, 0), self.occupies, self.base)
        self.end = self.start + self.payload + self.syn + self.fin
        self.ack = _unwrapped(np.where(self.acks, self.column("ack"), 0), self.acks, self.base)

    def __len__(self) -> int:
        return len(self.time)

    @cached_property
    def data(self) -> Flags:
        """Packets with payload, but for keep-alives, which send the last byte again after all was acknowledged."""
        una, highest = self.before(self.una), self.before(self.highest)
        alive: Flags = (self.payload == 1) & (self.start == highest - 1) & (una == highest)
        return self.occupies & (self.payload > 0) & ~alive

    @cached_property
    def highest(self) -> Integers:
        """The highest sequence number sent so far, plus one."""
        return _running_maximum(self.end, self.occupies)

    @cached_property
    def una(self) -> Integers:
        """The lowest sequence number that was not acknowledged so far; 0 before the first acknowledgement."""
        import numpy as np

        return np.maximum(_running_maximum(self.ack, self.acks), 0)

    @cached_property
    def advances(self) -> Flags:
        """Acknowledgements of something new."""
        return self.acks & (self.una > self.before(self.una))

    @cached_property
    def outstanding(self) -> Integers:
        """Bytes from the lowest number not acknowledged to the highest sent, after each packet."""
        import numpy as np

        return np.where(self.una > 0, np.maximum(self.highest - self.una, 0), 0)

    @cached_property
    def window(self) -> Integers:
        """The window that each acknowledgement advertises, in bytes; -1 for other packets."""
        import numpy as np

        # RFC 7323 §2.2: scales hold when both ends announced one, and not for the SYN itself.
        shift = self.window_scale or 0
        window = self.column("window")
        return np.where(self.acks, np.where(self.syn, window, window << shift), _NEVER)

    @cached_property
    def duplicates(self) -> Flags:
        """Duplicate acknowledgements (RFC 5681 §2); with SACK blocks the window may differ (RFC 6675 §2)."""
        import numpy as np

        same: Flags = self.ack == self.before(self.una)
        same &= self.acks & (self.payload == 0) & ~self.syn & ~self.fin & (self.before(self.outstanding) > 0)
        rows = np.flatnonzero(self.acks)
        unchanged = np.zeros(len(self), dtype=bool)
        unchanged[rows[1:]] = self.window[rows[1:]] == self.window[rows[:-1]]
        unchanged[self.blocks.row] = True
        return same & unchanged

    @cached_property
    def blocks(self) -> Blocks:
        """SACK blocks of the acknowledgements."""
        import numpy as np

        columns = self._trace.columns
        all_rows = columns["sack_row"].astype(np.int64)
        low, high = np.searchsorted(all_rows, [self._rows[0], self._rows[-1] + 1])
        at = np.searchsorted(self._rows, all_rows[low:high])
        mine = self._rows[np.minimum(at, len(self._rows) - 1)] == all_rows[low:high]
        mine &= self.acks[np.minimum(at, len(self._rows) - 1)]
        row = at[mine]
        start, end = (columns[name][low:high][mine].astype(np.int64) for name in ("sack_start", "sack_end"))
        ack = self.column("ack")[row]
        first = np.searchsorted(row, row, side="left")
        return Blocks(
            row=row,
            place=np.arange(len(row)) - first,
            start=self.ack[row] + _signed(start - ack),
            end=self.ack[row] + _signed(end - ack),
        )

    @property
    def mss(self) -> int | None:
        """What the sender announced in its SYN."""
        return self._announced(HAS_MSS, "mss")

    @cached_property
    def window_scale(self) -> int | None:
        """The shift of the windows of acknowledgements; None when scaling is off or the handshake is missing."""
        both = (
            self._options_of_syn(self.sent) & HAS_WINDOW_SCALE and self._options_of_syn(~self.sent) & HAS_WINDOW_SCALE
        )
        syn = self.syn & ~self.sent
        # RFC 7323 §2.3: 14 is the most.
        return min(int(self.column("window_scale")[syn.argmax()]), 14) if both else None

    @property
    def sack_permitted(self) -> bool:
        """Both ends announced SACK, or blocks were seen."""
        both = self._options_of_syn(self.sent) & self._options_of_syn(~self.sent) & HAS_SACK_PERMITTED
        return bool(both) or len(self.blocks.row) > 0

    @cached_property
    def has_timestamps(self) -> bool:
        """Both ends send timestamps: data has them, and so have acknowledgements."""
        return bool(self.stamped[self.data].any() and self.stamped[self.acks].any())

    @cached_property
    def tsval(self) -> Integers:
        """Timestamp values, unwrapped per end."""
        import numpy as np

        values = self.column("tsval")
        return np.where(
            self.sent,
            _unwrapped(values, self.sent & self.stamped, self._first(values, self.sent & self.stamped)),
            _unwrapped(values, ~self.sent & self.stamped, self._first(values, ~self.sent & self.stamped)),
        )

    @cached_property
    def echo(self) -> Integers:
        """Echoed timestamp values of the acknowledgements, unwrapped like the values of the data."""
        base = self._first(self.column("tsval"), self.sent & self.stamped)
        return _unwrapped(self.column("tsecr"), self.acks & self.stamped, base)

    @cached_property
    def ip_length(self) -> Integers:
        """Bytes of every packet, headers included."""
        return self.column("ip_length")

    @staticmethod
    def before(values: Integers) -> Integers:
        """The value before each packet."""
        import numpy as np

        return np.append(values[:1] * 0, values[:-1])

    def column(self, name: str) -> Integers:
        """A column of the capture, as 64-bit integers."""
        import numpy as np

        return self._trace.columns[name][self._rows].astype(np.int64)

    def _first_number(self) -> int:
        """The number of the SYN, or one below the first that is seen."""
        import numpy as np

        numbers = self.column("seq")
        opening = np.flatnonzero(self.occupies & self.syn)
        if len(opening):
            return int(numbers[opening[0]])
        first = np.flatnonzero(self.occupies)
        acknowledged = np.flatnonzero(self.acks)
        if len(first) and (not len(acknowledged) or first[0] < acknowledged[0]):
            return (int(numbers[first[0]]) - 1) & 0xFFFFFFFF
        if len(acknowledged):
            return (int(self.column("ack")[acknowledged[0]]) - 1) & 0xFFFFFFFF
        return 0

    @staticmethod
    def _first(values: Integers, where: Flags) -> int:
        return int(values[where.argmax()]) if where.any() else 0

    @property
    def syns_resent(self) -> int:
        """SYNs that this end sent again by its timer; a SYN-ACK also answers each SYN that comes again."""
        answer = (self.flags & ACK) != 0
        sent, answered = self.syn & self.sent & ~answer, self.syn & self.sent & answer
        arrived = self.syn & ~self.sent & ~answer
        return max(int(sent.sum()) - 1, 0) + max(int(answered.sum()) - int(arrived.sum()), 0)

    def _options_of_syn(self, end: Flags) -> int:
        syn = self.syn & end
        return int(self._options[syn.argmax()]) if syn.any() else 0

    def _announced(self, option: int, column: str) -> int | None:
        if not self._options_of_syn(self.sent) & option:
            return None
        return int(self.column(column)[(self.syn & self.sent).argmax()])


def _signed(difference: Integers) -> Integers:
    """A difference of 32-bit numbers, taken the short way round."""
    return ((difference + 0x80000000) & 0xFFFFFFFF) - 0x80000000


def _unwrapped(numbers: Integers, where: Flags, base: int) -> Integers:
    """Numbers at ``where`` as distances from ``base``, over any number of wraps; 0 elsewhere."""
    import numpy as np

    found = np.zeros(len(numbers), dtype=np.int64)
    rows = np.flatnonzero(where)
    if len(rows):
        found[rows] = np.cumsum(_signed(np.diff(numbers[rows], prepend=base)))
    return found


def _running_maximum(values: Integers, where: Flags) -> Integers:
    """The highest value at ``where`` up to each row; -1 before the first."""
    import numpy as np

    if not len(values):
        return values
    return np.maximum.accumulate(np.where(where, values, _NEVER))
