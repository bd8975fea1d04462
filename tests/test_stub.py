"""The stub of ``cellwind._core`` and the module say the same, both ways."""

import ast
import inspect
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from cellwind import _core

STUB = Path(__file__).resolve().parents[1] / "python" / "cellwind" / "_core.pyi"

Definition = ast.ClassDef | ast.FunctionDef


def definitions(body: list[ast.stmt]) -> dict[str, Definition]:
    return {node.name: node for node in body if isinstance(node, ast.ClassDef | ast.FunctionDef)}


def public(thing: type | ModuleType) -> set[str]:
    """Public names that a module or class defines itself."""
    return {name for name in vars(thing) if not name.startswith("_")}


def is_property(node: Definition) -> bool:
    return any(isinstance(d, ast.Name) and d.id == "property" for d in node.decorator_list)


def stub_parameters(node: ast.FunctionDef) -> list[tuple[str, bool]]:
    """Names of the parameters and whether they have a default, without ``self``."""
    arguments = node.args.posonlyargs + node.args.args
    required = len(arguments) - len(node.args.defaults)
    found = [(argument.arg, place >= required) for place, argument in enumerate(arguments)]
    pairs = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    found += [(argument.arg, default is not None) for argument, default in pairs]
    return [(name, default) for name, default in found if name not in ("self", "cls")]


def module_parameters(thing: Any) -> list[tuple[str, bool]]:
    assert thing.__text_signature__ is not None, f"{thing} tells no signature"
    parameters = inspect.signature(thing).parameters.values()
    return [(p.name, p.default is not inspect.Parameter.empty) for p in parameters if p.name != "self"]


CONSTRUCTORS = ("__init__", "__new__")
TOP = definitions(ast.parse(STUB.read_text(encoding="utf-8")).body)
CLASSES = sorted(name for name, node in TOP.items() if isinstance(node, ast.ClassDef))
MEMBERS = sorted((owner, name) for owner in CLASSES for name in definitions(TOP[owner].body))


def test_stub_and_module_have_the_same_names() -> None:
    """By comparing the public names of the module and of each class with those of the stub."""
    assert set(TOP) == public(_core)
    for name in CLASSES:
        members = {member for member in definitions(TOP[name].body) if not member.startswith("_")}
        assert members == public(getattr(_core, name)), name


@pytest.mark.parametrize("name", sorted(set(TOP) - set(CLASSES)))
def test_functions_have_the_parameters_of_the_stub(name: str) -> None:
    """By comparing names and defaults with ``__text_signature__``."""
    node = TOP[name]
    assert isinstance(node, ast.FunctionDef)
    assert stub_parameters(node) == module_parameters(getattr(_core, name))


@pytest.mark.parametrize(("owner", "name"), MEMBERS)
def test_members_are_what_the_stub_says(owner: str, name: str) -> None:
    """By comparing properties with descriptors, and parameters with ``__text_signature__``."""
    node = definitions(TOP[owner].body)[name]
    assert isinstance(node, ast.FunctionDef)
    cls = getattr(_core, owner)
    if name in CONSTRUCTORS:
        assert stub_parameters(node) == module_parameters(cls)
    elif is_property(node):
        assert inspect.isgetsetdescriptor(vars(cls)[name])
    else:
        assert stub_parameters(node) == module_parameters(getattr(cls, name))


@pytest.mark.parametrize("name", CLASSES)
def test_exceptions_have_the_bases_of_the_stub(name: str) -> None:
    """By comparing the names of the bases; classes of the core that are no exceptions cannot be subclassed."""
    node = TOP[name]
    assert isinstance(node, ast.ClassDef)
    bases = [base.id for base in node.bases if isinstance(base, ast.Name)] or ["object"]
    assert [base.__name__ for base in getattr(_core, name).__bases__] == bases


def test_everything_in_stub_and_module_has_a_docstring() -> None:
    """By asking both for it; constructors are described by their class."""
    silent = [name for name, node in TOP.items() if not (ast.get_docstring(node) and getattr(_core, name).__doc__)]
    for owner, name in MEMBERS:
        node = definitions(TOP[owner].body)[name]
        if name not in CONSTRUCTORS and not (ast.get_docstring(node) and getattr(getattr(_core, owner), name).__doc__):
            silent.append(f"{owner}.{name}")
    assert not silent
