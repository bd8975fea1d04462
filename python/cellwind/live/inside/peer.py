"""An application for a script: opens, writes and closes at given instants, or only reads.

``peer.py SETTINGS`` with a JSON object: ``role`` (``connect`` or ``listen``), ``address``, ``port``, and ``calls``, a
list of [seconds, word, bytes] in the order of time. It says ``ready`` on a line of its own; a line on standard input
starts it.
"""

from __future__ import annotations

import contextlib
import json
import select
import socket
import sys
import time

# Importing typing itself would take as long as all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PIECE = bytes(256 * 1024)


def main(words: list[str]) -> int:
    """Runs one side; the exit code is 1 when the connection fails, with the reason on standard error."""
    settings = json.loads(words[0])
    try:
        listen(settings) if settings["role"] == "listen" else connect(settings)
    except OSError as error:
        sys.stderr.write(f"{error.strerror or error}\n")
        return 1
    return 0


def listen(settings: dict[str, Any]) -> None:
    """Accepts one connection and reads until it ends."""
    with socket.create_server((settings["address"], settings["port"])) as listener:
        _ready()
        connection, _ = listener.accept()
        with connection:
            while connection.recv(1 << 20):
                pass


def connect(settings: dict[str, Any]) -> None:
    """Makes one connection, and writes and closes at the instants given."""
    with socket.socket() as connection:
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # The ACK of the handshake waits for data to ride on.
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
        _ready()
        start = time.monotonic()
        with contextlib.suppress(BlockingIOError):
            connection.connect((settings["address"], settings["port"]))
        calls, left, is_closing, is_connected = list(settings["calls"]), 0, False, False
        while True:
            now = time.monotonic() - start
            while calls and calls[0][0] <= now:
                _, word, count = calls.pop(0)
                left += count or 0
                is_closing = is_closing or word == "close"
            wants = left > 0 or is_closing or not is_connected
            wait = calls[0][0] - now if calls else 3600.0
            _, writable, _ = select.select([], [connection] if wants else [], [], max(0.0, wait))
            if not writable:
                continue
            failed = connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if failed:
                raise OSError(failed, "the connection failed")
            is_connected = True
            if left > 0:
                with contextlib.suppress(BlockingIOError):
                    left -= connection.send(_PIECE[: min(left, len(_PIECE))])
            elif is_closing:
                connection.shutdown(socket.SHUT_WR)
                is_closing = False


def _ready() -> None:
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
