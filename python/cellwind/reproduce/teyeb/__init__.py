"""Teyeb's dissertation of 2007: the kernel's TCP over the emulator RESPECT, and how well RESPECT keeps its deadlines.

``cells``, ``transfers``, ``rlc_cells``, ``mechanism_cells`` and ``ping_cells`` are the runs, over the ``bearer`` of
chapters 5 and 6 or the networks of chapter 7; ``observed``, ``rlc_observed`` and ``connection`` read their facts.
``channels`` (2.3), ``mechanisms`` (4.2), ``model`` and ``downloads`` (5.2), ``rlc`` (5.3), ``order``, ``reordering``
and ``spikes`` (6.4), ``networks``, ``handover``, ``moves`` and ``traces`` (7), ``logging`` (B) and ``deadlock`` (C) put
them together for each figure.
"""

from __future__ import annotations

from dataclasses import replace

from ..design import REPLICATIONS, Design, design_of
from ..published import Paper
from ..quantities import Factor
from . import (
    channels,
    deadlock,
    downloads,
    handover,
    logging,
    mechanisms,
    model,
    moves,
    networks,
    order,
    reordering,
    rlc,
    spikes,
    traces,
)
from .cells import Cell
from .observed import AnyCell, Observation, TeyebPlan, observe
from .rlc_cells import RlcCell
from .transfers import Transfer

# Of a cell so many downloads are looked into where they differ: facts cost ten times what a download does.
TRACED = 20
# Downloads over the RLC without retransmissions take half a minute each.
LIVE = 10


def plans() -> dict[str, TeyebPlan]:
    """The plan of every experiment, by its identifier."""
    found = {**channels.plans(), **mechanisms.plans(), **_section_5_2(), **rlc.plans(), **_chapter_6(), **_chapter_7()}
    found |= {**logging.plans(), **deadlock.plans()}
    return {f"teyeb-{name}": plan for name, plan in found.items()}


def _chapter_6() -> dict[str, TeyebPlan]:
    """Those of the order of delivery and of delay spikes, in the order of the text."""
    found = {**order.plans(), **reordering.plans(), **spikes.plans()}
    return {name: found[name] for name in (*(f"figure-6-{n}" for n in range(3, 12)), "rlc-order-recommendation")}


def _chapter_7() -> dict[str, TeyebPlan]:
    """Those of the handovers, in the order of the text, with what appendices B and E say of them."""
    found = {**networks.plans(), **handover.plans(), **moves.plans(), **traces.plans()}
    first = ["equation-7-1", "table-7-1", "figure-7-2"]
    figures = [f"figure-7-{number}" for number in range(3, 15)]
    rest = ["umts-to-wlan", "figure-7-15", "umts-to-gprs", *(f"figure-7-{number}" for number in range(16, 22))]
    last = ["table-7-2", "handover-summary", "handover-alternatives", "emulator-heterogeneous", "table-e-1"]
    return {name: found[name] for name in (*first, *figures, *rest, *last)}


def _section_5_2() -> dict[str, TeyebPlan]:
    """Those of the model, in the order of the text."""
    found = {**model.plans(), **downloads.plans()}
    equations = [f"equation-5-{number}" for number in range(1, 15)]
    figures = ["figure-5-1", "figure-5-2", "figure-5-3", "figure-5-4"]
    rest = ["table-5-1", "table-5-2", "figure-5-6", "figure-5-7", "figure-5-8"]
    return {name: found[name] for name in (*equations, *figures, *rest)}


def design(paper: Paper) -> Design[AnyCell, Observation]:
    """How the experiments of the dissertation are run."""
    return replace(
        design_of(paper, plans(), observe),
        traced=_traced,
        live_replications=lambda cell: LIVE if isinstance(cell, RlcCell) else None,
        # Section 5.3.3 says so of chapter 5.
        replications=lambda cell: 300 if isinstance(cell, Transfer | RlcCell) else REPLICATIONS,
        aliases=_aliases,
    )


def _traced(cell: AnyCell) -> int:
    differs = isinstance(cell, RlcCell) or (isinstance(cell, Cell) and cell.study == "order")
    return TRACED if differs else 1


def _aliases(name: str, value: Factor) -> tuple[str, Factor]:
    """Other spellings of the factors in the checks."""
    names = {"delay": "handover_delay_s", "status_prohibit": "status_prohibit_ms", "ret": "ret_ttis"}
    return names.get(name, name), value
