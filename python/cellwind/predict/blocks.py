"""One packet over a radio link that resends what fails: Teyeb's dissertation, section 5.2.1, equations (5.1) to (5.6).

Times are in TTIs. A packet takes ``n`` radio blocks, one per TTI; each transmission of a block is in error with
probability ``p``, independently. ``ret`` is the delay of a retransmission: from the end of the TTI that failed until
the TTI begins in which the block is sent again.
"""

from __future__ import annotations

import math

# Equation (5.6) counts so many rounds.
ROUNDS = 3


def block_count(packet_bytes: int, rate_bps: float, tti_s: float) -> int:
    """N of section 5.2.1, and the TTIs of one transfer without errors in equation (4) of Lo et al.

    >>> block_count(1500, 384e3, 0.01), block_count(1500, 32e3, 0.01)
    (4, 38)
    >>> block_count(552, 384e3, 0.01), block_count(40, 64e3, 0.02)  # Lo, section 5.2
    (2, 1)
    """
    # 480 bytes at 384 kbit/s are one block of 10 ms, whatever floating point makes of the quotient.
    return max(1, math.ceil(round(8 * packet_bytes / (rate_bps * tti_s), 9)))


def share_in_round(i: int, j: int, n: int, p: float) -> float:
    """P(i, j): the probability that exactly j of n blocks take part in retransmission round i, (5.1) and (5.2).

    A block takes part in round i when its first i transmissions failed, which has the probability pⁱ whatever the
    other blocks do: the nested sum of (5.2) is the binomial distribution with it.

    >>> round(share_in_round(1, 1, 4, 0.1), 4), round(share_in_round(2, 1, 10, 0.1), 5)
    (0.2916, 0.09135)
    """
    lost = p**i
    if lost in (0.0, 1.0):
        return float(j == (n if lost else 0))
    # The binomial coefficient of a long packet is beyond a float; its logarithm is not.
    ways = math.lgamma(n + 1) - math.lgamma(j + 1) - math.lgamma(n - j + 1)
    return math.exp(ways + j * math.log(lost) + (n - j) * math.log1p(-lost))


def round_probability(i: int, n: int, p: float) -> float:
    """P(i): the probability of at least i retransmission rounds, (5.3) with its sum from j = 1.

    >>> [round(round_probability(i, 4, 0.1), 4) for i in (1, 2, 3)]
    [0.3439, 0.0394, 0.004]
    """
    return 1.0 if p >= 1 else -math.expm1(n * math.log1p(-(p**i)))


def extra_delay(j: int, n: int, ret: float) -> float:
    """What the loss of block j alone adds, Figure 5.2: one TTI when new blocks cover the rest of the delay.

    >>> extra_delay(1, 4, 2), extra_delay(4, 4, 2)
    (1, 3)
    """
    return max(1, ret - (n - 1 - j))


def first_round_delay(n: int, ret: float) -> float:
    """R(1), (5.5): the mean of ``extra_delay`` over the places of the lost block.

    >>> first_round_delay(4, 18)
    17.5
    """
    return math.fsum(extra_delay(j, n, ret) for j in range(1, n + 1)) / n


def sdu_delay(n: int, p: float, ret: float) -> float:
    """The mean delay of a packet over the radio link, (5.6).

    >>> round(sdu_delay(4, 0.1, 10), 2), round(sdu_delay(10, 0.1, 30), 2)
    (7.7, 30.43)
    """
    later = math.fsum(round_probability(i, n, p) for i in range(2, ROUNDS + 1))
    return n + round_probability(1, n, p) * first_round_delay(n, ret) + ret * later
