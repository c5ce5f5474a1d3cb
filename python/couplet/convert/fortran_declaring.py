"""Gives communicators, requests and statuses of Fortran their new types. Tests: tests/convert."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from couplet.convert.calls import FORTRAN_CONSTANTS, FORTRAN_HANDLES
from couplet.convert.deciding import Decision
from couplet.convert.fortran_reading import FortranReader, Scope, declared_name, is_argument
from couplet.convert.model import Finding, Symbol
from couplet.convert.parsing import walk

if TYPE_CHECKING:
    from tree_sitter import Node

_F08 = {
    "mpi_comm": "type(couplet_group)", "mpi_request": "type(couplet_request)", "mpi_status": "type(couplet_message)",
    "mpi_datatype": "integer", "mpi_op": "integer",
}  # fmt: skip


class Declarations:
    """Edits the declarations of one file."""

    def __init__(self, reader: FortranReader, decision: Decision) -> None:
        self.reader = reader
        self.source = reader.source
        self.decision = decision
        self.changing = {
            declarator.id: (symbol, kind)
            for symbol in decision.facts.symbols
            for declarator in symbol.declared_in(self.source)
            for kind in [self._new_type(symbol)]
            if kind is not None
        }
        self.renames: list[tuple[Scope, str]] = []  # constants that become other names of couplet_world
        self.constant = self._constant_communicators()

    def _constant_communicators(self) -> set[Symbol]:
        """Returns the communicators that are a constant, MPI_COMM_WORLD. A group is none before the program joins."""
        found = set()
        for node in walk(self.source.tree.root_node):
            if node.type == "parameter_assignment":
                name, value = node.children[0], node.children[-1]
            elif node.type == "init_declarator" and node.parent is not None and self._is_parameter(node.parent):
                name, value = declared_name(node) or node, node.child_by_field_name("right") or node
            else:
                continue
            symbol = self.reader.symbol_of(name)
            is_world = self.source.text_of(value).upper() == "MPI_COMM_WORLD"
            if is_world and symbol is not None and self._new_type(symbol) == FORTRAN_HANDLES["comm"]:
                found.add(symbol)
        return found

    def _is_parameter(self, statement: Node) -> bool:
        attributes = statement.children_by_field_name("attribute")
        return any(self.source.text_of(each).lower() == "parameter" for each in attributes)

    def _new_type(self, symbol: Symbol) -> str | None:
        if not symbol.is_couplet or symbol.root() in self.decision.dropped_statuses or symbol.is_mixed:
            return None
        roles = symbol.root().roles
        for role, name in FORTRAN_HANDLES.items():
            if role in roles or (role == "comm" and symbol.name.lower() in self.decision.names):
                return name
        return "integer" if roles & {"type", "op"} else None

    def write(self) -> Iterator[Node]:
        """Edits the declarations, and yields the statements that were edited."""
        for statement in walk(self.source.tree.root_node):
            if statement.type == "variable_declaration" and self._edit(statement):
                yield statement
            elif statement.type == "parameter_statement":
                self._edit_parameters(statement)
            elif statement.type in ("sized_allocation",):
                self._edit_allocation(statement)
            elif statement.type in ("common_statement", "equivalence_statement"):
                self._report_common(statement)

    def _edit(self, statement: Node) -> bool:
        declarators = statement.children_by_field_name("declarator")
        changing = [each for each in declarators if each.id in self.changing]
        renamed = [each for each in changing if self.changing[each.id][0] in self.constant]
        if renamed:
            return self._rename(statement, declarators, changing, renamed)
        for each in changing:
            value = each.child_by_field_name("right") if each.type == "init_declarator" else None
            if value is not None and self.source.text_of(value).upper() == "MPI_COMM_WORLD":
                self._problem(each, "the group is known once the process has joined; assign it after MPI_Init")
        if not changing:
            return False
        kind = statement.child_by_field_name("type")
        assert kind is not None
        f08 = self._f08_type(kind)
        if f08 is not None:
            changing = [each for each in changing if _F08[f08] == self.changing[each.id][1]]
            if len(changing) == len(declarators):
                self.source.replace(kind, _F08[f08])
                return True
            return self._split(statement, declarators, changing, f08=True)
        changing = [each for each in changing if self.changing[each.id][1] != "integer"]
        if not changing:
            return False
        kinds = {self.changing[each.id][1] for each in changing}
        if len(changing) == len(declarators) and len(kinds) == 1:
            new = kinds.pop()
            self.source.replace(kind, new)
            self._edit_attributes(statement, new)
            for each in changing:
                self._edit_declarator(each, new)
            if not any(each.type == "::" for each in statement.children):
                self.source.replace(kind, f"{new} ::")
            return True
        return self._split(statement, declarators, changing, f08=False)

    def _rename(self, statement: Node, declarators: list[Node], changing: list[Node], renamed: list[Node]) -> bool:
        """Takes constant communicators out of a list. They come from the module, under their names."""
        scope = self.reader.scope_of(statement)
        self.renames += [(scope, self.changing[each.id][0].name) for each in renamed]
        for each in changing:
            if each not in renamed:
                self._problem(each, "declare it in a statement of its own")
        self._keep([each for each in declarators if each not in renamed], declarators, statement)
        for attribute in statement.children_by_field_name("attribute"):
            access = self.source.text_of(attribute)
            if access.lower() in ("public", "private"):
                names = ", ".join(self.changing[each.id][0].name for each in renamed)
                self.source.insert_after(statement, f"{access} :: {names}")
        return True

    def _edit_parameters(self, statement: Node) -> None:
        """The statement PARAMETER (COMM = MPI_COMM_WORLD)."""
        given = [each for each in statement.children if each.type == "parameter_assignment"]
        staying = [each for each in given if self.reader.symbol_of(each.children[0]) not in self.constant]
        if len(staying) < len(given):
            self._keep(staying, given, statement)

    def _keep(self, staying: list[Node], listed: list[Node], statement: Node) -> None:
        """Leaves only some parts of a list, or deletes the statement."""
        if staying:
            start, end = self.source.start_of(listed[0]), self.source.end_of(listed[-1])
            kept = ", ".join(
                self.source.text[self.source.start_of(each) : self.source.end_of(each)] for each in staying
            )
            self.source.edit(start, end, kept)
        else:
            start = self.source.line_start(self.source.start_of(statement))
            self.source.edit(start, self.source.line_end(self.source.end_of(statement) - 1), "")

    def _f08_type(self, kind: Node) -> str | None:
        name = next((each for each in walk(kind) if each.type == "type_name"), None)
        text = "" if name is None else self.source.text_of(name).lower()
        return text if text in _F08 else None

    def _edit_attributes(self, statement: Node, new: str) -> None:
        """dimension(MPI_STATUS_SIZE) goes; dimension(MPI_STATUS_SIZE, 4) becomes dimension(4)."""
        for attribute in statement.children_by_field_name("attribute"):
            if new != FORTRAN_HANDLES["status"] or not self.source.text_of(attribute).lower().startswith("dimension"):
                continue
            sizes = [each for part in attribute.children for each in part.children if is_argument(each)]
            if len(sizes) > 1:
                self.source.edit(self.source.start_of(sizes[0]), self.source.start_of(sizes[1]), "")
            else:
                before = attribute.prev_sibling
                assert before is not None
                self.source.edit(self.source.start_of(before), self.source.end_of(attribute), "")

    def _edit_declarator(self, declarator: Node, new: str) -> None:
        if declarator.type == "init_declarator":
            value = declarator.child_by_field_name("right")
            if value is not None and self.source.text_of(value).upper() not in FORTRAN_CONSTANTS:
                name = self.changing[declarator.id][0].name
                self._problem(declarator, f"'{name}' begins with a number; a {new} begins without a value")
        if new == FORTRAN_HANDLES["status"]:
            size = next((each for each in walk(declarator) if each.type == "size"), None)
            if size is not None:
                self._drop_first_extent(size)

    def _drop_first_extent(self, size: Node) -> None:
        sizes = [each for each in size.children if is_argument(each)]
        if len(sizes) > 1:
            self.source.edit(self.source.start_of(sizes[0]), self.source.start_of(sizes[1]), "")
        else:
            self.source.replace(size, "")

    def _split(self, statement: Node, declarators: list[Node], changing: list[Node], f08: bool) -> bool:
        """Takes declarators out of a list, and puts them into statements of their own behind it."""
        staying = [each for each in declarators if each not in changing]
        for kind in dict.fromkeys(self.changing[each.id][1] for each in changing):
            moved = [each for each in changing if self.changing[each.id][1] == kind]
            text = ", ".join(self._moved(each, kind, f08) for each in moved)
            attributes = self._moved_attributes(statement, kind)
            self.source.insert_after(statement, f"{kind}{attributes} :: {text}")
        self._keep(staying, declarators, statement)
        return True

    def _moved(self, declarator: Node, kind: str, f08: bool) -> str:
        text = self.source.text_of(declarator)
        if declarator.type == "init_declarator":
            value = declarator.child_by_field_name("right")
            left = declared_name(declarator)
            name = FORTRAN_CONSTANTS.get("" if value is None else self.source.text_of(value).upper())
            if name is None or left is None:
                self._problem(declarator, f"it begins with a number; a {kind} begins without a value")
            else:
                text = f"{self.source.text_of(left)} = {name}"
        if kind == FORTRAN_HANDLES["status"] and not f08:
            size = next((each for each in walk(declarator) if each.type == "size"), None)
            name_node = declared_name(declarator)
            if size is not None and name_node is not None:
                sizes = [self.source.text_of(each) for each in size.children if is_argument(each)]
                text = self.source.text_of(name_node) + (f"({', '.join(sizes[1:])})" if len(sizes) > 1 else "")
        return text

    def _moved_attributes(self, statement: Node, kind: str) -> str:
        found = ""
        for attribute in statement.children_by_field_name("attribute"):
            text = self.source.text_of(attribute)
            if kind == FORTRAN_HANDLES["status"] and text.lower().startswith("dimension"):
                sizes = [
                    self.source.text_of(each)
                    for part in attribute.children
                    for each in part.children
                    if is_argument(each)
                ]
                text = f"dimension({', '.join(sizes[1:])})" if len(sizes) > 1 else ""
            found += f", {text}" if text else ""
        return found

    def _edit_allocation(self, allocation: Node) -> None:
        """allocate(statuses(MPI_STATUS_SIZE, n)) becomes allocate(statuses(n))."""
        symbol = self.reader.symbol_of(allocation)
        if symbol is None or symbol.declared is None or self._new_type(symbol) != FORTRAN_HANDLES["status"]:
            return
        size = next((each for each in allocation.children if each.type == "size"), None)
        if size is not None and "mpi_status_size" in self.source.text_of(size).lower():
            self._drop_first_extent(size)

    def _report_common(self, statement: Node) -> None:
        """A derived type of Couplet cannot be in a common block."""
        for node in walk(statement):
            if node.type not in ("identifier", "name"):
                continue
            symbol = self.reader.look_up(self.source.text_of(node), self.reader.scope_of(node))
            if symbol.declared is not None and self._new_type(symbol) not in (None, "integer"):
                self._problem(node, "a group, request or message cannot be in a common block; move it into a module")

    def _problem(self, node: Node, reason: str) -> None:
        text = " ".join(self.source.text_of(node).split())
        self.decision.problems.append(Finding(str(self.source.path), self.source.line_of(node), text, reason))
