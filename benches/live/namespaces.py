"""Two network namespaces for a peer of the emulator, and the probes that run in both ends of any path."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

ADDRESSES = ("10.99.0.1", "10.99.0.2")


class Program(Protocol):
    """A program that was started in one of the ends."""

    def line(self) -> str:
        """The next line of its output, waited for."""

    def rest(self) -> str:
        """The rest of its output, until it ends."""

    def stop(self) -> None:
        """Ends it if it still runs."""


class Ends(Protocol):
    """A path with a server and a terminal in which programs can be started."""

    server: str
    """IPv4 address of the server's end."""
    terminal: str
    """IPv4 address of the terminal's end."""

    def start(self, end: str, words: Sequence[str]) -> Program:
        """Starts a program in ``"server"`` or ``"terminal"``, its output through a pipe."""


class Inside:
    """A program of a namespace."""

    def __init__(self, words: Sequence[str]) -> None:
        self._process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)

    def line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def rest(self) -> str:
        return self._process.communicate()[0]

    def stop(self) -> None:
        self._process.kill()
        self._process.communicate()


class Namespaces:
    """Two fresh namespaces, each held by a process, that vanish with it."""

    server, terminal = ADDRESSES

    def __init__(self) -> None:
        words = ["unshare", "--net", "sleep", "infinity"]
        self._holders = {end: subprocess.Popen(words) for end in ("server", "terminal")}
        host = Path("/proc/self/ns/net").readlink()
        for end in self._holders:
            while self.file(end).readlink() == host:
                time.sleep(0.001)
            self.run(end, "ip link set lo up")

    def file(self, end: str) -> Path:
        """The file that stands for the namespace."""
        return Path(f"/proc/{self._holders[end].pid}/ns/net")

    def pid(self, end: str) -> int:
        """The process that holds the namespace."""
        return self._holders[end].pid

    def run(self, end: str, command: str) -> None:
        """Runs a command inside and waits for it."""
        subprocess.run([*self._enter(end), *command.split()], check=True, capture_output=True)

    def start(self, end: str, words: Sequence[str]) -> Program:
        return Inside([*self._enter(end), *words])

    def close(self) -> None:
        """Ends the namespaces and what they hold."""
        for holder in self._holders.values():
            holder.kill()
            holder.wait()

    def _enter(self, end: str) -> list[str]:
        return ["nsenter", f"--net={self.file(end)}"]


@contextlib.contextmanager
def tun_loop(program: Path) -> Iterator[Namespaces]:
    """The bare loop between two TUN devices."""
    with contextlib.closing(Namespaces()) as ends:
        words = [str(program), str(ends.file("server")), str(ends.file("terminal"))]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as loop:
            assert loop.stdout is not None
            loop.stdout.readline()
            for end, own, other in (("server", *ADDRESSES), ("terminal", *reversed(ADDRESSES))):
                ends.run(end, f"ip addr add {own} peer {other} dev t0")
                ends.run(end, "ip link set t0 txqueuelen 5000 up")
            try:
                yield ends
            finally:
                loop.kill()


@contextlib.contextmanager
def token_bucket(bits_per_second: int) -> Iterator[Namespaces]:
    """A veth pair with the kernel's tbf towards the terminal; it counts Ethernet headers."""
    with contextlib.closing(Namespaces()) as ends:
        ends.run("server", f"ip link add v0 type veth peer name v1 netns {ends.pid('terminal')}")
        for end, device, own in (("server", "v0", ADDRESSES[0]), ("terminal", "v1", ADDRESSES[1])):
            ends.run(end, f"ip addr add {own}/24 dev {device}")
            ends.run(end, f"ip link set {device} up")
        # A bucket of one packet loses what a late timer could not use; one of a millisecond lets it catch up.
        burst = max(1514, bits_per_second // 8000)
        ends.run("server", f"tc qdisc add dev v0 root tbf rate {bits_per_second} burst {burst} limit 100000000")
        yield ends
