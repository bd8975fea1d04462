"""Papers as data: what was published, what was left unstated, and what explains the differences.

Each paper has three files under ``data/papers``: ``<id>.toml`` with the published numbers and claims,
``<id>-choices.toml`` with one answer to everything the text leaves open, and ``<id>-explanations.toml`` with what a
person found behind the differences.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from .quantities import Factor


@dataclass(frozen=True)
class PublishedRow:
    """One line of a table: the factors say which run, ``values`` what was printed, the unit in the key.

    ``derived`` numbers were computed from printed ones; ``approximate`` ones the text calls "about". What is not
    ``judged`` was reconstructed from a damaged text: it is shown, and ours may differ.
    """

    factors: Mapping[str, Factor]
    values: Mapping[str, Factor]
    derived: bool = False
    approximate: bool = False
    judged: bool = True


@dataclass(frozen=True)
class PublishedClaim:
    """A sentence of the paper in our words, and the check it comes down to."""

    text: str
    check: str


@dataclass(frozen=True)
class PublishedExperiment:
    """A table, a figure or a passage: its set-up as far as the text gives it, its numbers and its claims."""

    id: str
    source: str
    what: str
    kind: str
    note: str
    setup: Mapping[str, Any]
    unstated: Sequence[str]
    rows: Sequence[PublishedRow]
    claims: Sequence[PublishedClaim]


@dataclass(frozen=True)
class Choice:
    """One answer to what the paper leaves unstated; ``settings`` are values of the scenario by their path.

    ``parts`` are the parts of a document that it holds for, such as one of several papers; none means all.
    """

    name: str
    value: str
    reason: str
    answers: Sequence[str] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    parts: Sequence[str] = ()


@dataclass(frozen=True)
class Paper:
    """A document with everything that is known about it."""

    id: str
    title: str
    authors: Sequence[str]
    year: int
    about: str
    experiments: Sequence[PublishedExperiment]
    choices: Sequence[Choice]
    explanations: Mapping[str, str]

    @property
    def settings(self) -> dict[str, Any]:
        """The scenario values of the choices that hold for the whole document, by their path."""
        return self.settings_of("")

    def settings_of(self, part: str) -> dict[str, Any]:
        """The scenario values of the choices that hold for a part of the document, by their path."""
        chosen = [choice for choice in self.choices if not choice.parts or part in choice.parts]
        return {path: value for choice in chosen for path, value in choice.settings.items()}


def paper_ids() -> list[str]:
    """Identifiers of the papers that come with cellwind."""
    names = (entry.name for entry in _folder().iterdir() if entry.name.endswith(".toml"))
    return sorted(name.removesuffix(".toml") for name in names if "-choices" not in name and "-expl" not in name)


@cache
def load_paper(paper: str) -> Paper:
    """Reads the files of a paper. Raises FileNotFoundError when there is none of that name."""
    published = _read(f"{paper}.toml")
    shared = published.get("setup", {})
    about = published["paper"]
    return Paper(
        id=about["id"],
        title=about["title"],
        authors=tuple(about["authors"]),
        year=about["year"],
        about=about["about"],
        experiments=tuple(_experiment(entry, shared) for entry in published["experiment"]),
        choices=tuple(_choice(entry) for entry in _read(f"{paper}-choices.toml")["choice"]),
        explanations={
            entry["experiment"]: _lines(entry["text"])
            for entry in _read(f"{paper}-explanations.toml").get("explanation", [])
        },
    )


def _experiment(entry: Mapping[str, Any], shared: Mapping[str, Any]) -> PublishedExperiment:
    own = entry.get("setup", {})
    # An experiment that was not simulated has nothing of the common set-up.
    base = shared if own.get("simulated", True) else {}
    setup = {**base, **own}
    unstated = [*base.get("unstated", []), *own.get("unstated", [])]
    setup.pop("unstated", None)
    return PublishedExperiment(
        id=entry["id"],
        source=entry["source"],
        what=entry["what"],
        kind=entry["kind"],
        note=entry.get("note", ""),
        setup=setup,
        unstated=unstated,
        rows=tuple(
            PublishedRow(
                row["factors"],
                row["values"],
                row.get("derived", False),
                row.get("approx", False),
                row.get("judged", True),
            )
            for row in entry.get("row", [])
        ),
        claims=tuple(PublishedClaim(claim["text"], claim["check"]) for claim in entry.get("claim", [])),
    )


def _choice(entry: Mapping[str, Any]) -> Choice:
    return Choice(
        name=entry["name"],
        value=entry["value"],
        reason=_lines(entry["reason"]),
        answers=tuple(entry.get("answers", [])),
        settings=entry.get("set", {}),
        parts=tuple(entry.get("parts", [])),
    )


def _lines(text: str) -> str:
    """Paragraphs of a text that was wrapped by hand, each on one line."""
    paragraphs = (" ".join(part.split()) for part in text.strip().split("\n\n"))
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((_folder() / name).read_text(encoding="utf-8"))


def _folder() -> Any:
    return files("cellwind") / "data" / "papers"
