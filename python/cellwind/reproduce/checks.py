"""The small language in which claims of a paper are checked.

A check is a list of statements separated by ``;``. Each is a comparison chain or a call, written as a Python
expression with one extra comparison: ``~``, about equal. ``metric(factor=value, condition)`` picks the runs of a
metric, ``variant.metric`` is short for ``metric(tcp=variant)``, bare words are factor values, quoted ones are names
of cases. A factor that is left out means: for every value the experiment has.

Nothing is executed: the statements are parsed with ``ast`` and interpreted here over ``Quantity``. A statement about
something that nobody measured is neither true nor false; the verdict says so.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from .functions import ABOUT, PLACES, TRENDS, VALUES, Outcome, UnboundError, text_of
from .quantities import Factor, NotANumberError, Point, Quantity, tolerance, without

# Floating point leaves 0.9999999999 where the measured values are the same.
_EXACT = 1e-9

_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "~",
}
_ARITHMETIC: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_STRINGS = re.compile(r'("[^"]*"|\'[^\']*\')')


class CheckSyntaxError(ValueError):
    """A check that is not written in the language; the message quotes it and says where it fails."""


@dataclass(frozen=True)
class Bindings:
    """What the names of a check stand for.

    ``scope`` gives the values that factors have throughout the experiment: a check that does not name such a factor
    means that value, one that names it may look beyond. ``aliases`` maps other spellings of a factor and its value
    to the ones of the points. ``variant`` is the factor that the dot of ``variant.metric`` names.
    """

    metrics: Mapping[str, Quantity]
    scope: Mapping[str, Factor] = field(default_factory=dict)
    aliases: Callable[[str, Factor], tuple[str, Factor]] = lambda name, value: (name, value)
    variant: str = "tcp"


@dataclass(frozen=True)
class Verdict:
    """Whether a check holds: True, False, or None when it cannot be judged; ``why`` gives the measured figures."""

    holds: bool | None
    why: str


@dataclass(frozen=True)
class Statement:
    """One statement of a check: its text and its syntax tree."""

    text: str
    tree: ast.expr


def parse(check: str) -> list[Statement]:
    """The statements of a check. Raises CheckSyntaxError for anything outside the language."""
    statements = []
    for text in _split(check):
        try:
            tree = ast.parse(_tilde_as_is(text), mode="eval").body
        except SyntaxError as error:
            raise CheckSyntaxError(f"not a check: {text!r} ({error.msg})") from None
        for node in ast.walk(tree):
            if not isinstance(node, _GRAMMAR):
                raise CheckSyntaxError(f"not a check: {text!r} (no {type(node).__name__} in the language)")
        statements.append(Statement(text, tree))
    if not statements:
        raise CheckSyntaxError("an empty check says nothing")
    return statements


def evaluate(check: str, bindings: Bindings) -> Verdict:
    """Judges a check: False as soon as one statement is false, else None when one cannot be judged, else True."""
    verdicts = [_judge(statement, bindings) for statement in parse(check)]
    holds: bool | None = True
    if any(verdict.holds is False for verdict in verdicts):
        holds = False
    elif any(verdict.holds is None for verdict in verdicts):
        holds = None
    return Verdict(holds, "; ".join(dict.fromkeys(verdict.why for verdict in verdicts)))


_GRAMMAR = (
    ast.Compare,
    ast.BinOp,
    ast.UnaryOp,
    ast.USub,
    ast.Call,
    ast.keyword,
    ast.Attribute,
    ast.Name,
    ast.Load,
    ast.Constant,
    ast.List,
    *_COMPARISONS,
    *_ARITHMETIC,
)


@dataclass(frozen=True)
class _Condition:
    """``factor comparison value``; without a factor, some factor of the run has the value."""

    factor: str | None
    comparison: str
    value: Factor


def _judge(statement: Statement, bindings: Bindings) -> Verdict:
    try:
        outcomes = _Evaluation(bindings, ()).statement(statement.tree)
    except (UnboundError, NotANumberError) as unbound:
        return Verdict(None, f"{statement.text}: {unbound}")
    if not outcomes:
        return Verdict(None, f"{statement.text}: no runs that differ only in what is compared")
    failed = [outcome for outcome in outcomes if outcome.holds is False]
    unknown = [outcome for outcome in outcomes if outcome.holds is None]
    if failed:
        share = f"{len(failed)} of {len(outcomes)} fail: " if len(outcomes) > 1 else ""
        return Verdict(False, f"{share}{_list(failed)}")
    if unknown:
        return Verdict(None, _list(unknown))
    return Verdict(True, _list(outcomes))


def _list(outcomes: Sequence[Outcome], most: int = 3) -> str:
    # What cannot be judged has its reason alone, and the same text is said once.
    texts = list(
        dict.fromkeys(
            f"{outcome.label}: {outcome.text}" if outcome.label and outcome.holds is not None else outcome.text
            for outcome in outcomes
        )
    )
    more = f"; and {len(texts) - most} more" if len(texts) > most else ""
    return "; ".join(texts[:most]) + more


@dataclass(frozen=True)
class _Evaluation:
    """Interprets one statement; ``conditions`` are those of the calls around the node."""

    bindings: Bindings
    conditions: tuple[_Condition, ...]

    def statement(self, node: ast.expr) -> list[Outcome]:
        if isinstance(node, ast.Compare):
            return self._compare(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in TRENDS:
            return self._trend(node.func.id, node)
        quantity = self.quantity(node)
        return [
            Outcome(point.label(), None if point.needs else bool(point.number), text_of(point))
            for point in quantity.points
        ]

    def quantity(self, node: ast.expr) -> Quantity:
        match node:
            case ast.Constant(value=bool() | int() | float() as number):
                return Quantity.constant(float(number))
            case ast.Constant(value=str() as word):
                return Quantity.constant(word)
            case ast.UnaryOp(operand=operand):
                return self.quantity(operand).apply(operator.neg)
            case ast.BinOp(left=left, op=op, right=right):
                return self._arithmetic(left, op, right)
            case ast.Name(id=name):
                return self._select(name, ())
            case ast.Attribute(value=ast.Name(id=variant), attr=name):
                return self._select(name, (_Condition(self.bindings.variant, "==", variant),))
            case ast.Call():
                return self._call(node)
            case _:
                raise UnboundError(f"{ast.unparse(node)} is not something that is measured")

    def _arithmetic(self, left: ast.expr, op: ast.operator, right: ast.expr) -> Quantity:
        try:
            return self.quantity(left).combine(self.quantity(right), _ARITHMETIC[type(op)])
        except (ZeroDivisionError, OverflowError):
            raise UnboundError("the measured values do not allow the division") from None

    def _compare(self, node: ast.Compare) -> list[Outcome]:
        sides = [node.left, *node.comparators]
        quantities: list[Quantity | UnboundError] = []
        for side in sides:
            try:
                quantities.append(self._side(side))
            except UnboundError as unbound:
                quantities.append(unbound)
        outcomes: list[Outcome] = []
        unbound_links: list[UnboundError] = []
        for left, op, right in zip(quantities, node.ops, quantities[1:], strict=False):
            # One link of a chain that is false makes the chain false, whatever the others would say.
            missing = next((side for side in (left, right) if isinstance(side, UnboundError)), None)
            if missing is not None:
                unbound_links.append(missing)
                continue
            assert isinstance(left, Quantity)
            assert isinstance(right, Quantity)
            outcomes += [_outcome(x, _COMPARISONS[type(op)], y) for x, y in left.join(right)]
        if unbound_links and all(outcome.holds is not False for outcome in outcomes):
            raise unbound_links[0]
        return outcomes

    def _side(self, node: ast.expr) -> Quantity:
        # argmin(…) == full: a word that is no metric stands for itself.
        if isinstance(node, ast.Name) and node.id not in self.bindings.metrics:
            if node.id.isidentifier() and self._is_value(node.id):
                return Quantity.constant(node.id)
            raise UnboundError(f"nothing measures {node.id}")
        return self.quantity(node)

    def _is_value(self, word: str) -> bool:
        return any(
            _same(value, word)
            for quantity in self.bindings.metrics.values()
            for point in quantity.points
            for value in point.factors.values()
        )

    def _call(self, node: ast.Call) -> Quantity:
        match node.func:
            case ast.Name(id=name):
                within = self
            case ast.Attribute(value=ast.Name(id=variant), attr=name):
                condition = _Condition(self.bindings.variant, "==", variant)
                within = _Evaluation(self.bindings, (*self.conditions, condition))
            case _:
                raise UnboundError(f"{ast.unparse(node.func)} is not something that is measured")
        if name in self.bindings.metrics:
            return within._select(name, within._conditions(node.args, node.keywords))
        operands, conditions = within._operands(node)
        inner = _Evaluation(self.bindings, (*within.conditions, *conditions))
        if name in VALUES:
            return VALUES[name]([inner.quantity(operand) for operand in operands])
        if name in PLACES:
            return PLACES[name](*inner._over_factor(name, operands))
        raise UnboundError(f"nothing measures {name}")

    def _operands(self, node: ast.Call) -> tuple[list[ast.expr], tuple[_Condition, ...]]:
        """Splits the arguments of a function into what it works on and which runs it looks at."""
        operands = [argument for argument in node.args if not isinstance(argument, ast.Compare)]
        compared = [argument for argument in node.args if isinstance(argument, ast.Compare)]
        return operands, self._conditions(compared, node.keywords)

    def _conditions(self, arguments: Sequence[ast.expr], keywords: Sequence[ast.keyword]) -> tuple[_Condition, ...]:
        conditions = []
        for argument in arguments:
            if isinstance(argument, ast.Compare):
                sides = [argument.left, *argument.comparators]
                if len(sides) != 2 or not isinstance(sides[0], ast.Name):
                    raise UnboundError(f"{ast.unparse(argument)} does not pick runs by one factor")
                comparison = _COMPARISONS[type(argument.ops[0])]
                conditions.append(_Condition(sides[0].id, comparison, self._word(sides[1])))
            else:
                conditions.append(_Condition(None, "==", self._word(argument)))
        for keyword in keywords:
            if keyword.arg is None:
                raise UnboundError("** is not in the language")
            name, value = self.bindings.aliases(keyword.arg, self._word(keyword.value))
            conditions.append(_Condition(name, "==", value))
        return tuple(conditions)

    def _word(self, node: ast.expr) -> Factor:
        match node:
            case ast.Constant(value=bool() | int() | float() | str() as value):
                return value
            case ast.Name(id=word):
                return word
            case ast.UnaryOp(operand=ast.Constant(value=int() | float() as number)):
                return -number
            case _:
                raise UnboundError(f"{ast.unparse(node)} is not the value of a factor")

    def _select(self, name: str, conditions: tuple[_Condition, ...]) -> Quantity:
        quantity = self.bindings.metrics.get(name)
        if quantity is None:
            raise UnboundError(f"nothing measures {name}")
        points = list(quantity.points)
        named: set[str] = set()
        pinned: set[str] = set()
        for condition in (*self.conditions, *conditions):
            factors = _factors_of(points, condition)
            if not factors:
                raise UnboundError(f"{name} was not measured for {_describe(condition)}")
            points = [point for point in points if _meets(point, condition)]
            named |= factors
            if condition.comparison == "==":
                pinned |= factors
        for factor, value in self.bindings.scope.items():
            if factor not in named:
                points = [point for point in points if _same(point.factors.get(factor, value), value)]
                pinned.add(factor)
        if not points:
            wanted = ", ".join(_describe(condition) for condition in (*self.conditions, *conditions))
            raise UnboundError(f"{name} was not measured for {wanted or 'these runs'}")
        return Quantity.of(without(point, pinned) for point in points)

    def _trend(self, name: str, node: ast.Call) -> list[Outcome]:
        operands, conditions = self._operands(node)
        inner = _Evaluation(self.bindings, (*self.conditions, *conditions))
        quantity, factor = inner._over_factor(name, operands)
        groups = quantity.grouped_by_others(factor)
        if not groups:
            raise UnboundError(f"{ast.unparse(operands[0])} was not measured over {factor}")
        return [TRENDS[name](group, factor) for group in groups.values()]

    def _over_factor(self, name: str, operands: Sequence[ast.expr]) -> tuple[Quantity, str]:
        if len(operands) != 2 or not isinstance(operands[1], ast.Name):
            raise UnboundError(f"{name}(y, x) takes a metric and the factor it is seen over")
        return self.quantity(operands[0]), operands[1].id


def _outcome(left: Point, comparison: str, right: Point) -> Outcome:
    label = Point({**left.factors, **right.factors}).label()
    missing = list(dict.fromkeys(side.needs for side in (left, right) if side.needs is not None))
    if missing:
        return Outcome(label, None, f"needs {' and '.join(missing)}")
    if isinstance(left.value, str) or isinstance(right.value, str):
        same = _same(left.value, right.value)
        holds = same if comparison == "==" else not same
        return Outcome(label, holds, _phrase(left, comparison, right, holds))
    if math.isnan(left.value) or math.isnan(right.value):
        return Outcome(label, None, "no run completed")
    holds = _holds(left, comparison, right)
    return Outcome(label, holds, _phrase(left, comparison, right, holds))


def _holds(left: Point, comparison: str, right: Point) -> bool:
    x, y = left.number, right.number
    close = math.isclose(x, y, rel_tol=_EXACT, abs_tol=_EXACT)
    match comparison:
        case "~":
            return abs(x - y) <= tolerance(left, right, ABOUT) or close
        case "==":
            return close
        case "!=":
            return not close
        case "<=":
            return x < y or close
        case ">=":
            return x > y or close
        case "<":
            return x < y and not close
        case _:
            return x > y and not close


def _phrase(left: Point, comparison: str, right: Point, holds: bool) -> str:
    text = f"{text_of(left)} {comparison} {text_of(right)}"
    if comparison == "~":
        text += f" (tolerance {tolerance(left, right, ABOUT):.3g})"
    return text if holds else f"not {text}"


def _factors_of(points: Sequence[Point], condition: _Condition) -> set[str]:
    """The factors a condition speaks of: the one it names, or those that have its value somewhere."""
    if condition.factor is not None:
        return {condition.factor} if any(condition.factor in point.factors for point in points) else set()
    return {name for point in points for name, value in point.factors.items() if _same(value, condition.value)}


def _meets(point: Point, condition: _Condition) -> bool:
    if condition.factor is None:
        return any(_same(value, condition.value) for value in point.factors.values())
    if condition.factor not in point.factors:
        return False
    value = point.factors[condition.factor]
    if condition.comparison in ("==", "!=", "~") or isinstance(value, str) or isinstance(condition.value, str):
        return _same(value, condition.value) == (condition.comparison != "!=")
    return _holds(Point(value=float(value)), condition.comparison, Point(value=float(condition.value)))


def _same(left: Factor, right: Factor) -> bool:
    if isinstance(left, str) or isinstance(right, str):
        return str(left) == str(right)
    return math.isclose(left, right, rel_tol=_EXACT, abs_tol=_EXACT)


def _describe(condition: _Condition) -> str:
    if condition.factor is None:
        return str(condition.value)
    comparison = " = " if condition.comparison == "==" else f" {condition.comparison} "
    return f"{condition.factor}{comparison}{condition.value}"


def _split(check: str) -> list[str]:
    """Statements between the semicolons that stand outside of quotes."""
    parts = [""]
    for index, piece in enumerate(_STRINGS.split(check)):
        if index % 2:
            parts[-1] += piece
            continue
        first, *rest = piece.split(";")
        parts[-1] += first
        parts += rest
    return [part.strip() for part in parts if part.strip()]


def _tilde_as_is(text: str) -> str:
    """``~`` as ``is``, which Python parses as a comparison of the same rank and no check uses otherwise."""
    return "".join(
        piece if index % 2 else re.sub(r"\s*~\s*", " is ", piece) for index, piece in enumerate(_STRINGS.split(text))
    )
