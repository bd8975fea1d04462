"""A download in slow start over such a radio link: Teyeb's dissertation, section 5.2.2, (5.7) to (5.14).

The sender starts with one segment, every segment is acknowledged, nothing is lost, and nothing but the round trip and
the radio link holds it back. Cycle i begins i round trips after the first packet and sends 2ⁱ packets, until the link
is always busy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from .blocks import block_count, round_probability, sdu_delay


@dataclass(frozen=True)
class Way:
    """One direction of the bearer: rate, TTI, block error rate, delay of a retransmission, and the packets it carries.

    ``ret_s`` runs from the end of the TTI that failed to the beginning of the TTI in which the block is sent again.
    """

    rate_bps: float
    tti_s: float
    fer: float
    ret_s: float
    packet_bytes: int

    @property
    def blocks(self) -> int:
        """N: radio blocks, and TTIs, of a packet."""
        return block_count(self.packet_bytes, self.rate_bps, self.tti_s)

    @property
    def shortest_s(self) -> float:
        """Time of a packet without errors: equation (4) of Lo et al."""
        return self.blocks * self.tti_s

    @property
    def sdu_delay_s(self) -> float:
        """Mean time of a packet, (5.6)."""
        return self.tti_s * sdu_delay(self.blocks, self.fer, self.ret_s / self.tti_s)

    @property
    def packets_per_s(self) -> float:
        """u, (5.7): packets that the busy link carries."""
        return self.rate_bps * (1 - self.fer) / (8 * self.packet_bytes)

    def round_probability(self, i: int) -> float:
        """P(i), (5.3): how likely a packet needs at least i rounds of retransmission."""
        return round_probability(i, self.blocks, self.fer)


@dataclass(frozen=True)
class Departure:
    """A packet's place in Table 5.1: its cycle, its number from 1, and when it is on the radio link, in s."""

    cycle: int
    packet: int
    start_s: float
    end_s: float


@dataclass(frozen=True)
class Arrival:
    """An ACK's place in Table 5.2: its cycle, the packet it is for, when it comes, and the window after it."""

    cycle: int
    packet: int
    time_s: float
    cwnd: int


@dataclass(frozen=True)
class Download:
    """What the model says of a download.

    ``rtt_umts_s`` and ``rtt_internet_s`` are what a round trip takes besides the radio link; ``segment_bytes`` is the
    payload of a full packet, and ``last_bytes`` the size of the last one: None takes it for full, as (5.13) does.
    """

    file_bytes: int
    segment_bytes: int
    down: Way
    up: Way
    rtt_umts_s: float
    rtt_internet_s: float
    last_bytes: int | None = None

    @property
    def packets(self) -> int:
        """M: packets of the file."""
        return -(-self.file_bytes // self.segment_bytes)

    @property
    def fixed_s(self) -> float:
        """What a round trip takes besides the radio link."""
        return self.rtt_umts_s + self.rtt_internet_s

    @property
    def rtt_s(self) -> float:
        """RTT of one packet that meets no queue, (5.8)."""
        return self.down.sdu_delay_s + self.up.sdu_delay_s + self.fixed_s

    @property
    def shortest_rtt_s(self) -> float:
        """RTT without errors and queues: equations (2) to (4) of Lo et al."""
        return self.down.shortest_s + self.up.shortest_s + self.fixed_s

    @property
    def cycle_full(self) -> int:
        """C_f, (5.9): the cycle from which the link is always busy."""
        # A round trip shorter than a packet keeps the link busy from the first packet on.
        return max(0, math.ceil(round(math.log2(self.rtt_s * self.down.packets_per_s), 9)))

    @property
    def cycle_last(self) -> int:
        """C_last, (5.10): the cycle that would send the last packet if all cycles had gaps, counted from 0."""
        return self.packets.bit_length() - 1

    @property
    def cycles(self) -> int:
        """Cycles before the last part of the download: the smaller of C_f and C_last."""
        return min(self.cycle_full, self.cycle_last)

    @property
    def first_s(self) -> float:
        """T_first, (5.11): the time of the cycles with gaps."""
        return self.cycles * self.rtt_s

    @property
    def remaining(self) -> int:
        """Packets left after them, (5.12)."""
        return int(self.packets - (2**self.cycles - 1))

    @property
    def second_s(self) -> float:
        """T_second, (5.13): the time of those at the rate of the link."""
        return (self.remaining - self._missing) / self.down.packets_per_s

    @property
    def total_s(self) -> float:
        """T_total, (5.14): from the first data packet until the last one has been sent."""
        return self.first_s + self.second_s

    @property
    def with_set_up_s(self) -> float:
        """What section 5.3.4 compares with measured downloads: T_total and two RTTs.

        One is the handshake; the other stands for the way of the last packet to the terminal, which T_total leaves out.
        """
        return self.total_s + 2 * self.rtt_s

    @property
    def utilisation(self) -> float:
        """Share of the rate that new packets fill during T_total."""
        octets = (self.packets - self._missing) * self.down.packet_bytes
        return 8 * octets / (self.down.rate_bps * self.total_s)

    @property
    def _missing(self) -> float:
        """What the last packet lacks of a full one, as a share of it."""
        return 0.0 if self.last_bytes is None else 1 - self.last_bytes / self.down.packet_bytes

    def departures(self, cycles: int) -> list[Departure]:
        """Table 5.1: the packets of the first ``cycles`` cycles, all of which have gaps."""
        time = 1 / self.down.packets_per_s
        return [
            Departure(i, 2**i + k, i * self.rtt_s + k * time, i * self.rtt_s + (k + 1) * time)
            for i in range(cycles)
            for k in range(2**i)
        ]

    def arrivals(self, cycles: int) -> list[Arrival]:
        """Table 5.2: the ACKs of cycles 1 to ``cycles``."""
        time = 1 / self.down.packets_per_s
        return [
            Arrival(i, 2 ** (i - 1) + k, i * self.rtt_s + k * time, 2 ** (i - 1) + k + 1)
            for i in range(1, cycles + 1)
            for k in range(2 ** (i - 1))
        ]
