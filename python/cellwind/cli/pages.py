"""Reference pages made from the core: the scenario file from its JSON Schema, the facts from their list.

The schema comes from the types that read scenario files, so the page cannot say anything else than the program does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

Schema: TypeAlias = Mapping[str, Any]

# What a text may be, told by a part of its pattern.
_PATTERNS = (
    ("exponential", '`"uniform 20 s to 40 s"`, `"exponential 30 s"`'),
    ("packets?", 'a number such as `"100 packets"`'),
    ("segments?", 'a number such as `"100 segments"`'),
    ("B)", 'a size such as `"64 kB"`'),
    ("dB$", 'a ratio such as `"3 dB"`'),
    ("bit/s", 'a rate such as `"384 kbit/s"`'),
    ("|ms|", 'a time such as `"20 ms"`'),
    ("%", 'a share such as `"10 %"`'),
)
# What the tables of keys cannot show: how they go together, and which of them nothing works without.
_START = """\
A flow needs `bulk` and `transport`; one that never ends also needs `stop_at`. Between the servers and the terminals
stands at least one link or access. An access that is written out needs `type` and `rate`, a transport `type`; a preset
has them. `cellwind list` names the presets. Every other key may be left out. A name has up to 64 letters A-Z and a-z,
digits, `_` and `-`.

```toml scenario
stop_at = "2 min"

[link.internet]
delay = "20 ms"
rate = "10 Mbit/s"
queue = "100 packets"

[link.internet.down]                # for this direction only
faults = [{ drop_segment = 20, transmission = 1 }, { delay_segment = 40, by = "2 s" }]

[access]
fast = "umts-384"                   # a preset as it is

[access.slow]
extends = "umts-64"                 # a preset with another value
down.errors = "5 %"

[terminal.anna]
access = "fast"

[terminal.ben]
access = "slow"

[flow.page]
terminal = "anna"
bulk = "1 MB"
transport = "sack"

[flow.backup]
terminal = "ben"
direction = "up"
start = "3 s"
bulk = "unlimited"
transport = { extends = "newreno", label = "NewReno, small window", receive_window = "10 segments" }
```

## Which value holds

Later ones hold over earlier ones: the preset of an access, transport or application; what `extends` names; the file;
`--set`, values given in Python, one call after the other; events, conditions of `mobility` and `cellwind ctl`. A
table is merged key by key, with its strings as what they are short for; a table of another `type` replaces the one
before.

In a link, in an access and in `rrc.dch` a key holds for both directions, in `down` or `up` for one. In one file, one
command line, one call or one `set` what is for one direction holds over what is for both, in whichever order they
stand. Beyond it does not: `--set access.umts.rate="128 kbit/s"` sets both directions, also where the file or the
preset has `down.rate`.
"""
# Beyond this a bound is that of the integer type, not of the quantity.
_COUNTABLE = 2**53


def scenario_page(schema: Schema) -> str:
    """The page of the scenario file, as Markdown."""
    return _ScenarioPage(schema).text()


def facts_page(kinds: Iterable[tuple[str, str]]) -> str:
    """The page of the facts, as Markdown."""
    rows = [(f"`{name}`", _line(meaning)) for name, meaning in kinds]
    return "\n".join(
        [
            "# Facts",
            "",
            "A fact is one observation of one machine: a row with the columns `time_ns` (nanoseconds since the start",
            "of the run), `machine`, `kind`, `flow` (empty when it concerns none), `seq`, `length`, `a` and `b`. What",
            "the last four mean depends on the kind. Sequence numbers count bytes as tshark shows them: SYN is 0, the",
            "first data byte is 1. `cellwind run --facts` keeps them in `facts.parquet`; in Python `Results.facts`",
            "answers them.",
            "",
            "This page is made by `cellwind schema --facts`.",
            "",
            *_table(("Kind", "Who tells it, and what it means"), rows),
            "",
        ]
    )


class _ScenarioPage:
    """Walks through the schema from its root; what is met for the first time gets the next section."""

    def __init__(self, schema: Schema) -> None:
        self._root = schema
        self._definitions: dict[str, Schema] = dict(schema.get("$defs", {}))
        self._queue: list[str] = []
        self._met: set[str] = set()

    def text(self) -> str:
        lines = ["# Scenario file", "", *_paragraphs(self._root), "This page is made by `cellwind schema --markdown`."]
        lines += ["", _START, "## Top level", "", *self._keys(self._root)]
        while self._queue:
            name = self._queue.pop(0)
            definition = self._definitions[name]
            lines += ["", f"## {_heading(name)}", "", *_paragraphs(definition), *self._body(definition)]
        if any("†" in line for line in lines):
            lines += ["", "† From memory, not checked against the text."]
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"

    def _body(self, schema: Schema) -> list[str]:
        """What a section shows: keys, alternatives, or what may be written as the value."""
        alternatives = _alternatives(schema)
        if schema.get("properties"):
            lines = self._keys(schema)
            # Alternatives beside properties come from flattened types: keys in addition to those above.
            for alternative in alternatives:
                lines += ["", *self._alternative(alternative)]
            return lines
        if alternatives and all(_words(a) for a in alternatives):
            rows = [(_joined(_words(a)), _line(a.get("description", ""))) for a in alternatives]
            return _table(("Value", "Meaning"), rows) if any(text for _, text in rows) else [_joined(_flat(rows))]
        if alternatives:
            lines = ["One of:", ""]
            for alternative in alternatives:
                lines += [*self._alternative(alternative), ""]
            return lines
        return [f"Written as {self._type(schema)}.", *_examples(schema)]

    def _alternative(self, schema: Schema) -> list[str]:
        if "$ref" in schema or not schema.get("properties"):
            text = _line(schema.get("description", ""))
            return [f"- {self._type(schema)}{f': {text}' if text else ''}"]
        properties: Mapping[str, Schema] = schema["properties"]
        tag = next((f'{key} = "{value["const"]}"' for key, value in properties.items() if "const" in value), None)
        title = tag or ", ".join(schema.get("required", [])) or "table"
        return [f"### `{title}`", "", *_paragraphs(schema), *self._keys(schema)]

    def _keys(self, schema: Schema) -> list[str]:
        required = schema.get("required", [])
        rows = []
        properties: Mapping[str, Schema] = schema.get("properties", {})
        for key, value in properties.items():
            default = "required" if key in required else _default(value)
            inner = value.get("properties", {}).keys()
            kind = "table with the same keys" if inner and inner <= properties.keys() else self._type(value, key)
            rows.append((f"`{key}`", kind, default, _line(value.get("description", ""))))
        return _table(("Key", "Value", "Default", "Meaning"), rows) if rows else ["No keys."]

    def _type(self, schema: Schema, key: str = "table") -> str:
        """What may be written for a value, in words, with links to the sections of tables and named types.

        A table without a name of its own is called after its ``key``.
        """
        if "$ref" in schema:
            return self._link(str(schema["$ref"]).rsplit("/", 1)[-1])
        words = _words(schema)
        if words:
            return _joined(words)
        alternatives = [a for a in _alternatives(schema) if a.get("type") != "null"]
        if alternatives:
            return _joined(list(dict.fromkeys(self._type(a, key) for a in alternatives)))
        kinds = schema.get("type", "any")
        names = [kinds] if isinstance(kinds, str) else [kind for kind in kinds if kind != "null"]
        return _joined([self._plain(kind, schema, key) for kind in names])

    def _plain(self, kind: str, schema: Schema, key: str) -> str:
        if kind == "array":
            items = schema.get("items", {})
            return f"list of {self._type(items, key)}" if items else "list"
        if kind == "object" and schema.get("properties"):
            self._definitions.setdefault(key, schema)
            return self._link(key) if self._definitions[key] == schema else "table"
        if kind == "object":
            values = schema.get("additionalProperties")
            return f"tables by name, each {self._type(values, key)}" if isinstance(values, Mapping) else "table"
        if kind == "string":
            return _text(schema.get("pattern", ""))
        names = {"integer": "whole number", "number": "number", "boolean": "`true` or `false`"}
        return names.get(kind, kind) + _bounds(schema)

    def _link(self, name: str) -> str:
        if name not in self._definitions:
            return name
        if name not in self._met:
            self._met.add(name)
            self._queue.append(name)
        heading = _heading(name)
        return f"[{heading}](#{re.sub(r'[^a-z0-9 -]', '', heading.lower()).replace(' ', '-')})"


def _alternatives(schema: Schema) -> Sequence[Schema]:
    for word in ("oneOf", "anyOf", "allOf"):
        if word in schema:
            found: Sequence[Schema] = schema[word]
            return found
    return ()


def _words(schema: Schema) -> list[str]:
    """The literal values that are all a schema allows."""
    literals = [schema["const"]] if "const" in schema else schema.get("enum", [])
    return [f"`{json.dumps(literal, ensure_ascii=False)}`" for literal in literals if literal is not None]


def _text(pattern: str) -> str:
    """A text with that pattern, in words."""
    literal = re.match(r"\^\(((?:[A-Za-z][\w. ]*\|)+)", pattern)
    words = [f'`"{word}"`' for word in literal[1].rstrip("|").split("|")] if literal else []
    words += [text for part, text in _PATTERNS if part in pattern]
    return _joined(words) if words else "text"


def _bounds(schema: Schema) -> str:
    """`` from 1 to 5``, as far as there are bounds."""
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    bounds = (("from", low), ("below" if "exclusiveMaximum" in schema else "to", high))
    return "".join(f" {word} {bound}" for word, bound in bounds if bound is not None and abs(bound) < _COUNTABLE)


def _default(schema: Schema) -> str:
    if schema.get("default") is None:
        return ""
    return f"`{json.dumps(schema['default'], ensure_ascii=False)}`"


def _examples(schema: Schema) -> list[str]:
    shown = [f"`{json.dumps(example, ensure_ascii=False)}`" for example in schema.get("examples", [])]
    return ["", f"Examples: {', '.join(shown)}."] if shown else []


def _heading(name: str) -> str:
    """``BlockArqSettings`` reads better as ``Block arq``."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name.removesuffix("Settings")) or [name]
    return " ".join([words[0].capitalize(), *(word if word.isupper() else word.lower() for word in words[1:])])


def _paragraphs(schema: Schema) -> list[str]:
    text = _plain_links(schema.get("description", "")).strip()
    return [text, ""] if text else []


def _line(text: str) -> str:
    """A description as one cell of a table."""
    paragraphs = re.split(r"\n\s*\n", _plain_links(text).strip())
    return "<br>".join(" ".join(paragraph.split()) for paragraph in paragraphs).replace("|", "\\|")


def _plain_links(text: str) -> str:
    """Links between items of the Rust documentation lead nowhere on this page."""
    return re.sub(r"\[(`[^`]+`)\](\([^)]*\))?", r"\1", text)


def _joined(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _flat(rows: Iterable[tuple[str, str]]) -> list[str]:
    return [first for first, _ in rows]


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [
        f"| {' | '.join(heads)} |",
        f"|{'---|' * len(heads)}",
        *(f"| {' | '.join(cell or ' ' for cell in row)} |" for row in rows),
    ]
