"""The flows of a scenario, carried by the kernel's TCP."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from cellwind import _core
from cellwind.quantities import seconds, size_bytes

from .emulation import SERVER
from .kernel import KernelTransport, kernel_transport

if TYPE_CHECKING:
    from .emulation import Emulation, Process

# Each flow has its own receiver's port from here on.
_FIRST_PORT = 5001
_READY_S = 10.0
_INSIDE = Path(__file__).parent / "inside"


def inside(program: str, *words: str) -> list[str]:
    """The command line of one of the programs that run inside an end."""
    return [sys.executable, "-I", "-S", str(_INSIDE / f"{program}.py"), *words]


@dataclass(frozen=True)
class LiveFlow:
    """A flow of a scenario as it is carried live."""

    name: str
    transport: str
    sender: str
    receiver: str
    start_s: float
    bytes: int | None
    """None is without end."""
    port: int
    kernel: KernelTransport


def flows_of(document: Mapping[str, Any]) -> list[LiveFlow]:
    """The flows of a resolved scenario, in the order of the file."""
    terminals = list(document.get("terminal", {}))
    flows = []
    for place, (name, flow) in enumerate(document.get("flow", {}).items()):
        carried = flow["application"]["type"] if "application" in flow else None
        if carried or flow["transport"]["type"] != "tcp":
            what = f"an application, {carried}" if carried else f"the transport {flow['transport']['type']}"
            raise _core.EmulationError(
                f"the flow {name} has {what}, which is only simulated\n"
                f'  live, the kernel\'s TCP carries plain transfers: bulk = "16 MB" with a TCP transport\n'
                f"  programs of your own run as [workload.{name}] or with cellwind emulate"
            )
        terminal = flow.get("terminal") or terminals[0]
        sender, receiver = (SERVER, terminal) if flow["direction"] == "down" else (terminal, SERVER)
        kernel = kernel_transport(flow["transport"])
        amount = None if flow["bulk"] == "unlimited" else size_bytes(flow["bulk"], kernel.payload)
        label = flow["transport"].get("label") or flow["transport"]["type"]
        start = seconds(flow["start"])
        flows.append(LiveFlow(name, label, sender, receiver, start, amount, _FIRST_PORT + place, kernel))
    return flows


class Transfer:
    """A flow under way: a receiver and a sender, each inside its end."""

    def __init__(self, emulation: Emulation, flow: LiveFlow, document: Mapping[str, Any]) -> None:
        chosen = document.get("live", {}).get("kernel", {})
        kernel = flow.kernel
        self.flow = flow
        self.address = _address(emulation, flow.receiver, kernel.ip_version)
        common = {"address": self.address, "port": flow.port, "mss": kernel.mss}
        self.receiver = _Helper(
            emulation,
            flow.receiver,
            "receive",
            {**common, "window": None if "rmem" in chosen else kernel.window},
        )
        congestion = None if "congestion_control" in chosen else kernel.congestion
        self.sender = _Helper(emulation, flow.sender, "send", {**common, "bytes": flow.bytes, "congestion": congestion})

    def start(self, zero_ns: int) -> None:
        """Tells the sender when to connect."""
        self.sender.tell(f"{zero_ns + round(self.flow.start_s * 1e9)}\n")

    def complaints(self) -> list[str]:
        """Why it failed, in the words of the operating system; empty while it runs, and when it did not."""
        helpers = {"sender": self.sender, "receiver": self.receiver}
        return [f"{self.flow.name}, {role}: {helper.failure()}" for role, helper in helpers.items() if helper.failure()]

    def close(self) -> None:
        """Closes what is open here."""
        self.sender.close()
        self.receiver.close()


class _Helper:
    """One of the two programs of a transfer; it is ready when this returns."""

    def __init__(self, emulation: Emulation, end: str, role: str, settings: Mapping[str, Any]) -> None:
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        orders, self._orders = os.pipe()
        self._answers, answers = os.pipe()
        try:
            # As root: a congestion control that is not open to everybody may be chosen.
            self.process: Process = emulation.spawn(
                end,
                inside("bulk", role, json.dumps(settings)),
                stdin=orders,
                stdout=answers,
                stderr=self._errors,
                as_root=True,
            )
        finally:
            os.close(orders)
            os.close(answers)
        self._await_ready()

    def tell(self, order: str) -> None:
        """Writes to its standard input."""
        os.write(self._orders, order.encode())

    def result(self) -> dict[str, Any] | None:
        """What it saw, once it has ended well."""
        if self.process.code != 0:
            return None
        text = b""
        while piece := os.read(self._answers, 1 << 16):
            text += piece
        found: dict[str, Any] = json.loads(text)
        return found

    def failure(self) -> str | None:
        """What it said when it failed."""
        if not self.process.code:
            return None
        self._errors.seek(0)
        said = self._errors.read().decode(errors="replace").strip().splitlines()
        return said[-1] if said else f"it ended with code {self.process.code}"

    def close(self) -> None:
        """Closes what is open here."""
        self._errors.close()
        os.close(self._orders)
        os.close(self._answers)

    def _await_ready(self) -> None:
        deadline = time.monotonic() + _READY_S
        # select knows no descriptor above 1023, which many runs at the same time reach.
        waiting = select.poll()
        waiting.register(self._answers, select.POLLIN)
        said = b""
        while not said.endswith(b"ready\n"):
            ready = waiting.poll(max(0, round(1e3 * (deadline - time.monotonic()))))
            piece = os.read(self._answers, 64) if ready else b""
            if not piece:
                self.process.end_it()
                raise _core.EmulationError(f"a transfer could not be prepared: {self.failure() or 'it is not ready'}")
            said += piece


class Sampler:
    """Samples of the TCP connections at one end, every 100 ms."""

    def __init__(self, emulation: Emulation, end: str) -> None:
        self.end = end
        self._output: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = emulation.spawn(
            end,
            inside("sockets", "0.1"),
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.DEVNULL,
            as_root=True,
        )

    def stop(self) -> None:
        """Ends it."""
        self._process.end_it()

    def rows(self) -> list[list[Any]]:
        """The samples, as ``inside/sockets.py`` prints them."""
        self._output.seek(0)
        # A last line may have been cut off.
        return [json.loads(line) for line in self._output if line.endswith(b"]\n")]

    def close(self) -> None:
        """Closes what is open here."""
        self._output.close()


def _address(emulation: Emulation, end: str, version: int) -> str:
    addresses = emulation.addresses()[end]
    found = [address for address in addresses if (":" in address) == (version == 6)]
    if not found:
        raise _core.EmulationError(f"{end} has no address of IPv{version}")
    return found[0]
