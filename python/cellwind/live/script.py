"""A script against the kernel's TCP: a namespace with one TUN device, and the script as the connection's other end.

Instants count from the SYN. Sequence numbers and timestamps are made relative to the first ones, as scripts have them.
"""

from __future__ import annotations

import json
import os
import select
import sys
import time
from pathlib import Path
from typing import Any

from cellwind import _core

from .kernel import kernel_transport
from .segments import SYN, Header, build, parse

_PORTS = (40_000, 5001)
_PEER = "100.64.1.1"
# Where the script's own numbers start: anything will do.
_OUR_START = 1_000_000
_ACK = 0x10
_PATIENCE_S = 10.0
_MASK = 0xFFFFFFFF
# So long the kernel may still answer behind the script's last line.
_LINGER_S = 0.02


class KernelRefused(RuntimeError):
    """The kernel's end cannot be made, or did not start the connection. The text says why."""


def replay(script: _core.Script) -> tuple[_core.ScriptRun, tuple[str, ...]]:
    """Plays the script against the kernel; answers the comparison, and where the kernel cannot do as the transport.

    Needs root or user namespaces. Raises KernelRefused, EmulationError.
    """
    transport = json.loads(script.transport_json)
    mapped = kernel_transport(transport)
    settings = dict(mapped.namespace)
    if mapped.congestion is not None:
        settings["congestion_control"] = mapped.congestion
    _, _, tolerance_s, chosen = script.kernel
    settings |= chosen
    if Path("/proc/sys/net/ipv4/tcp_recovery").exists() is False:
        settings.pop("recovery", None)
    end = _core.End.open(settings)
    try:
        seen = _Player(script, transport, end).play()
    finally:
        end.close()
    return script.judge(seen, tolerance_s), mapped.notes


class _Player:
    """The script's side of the connection."""

    def __init__(self, script: _core.Script, transport: dict[str, Any], end: _core.End) -> None:
        self.acts = script.acts()
        self.is_sender = script.test == "sender"
        self.transport = transport
        self.mapped = kernel_transport(transport)
        self.address = next(address for address in end.addresses if "." in address)
        self.end = end
        self.tun = end.tun()
        # The kernel's first sequence number, window shift and timestamp.
        self.start: int | None = None
        self.shift = 0
        self.stamp: int | None = None
        self.zero_ns = 0
        self.window = self.mapped.window if transport["window_scaling"] else min(self.mapped.window, 65535)
        self.our_shift = next(shift for shift in range(15) if self.window >> shift <= 65535)
        # By sequence number: the timestamps of its first and last transmission.
        self.sent: dict[int, list[int]] = {}
        self.acked = 0
        self.echoed = 0
        self.seen: list[Any] = []

    def play(self) -> list[Any]:
        """Everything that the kernel sent, as ``Script.judge`` takes it."""
        commands, answers = os.pipe(), os.pipe()
        try:
            self._spawn(commands[0], answers[1])
            if not select.select([answers[0]], [], [], _PATIENCE_S)[0] or not os.read(answers[0], 100):
                raise KernelRefused("the application inside the kernel's end did not start")
            os.write(commands[1], b"go\n")
            self.zero_ns = time.monotonic_ns()
            if self.is_sender:
                self._read_until(self.zero_ns + int(_PATIENCE_S * 1e9), first=True)
                if self.start is None:
                    raise KernelRefused("the kernel sent no SYN")
            else:
                self.zero_ns += 50_000_000  # until it accepts
            for t, word, value in self.acts:
                self._read_until(self.zero_ns + int(t * 1e9))
                if word == "arrives":
                    self._send(value)
            last = self.acts[-1][0]
            self._read_until(self.zero_ns + int((last + _LINGER_S) * 1e9))
            return self.seen
        finally:
            for descriptor in (*commands, *answers, self.tun):
                os.close(descriptor)

    def _spawn(self, commands: int, answers: int) -> None:
        calls = [(t, word, value) for t, word, value in self.acts if word in ("write", "close")]
        settings = {
            "role": "connect" if self.is_sender else "listen",
            "address": _PEER if self.is_sender else self.address,
            "port": _PORTS[1],
            "calls": calls,
        }
        program = Path(__file__).parent / "inside" / "peer.py"
        argv = [sys.executable, "-I", "-S", str(program), json.dumps(settings)]
        self.end.spawn(argv, dict(os.environ), (commands, answers, answers))

    def _read_until(self, due_ns: int, first: bool = False) -> None:
        """Takes what the kernel sends until then; with ``first`` only the first segment, which is time zero."""
        while True:
            left = (due_ns - time.monotonic_ns()) * 1e-9
            ready, _, _ = select.select([self.tun], [], [], max(0.0, left))
            if not ready:
                return
            try:
                packet = os.read(self.tun, 65536)
            except BlockingIOError:
                continue
            now = time.monotonic_ns()
            header = parse(packet)
            if header is None or _PORTS[1] not in header.ports:
                continue
            if first:
                self.zero_ns = now
            self._take(now, header, packet[1] & 3)
            if first:
                return

    def _take(self, now: int, header: Header, ecn: int) -> None:
        if self.start is None or header.flags & SYN:
            self.start = header.seq
            self.shift = header.window_scale or 0
            if header.timestamps is not None and self.stamp is None:
                self.stamp = header.timestamps[0]
            self.peer_port = header.ports[0] if self.is_sender else _PORTS[0]
        seq = (header.seq - self.start) & _MASK
        stamps = None
        if header.timestamps is not None and self.stamp is not None:
            stamps = ((header.timestamps[0] - self.stamp + 1) & _MASK, header.timestamps[1])
            if header.payload or header.flags & 0x03:
                self.sent.setdefault(seq, [header.timestamps[0]] * 2)[1] = header.timestamps[0]
        # In scripts the script's own numbers start with 0, too.
        ack = (header.ack - _OUR_START) & _MASK if header.flags & _ACK else 0
        sack = [tuple((edge - _OUR_START) & _MASK for edge in block) for block in header.sack]
        window = header.window << (0 if header.flags & SYN else self.shift)
        at = max(0, now - self.zero_ns)
        self.seen.append((at, header.flags, seq, ack, header.payload, window, sack, stamps))

    def _send(self, segment: dict[str, Any]) -> None:
        self.window = self.window if segment["window"] is None else segment["window"]
        start = self.start or 0
        is_syn = bool(segment["flags"] & SYN)
        scales = self.transport["window_scaling"]
        window = min(65535, self.window) if is_syn or not scales else self.window >> self.our_shift
        stamps = None
        if self.transport["timestamps"]:
            tick = (time.monotonic_ns() - self.zero_ns) // 1_000_000 + 1
            stamps = (tick if segment["stamp"] is None else segment["stamp"], self._echo(segment))
        ack = (start + segment["ack"]) & _MASK if segment["flags"] & _ACK else 0
        ports = (_PORTS[1], self.peer_port) if self.is_sender else _PORTS
        sack = [((start + left) & _MASK, (start + right) & _MASK) for left, right in segment["sack"]]
        header = Header(
            flags=segment["flags"],
            seq=_OUR_START + segment["seq"],
            ack=ack,
            window=window,
            payload=segment["payload"],
            ports=ports,
            timestamps=stamps,
            sack=sack,
            window_scale=self.our_shift if is_syn and scales else None,
        )
        ecn = 3 if segment["ce"] else 2 if segment["ect"] else 0
        os.write(self.tun, build((_PEER, self.address), header, self.mapped.mss, self.transport, ecn))

    def _echo(self, segment: dict[str, Any]) -> int:
        """The timestamp that an ACK of the script echoes, by the rule of RFC 7323 §4.3."""
        if not self.is_sender:
            return 0 if segment["flags"] & SYN else self.stamp or 0
        edge = 0 if segment["flags"] & SYN else self.acked
        below = [seq for seq in self.sent if seq <= edge]
        advances = segment["ack"] > self.acked
        echo = segment["echo"]
        if isinstance(echo, int):
            value = (self.stamp or 0) + echo - 1
        elif below and (echo == "first" or advances):
            value = self.sent[max(below)][0 if echo == "first" else 1]
        else:
            value = self.echoed
        if advances:
            self.acked = segment["ack"]
        self.echoed = value
        return value & _MASK
