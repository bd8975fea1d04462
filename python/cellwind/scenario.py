"""Scenarios as Python sees them: load, change, vary."""

from __future__ import annotations

import itertools
import json
import math
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from cellwind import _core

Value: TypeAlias = "bool | int | float | str | Sequence[Value] | Mapping[str, Value]"
"""A value of a scenario file: what TOML can say, quantities with their unit as strings (``"20 ms"``)."""


class ScenarioWarning(UserWarning):
    """A scenario asks for what is legal but probably not meant."""


class Scenario:
    """One experiment, read, completed with its presets and found valid. It never changes.

    >>> import cellwind
    >>> scenario = cellwind.Scenario.load("umts-384")
    >>> scenario.name
    'umts-384'
    """

    __slots__ = ("_core", "_factors", "_name")

    def __init__(self, core: _core.Scenario, factors: Mapping[str, Value] | None = None) -> None:
        self._core = core
        self._factors = dict(factors or {})
        self._name = core.name + _label(self._factors)

    @classmethod
    def load(cls, path: str | os.PathLike[str], values: Mapping[str, Value] | None = None) -> Scenario:
        """Reads a scenario file, or the ready-made scenario of that name (see ``cellwind list``).

        ``values`` maps dotted paths to values put over the file.

        Raises ScenarioError: its text says where the file is wrong and what is allowed there.

        >>> import cellwind
        >>> cellwind.Scenario.load("umts-384", {"seed": 7}).seed
        7
        """
        return cls(_core.Scenario.load(os.fspath(path), sets=_sets(values or {})))

    @classmethod
    def parse(cls, text: str, name: str = "scenario", values: Mapping[str, Value] | None = None) -> Scenario:
        r"""Reads the text of a scenario file; ``name`` names it in results and errors.

        Raises ScenarioError, as ``load`` does.

        >>> import cellwind
        >>> cellwind.Scenario.parse('extends = "umts-384"\nseed = 3', name="mine").seed
        3
        """
        return cls(_core.Scenario.parse(text, name, sets=_sets(values or {})))

    def with_values(self, values: Mapping[str, Value] | None = None, /, **named: Value) -> Scenario:
        """The same scenario, under the same name, with other values.

        Paths are dotted, as keys of ``values``; as keyword arguments their dots are written ``__``.

        Raises ScenarioError when a path does not exist or a value does not fit.

        >>> import cellwind
        >>> cellwind.Scenario.load("umts-384").with_values({"seed": 5}).seed
        5
        """
        return Scenario(self._core.with_values(_sets(_merged(values, named))), self._factors)

    def vary(
        self,
        values: Mapping[str, Value | Iterable[Value]] | None = None,
        /,
        **named: Value | Iterable[Value],
    ) -> list[Scenario]:
        """One variant per combination of the given values, the last path varying fastest.

        Every path takes one value or several; several come as a list, tuple, range, array or other iterable. Strings
        and mappings are one value; a setting that is itself a list must be wrapped in a list. A variant's name
        carries its factors, and ``factors`` has them as a mapping. All variants share the seed, so that they meet
        the same radio.

        Raises ScenarioError when a path does not exist or a value does not fit, ValueError when a path has no value.

        >>> import cellwind
        >>> [v.name for v in cellwind.Scenario.load("umts-384").vary(access__umts__errors=[0.0, 0.1])]
        ['umts-384[access.umts.errors=0.0]', 'umts-384[access.umts.errors=0.1]']
        """
        levels = {path: _levels(path, value) for path, value in _merged(values, named).items()}
        variants = []
        for combination in itertools.product(*levels.values()):
            factors = dict(zip(levels, combination, strict=True))
            variants.append(Scenario(self._core.with_values(_sets(factors)), {**self._factors, **factors}))
        return variants

    @property
    def name(self) -> str:
        """Name in results: the preset or file name, and the factors of a variant in brackets."""
        return self._name

    @property
    def factors(self) -> dict[str, Value]:
        """What ``vary`` set to make this variant, by dotted path; empty for a scenario as loaded."""
        return dict(self._factors)

    @property
    def title(self) -> str:
        """One line for people; empty when the file has none."""
        return self._core.title

    @property
    def description(self) -> str:
        """What the experiment is about; empty when the file has none."""
        return self._core.description

    @property
    def seed(self) -> int:
        """Seed of all random streams."""
        return self._core.seed

    @property
    def replications(self) -> int:
        """How often the scenario is run when nobody says otherwise."""
        return self._core.replications

    @property
    def digest(self) -> str:
        """Hexadecimal digest of the resolved scenario, without ``replications``: equal digests give equal results."""
        return self._core.digest

    @property
    def flows(self) -> list[str]:
        """Names of the flows, in the order of the file."""
        return self._core.flows

    @property
    def transports(self) -> dict[str, str]:
        """Flow to the name of its transport preset, or to the type of its transport."""
        return self._core.transports

    @property
    def warnings(self) -> list[str]:
        """What is legal but probably not meant, one sentence each.

        Commands print them when they read the scenario; ``cellwind.run`` and ``cellwind.emulate`` issue them as
        ``ScenarioWarning``.

        >>> import cellwind
        >>> cellwind.Scenario.load("wired", {"stop_at": "1 s", "flow.download.start": "2 s"}).warnings
        ['flow.download starts when the scenario has already ended']
        """
        return self._core.warnings

    @property
    def live_warnings(self) -> list[str]:
        """What a live run leaves without effect, beside ``warnings``."""
        return self._core.live_warnings

    @property
    def core(self) -> _core.Scenario:
        """The scenario as ``cellwind._core.run`` takes it."""
        return self._core

    def to_toml(self) -> str:
        """The text of a scenario file with all presets resolved; parsing it gives an equal scenario."""
        return self._core.to_toml()

    def __repr__(self) -> str:
        return f"<Scenario {self.name!r}: {self.title or 'no title'}>"


def issue_warnings(scenarios: Iterable[Scenario], live: bool, stacklevel: int) -> None:
    """Issues the warnings of some scenarios through Python's ``warnings``, each once.

    ``stacklevel`` says which caller is told as their place, 1 for the one of this function.
    """
    texts = (text for s in scenarios for text in (*s.warnings, *(s.live_warnings if live else ())))
    for text in dict.fromkeys(texts):
        warnings.warn(text, ScenarioWarning, stacklevel=stacklevel + 1)


def to_toml_value(value: Value) -> str:
    """Writes a Python value as TOML on one line. Raises TypeError for what TOML cannot say.

    >>> to_toml_value({"extends": "reno", "mss": "536 B"})
    '{ extends = "reno", mss = "536 B" }'
    """
    # bool first: it is an int to Python and a type of its own to TOML.
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, str):
        # A TOML basic string is a JSON string, but for DEL, which JSON lets through.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        pairs = [f"{_key(key)} = {to_toml_value(item)}" for key, item in value.items()]
        return f"{{ {', '.join(pairs)} }}" if pairs else "{}"
    if hasattr(value, "tolist"):
        # numpy scalars and arrays, without importing numpy to ask.
        return to_toml_value(value.tolist())
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return f"[{', '.join(to_toml_value(item) for item in value)}]"
    raise TypeError(f"a scenario holds numbers, text, booleans, lists and tables, not {type(value).__name__}")


def _float(value: float) -> str:
    if math.isfinite(value):
        return repr(float(value))
    return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")


def _key(key: str) -> str:
    bare = bool(key) and all(c.isascii() and (c.isalnum() or c in "-_") for c in key)
    return key if bare else json.dumps(key)


def _sets(values: Mapping[str, Value]) -> list[tuple[str, str]]:
    return [(path, to_toml_value(value)) for path, value in values.items()]


def _merged(values: Mapping[str, Any] | None, named: Mapping[str, Any]) -> dict[str, Any]:
    """Both ways of naming a path, the mapping first."""
    merged = dict(values or {})
    for name, value in named.items():
        path = name.replace("__", ".")
        if path in merged:
            raise TypeError(f"{path} is given twice")
        merged[path] = value
    return merged


def _levels(path: str, value: Any) -> list[Value]:
    if isinstance(value, str | Mapping) or not isinstance(value, Iterable):
        return [value]
    levels = [item.tolist() if hasattr(item, "tolist") else item for item in value]
    if not levels:
        raise ValueError(f"{path} is varied over no value at all")
    return levels


def _label(factors: Mapping[str, Value]) -> str:
    if not factors:
        return ""
    shown = (value if isinstance(value, str) else to_toml_value(value) for value in factors.values())
    return f"[{','.join(f'{path}={text}' for path, text in zip(factors, shown, strict=True))}]"
