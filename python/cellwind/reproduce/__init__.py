"""Published results beside ours: ``cellwind reproduce``.

A paper is a data file (what was published), a file of choices (what it leaves unstated, answered once), a file of
explanations (what is behind the differences) and one module that says how its experiments are run. To add one, write
the three files under ``data/papers`` and a module with a function ``design(paper)``, and name it in ``_MODULES``.

``published`` reads the files, ``design`` says what a module provides, ``simulated`` and ``live`` run its cells under
either clock, ``checks`` judges the claims, ``results`` holds what comes out, ``page`` and ``tables`` show it.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .design import Design, Progress
    from .results import Reproduction

__all__ = ["UnknownExperimentError", "experiment_ids", "papers", "reproduce"]

_MODULES = {
    "lundsten": "cellwind.reproduce.lundsten",
    "gurtov": "cellwind.reproduce.gurtov",
    "teyeb": "cellwind.reproduce.teyeb",
    "lo": "cellwind.reproduce.lo",
}


class UnknownExperimentError(ValueError):
    """No paper and no experiment has that name; the message names the nearest ones."""

    def __init__(self, selector: str, known: Sequence[str]) -> None:
        near = get_close_matches(selector, known, n=1, cutoff=0.0)
        hint = f"; the nearest is {near[0]}" if near else ""
        super().__init__(f"no paper or experiment is named {selector!r}{hint}")
        self.selector = selector
        self.nearest = near[0] if near else None


def papers() -> dict[str, str]:
    """Identifier and title of every paper that can be reproduced.

    >>> papers()["lundsten"]
    'Improving 3G performance for Mobile Internet'
    """
    from .published import load_paper

    return {paper: load_paper(paper).title for paper in _MODULES}


def experiment_ids(paper: str | None = None) -> list[str]:
    """Identifiers of the experiments of a paper, or of all, in the order of the documents.

    >>> "lundsten-table-3" in experiment_ids("lundsten")
    True
    """
    from .published import load_paper

    chosen = list(_MODULES) if paper is None else [paper]
    return [experiment.id for name in chosen for experiment in load_paper(name).experiments]


def reproduce(
    selector: str | None = None,
    replications: int | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
    live: str | os.PathLike[str] | None = None,
) -> Reproduction:
    """Runs published experiments again and puts ours beside the published numbers.

    Parameters
    ----------
    selector:
        A paper (``"lundsten"``) or one of its experiments (``"lundsten-table-3"``); None takes every paper.
    replications:
        How often each scenario with randomness is run; None takes what its paper says, or 20.
    jobs:
        Threads that simulate; None takes one per processor.
    progress:
        Called after every scenario with the number done, the number wanted and its name; live runs count anew.
    live:
        Directory of live runs: what the kernel's TCP does over the same paths, in real time, which needs root or user
        namespaces. A run that is complete there is not repeated. None runs nothing live.

    Raises UnknownExperimentError for a selector that names nothing, ValueError for an argument out of range, and what
    ``cellwind.run`` raises.
    """
    from .design import LiveOptions, RunOptions
    from .judge import judge
    from .published import load_paper
    from .results import PaperInfo, Reproduction

    if replications is not None and replications < 1:
        raise ValueError(f"replications is at least 1, not {replications}")
    kept = None if live is None else LiveOptions(Path(live))
    options = RunOptions(replications, jobs, progress, kept)
    experiments = []
    infos = []
    for name, wanted in _selected(selector).items():
        paper = load_paper(name)
        design: Design[Any, Any] = importlib.import_module(_MODULES[name]).design(paper)
        experiments += judge(design, wanted, options)
        infos.append(PaperInfo(paper.id, paper.title, paper.authors, paper.year, paper.about, paper.choices))
    return Reproduction(infos, experiments, replications, _provenance(selector))


def _selected(selector: str | None) -> dict[str, list[str]]:
    """Experiments per paper."""
    if selector is None:
        return {paper: experiment_ids(paper) for paper in _MODULES}
    if selector in _MODULES:
        return {selector: experiment_ids(selector)}
    for paper in _MODULES:
        if selector in experiment_ids(paper):
            return {paper: [selector]}
    raise UnknownExperimentError(selector, [*_MODULES, *experiment_ids()])


def _provenance(selector: str | None) -> dict[str, Any]:
    from cellwind.campaign.provenance import provenance

    return provenance(" ".join(["cellwind reproduce", *([selector] if selector else [])]))
