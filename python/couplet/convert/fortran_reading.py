"""Reads Fortran: scopes and names, calls of MPI, assignments and arguments. Tests: tests/convert."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from couplet.convert.calls import FORTRAN_CONSTANTS, FORTRAN_PROCESS_CONSTANTS, ROLES
from couplet.convert.model import Argument, Call, Constant, Facts, Finding, Passed, Symbol
from couplet.convert.parsing import walk
from couplet.convert.regions import parallel_regions
from couplet.convert.source import Source

if TYPE_CHECKING:
    from tree_sitter import Node

PROCEDURES = ("subroutine", "function", "module_procedure")
UNITS = (*PROCEDURES, "program", "module", "submodule", "block_data")
_KEYWORDS = {
    "datatype": "type", "sendtype": "type", "recvtype": "type", "oldtype": "type", "newtype": "newtype",
    "array_of_types": "types", "comm": "comm", "request": "request",
}  # fmt: skip

_WITHOUT_SCOPES = ("assignment_statement", "subroutine_call", "variable_declaration", "comment")
_FIELDS = ("MPI_SOURCE", "MPI_TAG", "MPI_ERROR")


@dataclass(eq=False)
class Scope:
    """A program unit, and what is declared in it."""

    name: str
    node: Node
    host: Scope | None
    symbols: dict[str, Symbol] = field(default_factory=dict)
    uses: list[str] = field(default_factory=list)
    in_interface: bool = False

    @property
    def top(self) -> Scope:
        """The unit to which `use` is added: the outermost one, or a body in an interface block."""
        found = self
        while found.host is not None and found.host.node.type != "translation_unit" and not found.in_interface:
            found = found.host
        return found


@dataclass
class Names:
    """What all files share: modules, and the components of types."""

    modules: dict[str, Scope] = field(default_factory=dict)
    components: dict[str, Symbol] = field(default_factory=dict)


class FortranReader:
    """Reads one file into the facts of all."""

    def __init__(self, source: Source, names: Names, facts: Facts) -> None:
        self.source = source
        self.names = names
        self.facts = facts
        self.whole = Scope("", source.tree.root_node, None)
        self.scopes: dict[int, Scope] = {source.tree.root_node.id: self.whole}
        self.regions = parallel_regions(source)
        names.modules[f"include:{source.path.name.lower()}"] = self.whole
        self._read_scopes(source.tree.root_node, self.whole)

    # ---- scopes and declarations ----

    def _read_scopes(self, node: Node, scope: Scope) -> None:
        for child in node.children:
            inner = scope
            if child.type in UNITS and child.is_named and child.child_count:
                inner = Scope(self._unit_name(child), child, scope, in_interface=node.type == "interface")
                self.scopes[child.id] = inner
                if child.type == "module":
                    self.names.modules[inner.name] = inner
                self._read_dummies(child, inner)
            elif child.type == "use_statement":
                named = next((each for each in child.children if each.type == "module_name"), None)
                scope.uses += [] if named is None else [self.text(named).lower()]
            elif child.type in ("include_statement", "preproc_include"):
                name = self.text(child).strip().rstrip("'\">").rpartition("/")[2]
                scope.uses.append("include:" + name.replace('"', "'").rpartition("'")[2].lower())
            elif child.type == "variable_declaration":
                self._declare(child, scope)
            elif child.type in ("procedure_statement", "generic_statement"):
                self._read_alias(child, node)
            if child.type not in _WITHOUT_SCOPES:
                self._read_scopes(child, inner)

    def _read_alias(self, statement: Node, around: Node) -> None:
        """Procedures under another name: of a generic interface, or bound to a type."""
        words = [each for each in walk(statement) if each.type in ("binding_name", "method_name")]
        if around.type == "interface":
            header = next((each for each in walk(around.children[0]) if each.type == "name"), None)
            alias = "" if header is None else self.text(header).lower()
        else:
            alias = next((self.text(each).lower() for each in words if each.type == "binding_name"), "")
        names = {self.text(each).lower() for each in words if each.type == "method_name"}
        if alias:
            self.facts.aliases.setdefault(alias, set()).update(names)

    def _unit_name(self, unit: Node) -> str:
        for child in unit.children[:1]:
            for part in walk(child):
                if part.type == "name":
                    return self.text(part).lower()
        return ""

    def _read_dummies(self, unit: Node, scope: Scope) -> None:
        if unit.type == "function":
            given = next((each for each in unit.children[0].children if each.type == "function_result"), None)
            name = scope.name if given is None else self.text(next(e for e in given.children if e.type == "identifier"))
            result = self._symbol_in(scope, name)
            self.facts.results.setdefault(scope.name, result).unite(result)
        parameters = unit.children[0].child_by_field_name("parameters")
        if parameters is None:
            return
        dummies = [self._symbol_in(scope, self.text(each)) for each in parameters.children if each.type == "identifier"]
        self.facts.dummies.setdefault(scope.name, []).append(dummies)

    def _symbol_in(self, scope: Scope, name: str) -> Symbol:
        key = name.lower()
        if key not in scope.symbols:
            scope.symbols[key] = Symbol(name, self.source)
            self.facts.symbols.append(scope.symbols[key])
        return scope.symbols[key]

    def _declare(self, statement: Node, scope: Scope) -> None:
        in_type = any(each.type == "derived_type_definition" for each in ancestors(statement))
        for declarator in statement.children_by_field_name("declarator"):
            name = declared_name(declarator)
            if name is None:
                continue
            if in_type:
                key = self.text(name).lower()
                if key not in self.names.components:
                    self.names.components[key] = Symbol(self.text(name), self.source)
                    self.facts.symbols.append(self.names.components[key])
                symbol = self.names.components[key]
            else:
                symbol = self._symbol_in(scope, self.text(name))
            symbol.declare(self.source, declarator)

    # ---- names ----

    def text(self, node: Node) -> str:
        return self.source.text_of(node)

    def scope_of(self, node: Node) -> Scope:
        """Returns the scope in which a node is."""
        return next(self.scopes[each.id] for each in ancestors(node) if each.id in self.scopes)

    def look_up(self, name: str, scope: Scope) -> Symbol:
        """Returns the symbol that a name means: of the scope, of its hosts, or of the modules that they use."""
        key = name.lower()
        place: Scope | None = scope
        while place is not None and place.node.type != "translation_unit":
            if key in place.symbols:
                return place.symbols[key]
            found = self._in_modules(key, place.uses, set())
            if found is not None:
                return found
            place = None if place.in_interface else place.host
        if place is not None and key in place.symbols:
            return place.symbols[key]
        return self._symbol_in(scope, name)

    def _in_modules(self, key: str, uses: list[str], seen: set[str]) -> Symbol | None:
        for each in uses:
            module = self.names.modules.get(each)
            if module is None or each in seen:
                continue
            seen.add(each)
            if key in module.symbols:
                return module.symbols[key]
            found = self._in_modules(key, module.uses, seen)
            if found is not None:
                return found
        return None

    def symbol_of(self, node: Node | None) -> Symbol | None:
        """Returns the variable of an expression such as `a`, `a(i)` or `this%a(i)`; none for other expressions."""
        if node is None or self._is_field(node):
            return None
        if node.type == "array_literal":
            return self._symbol_of_elements(node)
        if node.type == "parenthesized_expression":
            return self.symbol_of(next((each for each in node.children if each.is_named), None))
        if node.type in ("call_expression", "sized_allocation", "sized_declarator"):
            return self.symbol_of(node.children[0])
        if node.type == "derived_type_member_expression":
            member = next((each for each in node.children if each.type == "type_member"), None)
            if member is None:
                return None
            key = self.text(member).lower()
            if key not in self.names.components:
                self.names.components[key] = Symbol(self.text(member), self.source)
                self.facts.symbols.append(self.names.components[key])
            return self.names.components[key]
        if node.type == "identifier" and not self.text(node).upper().startswith("MPI_"):
            return self.look_up(self.text(node), self.scope_of(node))
        return None

    def _symbol_of_elements(self, literal: Node) -> Symbol | None:
        """Returns the variable of `[a, b]`: the elements of an array are of one kind."""
        found = [self.symbol_of(each) for each in literal.children if is_argument(each)]
        symbols = [each for each in found if each is not None and each.declared is not None]
        for each in symbols[1:]:
            symbols[0].unite(each)
        return symbols[0] if symbols else None

    def _is_field(self, node: Node) -> bool:
        """Whether an expression is a field of a status: status(MPI_SOURCE), status(MPI_SOURCE, i), s%MPI_SOURCE."""
        if node.type == "derived_type_member_expression":
            return any(each.type == "type_member" and self.text(each).upper() in _FIELDS for each in node.children)
        if node.type != "call_expression":
            return False
        given = next((each for each in node.children if each.type == "argument_list"), None)
        first = None if given is None else next((each for each in given.children if is_argument(each)), None)
        return first is not None and self.text(first).upper() in _FIELDS

    def constant_of(self, node: Node) -> str | None:
        name = self.text(node).upper()
        return name if node.type == "identifier" and name.startswith("MPI_") else None

    # ---- statements ----

    def read(self) -> None:
        """Adds the calls, constants, assignments and arguments of the file to the facts."""
        for node in walk(self.source.tree.root_node):
            if node.type == "subroutine_call":
                self._read_call(node, node.child_by_field_name("subroutine"))
            elif node.type == "call_expression" and node.children:
                self._read_call(node, node.children[0])
            elif node.type in ("assignment_statement", "pointer_association_statement"):
                self._unite(node.child_by_field_name("left"), node.child_by_field_name("right"))
            elif node.type == "init_declarator":
                self._unite(declared_name(node), node.child_by_field_name("right"))
            elif node.type == "parameter_assignment":
                self._unite(node.children[0], node.children[-1])
            elif node.type == "identifier":
                self._read_constant(node)
            if node.type == "call_expression" or node.type == "derived_type_member_expression":
                self._read_field(node)
        for node in self.source.errors():
            self._note_error(node)

    def _note_error(self, node: Node) -> None:
        text = " ".join(self.text(node).split())
        path, line, what = str(self.source.path), self.source.line_of(node), text[:40] or node.type
        if "mpi_" in self.source.lines_around(node).replace("&", "").lower():
            self.facts.problems.append(Finding(path, line, what, "this could not be parsed; convert it by hand"))
        elif self.source.path.suffix.lower() not in (".inc", ".fh"):  # these are not whole
            self.facts.notes.append(Finding(path, line, what, "this could not be parsed; it stays what it is"))

    def _unite(self, left: Node | None, right: Node | None) -> None:
        first, second = self.symbol_of(left), self.symbol_of(right)
        status = self._status_of_field(right)
        if first is not None and status is not None:
            self.facts.copied_fields.append((first, status))
            return
        if right is not None and right.type == "call_expression":
            name = self.text(right.children[0]).lower().rpartition("%")[2].strip()
            names = {name} | self.facts.aliases.get(name, set())
            results = [self.facts.results[each] for each in names if each in self.facts.results]
            if results and first is not None:
                for each in results:
                    first.unite(each)
                return
            if second is not None and second.declared is None:
                return  # a function of which nothing is known
        if first is not None and second is not None:
            first.unite(second)

    def _status_of_field(self, node: Node | None) -> Symbol | None:
        return self.symbol_of(node.children[0]) if node is not None and self._is_field(node) else None

    def _read_field(self, node: Node) -> None:
        symbol = self._status_of_field(node)
        if symbol is not None:
            self.facts.read_statuses.append((self.source, node, symbol))

    def _read_call(self, node: Node, callee: Node | None) -> None:
        if callee is None or callee.type not in ("identifier", "derived_type_member_expression"):
            return
        name = self.text(callee).lower()
        given = [each for each in node.children if each.type == "argument_list"]
        actual = [each for each in given[0].children if is_argument(each)] if given else []
        if name.startswith("mpi_"):
            self.facts.calls.append(self._mpi_call(name, node, callee, actual))
        elif node.type == "subroutine_call" or "%" in name or name in self.facts.dummies or name in self.facts.aliases:
            bound = "%" in name
            name = name.rpartition("%")[2].strip()
            arguments: list[tuple[str | None, Symbol | Constant]] = []
            positions = []
            for position, each in enumerate(actual):
                value = each.child_by_field_name("value") if each.type == "keyword_argument" else each
                keyword = self.text(each.children[0]).lower() if each.type == "keyword_argument" else None
                symbol = self.symbol_of(value)
                constant = None if value is None else self.constant_of(value)
                if symbol is not None:
                    arguments.append((keyword, symbol))
                    positions.append(position)
                elif constant is not None and value is not None:
                    arguments.append((keyword, Constant(self.source, constant, value, None)))
                    positions.append(position)
            parallel = any(start <= node.start_byte < end for start, end in self.regions)
            self.facts.passed.append(
                Passed(
                    self.source,
                    name,
                    arguments,
                    positions,
                    len(actual),
                    bound,
                    parallel,
                    node,
                    self.scope_of(node).name,
                )
            )

    def _mpi_call(self, name: str, node: Node, callee: Node, actual: list[Node]) -> Call:
        roles = ROLES.get(name, ())
        arguments = []
        for place, each in enumerate(actual):
            keyword, value = None, each
            role = roles[place] if place < len(roles) else "-"
            if each.type == "keyword_argument":
                keyword = self.text(each.children[0]).lower()
                value = each.child_by_field_name("value") or each
                role = _role_of_keyword(keyword, roles)
            arguments.append(Argument(value, role, self.symbol_of(value), self.constant_of(value), keyword))
        parallel = any(start <= node.start_byte < end for start, end in self.regions)
        return Call(self.source, name, node, callee, arguments, parallel, scope=self.scope_of(node).name)

    def _read_constant(self, node: Node) -> None:
        name = self.text(node).upper()
        if name not in FORTRAN_CONSTANTS and name not in FORTRAN_PROCESS_CONSTANTS:
            return
        for parent in ancestors(node):
            if (
                parent.type in ("subroutine_call", "call_expression")
                and self.text(parent.children[0]).lower() != "call"
            ):
                if self.text(parent.children[0]).lower().startswith("mpi_"):
                    return
            elif parent.type == "subroutine_call":
                callee = parent.child_by_field_name("subroutine")
                if callee is not None and self.text(callee).lower().startswith("mpi_"):
                    return
            elif parent.type == "use_statement":
                return
        self.facts.constants.append(Constant(self.source, name, node, self._receiver(node)))

    def _receiver(self, node: Node) -> Symbol | None:
        """Returns the variable to which a constant is assigned, or with which it is compared."""
        for parent in ancestors(node):
            if parent.type == "assignment_statement":
                return self.symbol_of(parent.child_by_field_name("left"))
            if parent.type == "init_declarator":
                return self._component(parent) or self.symbol_of(declared_name(parent))
            if parent.type == "parameter_assignment":
                return self.symbol_of(parent.children[0])
            if parent.type == "relational_expression":
                left, right = parent.child_by_field_name("left"), parent.child_by_field_name("right")
                other = right if left is not None and left.start_byte == node.start_byte else left
                return self._status_of_field(other) or self.symbol_of(other)
            if parent.type in UNITS:
                break
        return None

    def _component(self, declarator: Node) -> Symbol | None:
        """Returns the component of a derived type that is declared here."""
        name = declared_name(declarator)
        in_type = any(each.type == "derived_type_definition" for each in ancestors(declarator))
        return self.names.components.get(self.text(name).lower()) if in_type and name is not None else None


def _role_of_keyword(keyword: str, roles: tuple[str, ...]) -> str:
    fixed = {
        "newcomm": "newcomm", "array_of_requests": "requests", "array_of_statuses": "statuses", "status": "status",
        "op": "op", "dest": "rank", "source": "rank", "tag": "tag", "sendtag": "tag", "recvtag": "tag",
    }  # fmt: skip
    role = _KEYWORDS.get(keyword) or fixed.get(keyword, "-")
    return role if role in roles else "-"


def is_argument(node: Node) -> bool:
    """Tells arguments from commas, parentheses, continuation marks and comments."""
    return node.is_named and node.type not in ("comment", "&", "line_continuation")


def ancestors(node: Node) -> list[Node]:
    """Returns what a node is in, the nearest first."""
    found, place = [], node.parent
    while place is not None:
        found.append(place)
        place = place.parent
    return found


def declared_name(declarator: Node) -> Node | None:
    """Returns the identifier of a declarator: `a`, `a(3)` or `a = 1`."""
    if declarator.type == "identifier":
        return declarator
    left = declarator.child_by_field_name("left") or (declarator.children[0] if declarator.children else None)
    return None if left is None else declared_name(left)
