"""Reads C: names, calls of MPI, assignments, arguments and macros. Tests: tests/convert."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from couplet.convert.calls import C_CONSTANTS, C_PROCESS_CONSTANTS, ROLES
from couplet.convert.model import Argument, Call, Constant, Facts, Finding, Passed, Symbol
from couplet.convert.parsing import parser_for, walk
from couplet.convert.regions import parallel_regions
from couplet.convert.source import Source

if TYPE_CHECKING:
    from tree_sitter import Node

_PREFIX = "void f(void) { "  # makes the value of a macro something that the parser can read
_NAMES = ("identifier", "field_identifier", "type_identifier")
_RECEIVERS = ("assignment_expression", "init_declarator", "binary_expression", "initializer_pair", "return_statement")
_PART_OF_A_NAME = re.compile(r"\bMPI_(?!\w)")
_FIELDS = ("MPI_SOURCE", "MPI_TAG", "MPI_ERROR")
_BLOCKS = ("compound_statement", "for_statement")


@dataclass
class CNames:
    """What all files share: globals, functions' names, members of structs, macros."""

    globals: dict[str, Symbol] = field(default_factory=dict)
    members: dict[str, Symbol] = field(default_factory=dict)
    macros: dict[str, Symbol] = field(default_factory=dict)
    unattached: list[tuple[Source, Node]] = field(default_factory=list)  # types that declare no variable


class MacroValue(Source):
    """The value of a macro: parsed apart, edited in the file of the macro."""

    def __init__(self, outer: Source, value: Node) -> None:
        self.path, self.text, self.language, self.fixed = outer.path, outer.text, "c", False
        self.outer, self.shift = outer, value.start_byte - len(_PREFIX)
        self.parsed = _PREFIX + outer.text_of(value) + ";}"
        self.edits = outer.edits
        self._offsets = None
        self.tree = parser_for("c").parse(self.parsed.encode("latin-1"))

    def start_of(self, node: Node) -> int:
        return node.start_byte + self.shift

    def end_of(self, node: Node) -> int:
        return node.end_byte + self.shift


@dataclass(eq=False)
class _Scope:
    """A function, a block in it, or a macro: what is declared there."""

    name: str  # the function's or the macro's
    host: _Scope | None = None
    symbols: dict[str, Symbol] = field(default_factory=dict)


class CReader:
    """Reads one file into the facts of all."""

    def __init__(self, source: Source, names: CNames, facts: Facts) -> None:
        self.source = source
        self.names = names
        self.facts = facts
        self.scopes: dict[int, _Scope] = {}  # by the node
        self.values: list[tuple[MacroValue, _Scope]] = []
        self.regions = parallel_regions(source)
        self.file_scope = _Scope("")
        for node in walk(source.tree.root_node):
            if node.type == "function_definition":
                self._read_function(node)
            elif node.type in _BLOCKS:
                host = self._scope_of(node)
                if host is not self.file_scope:
                    self.scopes[node.id] = _Scope(host.name, host)
            elif node.type in ("preproc_def", "preproc_function_def"):
                self._read_macro(node)
        for node in walk(source.tree.root_node):
            if node.type in ("declaration", "parameter_declaration", "field_declaration"):
                self._declare(node)

    # ---- names ----

    def text(self, node: Node, source: Source | None = None) -> str:
        return (source or self.source).text_of(node)

    def _symbol(self, table: dict[str, Symbol], name: str) -> Symbol:
        if name not in table:
            table[name] = Symbol(name, self.source)
            self.facts.symbols.append(table[name])
        return table[name]

    def _read_function(self, node: Node) -> None:
        declarator = next((each for each in walk(node) if each.type == "function_declarator"), None)
        named = None if declarator is None else declared_name(declarator)
        if declarator is None or named is None:
            return
        function = _Scope(self.text(named))
        self.scopes[node.id] = function
        self._result(function.name)
        self._read_dummies(function, declarator)

    def _result(self, function: str) -> Symbol:
        """Returns what a function returns."""
        if function not in self.facts.results:
            self.facts.results[function] = Symbol(function, self.source)
            self.facts.symbols.append(self.facts.results[function])
        return self.facts.results[function]

    def _read_dummies(self, scope: _Scope, declarator: Node) -> None:
        parameters = declarator.child_by_field_name("parameters")
        dummies = []
        for each in [] if parameters is None else parameters.children:
            if each.type == "parameter_declaration":
                inner = each.child_by_field_name("declarator")
                name = None if inner is None else declared_name(inner)
                key = self.text(name) if name is not None else f" {each.start_byte}"
                dummies.append(self._symbol(scope.symbols, key))
        self.facts.dummies.setdefault(scope.name, []).append(dummies)

    def _read_macro(self, node: Node) -> None:
        named, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if named is None or value is None or "MPI_" not in self.text(value):
            return
        function = _Scope(self.text(named))
        symbol = self._symbol(self.names.macros, function.name)
        if symbol.declared is None:
            symbol.declare(self.source, node)
        parameters = node.child_by_field_name("parameters")
        if parameters is not None:
            names = [self.text(each) for each in parameters.children if each.type == "identifier"]
            dummies = [self._symbol(function.symbols, name) for name in names]
            for dummy in dummies:
                dummy.declare(self.source, node)
            self.facts.dummies.setdefault(function.name, []).append(dummies)
        self.values.append((MacroValue(self.source, value), function))

    def _scope_of(self, node: Node) -> _Scope:
        """Returns the innermost block that a node is in."""
        place = node.parent
        while place is not None:
            if place.id in self.scopes:
                return self.scopes[place.id]
            place = place.parent
        return self.file_scope

    def _declare(self, node: Node) -> None:
        declarators = node.children_by_field_name("declarator")
        kind = node.child_by_field_name("type")
        mpi_type = kind is not None and self.text(kind) in MPI_TYPES
        for declarator in declarators:
            named = declared_name(declarator)
            if named is None:
                continue
            if node.type == "declaration" and declarator.type == "function_declarator":
                self._declare_function(declarator, named)
                if mpi_type:
                    self._result(self.text(named)).declare(self.source, declarator)
                continue
            if node.type == "field_declaration":
                symbol = self._symbol(self.names.members, self.text(named))
            else:
                scope = self._scope_of(node)
                inside = scope is not self.file_scope
                if node.type == "parameter_declaration" and not inside:
                    continue  # it belongs to a prototype: see there
                table = scope.symbols if inside else self.names.globals
                symbol = self._symbol(table, self.text(named))
            symbol.declare(self.source, declarator)
        known = any(node in symbol.declared_in(self.source) for symbol in self.facts.symbols)
        if mpi_type and kind is not None and not declarators and not known:
            self.names.unattached.append((self.source, kind))

    def _declare_function(self, declarator: Node, named: Node) -> None:
        """A prototype: its dummies are united with those of the definition."""
        function = _Scope(self.text(named))
        self._read_dummies(function, declarator)
        parameters = declarator.child_by_field_name("parameters")
        for each in [] if parameters is None else parameters.children:
            inner = each.child_by_field_name("declarator") if each.type == "parameter_declaration" else None
            name = None if inner is None else declared_name(inner)
            if each.type == "parameter_declaration":
                key = self.text(name) if name is not None else f" {each.start_byte}"
                function.symbols[key].declare(self.source, inner if inner is not None else each)

    def look_up(self, name: str, scope: _Scope, at: int | None = None) -> Symbol:
        """Returns what a name means in a scope. at: the place in the file, since a name begins at its declaration."""
        place: _Scope | None = scope
        while place is not None:
            found = place.symbols.get(name)
            if found is not None:
                begins = min((node.start_byte for node in found.declared_in(self.source)), default=0)
                if at is None or place.host is None or begins <= at:
                    return found
            place = place.host
        if name in self.names.macros:
            return self.names.macros[name]
        return self._symbol(self.names.globals, name)

    def symbol_of(self, node: Node | None, source: Source, scope: _Scope) -> Symbol | None:
        """Returns the variable of an expression such as `&a[i]`, `p->a` or `a + 1`; none for other expressions."""
        if node is None:
            return None
        if node.type in ("pointer_expression", "subscript_expression"):
            return self.symbol_of(node.child_by_field_name("argument"), source, scope)
        if node.type == "conditional_expression":
            return self._symbol_of_either(node, source, scope)
        if node.type == "parenthesized_expression":
            return self.symbol_of(next((each for each in node.children if each.is_named), None), source, scope)
        if node.type == "cast_expression":
            return self.symbol_of(node.child_by_field_name("value"), source, scope)
        if node.type == "binary_expression" and self.text(node.children[1], source) in "+-":
            return self.symbol_of(node.child_by_field_name("left"), source, scope)
        if node.type == "field_expression":
            member = node.child_by_field_name("field")
            name = "" if member is None else self.text(member, source)
            if name in _FIELDS:
                return None
            return self._symbol(self.names.members, name)
        if node.type == "field_designator":
            return self._symbol(self.names.members, self.text(node.children[-1], source))
        if node.type == "call_expression":
            return self.facts.results.get(self.text(node.children[0], source))
        if node.type == "compound_literal_expression":
            return self._symbol_of_elements(node.child_by_field_name("value"), source, scope)
        if node.type == "identifier" and not self.text(node, source).startswith("MPI_"):
            at = node.start_byte if source is self.source else None
            return self.look_up(self.text(node, source), scope, at)
        return None

    def _symbol_of_either(self, node: Node, source: Source, scope: _Scope) -> Symbol | None:
        """Returns the variable of `a ? b : c`: both are of one kind if they are handles."""
        first, second = (
            self.symbol_of(node.child_by_field_name(name), source, scope) for name in ("consequence", "alternative")
        )
        if first is not None and second is not None and _is_handle(first) and _is_handle(second):
            first.unite(second)
        return first if first is not None else second

    def _symbol_of_elements(self, values: Node | None, source: Source, scope: _Scope) -> Symbol | None:
        """Returns the variable of `{a, b}`: handles in one array are of one kind."""
        given = [] if values is None else [self.symbol_of(each, source, scope) for each in values.children]
        handles = [each for each in given if each is not None and _is_handle(each)]
        for each in handles[1:]:
            handles[0].unite(each)
        return handles[0] if handles else None

    # ---- statements ----

    def parts(self) -> Iterator[tuple[Source, Node, _Scope | None]]:
        """Yields all nodes of the file and of its macros' values."""
        for node in walk(self.source.tree.root_node):
            yield self.source, node, None
        for value, scope in self.values:
            for node in walk(value.tree.root_node):
                if node.start_byte >= len(_PREFIX):
                    yield value, node, scope

    def read(self) -> None:
        """Adds the calls, constants, assignments and arguments of the file to the facts."""
        for source, node, macro in self.parts():
            scope = macro or self._scope_of(node)
            if node.type == "call_expression":
                self._read_call(node, source, scope)
            elif node.type == "assignment_expression":
                self._unite(node.child_by_field_name("left"), node.child_by_field_name("right"), source, scope)
            elif node.type == "init_declarator":
                self._unite(declared_name(node), node.child_by_field_name("value"), source, scope)
                self._unite_elements(node, source, scope)
            elif node.type == "initializer_pair":
                self._unite(node.child_by_field_name("designator"), node.child_by_field_name("value"), source, scope)
            elif node.type == "binary_expression":
                self._unite_compared(node, source, scope)
            elif node.type == "return_statement":
                self._unite_result(node, source, scope)
            elif node.type == "identifier":
                self._read_constant(node, source, scope)
            elif node.type == "field_expression":
                member = node.child_by_field_name("field")
                symbol = self.symbol_of(node.child_by_field_name("argument"), source, scope)
                if member is not None and self.text(member, source) in _FIELDS and symbol is not None:
                    self.facts.read_statuses.append((source, node, symbol))
            self._read_type(node, source)
            if source is self.source:
                self._look_at_names(node)
        for node in self.source.errors():
            if "MPI_" in self.text(node):
                self._refuse(node, "this could not be parsed; convert it by hand")

    def _refuse(self, node: Node, reason: str) -> None:
        what = " ".join(self.text(node).split())[:40]
        self.facts.problems.append(Finding(str(self.source.path), self.source.line_of(node), what, reason))

    def _look_at_names(self, node: Node) -> None:
        """Refuses other names of MPI's types, and names that macros put together: what they stand for is not seen."""
        if node.type == "type_definition":
            kind = node.child_by_field_name("type")
            if kind is not None and self.text(kind) in MPI_TYPES:
                self._refuse(node, "another name of a type of MPI is not followed; write the type itself")
        elif node.type in ("identifier", "preproc_arg") and _PART_OF_A_NAME.search(self.text(node)):
            self._refuse(node, "a name of MPI is put together by a macro; write it in one piece")
        elif node.type == "identifier" and self.text(node).startswith("MPI_") and self.text(node).lower() in ROLES:
            call = node.parent
            if call is None or call.type != "call_expression" or call.child_by_field_name("function") != node:
                self._refuse(node, "a procedure of MPI is used as a value; call it here")

    def _read_type(self, node: Node, source: Source) -> None:
        """Types in casts, sizeof, typedefs and results of functions: they declare no variable."""
        if node.type not in ("type_identifier", "identifier") or self.text(node, source) not in MPI_TYPES:
            return
        parent = node.parent
        if parent is not None and parent.type in ("declaration", "parameter_declaration", "field_declaration"):
            return
        self.names.unattached.append((source, node))

    def _unite(self, left: Node | None, right: Node | None, source: Source, scope: _Scope) -> None:
        first, second = self.symbol_of(left, source, scope), self.symbol_of(right, source, scope)
        if first is not None and second is not None:
            first.unite(second)
        status = self._status_of_field(right, source, scope)
        if first is not None and status is not None:
            self.facts.copied_fields.append((first, status))

    def _unite_elements(self, declarator: Node, source: Source, scope: _Scope) -> None:
        """MPI_Datatype types[2] = {a, b}: the elements are of the kind of the array."""
        values = declarator.child_by_field_name("value")
        if values is None or values.type != "initializer_list" or declared_type(declarator, source) not in MPI_TYPES:
            return
        array = self.symbol_of(declared_name(declarator), source, scope)
        element = self._symbol_of_elements(values, source, scope)
        if array is not None and element is not None:
            array.unite(element)

    def _status_of_field(self, node: Node | None, source: Source, scope: _Scope) -> Symbol | None:
        """Returns the status of `status.MPI_SOURCE` and the like."""
        member = None if node is None or node.type != "field_expression" else node.child_by_field_name("field")
        if node is None or member is None or self.text(member, source) not in _FIELDS:
            return None
        return self.symbol_of(node.child_by_field_name("argument"), source, scope)

    def _unite_compared(self, node: Node, source: Source, scope: _Scope) -> None:
        """Handles that are compared are of one kind. Ranks that are compared need not be."""
        if self.text(node.children[1], source) not in ("==", "!="):
            return
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        first, second = self.symbol_of(left, source, scope), self.symbol_of(right, source, scope)
        if first is not None and second is not None and _is_handle(first) and _is_handle(second):
            first.unite(second)

    def _unite_result(self, node: Node, source: Source, scope: _Scope) -> None:
        value = next((each for each in node.children if each.is_named), None)
        found = self.symbol_of(value, source, scope)
        if found is not None and scope.name in self.facts.results:
            self.facts.results[scope.name].unite(found)

    def _read_call(self, node: Node, source: Source, scope: _Scope) -> None:
        callee = node.child_by_field_name("function")
        given = node.child_by_field_name("arguments")
        if callee is None or given is None or callee.type != "identifier":
            return
        actual = [each for each in given.children if each.is_named and each.type != "comment"]
        name = self.text(callee, source)
        parallel = any(start <= node.start_byte < end for start, end in self.regions) and source is self.source
        if name.startswith("MPI_"):
            roles = ROLES.get(name.lower(), ())
            arguments = [
                Argument(
                    each,
                    roles[place] if place < len(roles) else "-",
                    self.symbol_of(each, source, scope),
                    self._constant_of(each, source),
                )
                for place, each in enumerate(actual)
            ]
            call = Call(source, name.lower(), node, callee, arguments, parallel, scope=scope.name)
            self.facts.calls.append(call)
            return
        arguments_found: list[tuple[str | None, Symbol | Constant]] = []
        positions = []
        for place, each in enumerate(actual):
            symbol, constant = self.symbol_of(each, source, scope), self._constant_of(each, source)
            if symbol is not None:
                arguments_found.append((None, symbol))
                positions.append(place)
            elif constant is not None:
                arguments_found.append((None, Constant(source, constant, each, None)))
                positions.append(place)
        self.facts.passed.append(
            Passed(source, name, arguments_found, positions, len(actual), False, parallel, node, scope.name)
        )

    def _constant_of(self, node: Node, source: Source) -> str | None:
        name = self.text(node, source)
        return name if node.type == "identifier" and name.startswith("MPI_") else None

    def _read_constant(self, node: Node, source: Source, scope: _Scope) -> None:
        name = self.text(node, source)
        if name not in C_CONSTANTS and name not in C_PROCESS_CONSTANTS:
            return
        receiver = None
        is_argument = False
        below: Node = node
        place = node.parent
        while place is not None:
            if place.type == "call_expression":
                callee = place.child_by_field_name("function")
                if callee is not None and self.text(callee, source).startswith("MPI_"):
                    return
                is_argument = True  # a function of the program takes it: see Passed
            if receiver is None and not is_argument and place.type in _RECEIVERS:
                receiver = self._receiver(place, below, source, scope)
            below = place
            place = below.parent
        if receiver is None and not is_argument and source is not self.source:
            receiver = self.names.macros.get(scope.name)
        self.facts.constants.append(Constant(source, name, node, receiver))

    def _receiver(self, place: Node, below: Node, source: Source, scope: _Scope) -> Symbol | None:
        if place.type == "return_statement":
            return self.facts.results.get(scope.name)
        if place.type == "initializer_pair":
            return self.symbol_of(place.child_by_field_name("designator"), source, scope)
        if place.type == "init_declarator":
            if below.type == "initializer_list" and declared_type(place, source) not in MPI_TYPES:
                return None  # it belongs to a member of a struct, by its position
            return self.symbol_of(declared_name(place), source, scope)
        left, right = place.child_by_field_name("left"), place.child_by_field_name("right")
        other = right if left == below else left
        return self._status_of_field(other, source, scope) or self.symbol_of(other, source, scope)


MPI_TYPES = ("MPI_Comm", "MPI_Request", "MPI_Status", "MPI_Datatype", "MPI_Op", "MPI_Aint")


def declared_type(declarator: Node, source: Source) -> str | None:
    """Returns the type that a declaration gives to a declarator."""
    place: Node | None = declarator
    while place is not None and place.type not in ("declaration", "parameter_declaration", "field_declaration"):
        place = place.parent
    declared = None if place is None else place.child_by_field_name("type")
    return None if declared is None else source.text_of(declared)


def _is_handle(symbol: Symbol) -> bool:
    return any(declared_type(node, source) in MPI_TYPES for source, node in symbol.declarations)


def declared_name(declarator: Node) -> Node | None:
    """Returns the identifier of a declarator such as `a`, `*a`, `a[3]`, `a = 1` or `f(int)`."""
    if declarator.type in _NAMES:
        return declarator
    inner = declarator.child_by_field_name("declarator")
    if inner is None and declarator.type == "parenthesized_declarator":
        inner = next((each for each in declarator.children if each.is_named), None)
    return None if inner is None else declared_name(inner)
