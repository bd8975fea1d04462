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
"""

from cellwind._core import Receiver, Segment, Sender

__all__ = ["Receiver", "Segment", "Sender"]
