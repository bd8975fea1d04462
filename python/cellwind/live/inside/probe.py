"""UDP probes: packets of given sizes, sent at given instants, and what arrives of them.

``probe.py receive ADDRESS PORT`` says ``ready`` and prints, for each probe that arrives, its number and when.
``probe.py send ADDRESS PORT`` says ``ready``, reads lines ``instant size`` from standard input (size of the UDP payload
in bytes, at least 16), sends each at its instant, and prints its number and when it was handed to the kernel. A probe
carries its number and that instant. Instants are nanoseconds of CLOCK_MONOTONIC.
"""

import socket
import struct
import sys
import time

_STAMP = struct.Struct(">QQ")
_SPIN_NS = 500_000


def main(words: list[str]) -> int:
    """Runs ``receive`` or ``send``."""
    role, address, port = words[0], words[1], int(words[2])
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probes:
        (receive if role == "receive" else send)(probes, (address, port))
    return 0


def receive(probes: socket.socket, target: tuple[str, int]) -> None:
    """Prints what arrives until it is ended."""
    probes.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    probes.bind(target)
    _say("ready")
    while True:
        packet = probes.recv(1 << 16)
        now = time.monotonic_ns()
        if len(packet) >= _STAMP.size:
            _say(f"{_STAMP.unpack_from(packet)[0]} {now}")


def send(probes: socket.socket, target: tuple[str, int]) -> None:
    """Sends the probes that standard input lists."""
    probes.connect(target)
    _say("ready")
    plan = [tuple(map(int, line.split())) for line in sys.stdin]
    for number, (instant, size) in enumerate(plan):
        while (left := instant - time.monotonic_ns()) > 0:
            if left > _SPIN_NS:
                time.sleep((left - _SPIN_NS) * 1e-9)
        now = time.monotonic_ns()
        probes.send(_STAMP.pack(number, now).ljust(size, b"\0"))
        _say(f"{number} {now}")


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (KeyboardInterrupt, BrokenPipeError):
        sys.exit(0)
