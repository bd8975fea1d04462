"""Control of a running emulation from outside: a Unix socket that takes one JSON object per line.

A request has the key ``verb`` and the verb's own keys, as the methods of ``Control`` name them; the answer is
``{"ok": true, …}`` or ``{"ok": false, "error": "…"}``. ``status`` with ``"follow": true`` goes on answering ten times
a second. ``enter`` takes the three standard streams as file descriptors (SCM_RIGHTS) and tells later, with
``{"exit": code}``, how the command ended; hanging up ends the command.

The socket is its owner's alone: mode 0600 in a directory of mode 0700, and the peer's user is asked of the kernel.
Whatever a client sends, the run goes on.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import select
import selectors
import signal
import socket
import stat
import struct
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cellwind import _core
from cellwind.scenario import Value, to_toml_value

from .terminal import exit_code_of

if TYPE_CHECKING:
    from .emulation import Emulation, Process

VERBS = ("set", "handover", "spike", "pause", "resume", "status", "enter", "stop")

# More than any request needs; a client that sends more without a line end is dropped.
_LONGEST_REQUEST = 1 << 20
# A client that does not read so much of what it asked for is dropped.
_MOST_UNREAD = 1 << 20
_MOST_CLIENTS = 64
_FOLLOW_S = 0.1
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+=,@-]{0,47}")


class ControlError(RuntimeError):
    """A run cannot be reached, or refused what it was asked. The text says why."""

    def __init__(self, text: str, *, is_bad_input: bool = False, exit_code: int | None = None) -> None:
        super().__init__(text)
        self.is_bad_input = is_bad_input
        """What was asked makes no sense, whatever the state of the run."""
        self.exit_code = exit_code
        """What a shell would say of a command that could not be started: 126 or 127."""


def directory() -> Path:
    """Where the sockets of this user's runs are; it is created when it is missing.

    Raises ControlError when nothing safe can be found there.
    """
    user = os.geteuid()
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    for place in (runtime, f"/run/user/{user}"):
        with contextlib.suppress(OSError):
            if place and os.stat(place).st_uid == user and os.access(place, os.W_OK):
                return _private(Path(place) / "cellwind")
    return _private(Path(tempfile.gettempdir()) / f"cellwind-{user}")


def runs() -> list[str]:
    """Names of the runs of this user that answer; what is left of others is removed."""
    place = directory()
    with _locked(place):
        return sorted(path.stem for path in place.glob("*.sock") if _is_alive(path))


def connect(run: str | None = None) -> Control:
    """Connects to a running emulation; ``run`` may be left out when there is only one.

    Raises ControlError when there is none of that name, or several to choose from.
    """
    known = runs()
    if run is None:
        if len(known) != 1:
            several = f"several emulations are running: {', '.join(known)}; say which"
            raise ControlError(several if known else "no emulation of this user is running")
        run = known[0]
    if run not in known:
        there = f"; there are {', '.join(known)}" if known else ""
        raise ControlError(f"no emulation named {run} is running{there}")
    return Control(run, directory() / f"{run}.sock")


class Control:
    """A connection to a running emulation, with its verbs; ``connect`` makes one.

    Instants are in seconds since the start. Every method raises ControlError when the run refuses, and when it has
    ended. Methods may be called one at a time.
    """

    def __init__(self, run: str, path: Path) -> None:
        self.run = run
        self._path = path
        self._socket = self._open()
        self._unread = b""

    def set(self, path: str | Mapping[str, Value], value: Value | None = None) -> float:
        """Sets a value of the scenario, or several at one instant; answers when.

        ``control.set("link.internet.delay", "200 ms")`` or ``control.set({"link.a.loss": 0.1, "link.b.loss": 0})``.
        """
        pairs = path if isinstance(path, Mapping) else {path: value}
        texts = {key: to_toml_value(item) for key, item in pairs.items() if item is not None}
        return self.set_texts(list(texts.items()))

    def set_texts(self, pairs: Sequence[tuple[str, str]]) -> float:
        """As ``set``, with values as a scenario file writes them."""
        return self._instant({"verb": "set", "values": [list(pair) for pair in pairs]})

    def handover(
        self,
        to: str,
        *,
        terminal: str | None = None,
        delay: str | None = None,
        buffering: str | None = None,
        soft: bool = False,
    ) -> float:
        """Moves a terminal to another access; the parameters are those of a handover event of the scenario file."""
        how = {"terminal": terminal, "delay": delay, "buffering": buffering, "soft": soft}
        return self._instant({"verb": "handover", "to": to, **how})

    def spike(self, duration: str, *, terminal: str | None = None) -> float:
        """Lets nothing begin to be transmitted on the last stretch to a terminal, or to all, for so long."""
        return self._instant({"verb": "spike", "duration": duration, "terminal": terminal})

    def pause(self) -> float:
        """Holds all packets until ``resume``."""
        return self._instant({"verb": "pause"})

    def resume(self) -> float:
        """Ends a pause."""
        return self._instant({"verb": "resume"})

    def status(self) -> dict[str, Any]:
        """Counters and lateness as they are now; docs/live.md describes the keys."""
        status: dict[str, Any] = self._ask({"verb": "status"})["status"]
        return status

    def follow(self) -> Iterator[dict[str, Any]]:
        """The status ten times a second until the run ends. Uses a connection of its own."""
        with Control(self.run, self._path) as own:
            own._send({"verb": "status", "follow": True})
            while True:
                try:
                    yield own._answer()["status"]
                except ControlError:
                    return

    def enter(
        self,
        end: str | None,
        command: Sequence[str],
        *,
        streams: tuple[int, int, int] = (0, 1, 2),
        environment: Mapping[str, str] | None = None,
        directory: str | None = None,
        as_root: bool = False,
    ) -> Command:
        """Starts a command inside an end (None: the first terminal), with these file descriptors as its streams."""
        own = Control(self.run, self._path)
        request = {
            "verb": "enter",
            "end": end,
            "command": list(command),
            "environment": None if environment is None else dict(environment),
            "directory": directory,
            "as_root": as_root,
        }
        try:
            own._send(request, streams)
            own._answer()
        except BaseException:
            own.close()
            raise
        return Command(own)

    def stop(self) -> None:
        """Asks the run to end, as Ctrl-C does."""
        self._ask({"verb": "stop"})

    def close(self) -> None:
        """Hangs up; the run goes on."""
        self._socket.close()

    def fileno(self) -> int:
        """The descriptor of the connection, to wait for answers."""
        return self._socket.fileno()

    def is_ready(self) -> bool:
        """Whether an answer can be read without waiting."""
        return b"\n" in self._unread or bool(select.select([self._socket], [], [], 0)[0])

    def __enter__(self) -> Control:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(str(self._path))
        except OSError as error:
            connection.close()
            raise ControlError(f"cannot reach {self.run}: {error.strerror}") from error
        return connection

    def _instant(self, request: Mapping[str, Any]) -> float:
        return float(self._ask(request)["at_s"])

    def _ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        self._send(request)
        return self._answer()

    def _send(self, request: Mapping[str, Any], descriptors: Sequence[int] = ()) -> None:
        line = json.dumps(request).encode() + b"\n"
        try:
            sent = socket.send_fds(self._socket, [line], list(descriptors)) if descriptors else 0
            self._socket.sendall(line[sent:])
        except OSError as error:
            raise ControlError(f"{self.run} has ended: {error.strerror}") from error

    def _answer(self) -> dict[str, Any]:
        """The next line. Raises ControlError when the run has ended or refuses."""
        while b"\n" not in self._unread:
            try:
                more = self._socket.recv(1 << 16)
            except OSError as error:
                raise ControlError(f"{self.run} has ended: {error.strerror}") from error
            if not more:
                raise ControlError(f"{self.run} has ended")
            self._unread += more
        line, _, self._unread = self._unread.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        if answer.get("ok") is False:
            code = answer.get("exit")
            raise ControlError(
                str(answer.get("error")),
                is_bad_input=bool(answer.get("bad_input")),
                exit_code=code if isinstance(code, int) else None,
            )
        return answer


class Command:
    """A command that a client started inside an end."""

    def __init__(self, control: Control) -> None:
        self._control = control
        self._code: int | None = None
        self._lost = False

    def fileno(self) -> int:
        """A descriptor that is readable when ``has_ended`` may have become true."""
        return self._control.fileno()

    def has_ended(self) -> bool:
        """Whether the command has ended, or the run; does not wait."""
        if self._code is None and not self._lost and self._control.is_ready():
            try:
                self._take(self._control._answer())
            except ControlError:
                self._lost = True
        return self._code is not None or self._lost

    def signal(self, number: int) -> None:
        """Sends it a signal."""
        self._control._send({"verb": "signal", "number": number})

    def wait(self) -> int:
        """Waits for its end and answers the exit code, 128 + n for signal n.

        Raises ControlError when the run ends first.
        """
        try:
            while self._code is None:
                self._take(self._control._answer())
            return self._code
        finally:
            self._control.close()

    def _take(self, answer: Mapping[str, Any]) -> None:
        if "exit" in answer:
            self._code = int(answer["exit"])


class Server:
    """The control socket of a run, served by a thread of its own from ``start`` to ``close``.

    ``name`` None takes the scenario's name, numbered when a run of that name exists. Raises ControlError when the
    name is taken or cannot be one, and when no socket can be made.
    """

    def __init__(self, emulation: Emulation, name: str | None, stop: Callable[[], None]) -> None:
        self._emulation = emulation
        self._stop = stop
        self._place = directory()
        self.name, self._listener = _bind(self._place, name, emulation.scenario.name)
        self._path = self._place / f"{self.name}.sock"
        self._inode = os.lstat(self._path).st_ino
        self._selector = selectors.DefaultSelector()
        self._wake, self._woken = socket.socketpair()
        self._done: deque[Callable[[], None]] = deque()
        self._clients: set[_Client] = set()
        self._thread = threading.Thread(target=self._serve, name="control", daemon=True)

    def start(self) -> None:
        """Serves from now on."""
        for channel in (self._listener, self._woken):
            channel.setblocking(False)
            self._selector.register(channel, selectors.EVENT_READ)
        self._thread.start()

    def close(self) -> None:
        """Hangs up on everybody and removes the socket."""
        with _locked(self._place), contextlib.suppress(FileNotFoundError):
            # Someone may have taken a dead run's name: only what was made here is removed.
            if os.lstat(self._path).st_ino == self._inode:
                self._path.unlink()
        if self._thread.ident is not None:
            self._later(self._end)
            self._thread.join()
        self._listener.close()
        self._wake.close()
        self._woken.close()
        self._selector.close()

    def _end(self) -> None:
        raise _Ended

    def _later(self, what: Callable[[], None]) -> None:
        """Has the serving thread do something; may be called from any thread."""
        self._done.append(what)
        with contextlib.suppress(OSError):
            self._wake.send(b"\0")

    def _serve(self) -> None:
        due = time.monotonic()
        with contextlib.suppress(_Ended):
            while True:
                followed = any(client.follows for client in self._clients)
                timeout = max(0.0, due - time.monotonic()) if followed else None
                for key, events in self._selector.select(timeout):
                    if key.fileobj is self._listener:
                        self._accept()
                    elif key.fileobj is self._woken:
                        self._woken.recv(4096)
                    else:
                        self._attend(key.data, events)
                while self._done:
                    self._done.popleft()()
                if followed and time.monotonic() >= due:
                    due = max(due + _FOLLOW_S, time.monotonic())
                    self._tell_followers()
        for client in list(self._clients):
            self._drop(client)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            connection, _ = self._listener.accept()
            peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
            if struct.unpack("3i", peer)[1] not in (0, os.geteuid()) or len(self._clients) >= _MOST_CLIENTS:
                connection.close()
                return
            connection.setblocking(False)
            client = _Client(connection)
            self._clients.add(client)
            self._selector.register(connection, selectors.EVENT_READ, client)

    def _attend(self, client: _Client, events: int) -> None:
        try:
            if events & selectors.EVENT_WRITE:
                client.flush()
            if events & selectors.EVENT_READ:
                for line in client.receive():
                    self._tell(client, self._answer(client, line))
            self._watch(client)
        except (OSError, _HangUp):
            self._drop(client)

    def _answer(self, client: _Client, line: bytes) -> dict[str, Any] | None:
        """What to say to one request; whatever it asks for, nothing but an answer comes of a mistake."""
        descriptors, client.descriptors = client.descriptors, []
        try:
            try:
                request = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise ControlError(f"not JSON: {error}") from error
            if not isinstance(request, dict):
                raise ControlError("a request is a JSON object")
            return self._obey(client, request, descriptors)
        except _core.CommandError as error:
            return {"ok": False, "error": str(error), "exit": exit_code_of(error)}
        except (ControlError, ValueError) as error:
            # The scenario's own words, or those of this file.
            return {"ok": False, "error": str(error), "bad_input": True}
        except Exception as error:
            # Any exception: the run has stopped, or a mistake here. The client is told.
            known = isinstance(error, RuntimeError) and str(error)
            return {"ok": False, "error": str(error) if known else f"{type(error).__name__}: {error}"}
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def _obey(self, client: _Client, request: dict[str, Any], descriptors: list[int]) -> dict[str, Any] | None:
        emulation = self._emulation
        match request:
            case {"verb": "set", "values": [_, *_] as values}:
                if not all(isinstance(pair, list) and len(pair) == 2 for pair in values):
                    raise ControlError("values is a list of pairs: a path and a value")
                return {"ok": True, "at_s": emulation.set_texts([(str(path), str(text)) for path, text in values])}
            case {"verb": "handover", "to": str(to)}:
                options = {key: _text(request, key) for key in ("terminal", "delay", "buffering")}
                return {"ok": True, "at_s": emulation.handover(to, **options, soft=bool(request.get("soft")))}
            case {"verb": "spike", "duration": str(duration)}:
                return {"ok": True, "at_s": emulation.spike(duration, terminal=_text(request, "terminal"))}
            case {"verb": "pause"}:
                return {"ok": True, "at_s": emulation.pause()}
            case {"verb": "resume"}:
                return {"ok": True, "at_s": emulation.resume()}
            case {"verb": "status"}:
                client.follows = bool(request.get("follow"))
                return {"ok": True, "status": emulation.status()}
            case {"verb": "enter", "command": list(command)}:
                self._enter(client, request, [str(word) for word in command], descriptors)
                return {"ok": True}
            case {"verb": "signal", "number": int(number)} if client.process is not None:
                client.process.signal(number)
                return None
            case {"verb": "stop"}:
                self._stop()
                return {"ok": True}
        raise ControlError(f"not a request: a verb is one of {', '.join(VERBS)}, with the keys that belong to it")

    def _enter(self, client: _Client, request: dict[str, Any], command: list[str], descriptors: list[int]) -> None:
        if client.process is not None:
            raise ControlError("a connection starts one command")
        if len(descriptors) != 3:
            raise ControlError("enter takes three file descriptors: standard input, output and error")
        if not command:
            raise ControlError("there is no command")
        environment = request.get("environment")
        process = self._emulation.spawn(
            _text(request, "end"),
            command,
            environment=None if environment is None else {str(key): str(value) for key, value in environment.items()},
            directory=_text(request, "directory"),
            stdin=descriptors[0],
            stdout=descriptors[1],
            stderr=descriptors[2],
            as_root=bool(request.get("as_root")),
        )
        client.process = process

        def tell(code: int) -> None:
            self._later(lambda: self._exited(client, code))

        process.on_exit(tell)

    def _exited(self, client: _Client, code: int) -> None:
        if client in self._clients:
            client.process = None
            try:
                self._tell(client, {"exit": code})
                self._watch(client)
            except (OSError, _HangUp):
                self._drop(client)

    def _tell(self, client: _Client, answer: Mapping[str, Any] | None) -> None:
        if answer is not None:
            client.send(json.dumps(answer).encode() + b"\n")

    def _tell_followers(self) -> None:
        followers = [client for client in self._clients if client.follows]
        try:
            status = {"ok": True, "status": self._emulation.status()}
        except RuntimeError:
            # The path has stopped; the run is about to end and hangs up then.
            return
        for client in followers:
            try:
                # Who is slow misses some, and gets whole ones.
                if not client.unsent:
                    self._tell(client, status)
                self._watch(client)
            except (OSError, _HangUp):
                self._drop(client)

    def _watch(self, client: _Client) -> None:
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if client.unsent else 0)
        self._selector.modify(client.connection, events, client)

    def _drop(self, client: _Client) -> None:
        self._clients.discard(client)
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(client.connection)
        if client.process is not None:
            with contextlib.suppress(RuntimeError, OSError):
                client.process.signal(signal.SIGHUP)
        client.close()


class _HangUp(Exception):
    """A client left, or has to."""


class _Ended(Exception):
    """The server was closed."""


class _Client:
    """A connection as the server sees it."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.descriptors: list[int] = []
        self.follows = False
        self.process: Process | None = None
        self.unsent = b""
        self._received = b""

    def receive(self) -> list[bytes]:
        """The complete lines that have come. Raises _HangUp when the client has gone, or sends too much."""
        data, descriptors, _, _ = socket.recv_fds(self.connection, 1 << 16, 3, socket.MSG_CMSG_CLOEXEC)
        self.descriptors += descriptors
        if not data or len(self.descriptors) > 3:
            raise _HangUp
        *lines, self._received = (self._received + data).split(b"\n")
        if len(self._received) > _LONGEST_REQUEST:
            raise _HangUp
        return lines

    def send(self, data: bytes) -> None:
        """Sends now what the client takes, and keeps the rest. Raises _HangUp when that becomes too much."""
        self.unsent += data
        self.flush()
        if len(self.unsent) > _MOST_UNREAD:
            raise _HangUp

    def flush(self) -> None:
        """Sends what is left, as far as the client takes it."""
        with contextlib.suppress(BlockingIOError):
            while self.unsent:
                self.unsent = self.unsent[self.connection.send(self.unsent) :]

    def close(self) -> None:
        """Closes the connection and what came with it."""
        for descriptor in self.descriptors:
            os.close(descriptor)
        self.connection.close()


def _text(request: Mapping[str, Any], key: str) -> str | None:
    value = request.get(key)
    if value is not None and not isinstance(value, str):
        raise ControlError(f"{key} is a text")
    return value


def check_name(name: str) -> None:
    """Raises ControlError when no run can have that name."""
    if not _NAME.fullmatch(name) or name in VERBS:
        raise ControlError(
            f"{name!r} cannot name a run: a name has up to 48 letters, digits and . _ + = , @ - "
            "and is no verb of `cellwind ctl`",
            is_bad_input=True,
        )


def _private(place: Path) -> Path:
    with contextlib.suppress(FileExistsError):
        place.mkdir(mode=0o700)
    found = os.lstat(place)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise ControlError(f"{place} belongs to somebody else: remove it, or set XDG_RUNTIME_DIR to your own folder")
    if stat.S_IMODE(found.st_mode) & 0o077:
        place.chmod(0o700)
    return place


def _bind(place: Path, name: str | None, fallback: str) -> tuple[str, socket.socket]:
    """The name of the run and its listening socket."""
    if name is not None:
        check_name(name)
    stem = name or re.sub(r"[^A-Za-z0-9._+=,@-]", "_", fallback)[:40].lstrip("._+=,@-") or "run"
    stem = f"{stem}-1" if stem in VERBS else stem
    with _locked(place):
        number, chosen = 1, stem
        while _is_alive(place / f"{chosen}.sock"):
            if name is not None:
                raise ControlError(f"an emulation named {name} is running already")
            number += 1
            chosen = f"{stem}-{number}"
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        path = place / f"{chosen}.sock"
        try:
            # Between bind and chmod the directory alone keeps others out.
            listener.bind(str(path))
            path.chmod(0o600)
            listener.listen(16)
        except OSError as error:
            listener.close()
            raise ControlError(f"cannot make the control socket {path}: {error.strerror or error}") from error
    return chosen, listener


@contextlib.contextmanager
def _locked(place: Path) -> Iterator[None]:
    """Keeps two runs from taking, or clearing away, one name at the same time."""
    handle = os.open(place / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _is_alive(path: Path) -> bool:
    """Whether a run listens there; the socket of one that was killed is removed."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)
            return False
        except FileNotFoundError:
            return False
        except OSError:
            # It exists, and is too busy to answer now.
            return True
    return True
