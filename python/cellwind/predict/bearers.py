"""The radio bearers that the model speaks of: what of their settings it has parameters for."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from cellwind.quantities import bits_per_second, seconds, size_bytes

Table: TypeAlias = Mapping[str, Any]
Place: TypeAlias = Callable[[str], str]

# Octets of the header in acknowledged mode (TS 25.322 §9.2.1.4).
_AM_HEADER = 2


class UnfitError(ValueError):
    """The scenario is none that the model speaks of.

    ``where`` is the place in the scenario, ``reason`` what stands there that the model does not know, and ``remedy``
    what would fit.
    """

    def __init__(self, where: str, reason: str, remedy: str) -> None:
        super().__init__(f"{where}: {reason}; {remedy}")
        self.where = where
        self.reason = reason
        self.remedy = remedy


@dataclass(frozen=True)
class Bearer:
    """One direction of an access, before it is known what it carries.

    ``queues`` are the bounds of what waits, and ``window`` that of the bytes on their way, with their places;
    ``transmissions`` is how often a block is sent at most. ``notes`` say what delays a retransmission besides.
    """

    rate_bps: float
    tti_s: float
    fer: float
    ret_s: float
    delay_s: float
    queues: tuple[tuple[str, str], ...]
    transmissions: float
    transmissions_place: str
    window: tuple[str, int] | None = None
    payload_bytes: int = 0
    # What it puts before each packet.
    header_bytes: int = 0
    notes: tuple[str, ...] = ()


def read_bearer(where: str, access: Table) -> tuple[Bearer, Bearer]:
    """The directions of an access, down and up. Raises UnfitError."""
    read = _READERS.get(access["type"])
    if read is None:
        raise UnfitError(f"{where}.type", f'"{access["type"]}" has no radio blocks', f"{known_types()} would fit")
    return read(where, access)


def known_types() -> str:
    """The types of accesses that the model speaks of, as alternatives."""
    return " or ".join(f'type = "{kind}"' for kind in _READERS)


def of_direction(where: str, settings: Table, direction: str) -> tuple[Place, Table]:
    """One direction of a link or access: what stands for it alone goes over what stands for both."""
    own = settings.get(direction, {})
    both = {key: value for key, value in settings.items() if key not in ("down", "up")}
    return lambda key: f"{where}.{direction}.{key}" if key in own else f"{where}.{key}", {**both, **own}


def _frame_error_rate(where: str, errors: float | Table, is_alone: bool) -> float:
    """The share of TTIs in error, where they are so independently; a bare number is short for that.

    ``is_alone`` says that a TTI has a single block.
    """
    table: Table = errors if isinstance(errors, Mapping) else {"type": "independent", "rate": errors}
    if table["type"] != "independent":
        raise UnfitError(f"{where}.type", "errors come in bursts", '"independent" would fit')
    if table.get("blackouts"):
        raise UnfitError(f"{where}.blackouts", "all is lost during them", "errors without would fit")
    if table["rate"] > 0 and not is_alone and table.get("unit", "pdu") != "tti":
        raise UnfitError(f"{where}.unit", "errors strike the blocks of a TTI one by one", '"tti" would fit')
    return float(table["rate"])


def _in_sequence(place: str, delivery: str, fer: float) -> None:
    if fer > 0 and delivery != "in-sequence":
        reason = "packets that overtake others look like losses to TCP"
        raise UnfitError(place, reason, '"in-sequence" would fit, and so would errors = 0')


def _whole(time_s: float, tti_s: float) -> float:
    """A time until the next TTI begins."""
    return tti_s * math.ceil(round(time_s / tti_s, 9))


def _block_arq(where: str, access: Table) -> tuple[Bearer, Bearer]:
    def read(direction: str) -> Bearer:
        place, bearer = of_direction(where, access, direction)
        if bearer["pdu"] != "one per TTI":
            raise UnfitError(place("pdu"), "errors strike the blocks of a TTI one by one", '"one per TTI" would fit')
        fer = _frame_error_rate(place("errors"), bearer["errors"], is_alone=True)
        _in_sequence(place("delivery"), bearer["delivery"], fer)
        tti_s, ret_s = seconds(bearer["tti"]), seconds(bearer["feedback_delay"])
        most = bearer["max_transmissions"]
        return Bearer(
            rate_bps=bits_per_second(bearer["rate"]),
            tti_s=tti_s,
            fer=fer,
            # On the grid, a block that is back within a TTI waits for the next.
            ret_s=_whole(ret_s, tti_s) if bearer["tti_start"] == "grid" else ret_s,
            delay_s=seconds(bearer["delay"]),
            queues=((place("queue"), str(bearer["queue"])),),
            transmissions=math.inf if most == "unlimited" else most,
            transmissions_place=place("max_transmissions"),
        )

    return read("down"), read("up")


# What stands in a UMTS access that the model has parameters for.
_UMTS_KEYS = {"type", "delays", "pdcp", "rate", "tti", "pdu", "errors", "rlc", "down", "up"}


def _umts(where: str, access: Table) -> tuple[Bearer, Bearer]:
    unknown = next((key for key in access if key not in _UMTS_KEYS), None)
    if unknown is not None:
        raise UnfitError(f"{where}.{unknown}", "the model's channel is always the same", "an access without would fit")
    pdcp = access["pdcp"]
    if pdcp["compression"]["type"] != "none":
        reason = "packets on the bearer have many sizes"
        raise UnfitError(f"{where}.pdcp.compression", reason, '"none" would fit')
    delays = {node: seconds(delay) for node, delay in access["delays"].items()}
    between_s = delays["ue"] + delays["node_b"]
    ttis = {direction: seconds(of_direction(where, access, direction)[1]["tti"]) for direction in ("down", "up")}

    def read(direction: str) -> Bearer:
        place, bearer = of_direction(where, access, direction)
        rlc = bearer["rlc"]
        if rlc["type"] != "am":
            raise UnfitError(f"{place('rlc')}.type", "what fails is not sent again", '"am" would fit')
        tti_s, report_tti_s = ttis[direction], ttis["up" if direction == "down" else "down"]
        payload = size_bytes(bearer["pdu"]) - _AM_HEADER
        blocks = math.floor(round(bits_per_second(bearer["rate"]) * tti_s / 8) / payload)
        fer = _frame_error_rate(place("errors"), bearer["errors"], is_alone=blocks == 1)
        _in_sequence(f"{place('rlc')}.delivery", rlc["delivery"], fer)
        if rlc["discard"] == "timer":
            raise UnfitError(f"{place('rlc')}.discard", "late packets are given up", '"max-dat" would fit')
        status = rlc["status"]
        if fer > 0 and not status["missing_pdu"]:
            raise UnfitError(f"{place('rlc')}.status.missing_pdu", "gaps are not reported", "true would fit")
        # The next TTI shows the gap; a TTI of the other direction takes the report, and the next one the block.
        seen_s = tti_s + between_s
        ret_s = _whole(_whole(seen_s, report_tti_s) + report_tti_s + between_s, tti_s)
        queues = [(f"{place('rlc')}.queue", str(rlc["queue"]))]
        if "buffer" in rlc:
            queues.append((f"{place('rlc')}.buffer", str(rlc["buffer"])))
        notes = []
        if fer > 0 and status["prohibit"] != "none":
            notes.append(
                f"reports may wait for the status prohibit of {status['prohibit']}, and those of the last PDUs "
                "for a poll, which the delay of a retransmission leaves out"
            )
        return Bearer(
            rate_bps=8 * blocks * payload / tti_s,
            tti_s=tti_s,
            fer=fer,
            ret_s=ret_s,
            delay_s=sum(delays.values()),
            queues=tuple(queues),
            transmissions=math.inf if rlc["discard"] == "none" else rlc["max_dat"],
            transmissions_place=f"{place('rlc')}.max_dat",
            window=(f"{place('rlc')}.window", min(rlc["window"], rlc["receive_window"]) * payload),
            payload_bytes=payload,
            header_bytes=int(pdcp["header"]),
            notes=tuple(notes),
        )

    return read("down"), read("up")


_READERS: dict[str, Callable[[str, Table], tuple[Bearer, Bearer]]] = {"block-arq": _block_arq, "umts": _umts}
