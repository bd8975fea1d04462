"""IPv4 and TCP headers of a script's segments, to and from bytes (RFC 791 §3.1, RFC 9293 §3.1)."""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass, field
from typing import Any

_IPV4 = struct.Struct("!BBHHHBBH4s4s")
_TCP = struct.Struct("!HHIIBBHHH")
_TCP_NUMBER = 6
SYN = 0x02
_MASK = 0xFFFFFFFF


@dataclass(frozen=True)
class Header:
    """A TCP segment as it stands on the wire."""

    flags: int
    seq: int
    ack: int
    window: int
    payload: int
    ports: tuple[int, int]
    timestamps: tuple[int, int] | None = None
    sack: list[tuple[int, int]] = field(default_factory=list)
    window_scale: int | None = None


def parse(packet: bytes) -> Header | None:
    """The TCP header of an IPv4 packet; None for anything else."""
    if len(packet) < 40 or packet[0] >> 4 != 4 or packet[9] != _TCP_NUMBER:
        return None
    start = (packet[0] & 15) * 4
    source, target, seq, ack, offset, flags, window, _, _ = _TCP.unpack_from(packet, start)
    end = start + (offset >> 4) * 4
    stamps, sack, scale = None, [], None
    for kind, data in _options(packet[start + 20 : end]):
        if kind == 8 and len(data) == 8:
            stamps = struct.unpack("!II", data)
        elif kind == 5:
            sack = [struct.unpack_from("!II", data, at) for at in range(0, len(data) - 7, 8)]
        elif kind == 3 and data:
            scale = data[0]
    return Header(flags, seq, ack, window, len(packet) - end, (source, target), stamps, sack, scale)


def build(addresses: tuple[str, str], header: Header, mss: int, transport: dict[str, Any], ecn: int) -> bytes:
    """The packet from the first address to the second; a SYN carries the options of the transport."""
    options = b""
    stamped = header.timestamps is not None
    if header.flags & SYN:
        options += struct.pack("!BBH", 2, 4, mss)
        if header.window_scale is not None:
            options += struct.pack("!BBBB", 1, 3, 3, header.window_scale)
        if transport["sack"]:
            options += struct.pack("!BBBB", 1, 1, 4, 2)
    if stamped:
        options += struct.pack("!BBBBII", 1, 1, 8, 10, *header.timestamps)  # type: ignore[misc]
    if header.sack:
        options += struct.pack("!BBBB", 1, 1, 5, 2 + 8 * len(header.sack))
        options += b"".join(struct.pack("!II", *block) for block in header.sack)
    length = 20 + len(options)
    source, target = (socket.inet_aton(address) for address in addresses)
    tcp = _TCP.pack(
        *header.ports, header.seq & _MASK, header.ack & _MASK, length // 4 << 4, header.flags, header.window, 0, 0
    )
    body = tcp + options + bytes(header.payload)
    pseudo = source + target + struct.pack("!BBH", 0, _TCP_NUMBER, len(body))
    body = body[:16] + struct.pack("!H", _checksum(pseudo + body)) + body[18:]
    ip = _IPV4.pack(0x45, ecn, 20 + len(body), 0, 0, 64, _TCP_NUMBER, 0, source, target)
    return ip[:10] + struct.pack("!H", _checksum(ip)) + ip[12:] + body


def _options(data: bytes) -> list[tuple[int, bytes]]:
    found, at = [], 0
    while at < len(data) and data[at] != 0:
        if data[at] == 1:
            at += 1
            continue
        length = data[at + 1] if at + 1 < len(data) else 0
        if length < 2:
            break
        found.append((data[at], data[at + 2 : at + length]))
        at += length
    return found


def _checksum(data: bytes) -> int:
    if len(data) % 2:
        data += b"\0"
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total >> 16) + (total & 0xFFFF)
    return ~total & 0xFFFF
