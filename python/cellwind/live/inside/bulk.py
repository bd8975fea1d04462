"""Bulk transfer by the kernel's TCP: the live counterpart of a simulated flow.

``bulk.py receive SETTINGS`` listens and reads until the other side has sent everything; ``bulk.py send SETTINGS``
connects at a given instant, writes so many bytes and closes. SETTINGS is a JSON object. Both say ``ready`` on a line
of its own; the sender then reads the instant from standard input, as nanoseconds of CLOCK_MONOTONIC. At the end each
prints a JSON object with what it saw. ``tests/test_live.py`` runs the two over loopback.
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

# linux/tcp.h; the socket module of Python 3.11 has no name for it.
_TCP_WINDOW_CLAMP = 10
_PIECE = bytes(256 * 1024)
# Offsets into struct tcp_info (linux/tcp.h) of what the kernel counted over the life of the connection.
_COUNTS = {"total_retrans": ("I", 100), "dsack_dups": ("I", 216), "total_rto": ("H", 240)}
_INFO_SIZE = 256
# The last stretch before an instant is not slept: a sleep ends some 50 µs to 1 ms late.
_SPIN_NS = 2_000_000


def main(words: list[str]) -> int:
    """Runs ``receive`` or ``send``; the exit code is 1 when the connection fails, with the reason on standard error."""
    role, settings = words[0], json.loads(words[1])
    try:
        result = receive(settings) if role == "receive" else send(settings)
    except OSError as error:
        sys.stderr.write(f"{error.strerror or error}\n")
        return 1
    _say(json.dumps(result))
    return 0


def receive(settings: dict[str, Any]) -> dict[str, Any]:
    """Accepts one connection and reads it to its end.

    Settings: ``address`` and ``port`` to listen on, ``window`` (largest window to advertise, bytes; None for the
    kernel's own), ``mss``, ``quickack`` (acknowledge every segment at once).
    """
    with _listener(settings) as listener:
        _say("ready")
        connection, _ = listener.accept()
    with connection:
        total, buffer = 0, bytearray(1 << 20)
        first = last = None
        while True:
            if settings.get("quickack"):
                # The kernel falls back to delayed acknowledgements by itself.
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
            got = connection.recv_into(buffer)
            now = time.monotonic_ns()
            if got == 0:
                break
            first, last, total = first or now, now, total + got
        return {"bytes": total, "first_ns": first, "last_ns": last, "end_ns": now}


def send(settings: dict[str, Any]) -> dict[str, Any]:
    """Connects at the instant read from standard input and sends.

    Settings: ``address`` and ``port`` of the receiver, ``bytes`` (None for no end), ``congestion`` (None for the
    kernel's own), ``mss``.
    """
    connection = socket.socket(_family(settings["address"]), socket.SOCK_STREAM)
    with connection:
        _limit_segments(connection, settings)
        if settings.get("congestion"):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, settings["congestion"].encode())
        _say("ready")
        sleep_until(int(sys.stdin.readline()))
        begun = time.monotonic_ns()
        connection.connect((settings["address"], settings["port"]))
        left = settings["bytes"]
        while left is None or left > 0:
            piece = _PIECE if left is None or left >= len(_PIECE) else _PIECE[:left]
            sent = connection.send(piece)
            left = None if left is None else left - sent
        connection.shutdown(socket.SHUT_WR)
        # The receiver closes when it has read everything, and that end is the end of this one's work.
        while connection.recv(1024):
            pass
        info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_SIZE)
        return {"begun_ns": begun, "end_ns": time.monotonic_ns(), **_counts(info)}


def sleep_until(instant: int) -> None:
    """Waits for an instant of CLOCK_MONOTONIC, in nanoseconds; never returns before it."""
    while (left := instant - time.monotonic_ns()) > 0:
        if left > _SPIN_NS:
            time.sleep((left - _SPIN_NS) * 1e-9)


def _listener(settings: dict[str, Any]) -> socket.socket:
    listener = socket.socket(_family(settings["address"]), socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        _limit_segments(listener, settings)
        if settings.get("window"):
            # A buffer counts the kernel's overhead too, and must not bound the window before the clamp does.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * settings["window"])
            listener.setsockopt(socket.IPPROTO_TCP, _TCP_WINDOW_CLAMP, settings["window"])
        listener.bind((settings["address"], settings["port"]))
        listener.listen(1)
    except OSError:
        listener.close()
        raise
    return listener


def _limit_segments(connection: socket.socket, settings: dict[str, Any]) -> None:
    if settings.get("mss"):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, settings["mss"])


def _family(address: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def _counts(info: bytes) -> dict[str, Any]:
    """What this kernel's ``tcp_info`` is long enough to tell."""
    fits = {name: (kind, at) for name, (kind, at) in _COUNTS.items() if at + struct.calcsize(kind) <= len(info)}
    return {name: struct.unpack_from(kind, info, at)[0] for name, (kind, at) in fits.items()}


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
