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
_OTHER = {"down": "up", "up": "down"}
# Lost reports make downloads 5 % longer at this share of them, 10 to 15 % at twice as many.
_MOST_LOST = 0.1


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
    ``transmissions`` is how often a block is sent at most. ``rest`` is the longest that reports, or requests for one,
    are prohibited; with ``asks_when_full`` there are none before the window is full, unless something is missing.
    ``notes`` say what delays a retransmission besides.
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
    rest: tuple[str, float] = ("", 0.0)
    asks_when_full: bool = False
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


def _reports_lost(where: str, access: Table) -> float:
    """The share of the reports on the download that are lost. Raises UnfitError for one that counts."""
    place, back = of_direction(where, access, "up")
    lost = _frame_error_rate(place("errors"), back["errors"], is_alone=True)
    if lost > _MOST_LOST:
        reason = f"{100 * lost:g} % of the reports are lost, and the model's all arrive"
        raise UnfitError(place("errors"), reason, f"a rate of {_MOST_LOST:g} or less would fit")
    return lost


def _reports(where: str, rlc: Table, losses_per_s: float, ret_s: float, lost: float) -> tuple[str, ...]:
    """What reports do to the delay of a retransmission besides their loop of ``ret_s``. Raises UnfitError."""
    status = rlc["status"]
    if not status["missing_pdu"]:
        raise UnfitError(f"{where}.missing_pdu", "gaps are not reported", "true would fit")
    # After a report no other one is sent for so long, whatever is missing meanwhile.
    rest_s, key = max((_span(status[key]), key) for key in ("estimated_pdu_counter", "prohibit"))
    loop = f"{1e3 * ret_s:g} ms"
    if rest_s > ret_s:
        reason = f"a block may wait {status[key]} for its report, longer than the {loop} of a retransmission"
        raise UnfitError(f"{where}.{key}", reason, f'"{loop}" or less would fit')
    if rest_s < ret_s / 2:
        reason = f"a block that is sent again is asked for once more during the {loop} until it arrives"
        raise UnfitError(f"{where}.prohibit", reason, f'"{500 * ret_s:g} ms" or more would fit')
    mean_s = losses_per_s * rest_s**2 / 2 / (1 + losses_per_s * rest_s)
    notes = [
        f"reports may wait for the status {key.replace('_', ' ')} of {status[key]}, {1e3 * mean_s:.0f} ms on average "
        "while the link is busy, and those of the last PDUs for a poll, which the delay of a retransmission leaves out"
    ]
    if lost > 0:
        notes.append(
            f"{100 * lost:g} % of the reports are lost: what they ask for waits {1e3 * rest_s:g} ms for the next one, "
            f"and at the end of the file for the poll timer of {rlc['poll']['timer']}, which the model leaves out"
        )
    return tuple(notes)


def _span(text: str) -> float:
    return 0.0 if text == "none" else seconds(text)


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
        tti_s, report_tti_s = ttis[direction], ttis[_OTHER[direction]]
        payload = size_bytes(bearer["pdu"]) - _AM_HEADER
        blocks = math.floor(round(bits_per_second(bearer["rate"]) * tti_s / 8) / payload)
        fer = _frame_error_rate(place("errors"), bearer["errors"], is_alone=blocks == 1)
        _in_sequence(f"{place('rlc')}.delivery", rlc["delivery"], fer)
        if rlc["discard"] == "timer":
            raise UnfitError(f"{place('rlc')}.discard", "late packets are given up", '"max-dat" would fit')
        status = rlc["status"]
        # The next TTI shows the gap; a TTI of the other direction takes the report, and the next one the block.
        seen_s = tti_s + between_s
        ret_s = _whole(_whole(seen_s, report_tti_s) + report_tti_s + between_s, tti_s)
        queues = [(f"{place('rlc')}.queue", str(rlc["queue"]))]
        if "buffer" in rlc:
            queues.append((f"{place('rlc')}.buffer", str(rlc["buffer"])))
        notes: tuple[str, ...] = ()
        if fer > 0:
            lost = _reports_lost(where, access) if direction == "down" else 0.0
            notes = _reports(f"{place('rlc')}.status", rlc, fer / tti_s, ret_s, lost)
        rests = [(_span(rlc[key]["prohibit"]), f"{place('rlc')}.{key}.prohibit") for key in ("poll", "status")]
        poll = rlc["poll"]
        asks = poll["periodic"] != "none" or status["periodic"] != "none"
        asks |= any(key in poll for key in ("every_pdus", "every_sdus", "window"))
        windows = [(rlc[key], f"{place('rlc')}.{key}") for key in ("window", "receive_window")]
        if "window" in status:
            windows.append((status["window"], f"{place('rlc')}.status.window"))
        window, window_place = min(windows)
        return Bearer(
            rate_bps=8 * blocks * payload / tti_s,
            tti_s=tti_s,
            fer=fer,
            ret_s=ret_s,
            delay_s=sum(delays.values()),
            queues=tuple(queues),
            transmissions=math.inf if rlc["discard"] == "none" else rlc["max_dat"],
            transmissions_place=f"{place('rlc')}.max_dat",
            window=(window_place, window * payload),
            payload_bytes=payload,
            header_bytes=int(pdcp["header"]),
            rest=max(rests)[::-1],
            asks_when_full=fer == 0 and not asks,
            notes=notes,
        )

    return read("down"), read("up")


_READERS: dict[str, Callable[[str, Table], tuple[Bearer, Bearer]]] = {"block-arq": _block_arq, "umts": _umts}
