"""Whether a scenario is one that the model speaks of, and the model's parameters in it."""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cellwind.quantities import bits_per_second, seconds, size_bytes

from .bearers import Bearer, Table, UnfitError, known_types, of_direction, read_bearer
from .download import Download, Way

if TYPE_CHECKING:
    from cellwind.scenario import Scenario

# The option takes these from each segment (RFC 7323 §3).
_TIMESTAMPS = 12
# Without the window scale option (RFC 7323 §2).
_UNSCALED = 65_535
# WSN of TS 25.322 §9.2.2.11.3 has twelve bits.
_MOST_PDUS = 4095
# Those that leave slow start as RFC 5681 has it, until a loss.
_PLAIN_SLOW_START = ("aimd", "cubic", "westwood", "veno")
# Above this share of downloads that lose a packet, "no packet is lost" is not so.
_MOST_LOSSY = 0.05
# Above this share of packets, the rounds that (5.6) leaves out are worth a word.
_MANY_ROUNDS = 0.01


@dataclass(frozen=True)
class Fitted:
    """A scenario's flow and the parameters of its model; ``notes`` say in sentences what the model leaves out."""

    flow: str
    download: Download
    notes: tuple[str, ...]


def fit(scenario: Scenario, ret_s: float | None = None) -> Fitted:
    """The model's parameters in a scenario; ``ret_s`` takes the place of the delay of a retransmission on the bearer.

    Raises UnfitError with the first thing that the model does not know.
    """
    document = tomllib.loads(scenario.to_toml())
    name, flow = _only_flow(document)
    _nothing_changes(document)
    transport = _tcp(name, flow)
    access, down, up = _bearer(document, flow)
    payload = size_bytes(transport["mss"]) - (_TIMESTAMPS if transport["timestamps"] else 0)
    header = size_bytes(transport["header"])
    ack = header + (_TIMESTAMPS if transport["timestamps"] else 0)
    file = size_bytes(flow["bulk"], payload)
    packet = ack + min(payload, file)
    download = Download(
        file_bytes=file,
        segment_bytes=payload,
        down=_way(down, packet, ret_s),
        up=_way(up, ack, ret_s),
        rtt_umts_s=down.delay_s + up.delay_s,
        rtt_internet_s=0.0,
        last_bytes=ack + (file - 1) % payload + 1 + down.header_bytes,
    )
    download = replace(download, rtt_internet_s=_internet_s(document, download, packet, ack))
    segments = _window_fills_the_link(name, transport, download)
    _acks_have_room(access, download)
    _rlc_window_fills_the_link(down, download)
    held = min(segments, download.packets)
    for where, queue in [*_queues(document), *down.queues]:
        _queue_holds(where, queue, held, packet)
    _nothing_is_given_up(down, download)
    notes = _notes(transport, payload, download) + _stops(down, download)
    return Fitted(name, download, (*notes, *(() if ret_s is not None else down.notes)))


def _only_flow(document: Table) -> tuple[str, Table]:
    flows: dict[str, Table] = document.get("flow", {})
    if len(flows) != 1:
        raise UnfitError("flow", f"there are {len(flows)} flows", "one download alone would fit")
    ((name, flow),) = flows.items()
    if "bulk" not in flow:
        kind = flow["application"].get("type", "one")
        raise UnfitError(
            f"flow.{name}", f"it carries an application ({kind})", 'a file, such as bulk = "100 kB", would fit'
        )
    if flow["bulk"] == "unlimited":
        raise UnfitError(f"flow.{name}.bulk", "it never ends", 'a file, such as "100 kB", would fit')
    if flow["direction"] != "down":
        raise UnfitError(f"flow.{name}.direction", "the data goes up", '"down" would fit')
    return name, flow


def _nothing_changes(document: Table) -> None:
    for key, what in (("event", "something changes during the run"), ("spikes", "there are delay spikes")):
        if document.get(key):
            raise UnfitError(key, f"{what}, and the model's path stays as it is", "a scenario without would fit")


def _tcp(name: str, flow: Table) -> Table:
    transport: Table = flow["transport"]
    where = f"flow.{name}.transport"
    if transport["type"] != "tcp":
        raise UnfitError(where, f"the model is about TCP, not {transport['type']}", 'type = "tcp" would fit')
    congestion = transport["congestion"]["type"]
    if congestion not in _PLAIN_SLOW_START:
        allowed = ", ".join(f'"{kind}"' for kind in _PLAIN_SLOW_START)
        raise UnfitError(
            f"{where}.congestion", f"{congestion} has a slow start of its own", f"one of {allowed} would fit"
        )
    if transport["slow_start"]["exit"] != "none":
        raise UnfitError(f"{where}.slow_start.exit", "slow start ends before a loss", '"none" would fit')
    if transport["pacing"] != "off":
        raise UnfitError(f"{where}.pacing", "segments wait although the window lets them go", '"off" would fit')
    faults = transport["faults"]
    if faults["window_overrun"] or faults["resend_all"] or faults["rto_percent"] != 100:
        raise UnfitError(f"{where}.faults", "the model's TCP has no faults", "a transport without would fit")
    return transport


def _bearer(document: Table, flow: Table) -> tuple[str, Bearer, Bearer]:
    """The name of the flow's access, and its directions."""
    terminal = document.get("terminal", {}).get(flow.get("terminal"), {})
    name = terminal.get("access")
    if name is None:
        raise UnfitError("access", "there is no radio link", f"{known_types()} would fit")
    access = document["access"][name]
    down, up = read_bearer(f"access.{name}", access)
    return name, down, up


def _way(bearer: Bearer, packet_bytes: int, ret_s: float | None) -> Way:
    delay_s = bearer.ret_s if ret_s is None else ret_s
    return Way(bearer.rate_bps, bearer.tti_s, bearer.fer, delay_s, packet_bytes + bearer.header_bytes)


def _internet_s(document: Table, download: Download, packet: int, ack: int) -> float:
    """What a round trip takes on the wired links, which must be out of the way."""
    total = 0.0
    for name, link in document.get("link", {}).items():
        for direction, way, size in (("down", download.down, packet), ("up", download.up, ack)):
            place, settings = of_direction(f"link.{name}", link, direction)
            if settings["loss"]:
                raise UnfitError(place("loss"), "packets are lost on the way", "loss = 0 would fit")
            for key in ("faults", "expiry", "mark_above"):
                if settings.get(key):
                    raise UnfitError(place(key), "it disturbs the download", "a link without would fit")
            total += seconds(settings["delay"])
            if "rate" in settings:
                rate = bits_per_second(settings["rate"])
                if rate < way.rate_bps:
                    reason = "the link is slower than the bearer, which is the bottleneck of the model"
                    raise UnfitError(place("rate"), reason, f'"{way.rate_bps / 1e3:g} kbit/s" or more would fit')
                total += 8 * size / rate
    return total


def _queues(document: Table) -> list[tuple[str, str]]:
    """The queues that the download meets on wired links, by their place."""
    found = []
    for name, link in document.get("link", {}).items():
        place, settings = of_direction(f"link.{name}", link, "down")
        if "rate" in settings:
            found.append((place("queue"), str(settings["queue"])))
    return found


def _window_fills_the_link(name: str, transport: Table, download: Download) -> int:
    """The segments of the window, which must be as many as the round trip holds, if the file has so many."""
    needed = min(math.ceil(download.rtt_s * download.down.packets_per_s), download.packets)
    where = f"flow.{name}.transport"
    buffer = size_bytes(transport["receive_window"], download.segment_bytes) // download.segment_bytes
    told = buffer if transport["window_scaling"] else min(buffer, _UNSCALED // download.segment_bytes)
    if buffer < needed:
        reason = f"a window of {told} segments leaves the link idle, whose round trip holds {needed}"
        is_told = transport["window_scaling"] or needed * download.segment_bytes <= _UNSCALED
        remedy = f'"{needed} segments" or more' + ("" if is_told else " with window_scaling = true")
        raise UnfitError(f"{where}.receive_window", reason, f"{remedy} would fit")
    if told < needed:
        reason = f"{told} segments, the most without it, leave the link idle, whose round trip holds {needed}"
        raise UnfitError(f"{where}.window_scaling", reason, "true would fit")
    threshold = transport.get("initial_ssthresh")
    if threshold is not None and size_bytes(threshold, download.segment_bytes) < needed * download.segment_bytes:
        reason = "slow start ends before the link is busy"
        raise UnfitError(f"{where}.initial_ssthresh", reason, f'"{needed} segments" or more would fit, or none')
    return told


def _acks_have_room(access: str, download: Download) -> None:
    if download.packets > 1 and download.up.packets_per_s < download.down.packets_per_s:
        reason = (
            f"it carries {download.up.packets_per_s:.3g} acknowledgements per second, "
            f"and the downlink delivers {download.down.packets_per_s:.3g} packets"
        )
        raise UnfitError(f"access.{access}.up", reason, "a faster uplink would fit")


def _rlc_window_fills_the_link(down: Bearer, download: Download) -> None:
    if down.window is None:
        return
    where, octets = down.window
    place, rest_s = down.rest
    window_s = 8 * octets / down.rate_bps
    if window_s < download.rtt_s:
        needed = math.ceil(download.rtt_s * down.rate_bps / 8)
        reason = f"it lets {octets} bytes be on their way, and the round trip holds {needed}"
        pdus = math.ceil(needed / down.payload_bytes)
        remedy = f"{pdus} PDUs or more would fit" if pdus <= _MOST_PDUS else "longer PDUs would fit"
        raise UnfitError(where, reason, remedy)
    if window_s < rest_s:
        reason = f"the window of {octets} bytes is full before the next report may be asked for or sent"
        raise UnfitError(place, reason, f'"{math.floor(100 * window_s) * 10} ms" or less would fit')


def _queue_holds(where: str, queue: str, packets: int, packet_bytes: int) -> None:
    if queue == "unlimited":
        return
    count, _, unit = queue.partition(" ")
    room = int(count) if unit.startswith("packet") else size_bytes(queue) // packet_bytes
    if room < packets:
        reason = f"{queue} overflow: nothing but the window bounds slow start"
        raise UnfitError(where, reason, f'"{packets} packets" would fit, and so would "unlimited"')


def _nothing_is_given_up(down: Bearer, download: Download) -> None:
    if down.transmissions == math.inf:
        return
    lost = -math.expm1(download.packets * math.log1p(-download.down.round_probability(int(down.transmissions))))
    if lost > _MOST_LOSSY:
        reason = f"with {down.transmissions:g} transmissions {100 * lost:.0f} % of the downloads lose a packet"
        raise UnfitError(down.transmissions_place, reason, "more of them would fit")


def _notes(transport: Table, payload: int, download: Download) -> list[str]:
    """What the scenario has and the model has not, where the difference is one of some round trips."""
    notes = []
    first = min(_initial_window(transport["initial_window"], payload), download.packets)
    if first > 1:
        notes.append(
            f"the transport begins with {first} segments, the model with one: "
            f"up to {math.log2(first):.1f} round trips more"
        )
    delayed = transport["delayed_ack"]
    if delayed["every"] > 1 and delayed["quick"] < download.packets:
        notes.append(f"the receiver acknowledges every {delayed['every']} segments, the model's every one")
    beyond = download.down.round_probability(4)
    if beyond > _MANY_ROUNDS:
        notes.append(f"{100 * beyond:.1f} % of the packets need a fourth round, which (5.6) leaves out")
    if download.file_bytes < 2 * download.segment_bytes:
        back_s = download.up.sdu_delay_s + download.fixed_s / 2
        notes.append(
            "of a file this small T_total counts the transmission only, and two round trips are "
            f"{back_s:.2f} s more than the handshake and the way to the terminal"
        )
    return notes


def _stops(down: Bearer, download: Download) -> list[str]:
    """What the bearer stands still while it waits for leave to go on."""
    if not down.asks_when_full or down.window is None:
        return []
    _, window = down.window
    times = (download.packets * download.down.packet_bytes - 1) // window
    if times == 0:
        return []
    return [
        f"the bearer asks for a report when its window of {window // down.payload_bytes} PDUs is full, and stands "
        f"still for up to {1e3 * down.ret_s:g} ms then: {times * down.ret_s:.2f} s more at most"
    ]


def _initial_window(text: str, payload: int) -> int:
    sizes = {
        "rfc3390": min(4 * payload, max(2 * payload, 4380)),
        "rfc6928": min(10 * payload, max(2 * payload, 14_600)),
    }
    return (sizes[text] if text in sizes else size_bytes(text, payload)) // payload
