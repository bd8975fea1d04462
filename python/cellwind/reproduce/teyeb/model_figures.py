"""Figures of the model: 5.1, 5.3, 5.4 and 5.6 to 5.8."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cellwind.predict.blocks import round_probability, sdu_delay, share_in_round
from cellwind.predict.download import Download
from cellwind.report.figure import Axis, Color, Figure, Series

from .model import DELAYS, FER, SIZES
from .transfers import Transfer

_COLORS: tuple[Color, ...] = ("blue", "green", "amber", "red", "purple")


def rounds() -> Figure:
    """Figure 5.1: the probability of at least i rounds."""
    i = np.arange(1, 7)
    series = [
        Series(name, "line", i.astype(float), np.array([round_probability(k, n, FER) for k in i.tolist()]), color=color)
        for name, n, color in (("384 kbit/s, N = 4", 4, _COLORS[0]), ("32 kbit/s, N = 38", 38, _COLORS[3]))
    ]
    return Figure(
        title="At least i rounds of retransmission, 10 % FER",
        x=Axis("i"),
        y=Axis("P(i)", from_zero=True),
        series=series,
        note="A packet of 1500 bytes, TTI 10 ms.",
        height=320,
    )


def shares() -> Figure:
    """Figure 5.3: the blocks that take part in each round."""
    j = np.arange(1, 7)
    series = [
        Series(
            f"round {i}",
            "line",
            j.astype(float),
            np.array([share_in_round(i, k, 10, FER) for k in j.tolist()]),
            color=_COLORS[i - 1],
        )
        for i in (1, 2, 3)
    ]
    return Figure(
        title="Radio blocks in each round of retransmission, N = 10, 10 % FER",
        x=Axis("Blocks"),
        y=Axis("P(i, j)", from_zero=True),
        series=series,
        height=320,
    )


def delays() -> Figure:
    """Figure 5.4: the delay of a packet over its size."""
    series = [
        Series(
            f"ret = {ret} TTIs",
            "line",
            np.array(SIZES, dtype=float),
            np.array([sdu_delay(n, FER, ret) for n in SIZES]),
            color=color,
        )
        for ret, color in zip(DELAYS, _COLORS, strict=True)
    ]
    return Figure(
        title="Delay of a packet, 10 % FER",
        x=Axis("Blocks per packet", from_zero=True),
        y=Axis("Delay", "TTI", from_zero=True),
        series=series,
        height=360,
    )


def downloads(title: str, y: Axis, value: Callable[[Download], float]) -> Figure:
    """Figures 5.6 to 5.8: one quantity of the download over the delay of a retransmission, a line per error rate."""
    ret = list(range(1, 31))
    series = [
        Series(
            f"{100 * fer:g} % FER",
            "line",
            np.array(ret, dtype=float),
            np.array([value(Transfer(fer=fer, ret_ttis=k).download) for k in ret]),
            color=color,
        )
        for fer, color in ((0.0, _COLORS[1]), (0.1, _COLORS[0]), (0.2, _COLORS[3]))
    ]
    return Figure(
        title=title,
        x=Axis("Delay of a retransmission", "TTI", from_zero=True),
        y=y,
        series=series,
        note="100 KiB at 128 kbit/s, error-free uplink of 32 kbit/s.",
        height=340,
    )
