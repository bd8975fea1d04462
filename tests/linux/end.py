"""One end of a TCP connection of the running kernel, in a network namespace of its own.

Usage: ``unshare -n python end.py sender|receiver SOCKET ALGORITHM BYTES``. Over the Unix socket goes the TUN device of
the namespace to the parent, and a byte from there starts. The sender prints what TCP_INFO said each time that it had
changed, as JSON: rows of congestion window and threshold in segments, acknowledged bytes and retransmitted segments.
"""

import contextlib
import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

PORT = 5001
CHUNK = 64 * 1448  # full segments beside the timestamps option: windows count segments, full or not
TUNSETIFF = 0x400454CA
TUN_WITHOUT_HEADER = 0x0001 | 0x1000  # IFF_TUN, IFF_NO_PI
# The window must not depend on earlier connections, nor be narrower than in the presets.
SETTINGS = {"net/ipv4/tcp_no_metrics_save": "1", "net/ipv4/tcp_rmem": "4096 131072 6291456"}


def open_tun(address: str) -> int:
    tun = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", b"path", TUN_WITHOUT_HEADER))
    for name, value in SETTINGS.items():
        Path("/proc/sys", name).write_text(value, encoding="ascii")
    commands = f"addr add {address}/24 dev path\nlink set path up mtu 1500 txqueuelen 10000\n"
    subprocess.run(["ip", "-batch", "-"], input=commands, text=True, check=True)
    return tun


def tcp_info(connection: socket.socket) -> tuple[int, int, int, int]:
    """Window and threshold in segments, acknowledged bytes, retransmitted segments (struct tcp_info, linux/tcp.h)."""
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 232)
    words = struct.unpack_from("<24I", info, 8)
    (acked,) = struct.unpack_from("<Q", info, 120)
    return words[18], words[17], acked, words[23]


def send(peer: str, algorithm: str, count: int) -> list[tuple[int, int, int, int]]:
    rows: list[tuple[int, int, int, int]] = []
    with socket.socket() as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, algorithm.encode())
        connection.connect((peer, PORT))
        connection.setblocking(False)
        left = count
        while not rows or rows[-1][2] < count:
            if left:
                with contextlib.suppress(BlockingIOError):
                    left -= connection.send(bytes(min(left, CHUNK)))
            row = tcp_info(connection)
            if not rows or row != rows[-1]:
                rows.append(row)
            time.sleep(0.0005)
    return rows


def main() -> None:
    role, descriptor, algorithm, count = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    sender, receiver = "10.77.0.1", "10.77.0.2"
    parent = socket.socket(fileno=descriptor)
    tun = open_tun(sender if role == "sender" else receiver)
    listener = socket.create_server((receiver, PORT)) if role == "receiver" else None
    socket.send_fds(parent, [b"up"], [tun])
    os.close(tun)
    parent.recv(1)
    if listener is not None:
        connection, _ = listener.accept()
        while connection.recv(1 << 20):
            pass
    else:
        rows = send(receiver, algorithm, count)
        parent.send(b"done")
        json.dump(rows, sys.stdout)


if __name__ == "__main__":
    main()
