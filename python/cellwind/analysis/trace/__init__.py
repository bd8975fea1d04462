"""What happened to the connections of a capture, from its packets alone.

    from cellwind.analysis.trace import read_capture

    for connection in read_capture("server.pcapng").connections:
        print(connection.name, connection.bulk.goodput_bps)

``capture`` reads files and sorts packets into connections, ``half`` unwraps the numbers of one direction, ``recovery``
tells what was sent again and why, ``timing`` measures, ``pairing`` finds the packets of one end's capture in the
other's, and ``direction`` puts it together under the names of the result tables (``campaign.rows``).
"""

from .capture import Trace, read_capture
from .connection import Connection, connections
from .direction import Direction, Traffic

__all__ = ["Connection", "Direction", "Trace", "Traffic", "connections", "read_capture"]
