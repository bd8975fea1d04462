"""Rows and facts as Arrow tables.

Arrays are put together from their buffers. ``pyarrow.array`` and all that stands on it would import pandas, to
recognise its types, which takes longer than many a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Protocol

from .rows import Column

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

_NUMBERS = {"int32": "i4", "int64": "i8", "float64": "f8"}


def table_of(rows: Iterable[Mapping[str, Any]], columns: Sequence[Column]) -> pa.Table:
    """Rows as a table with exactly ``columns``; None is null."""
    import pyarrow as pa

    lines = list(rows)
    arrays = [_array([line[column.name] for line in lines], column.type) for column in columns]
    return pa.Table.from_arrays(arrays, names=[column.name for column in columns])


class Told(Protocol):
    """Whatever has facts: a run, or a live one."""

    @property
    def machine_names(self) -> list[str]: ...
    @property
    def kind_names(self) -> list[str]: ...
    @property
    def flow_names(self) -> list[str]: ...
    def facts(self) -> Mapping[str, npt.NDArray[np.generic]]: ...


def facts_of(run: Told) -> pa.Table:
    """The facts of a run in the order of time; names are dictionary-encoded, numbers are not copied."""
    import pyarrow as pa

    columns = run.facts()

    def named(column: str, type_: pa.DataType, names: list[str]) -> pa.DictionaryArray:
        return pa.DictionaryArray.from_arrays(_numbers(columns[column], type_), _array(names, "string"))

    arrays = {
        "time_ns": _numbers(columns["time_ns"], pa.int64()),
        "machine": named("machine", pa.uint16(), run.machine_names),
        "kind": named("kind", pa.uint8(), run.kind_names),
        "flow": named("flow", pa.uint16(), run.flow_names),
        "seq": _numbers(columns["seq"], pa.int64()),
        "length": _numbers(columns["length"], pa.int32()),
        "a": _numbers(columns["a"], pa.int64()),
        "b": _numbers(columns["b"], pa.int64()),
    }
    return pa.Table.from_arrays(list(arrays.values()), names=list(arrays))


def _array(values: Sequence[Any], kind: str) -> pa.Array:
    """Values of one type, None among them, as an array of that type."""
    import numpy as np
    import pyarrow as pa

    missing = sum(value is None for value in values)
    validity = _bits([value is not None for value in values]) if missing else None
    if kind == "string":
        texts = [b"" if value is None else value.encode() for value in values]
        offsets = np.fromiter(accumulate(map(len, texts), initial=0), "i4", len(texts) + 1)
        data = [pa.py_buffer(offsets), pa.py_buffer(b"".join(texts))]
    elif kind == "bool":
        data = [_bits([bool(value) for value in values])]
    else:
        numbers = np.array([0 if value is None else value for value in values], _NUMBERS[kind])
        data = [pa.py_buffer(numbers)]
    return pa.Array.from_buffers(pa.type_for_alias(kind), len(values), [validity, *data], missing)


def _numbers(values: npt.NDArray[np.generic], type_: pa.DataType) -> pa.Array:
    """A column of the core as an array on the same memory."""
    import numpy as np
    import pyarrow as pa

    held = np.ascontiguousarray(values, type_.to_pandas_dtype())
    return pa.Array.from_buffers(type_, len(held), [None, pa.py_buffer(held)], 0)


def _bits(flags: Sequence[bool]) -> pa.Buffer:
    import numpy as np
    import pyarrow as pa

    return pa.py_buffer(np.packbits(np.array(flags, bool), bitorder="little"))
