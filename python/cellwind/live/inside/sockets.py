"""Samples of all TCP connections of a network namespace, as ``ss -tinO`` shows them, every so often.

Asks the kernel itself (sock_diag(7), as ``ss`` does), because starting a program ten times a second would disturb what
is measured. Prints one JSON array per connection and sample: CLOCK_MONOTONIC in nanoseconds, local and remote
address and port, and the values of ``COLUMNS``. Runs until it is ended.
"""

from __future__ import annotations

import json
import socket
import struct
import sys
import time

# Importing typing itself would take as long as all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Name, format and offset in struct tcp_info (linux/tcp.h); times there are in microseconds.
COLUMNS = (
    ("state", "B", 0),
    ("ca_state", "B", 1),
    ("backoff", "B", 4),
    ("rto_us", "I", 8),
    ("snd_mss", "I", 16),
    ("unacked", "I", 24),
    ("sacked", "I", 28),
    ("lost", "I", 32),
    ("retrans", "I", 36),
    ("rtt_us", "I", 68),
    ("rttvar_us", "I", 72),
    ("ssthresh", "I", 76),
    ("cwnd", "I", 80),
    ("reordering", "I", 88),
    ("total_retrans", "I", 100),
    ("pacing_rate", "Q", 104),
    ("bytes_acked", "Q", 120),
    ("bytes_received", "Q", 128),
    ("notsent_bytes", "I", 144),
    ("min_rtt_us", "I", 148),
    ("delivery_rate", "Q", 160),
    ("dsack_dups", "I", 216),
    ("snd_wnd", "I", 228),
    ("total_rto", "H", 240),
)

# linux/netlink.h, linux/sock_diag.h and linux/inet_diag.h.
_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_REQUEST_DUMP = 0x301
_DONE, _ERROR = 3, 2
_ATTRIBUTE_INFO = 2
# Every state but LISTEN and TIME_WAIT, which have no tcp_info worth keeping.
_STATES = 0xFFF & ~(1 << 10) & ~(1 << 6)
_NO_RATE, _NO_THRESHOLD = 1 << 63, 0x7FFF_FFFF
_HEADER = struct.Struct("=IHHII")
_MESSAGE = struct.Struct("=BBBB")
_MESSAGE_SIZE = 72


def main(words: list[str]) -> int:
    """Samples every ``words[0]`` seconds."""
    interval = int(float(words[0]) * 1e9)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _NETLINK_SOCK_DIAG) as asker:
        asker.bind((0, 0))
        due = time.monotonic_ns()
        while True:
            now = time.monotonic_ns()
            lines = [
                json.dumps([now, *connection], separators=(",", ":"))
                for family in (socket.AF_INET, socket.AF_INET6)
                for connection in connections(asker, family)
            ]
            if lines:
                sys.stdout.write("\n".join(lines) + "\n")
                sys.stdout.flush()
            due = max(due + interval, time.monotonic_ns())
            time.sleep(max(0, due - time.monotonic_ns()) * 1e-9)


def connections(asker: socket.socket, family: int) -> list[list[Any]]:
    """Address and port of both ends and the values of ``COLUMNS``, for every TCP connection of a family."""
    question = _MESSAGE.pack(family, socket.IPPROTO_TCP, 1 << (_ATTRIBUTE_INFO - 1), 0)
    question += struct.pack("=I", _STATES) + bytes(48)
    asker.send(_HEADER.pack(_HEADER.size + len(question), _SOCK_DIAG_BY_FAMILY, _REQUEST_DUMP, 1, 0) + question)
    found: list[list[Any]] = []
    while True:
        answer = asker.recv(1 << 18)
        at = 0
        while at < len(answer):
            length, kind, _, _, _ = _HEADER.unpack_from(answer, at)
            if kind in (_DONE, _ERROR):
                return found
            row = _connection(answer[at + _HEADER.size : at + length])
            if row is not None:
                found.append(row)
            at += (length + 3) & ~3


def _connection(message: bytes) -> list[Any] | None:
    family = message[0]
    local_port, remote_port = struct.unpack_from(">HH", message, 4)
    size = 4 if family == socket.AF_INET else 16
    local = socket.inet_ntop(family, message[8 : 8 + size])
    remote = socket.inet_ntop(family, message[24 : 24 + size])
    at = _MESSAGE_SIZE
    while at + 4 <= len(message):
        length, kind = struct.unpack_from("=HH", message, at)
        if length < 4:
            break
        if kind == _ATTRIBUTE_INFO:
            info = message[at + 4 : at + length]
            values = [
                _value(name, struct.unpack_from("=" + form, info, place)[0])
                if place + struct.calcsize(form) <= len(info)
                else None
                for name, form, place in COLUMNS
            ]
            return [local, local_port, remote, remote_port, *values]
        at += (length + 3) & ~3
    return None


def _value(name: str, value: int) -> int | None:
    """None stands for a limit that does not exist, which the kernel writes as its largest number."""
    return None if value >= _NO_RATE or (name == "ssthresh" and value >= _NO_THRESHOLD) else value


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (KeyboardInterrupt, BrokenPipeError):
        sys.exit(0)
