"""Quantities of a resolved scenario as numbers. The core has checked their spelling before."""

from __future__ import annotations

import re
from decimal import Decimal

_SPANS = {
    "ns": Decimal("1e-9"),
    "us": Decimal("1e-6"),
    "µs": Decimal("1e-6"),
    "ms": Decimal("1e-3"),
    "s": Decimal(1),
    "min": Decimal(60),
    "h": Decimal(3600),
    "day": Decimal(86_400),
    "days": Decimal(86_400),
}
_SIZES = {
    "B": 1,
    "kB": 1000,
    "MB": 1000**2,
    "GB": 1000**3,
    "KiB": 1 << 10,
    "MiB": 1 << 20,
    "GiB": 1 << 30,
}
_RATES = {"bit/s": 1, "kbit/s": 1000, "Mbit/s": 1000**2, "Gbit/s": 1000**3}


def seconds(text: str) -> float:
    """A time such as ``"135 ms"``. Raises ValueError for what is none.

    >>> seconds("135 ms")
    0.135
    """
    number, unit = _split(text)
    if unit not in _SPANS:
        raise ValueError(f"expected a time such as 90s, 2min or 1.5h, found {text!r}")
    return float(number * _SPANS[unit])


def size_bytes(text: str, segment: int | None = None) -> int:
    """A size such as ``"64 kB"``, or a number of segments of so many bytes. Raises ValueError for what is none.

    >>> size_bytes("64 kB"), size_bytes("10 segments", 1460)
    (64000, 14600)
    """
    number, unit = _split(text)
    if unit in ("segment", "segments") and segment is not None:
        return int(number * segment)
    if unit not in _SIZES:
        raise ValueError(f"expected a size such as 64 kB, found {text!r}")
    return int(number * _SIZES[unit])


def bits_per_second(text: str) -> float:
    """A rate such as ``"384 kbit/s"``. Raises ValueError for what is none.

    >>> bits_per_second("384 kbit/s")
    384000.0
    """
    number, unit = _split(text)
    if unit not in _RATES:
        raise ValueError(f"expected a rate such as 384 kbit/s, found {text!r}")
    return float(number * _RATES[unit])


def _split(text: str) -> tuple[Decimal, str]:
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-zµ/]+)\s*", text)
    return (Decimal(match[1]), match[2]) if match else (Decimal(0), "")
