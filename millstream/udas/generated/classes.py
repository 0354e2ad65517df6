"""Bodies to Python: one class per aggregate, one method per part."""

from __future__ import annotations

import re
from collections.abc import Iterator

from millstream.expressions.tree import Value
from millstream.udas.body import (
    INWINDOW,
    Action,
    Aggregation,
    Body,
    Delete,
    InsertQuery,
    InsertRows,
    LocalTable,
    Parameter,
    Source,
    Update,
    one_row_tables,
    returns,
    walk,
)
from millstream.udas.generated.code import CONJUNCTION, Code, Namer, joined, listed, wrapped
from millstream.udas.generated.queries import Queries, Tables, conjuncts, free
from millstream.udas.generated.runtime import NAMES
from millstream.udas.generated.states import WindowState
from millstream.udas.generated.values import Place

_METHODS = {"initialize": "initialize", "iterate": "iterate", "terminate": "terminate", "expire": "at_expiry"}
_INDENT = "    "


def generate(body: Body) -> tuple[str, str]:
    """The source of a module, and the name of the class in it that is the aggregate."""
    module = _Module()
    name = module.add(body)
    return "\n\n".join(module.classes), name


def wanted_indexes(body: Body) -> dict[str, tuple[int, ...]]:
    """The columns of tables of the catalog that an aggregate looks rows up by."""
    module = _Module()
    module.add(body)
    return {name: tuple(sorted(columns)) for name, columns in module.catalog_indexes.items()}


class _Module:
    """The classes of an aggregate and of those that it calls, innermost first."""

    def __init__(self) -> None:
        self.classes: list[str] = []
        self.catalog_indexes: dict[str, set[int]] = {}
        self._known: list[tuple[Body, str]] = []
        self._namer = Namer(n.lower() for n in NAMES)

    def add(self, body: Body) -> str:
        """Write the class of an aggregate, unless it is there already; its name."""
        for known, name in self._known:
            if known == body:
                return name
        for part in body.parts.values():
            for node in walk(part):
                if isinstance(node, Aggregation) and node.body is not None:
                    self.add(node.body)
        words = re.split("_+", self._namer.name(body.name + ("_window" if body.window else "")))
        name = "".join(word.capitalize() for word in words if word) or "Aggregate"
        self._known.append((body, name))
        writer = _Class(body, name, self)
        self.classes.append(writer.text())
        for table in body.reads:
            self.catalog_indexes.setdefault(table.name, set()).update(writer.tables.indexed.get(table.name, ()))
        return name


class _Class:
    """The class of one aggregate."""

    def __init__(self, body: Body, name: str, module: _Module) -> None:
        self.body = body
        self.name = name
        self._module = module
        names = Namer([*dir(WindowState), *NAMES, "self", "result", "row", "tables"])
        variables: dict[str, tuple[str, ...]] = {}
        attributes: dict[str, str] = {INWINDOW: INWINDOW}
        self._alone = one_row_tables(body)
        for table in body.tables:
            if table.name in self._alone:
                variables[table.name] = tuple(names.name(f"{table.name}_{c.name}") for c in table.columns)
            elif table.name != INWINDOW:
                attributes[table.name] = names.name(table.name)
        for read in body.reads:
            attributes[read.name] = names.name(read.name)
        self.tables = Tables(variables, attributes)
        self._parameters = tuple(names.name(p.name) for p in body.parameters)
        self._queries = Queries(self.tables, self._runner, self._parameters)
        self._remembers = any(isinstance(n, Parameter) for n in walk(body.terminate))
        self._passes_tables = any(
            isinstance(n, Aggregation) and ((n.itself and body.reads) or (n.body is not None and n.body.reads))
            for part in body.parts.values()
            for n in walk(part)
        )

    def text(self) -> str:
        """The class."""
        methods = [self._method(part, actions) for part, actions in self.body.parts.items() if self._has(part)]
        base = "WindowState" if self.body.window else "State"
        head = f'class {self.name}({base}):\n{_INDENT}"""{self._signature()}"""\n\n'
        return head + "\n".join([self._fields(), self._constructor(), *methods])

    def _signature(self) -> str:
        plain = [f"{re.sub(r'[^A-Za-z0-9_ ]', '_', f.name)} {f.type}" for f in self.body.parameters]
        result = ", ".join(str(f.type) for f in self.body.result)
        name = re.sub(r"[^A-Za-z0-9_]", "_", self.body.name)
        return f"{name}({', '.join(plain)}) : {result if len(self.body.result) == 1 else f'({result})'}."

    def _has(self, part: str) -> bool:
        return part in {"initialize", "iterate"} or bool(self.body.parts[part])

    # -- the state -----------------------------------------------------------------------------------------

    @property
    def _local(self) -> list[LocalTable]:
        return [t for t in self.body.tables if t.name not in self._alone]

    def _fields(self) -> str:
        variables = [v for names in self.tables.variables.values() for v in names]
        local = [self.tables.attributes[t.name] for t in self._local]
        own = [name for name in local if name != INWINDOW]
        reads = [self.tables.attributes[t.name] for t in self.body.reads]
        slots = [*variables, *own, *reads, *(["tables"] if self._passes_tables else [])]
        lines = [f"__slots__ = {_strings(slots)}"]
        if variables:
            lines.append(f"variables = {_strings(variables)}")
        if local:
            lines.append(f"local = {_strings(local)}")
        return _block(lines, 1)

    def _constructor(self) -> str:
        lines = ["super().__init__(tables)"]
        place = Place((), {})
        for table in self.body.tables:
            if table.name in self._alone:
                values = self._row(table.rows[0], place) if table.rows else ["None"] * len(table.columns)
                names = self.tables.variables[table.name]
                lines += [f"self.{n} = {v}" for n, v in zip(names, values, strict=True)]
                continue
            kind = "Window" if table.name == INWINDOW else "Table"
            rows = f", [{', '.join(listed(self._row(r, place)) for r in table.rows)}]" if table.rows else ""
            indexed = sorted(self.tables.indexed.get(table.name, ()))
            index = f", indexed={listed(map(str, indexed))}" if indexed else ""
            lines.append(f"{self.tables.text(table.name)} = {kind}({len(table.columns)}{rows}{index})")
        lines += [f"{self.tables.text(t.name)} = tables[{t.name!r}]" for t in self.body.reads]
        if self._passes_tables:
            lines.append("self.tables = tables")
        return _block(["def __init__(self, tables=NO_TABLES):"], 1) + _block(lines, 2)

    # -- the parts -----------------------------------------------------------------------------------------

    def _method(self, part: str, actions: tuple[Action, ...]) -> str:
        arguments = () if part == "terminate" else self._parameters
        head = f"def {_METHODS[part]}({', '.join(('self', *arguments))}):"
        if part == "initialize" and self.body.shared:
            lines = ["self.seen = True", f"return self.iterate({', '.join(self._parameters)})"]
            return _block([head], 1) + _block(lines, 2)
        lines = list(self._opening(part))
        answers = any(map(returns, actions))
        if answers:
            lines.append("result = []")
        place = Place(self._parameters, {}, oldest=self._parameters if part == "expire" and _keeps(actions) else ())
        for action in actions:
            self._queries.begin()
            lines += self._action(action, place)
        if not answers:
            lines.append("return []")
        elif sum(_RETURNED[0] in line or _RETURNED[1] in line for line in lines) == 1 and lines[-1].startswith(
            _RETURNED
        ):
            lines.remove("result = []")
            lines[-1] = _returned(lines[-1])
        else:
            lines.append("return result")
        return _block([head], 1) + _block(lines, 2)

    def _opening(self, part: str) -> Iterator[str]:
        if part == "initialize":
            yield "self.seen = True"
        if part in {"initialize", "iterate"} and self._remembers:
            yield f"self.last = {listed(self._parameters)}"
        if part == "terminate":
            yield "if not self.seen:"
            yield f"{_INDENT}return []"
            if self._remembers:
                yield f"{listed(self._parameters)} = self.last"

    def _action(self, action: Action, place: Place) -> list[str]:
        match action:
            case InsertRows():
                return self._insert_rows(action, place)
            case InsertQuery():
                return self._insert_query(action, place)
            case Update():
                return self._update(action, place)
            case Delete():
                return self._delete(action, place)

    def _insert_rows(self, action: InsertRows, place: Place) -> list[str]:
        rows = [self._row(row, place) for row in action.rows]
        if action.table in self._alone:
            return _assigned(self.tables.variables[str(action.table)], rows[0])
        if action.table is None:
            lines = [f"result.append({listed(row)})" for row in rows]
        else:
            lines = [f"{self.tables.text(action.table)}.insert([{', '.join(map(listed, rows))}])"]
        return _guarded(lines, self._queries.values.truth(action.where, place) if action.where else None)

    def _insert_query(self, action: InsertQuery, place: Place) -> list[str]:
        alone = self._queries.single_row(action.query, place)
        if alone is not None:
            row, condition = alone
            target = "result.append({})" if action.table is None else f"{self.tables.text(action.table)}.insert([{{}}])"
            return _guarded([target.format(row) if "{" not in row else target.replace("{}", row)], condition)
        rows = self._queries.rows(action.query, place).text
        return [f"result += {rows}" if action.table is None else f"{self.tables.text(action.table)}.insert({rows})"]

    def _update(self, action: Update, place: Place) -> list[str]:
        if action.table in self._alone:
            inner = self._queries._with_variable(place, action.source)  # noqa: SLF001
            names = self.tables.variables[action.table]
            lines = _assigned([names[c] for c in action.columns], self._row(action.values, inner))
            return _guarded(lines, self._queries.values.truth(action.where, inner) if action.where else None)
        inner, loop, check, guard = self._chosen(action.source, action.where, place)
        row = self._queries.row_name(action.source)
        changes = f"[({row}, {listed(self._row(action.values, inner))}) {loop}{check}]"
        line = f"{self.tables.text(action.table)}.update({listed(map(str, action.columns))}, {changes})"
        return _guarded([line], guard)

    def _delete(self, action: Delete, place: Place) -> list[str]:
        if action.where is None:
            return [f"{self.tables.text(action.table)}.clear()"]
        _, loop, check, guard = self._chosen(action.source, action.where, place)
        table, row = self.tables.text(action.table), self._queries.row_name(action.source)
        chosen = f"[{row} {loop}{check}]" if check else loop.partition(" in ")[2]
        if guard is not None and chosen == f"{table}.rows()":
            return _guarded([f"{table}.clear()"], guard)
        return _guarded([f"{table}.delete({chosen})"], guard)

    def _chosen(self, source: Source, where: Value | None, place: Place) -> tuple[Place, str, str, Code | None]:
        """The rows that an UPDATE or a DELETE means, and the condition that has nothing to do with them."""
        apart = [c for c in conjuncts(where) if source.number not in free(c)]
        conditions = [c for c in conjuncts(where) if source.number in free(c)]
        guards = [self._queries.values.truth(c, place) for c in apart]
        rows = self._queries.source_rows(source, place, conditions, set())
        row = self._queries.row_name(source)
        inner = place.with_source(source.number, lambda column: f"{row}[{column}]")
        checks = [self._queries.values.truth(c, inner) for c in conditions]
        check = f" if {joined(checks, 'and', CONJUNCTION).text}" if checks else ""
        return inner, f"for {row} in {rows}", check, joined(guards, "and", CONJUNCTION) if guards else None

    def _row(self, values: tuple[Value, ...], place: Place) -> list[str]:
        return [self._queries.values.text(v, place) for v in values]

    def _runner(self, call: Aggregation) -> str:
        body = self.body if call.itself else call.body
        name = self.name if body is self.body or body is None else self._module.add(body)
        kind = f"lambda: {name}(self.tables)" if body is not None and body.reads else name
        return f"run({kind}, {call.result})"


def _keeps(actions: tuple[Action, ...]) -> bool:
    """Whether the oldest tuple of the window stays what it is throughout some statements."""
    return not any(isinstance(a, Delete | Update) and a.table == INWINDOW for a in actions)


_RETURNED = ("result.append(", "result += ")


def _returned(line: str) -> str:
    """The one line that returns something, as the last of a method."""
    if line.startswith("result += "):
        return f"return {line.removeprefix('result += ')}"
    return f"return [{line.removeprefix('result.append(')[:-1]}]"


def _assigned(names: list[str] | tuple[str, ...], values: list[str]) -> list[str]:
    """Assignments one by one, or all at once if a later one looks at a variable that an earlier one changes."""
    targets = [f"self.{n}" for n in names]
    mixed = any(
        re.search(rf"{re.escape(target)}\b", value)
        for index, target in enumerate(targets)
        for value in values[index + 1 :]
    )
    if mixed:
        return [f"{', '.join(targets)} = {', '.join(values)}"]
    return [f"{target} = {value}" for target, value in zip(targets, values, strict=True)]


def _guarded(lines: list[str], condition: Code | None) -> list[str]:
    return lines if condition is None else [f"if {condition.text}:", *(_INDENT + line for line in lines)]


def _strings(names: list[str]) -> str:
    return listed(f'"{n}"' for n in names) if names else "()"


def _block(lines: list[str], depth: int) -> str:
    broken = [part for line in lines for part in _broken(line)]
    return "".join(f"{_INDENT * depth}{line}\n" for line in broken)


def _broken(line: str) -> list[str]:
    """A line in parts, each as deep as the line or deeper; the head of a compound statement stays whole."""
    if line.endswith(":"):
        return [line]
    bare = line.lstrip()
    indent = line[: len(line) - len(bare)]
    return [f"{indent}{part}" for part in wrapped(bare)]
