"""TCP ends driven by hand, segment by segment: for conformance scripts, and to see what an end does and why.

The same machines run in simulations. Nothing happens by itself: every call gives the time in seconds, and answers the
segments that leave. Sequence numbers count bytes as tshark shows them: the SYN is 0, the first data byte is 1.

>>> from cellwind.tcp import Sender
>>> sender = Sender()
>>> [syn] = sender.open(t=0.0)
>>> syn.syn
True
>>> handshake = sender.on_segment(0.1, ack=1, syn=True)
>>> data = sender.write(10_000, t=0.1)
>>> data[0].seq, data[0].t
(1, 0.1)

A script says it all at once (docs/scripts.md):

>>> from cellwind.tcp import Script
>>> head = ['test = "sender"', 'transport = "reno"', "---"]
>>> Script.parse(chr(10).join([*head, "0 open", "0 > syn", "1s > syn"])).play().holds
True
"""

from __future__ import annotations

from collections.abc import Mapping

from cellwind import _core
from cellwind._core import Script, ScriptRun, Segment
from cellwind.scenario import Value, to_toml_value

__all__ = ["Receiver", "Script", "ScriptRun", "Segment", "Sender"]


class Sender(_core.Sender):
    """The sending end of a TCP connection.

    ``settings`` is the name of a transport preset (see ``cellwind list transports``) or a mapping of settings, as a
    flow's ``transport`` in a scenario file. Raises ScenarioError for settings that are wrong there.

    >>> Sender({"extends": "sack", "mss": "536 B"}).state
    'closed'
    """

    def __new__(cls, settings: str | Mapping[str, Value] = "reno") -> Sender:
        return super().__new__(cls, to_toml_value(settings))


class Receiver(_core.Receiver):
    """The receiving end of a TCP connection; ``settings`` as for ``Sender``.

    >>> Receiver("sack").state
    'listening'
    """

    def __new__(cls, settings: str | Mapping[str, Value] = "reno") -> Receiver:
        return super().__new__(cls, to_toml_value(settings))
