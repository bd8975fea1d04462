"""The rows of results: their columns, types and units.

A replication yields one row per flow, one per bearer and direction, and one per wired link and direction. In tables
every row starts with the columns ``scenario`` and ``replication``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict, cast

if TYPE_CHECKING:
    from cellwind import _core

# As many as the core takes from a scenario file.
MOST_REPLICATIONS = 1_000_000


class ApplicationColumns(TypedDict, total=False):
    """What a flow carried and what became of it; a plain transfer has nothing but its name for it."""

    application: str
    messages_sent: int | None
    messages_delivered: int | None
    messages_on_time: int | None
    delay_mean_s: float | None
    delay_max_s: float | None
    initial_delay_s: float | None
    page_delay_s: float | None
    startup_delay_s: float | None
    rebufferings: int | None
    rebuffering_s: float | None
    rate_switches: int | None
    media_bps: float | None


class FlowRow(ApplicationColumns):
    """Totals of one flow in one replication."""

    name: str
    transport: str
    completed: bool
    bytes: int
    start_s: float
    duration_s: float | None
    goodput_bps: float | None
    segments_sent: int
    segments_retransmitted: int
    timeouts: int
    fast_retransmits: int
    spurious_timeouts: int
    necessary_timeouts: int
    rtt_mean_s: float | None


class LinkRow(TypedDict):
    """Totals of one wired link, or of a terminal's switch between accesses, in one direction.

    What came in was delivered, dropped, handed back, or is still held.
    """

    name: str
    packets_in: int
    packets_delivered: int
    packets_dropped: int
    bytes_in: int
    bytes_delivered: int
    bytes_dropped: int
    packets_handed_back: int
    bytes_handed_back: int
    bytes_held: int


class BearerRow(LinkRow):
    """Totals of one radio bearer in one direction: those of a link, and its blocks."""

    blocks_sent: int
    blocks_resent: int
    blocks_dropped: int
    status_reports: int


@dataclass(frozen=True)
class Column:
    """A column of a result table: its Arrow type and what it means."""

    name: str
    type: str
    meaning: str


_KEYS = (
    Column("scenario", "string", "name of the scenario, with its factors when it is a variant"),
    Column("replication", "int32", "number of the replication, from 0"),
)

_TRAFFIC = (
    Column("packets_in", "int64", "packets that entered"),
    Column("packets_delivered", "int64", "packets that left at the far end"),
    Column("packets_dropped", "int64", "packets dropped, for whatever reason"),
    Column("bytes_in", "int64", "bytes that entered, headers included"),
    Column("bytes_delivered", "int64", "bytes that left at the far end"),
    Column("bytes_dropped", "int64", "bytes dropped"),
    Column(
        "packets_handed_back",
        "int64",
        "packets that a handover took out; what it dropped stands with its switch, in links",
    ),
    Column("bytes_handed_back", "int64", "bytes that a handover took out"),
    Column("bytes_held", "int64", "bytes inside when the run ended; in = delivered + dropped + handed back + held"),
)

FLOW_COLUMNS = (
    *_KEYS,
    Column("flow", "string", "name of the flow"),
    Column("transport", "string", "its transport: the label, or else the preset, or the type"),
    Column("completed", "bool", "all was delivered, or the application came to its end, before the run ended"),
    Column("bytes", "int64", "payload bytes delivered in order"),
    Column("start_s", "float64", "when the flow started"),
    Column("duration_s", "float64", "from the start until the last byte was delivered; null if not completed"),
    Column(
        "goodput_bps",
        "float64",
        "8 × bytes / duration; if not completed, over the time from its start to the end of the run",
    ),
    Column("segments_sent", "int64", "data segments sent, retransmissions included"),
    Column("segments_retransmitted", "int64", "data segments sent again"),
    Column("timeouts", "int64", "retransmission timeouts, with those of the handshake"),
    Column("fast_retransmits", "int64", "losses repaired on duplicate acknowledgements"),
    Column("spurious_timeouts", "int64", "timeouts before an acknowledgement that would have come without them"),
    Column(
        "necessary_timeouts", "int64", "timeouts that were not spurious; of either kind several in a row count once"
    ),
    Column("rtt_mean_s", "float64", "mean of the round-trip samples the sender took; null if it took none"),
    Column("application", "string", "what the flow carried: `bulk`, or the type of its application"),
    Column("messages_sent", "int64", "messages with content given to the transport; null for `bulk`, as all below"),
    Column("messages_delivered", "int64", "messages with content that arrived complete"),
    Column("messages_on_time", "int64", "of those with a deadline, how many came before it"),
    Column("delay_mean_s", "float64", "mean time from when a message was made, or asked for, until it was complete"),
    Column("delay_max_s", "float64", "the longest of these times"),
    Column(
        "initial_delay_s", "float64", "web: from the request of a page until its text was complete, mean of the pages"
    ),
    Column("page_delay_s", "float64", "web: from the request of a page until all was complete, mean of pages"),
    Column("startup_delay_s", "float64", "video: from the start of the flow until play-back started"),
    Column("rebufferings", "int64", "video: how often play-back stopped for want of data"),
    Column("rebuffering_s", "float64", "video: for how long in all"),
    Column("rate_switches", "int64", "video: how often the rate was changed"),
    Column("media_bps", "float64", "video: mean rate of the media that arrived"),
)

# The columns of `ApplicationColumns`, which stand last.
APPLICATION_COLUMNS = tuple(ApplicationColumns.__annotations__)

LINK_COLUMNS = (
    *_KEYS,
    Column(
        "name", "string", "link and direction, such as `internet/down`; `handover/ue/down` is the switch of a terminal"
    ),
    *_TRAFFIC,
)

BEARER_COLUMNS = (
    *_KEYS,
    Column("name", "string", "access, terminal and direction, such as `umts/ue/down`"),
    Column("blocks_sent", "int64", "radio blocks sent, retransmissions included"),
    Column("blocks_resent", "int64", "radio blocks sent again"),
    Column("blocks_dropped", "int64", "radio blocks given up after the last permitted attempt"),
    Column(
        "status_reports",
        "int64",
        "PDUs sent with an RLC status report about the other direction, which may take several",
    ),
    *_TRAFFIC,
)


def plain_transfer() -> ApplicationColumns:
    """The columns of applications in the row of a flow without any."""
    return cast(ApplicationColumns, dict.fromkeys(APPLICATION_COLUMNS) | {"application": "bulk"})


@dataclass(frozen=True)
class RunRecord:
    """The rows of one finished replication."""

    scenario: str
    replication: int
    flows: Sequence[FlowRow]
    bearers: Sequence[BearerRow]
    links: Sequence[LinkRow]

    @classmethod
    def of(cls, scenario: str, run: _core.Run) -> RunRecord:
        """Takes the rows out of a finished run of the core."""
        return cls.of_rows(scenario, run.replication, run.flows, run.bearers, run.links)

    @classmethod
    def of_rows(
        cls,
        scenario: str,
        replication: int,
        flows: Iterable[Mapping[str, object]],
        bearers: Iterable[Mapping[str, object]],
        links: Iterable[Mapping[str, object]],
    ) -> RunRecord:
        """Puts rows from elsewhere in the order of their columns."""
        return cls(
            scenario,
            replication,
            [cast(FlowRow, _ordered(row, FLOW_COLUMNS)) for row in flows],
            [cast(BearerRow, _ordered(row, BEARER_COLUMNS)) for row in bearers],
            [cast(LinkRow, _ordered(row, LINK_COLUMNS)) for row in links],
        )

    def flow_rows(self) -> list[dict[str, Any]]:
        """Rows with the columns ``FLOW_COLUMNS``."""
        rows = (dict(row) for row in self.flows)
        return [{**self._keys(), "flow": row.pop("name"), **row} for row in rows]

    def bearer_rows(self) -> list[dict[str, Any]]:
        """Rows with the columns ``BEARER_COLUMNS``."""
        return [{**self._keys(), **row} for row in self.bearers]

    def link_rows(self) -> list[dict[str, Any]]:
        """Rows with the columns ``LINK_COLUMNS``."""
        return [{**self._keys(), **row} for row in self.links]

    def _keys(self) -> dict[str, Any]:
        return {"scenario": self.scenario, "replication": self.replication}


def _ordered(row: Mapping[str, Any], columns: Sequence[Column]) -> dict[str, Any]:
    """The values of a row in the order of their columns, as they also come back from a file."""
    # In tables the name of a flow is the column `flow`.
    names = ("name" if column.name == "flow" else column.name for column in columns[len(_KEYS) :])
    if columns is FLOW_COLUMNS:
        # Rows that were not simulated are those of plain transfers.
        row = {**plain_transfer(), **row}
    return {name: _finite(row[name]) for name in names}


def _finite(value: Any) -> Any:
    """A value that does not exist is None everywhere, because neither JSON nor a mean has use for NaN."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
