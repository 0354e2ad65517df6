"""The terms of a template's condition, sorted by what finds the registrations that a tuple meets.

Each term is made a tree of functions over columns of tuples and of registrations. What compares an expression of one
with an expression of the other can be looked up; other terms are checked on the pairs that are found. What has no form
over Arrow is left to Spark: parts that read tuples alone become columns before, whole terms a condition behind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from millstream.expressions.arrow.steps import ArrowExpression
from millstream.expressions.compile.arrow import NoArrowForm, arrow_condition, arrow_value
from millstream.expressions.elementary import elementary
from millstream.expressions.reading import all_of, bare, children, columns_of, draws_lots, over_children, terms_of
from millstream.expressions.tree import BOOL, Call, Column, Lambda, Literal, Value
from millstream.expressions.words import words as words_of
from millstream.operators.match.terms import Bound, MatchTerms, PrefixTerm, RangeTerm

_BOUNDS = {"gt": (True, False), "ge": (True, True), "lt": (False, False), "le": (False, True)}
"""Of a comparison with a parameter on the right: whether the value is above it, and whether it may be equal."""

_TURNED = {"gt": "lt", "ge": "le", "lt": "gt", "le": "ge", "eq": "eq"}


@dataclass(frozen=True)
class SortedTerms:
    """The terms for the index, the columns that Spark computes for them, the condition left to it, and the reasons."""

    terms: MatchTerms
    computed: Mapping[str, Value]
    left_over: Value | None
    said: tuple[str, ...]


@dataclass(frozen=True)
class _Compared:
    """A comparison: its sign, an expression of tuples, one of registrations, and the term that it stands in."""

    sign: str
    ours: Value
    theirs: Value
    words: str
    suffix: str | None = None


@dataclass
class _Sorting:
    parameters: frozenset[str]
    equal: list[_Compared] = field(default_factory=list)
    bounds: list[_Compared] = field(default_factory=list)
    prefixes: list[_Compared] = field(default_factory=list)
    rest: list[tuple[Value, str]] = field(default_factory=list)
    alone: list[Value] = field(default_factory=list)
    computed: dict[str, Value] = field(default_factory=dict)
    left_over: list[Value] = field(default_factory=list)

    def take(self, term: Value) -> None:
        """Sort in one term of the condition."""
        before = dict(self.computed)
        for lifted in (False, True):
            tree = self._lift_tuple_terms(term) if lifted else term
            try:
                found = [self._sort_part(part, words_of(term)) for part in terms_of(elementary(tree))]
            except NoArrowForm:
                continue
            for keep in found:
                keep()
            return
        self.computed = before
        self.left_over.append(term)

    def _sort_part(self, part: Value, words: str) -> Callable[[], None]:
        """What keeps a part of a term where it belongs; NoArrowForm if it has no form."""
        compared = self._compare_part(part, words)
        if compared is not None and _has_form(compared.ours, compared.theirs):
            listed = self.equal if compared.sign == "eq" else self.bounds if compared.sign in _BOUNDS else self.prefixes
            if listed is not self.prefixes or not self.prefixes:
                return partial(listed.append, compared)
        arrow_condition(part)
        if not columns_of(part) - self.parameters:
            return partial(self.alone.append, part)
        return partial(self.rest.append, (part, words))

    def _compare_part(self, part: Value, words: str) -> _Compared | None:
        if not isinstance(part, Call) or len(part.arguments) != 2:
            return None
        one, other = part.arguments
        if part.function in _TURNED:
            if one.type != other.type:
                return None
            if self._is_theirs(one) and self._is_ours(other):
                return _Compared(_TURNED[part.function], other, one, words)
            both = self._is_ours(one) and self._is_theirs(other)
            return _Compared(part.function, one, other, words) if both else None
        if part.function in {"startswith", "like"} and self._is_ours(one):
            suffix = None
            if part.function == "like":
                other, suffix = _pattern(other)
            return _Compared("prefix", one, other, words, suffix) if self._is_theirs(other) else None
        return None

    def _is_ours(self, value: Value) -> bool:
        return bool(columns_of(value)) and not columns_of(value) & self.parameters

    def _is_theirs(self, value: Value) -> bool:
        return bool(columns_of(value)) and columns_of(value) <= self.parameters

    def _lift_tuple_terms(self, value: Value) -> Value:
        """The term with what is computed of tuples alone as columns, which Spark computes."""
        if isinstance(value, Column | Lambda):
            return value
        if self._is_ours(value) and not draws_lots(value) and _has_form(Column("", value.type)):
            name = f"__t{len(self.computed)}"
            self.computed[name] = value
            return Column(name, value.type)
        return over_children(value, [self._lift_tuple_terms(part) for part in children(value)])

    def range(self) -> tuple[RangeTerm | None, list[_Compared]]:
        """A value with a bound on either side, if there is one, else with any; and the comparisons that are used."""
        by_value: dict[Value, dict[bool, _Compared]] = {}
        for bound in self.bounds:
            by_value.setdefault(bound.ours, {}).setdefault(_BOUNDS[bound.sign][0], bound)
        if not by_value:
            return None, []
        value, found = max(by_value.items(), key=lambda item: len(item[1]))
        above, below = found.get(True), found.get(False)
        return RangeTerm(_arrow(value), _bound(above), _bound(below)), list(found.values())


def sort_terms(condition: Value | None, parameters: frozenset[str]) -> SortedTerms:
    """The terms of a condition over columns of tuples and of registrations; `parameters` are those of registrations."""
    sorting = _Sorting(parameters)
    for term in sorted(terms_of(condition), key=_knows_no_patterns):  # a LIKE must be looked up, where there is one
        sorting.take(term)
    range_, used = sorting.range()
    others = [b for b in sorting.bounds if not any(b is u for u in used)]
    rest = [*sorting.rest, *((Call(b.sign, (b.ours, b.theirs), BOOL), b.words) for b in others)]
    prefix = next(iter(sorting.prefixes), None)
    found = MatchTerms(
        equal=tuple((_arrow(e.ours), _arrow(e.theirs)) for e in sorting.equal),
        range=range_,
        prefix=None if prefix is None else _prefix(prefix),
        rest=_all([value for value, _ in rest]),
        alone=_all(sorting.alone),
    )
    indexed = dict.fromkeys(c.words for c in (*sorting.equal, *sorting.prefixes, *used))
    checked = dict.fromkeys(words for _, words in rest)
    said = [f"registrations are found by {' AND '.join(indexed)}" if indexed else "each tuple is tried on all of them"]
    said += [f"{' AND '.join(checked)} is checked on what is found"] if checked else []
    return SortedTerms(found, sorting.computed, all_of(sorting.left_over), tuple(said))


def _prefix(compared: _Compared) -> PrefixTerm:
    return PrefixTerm(_arrow(compared.ours), _arrow(compared.theirs), compared.suffix)


def _bound(compared: _Compared | None) -> Bound | None:
    return None if compared is None else Bound(_arrow(compared.theirs), _BOUNDS[compared.sign][1])


def _all(values: list[Value]) -> ArrowExpression | None:
    condition = all_of(values)
    return None if condition is None else arrow_condition(condition)


def _arrow(value: Value) -> ArrowExpression:
    return arrow_value(value)[0]


def _has_form(*values: Value) -> bool:
    try:
        for value in values:
            arrow_value(value)
    except NoArrowForm:
        return False
    return True


def _knows_no_patterns(term: Value) -> bool:
    found = bare(term)
    return isinstance(found, Call) and found.function == "startswith"


def _pattern(value: Value) -> tuple[Value, str]:
    """A pattern in two parts, the second of which is written out: `p || '%'`."""
    if isinstance(value, Call) and value.function == "concat" and len(value.arguments) == 2:
        first, last = value.arguments
        if isinstance(last, Literal) and isinstance(last.value, str):
            return first, last.value
    return value, ""
