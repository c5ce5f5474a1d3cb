"""Makes the edits in a C file: calls, constants, types, fields of statuses, joining. Tests: tests/convert."""

from __future__ import annotations

from typing import TYPE_CHECKING

from couplet.convert.c_reading import MPI_TYPES, CReader, declared_type
from couplet.convert.calls import (
    C_CONSTANTS,
    C_HANDLE_TYPES,
    C_PROCESS_CONSTANTS,
    PORTED,
    PROCESS_CALLS,
    STATUS_FIELDS,
)
from couplet.convert.deciding import Decision
from couplet.convert.leftovers import is_gone, reason_left
from couplet.convert.model import Call, Finding, Symbol
from couplet.convert.parsing import leaves, walk
from couplet.convert.source import Source

if TYPE_CHECKING:
    from tree_sitter import Node

_CONSTANTS = C_CONSTANTS | C_PROCESS_CONSTANTS
_HEADER = "#include <couplet/couplet_ported.h>"


class CWriter:
    """Edits one file."""

    def __init__(self, reader: CReader, decision: Decision) -> None:
        self.reader = reader
        self.source = reader.source
        self.decision = decision
        self.options = decision.options
        self.done: set[tuple[int, int]] = set()  # constants that belong to an edited argument

    def _is_here(self, source: Source) -> bool:
        return source is self.source or any(source is value for value, _ in self.reader.values)

    def write(self) -> None:
        """Makes all edits of the file."""
        for call in self.decision.facts.calls:
            if not self._is_here(call.source):
                continue
            if call.problem is not None:
                if call.source is self.source:
                    self.source.insert_line_before(
                        call.node, f"/* couplet convert: {call.written} is not converted: {call.problem} */"
                    )
            elif call.chosen:
                self._convert(call)
        for source, node, symbol in self.decision.facts.read_statuses:
            if self._is_here(source) and symbol.is_couplet and not symbol.is_mixed:
                self._convert_field(source, node)
        self._convert_constants()
        self._convert_declarations()
        self._convert_process_calls()
        if self.options.without_mpi:
            self._report_rest()
        if self.source.edits or self.options.without_mpi:
            self._include()

    # ---- calls ----

    def _convert(self, call: Call) -> None:
        call.source.replace(call.callee, PORTED[call.name])
        for argument in call.arguments:
            symbol = argument.symbol
            if symbol is not None and symbol.root() in self.decision.dropped_statuses:
                call.source.replace(argument.node, "NULL")
                continue
            self._convert_constants_in(call.source, argument.node)

    def _convert_constants_in(self, source: Source, node: Node) -> None:
        for leaf in leaves(node):
            name = source.text_of(leaf)
            if leaf.type == "identifier" and name in _CONSTANTS:
                self.done.add((id(source), leaf.start_byte))
                source.replace(leaf, _CONSTANTS[name])

    def _convert_field(self, source: Source, node: Node) -> None:
        member = node.child_by_field_name("field")
        assert member is not None
        name = STATUS_FIELDS.get(source.text_of(member))
        if name is None:
            self._problem(source, member, "errors of the ported calls end the run")
        else:
            source.replace(member, name)

    def _convert_constants(self) -> None:
        for constant in self.decision.facts.constants:
            if not self._is_here(constant.source) or (id(constant.source), constant.node.start_byte) in self.done:
                continue
            answer = self.decision.constants.converts(constant)
            if answer is None:
                self._problem(constant.source, constant.node, self.decision.constants.doubt(constant))
            elif answer and constant.name == "MPI_COMM_WORLD" and self._is_outside(constant.source, constant.node):
                reason = "the group is known once the process has joined; assign it in a function, after MPI_Init"
                self._problem(constant.source, constant.node, reason)
            elif answer:
                constant.source.replace(constant.node, _CONSTANTS[constant.name])

    def _is_outside(self, source: Source, node: Node) -> bool:
        """Whether a node belongs to a variable that is static or global, and cannot begin with couplet_world."""
        place = node.parent
        while place is not None and place.type != "function_definition":
            classes = [each for each in place.children if each.type == "storage_class_specifier"]
            if place.type == "declaration" and any(source.text_of(each) == "static" for each in classes):
                return source is self.source
            place = place.parent
        return place is None and source is self.source

    # ---- types ----

    def _changes(self, symbol: Symbol) -> bool:
        return symbol.is_couplet and not symbol.is_mixed and symbol.root() not in self.decision.dropped_statuses

    def _convert_declarations(self) -> None:
        for node in walk(self.source.tree.root_node):
            if node.type not in ("declaration", "parameter_declaration", "field_declaration"):
                continue
            kind = node.child_by_field_name("type")
            if kind is None or self.source.text_of(kind) not in MPI_TYPES:
                continue
            symbols = [
                symbol
                for declarator in node.children_by_field_name("declarator")
                for symbol in self.decision.facts.symbols
                if declarator in symbol.declared_in(self.source)
            ]
            symbols += [
                symbol for symbol in self.decision.facts.symbols
                if node in symbol.declared_in(self.source)
            ]  # fmt: skip
            changing = [symbol for symbol in symbols if self._changes(symbol)]
            are_all_free = self.options.without_mpi and not any(symbol.is_mixed for symbol in symbols)
            if are_all_free or (changing and len(changing) == len(symbols)):
                self.source.replace(kind, C_HANDLE_TYPES[self.source.text_of(kind)])
            elif changing:
                self._split(node, kind, changing)
        self._convert_unattached()

    def _split(self, node: Node, kind: Node, changing: list[Symbol]) -> None:
        """Takes declarators out of a list, and puts them into a declaration of their own behind it."""
        declarators = node.children_by_field_name("declarator")
        moved = [each for each in declarators if any(each in symbol.declared_in(self.source) for symbol in changing)]
        staying = [each for each in declarators if each not in moved]
        name = C_HANDLE_TYPES[self.source.text_of(kind)]
        texts = []
        for each in moved:
            text = self.source.text_of(each)
            for leaf in leaves(each):
                word = self.source.text_of(leaf)
                if word in C_CONSTANTS:
                    text = text.replace(word, C_CONSTANTS[word])
            texts.append(text)
        start, end = self.source.start_of(declarators[0]), self.source.end_of(declarators[-1])
        self.source.edit(start, end, ", ".join(self.source.text_of(each) for each in staying))
        self.source.insert_after(node, f"{name} {', '.join(texts)};")

    def _convert_unattached(self) -> None:
        """Types in casts, sizeof and typedefs become Couplet's if all variables of that type in the file do."""
        for source, node in self.reader.names.unattached:
            if not self._is_here(source):
                continue
            kind = source.text_of(node)
            sides = {
                self._changes(symbol)
                for symbol in self.decision.facts.symbols
                for declarator in symbol.declared_in(self.source)
                if declared_type(declarator, self.source) == kind and any(symbol.root().uses.values())
            }
            if sides == {True} or (self.options.without_mpi and False not in sides):
                source.replace(node, C_HANDLE_TYPES[kind])
            elif True in sides:
                self._problem(source, node, "some variables of this type stay MPI; convert this by hand")

    # ---- the process: joining, leaving, and programs without MPI ----

    def _convert_process_calls(self) -> None:
        for call in self.decision.facts.calls:
            if not self._is_here(call.source) or call.name not in PROCESS_CALLS:
                continue
            if self.options.without_mpi:
                call.source.replace(call.callee, PROCESS_CALLS[call.name])
                for argument in call.arguments:
                    self._convert_constants_in(call.source, argument.node)
                if call.name in ("mpi_init", "mpi_init_thread") and self._join_arguments() != "NULL, 0, 0":
                    self._put_beside(call, f"couplet_ported_join({self._join_arguments()});", before=True)
            elif call.name in ("mpi_init", "mpi_init_thread"):
                self._put_beside(call, f"couplet_ported_join({self._join_arguments()});", before=False)
            elif call.name == "mpi_finalize":
                self._put_beside(call, "couplet_ported_leave();", before=True)

    def _join_arguments(self) -> str:
        program = "NULL" if self.options.program is None else f'"{self.options.program}"'
        return f"{program}, {int(self.options.whole_universe)}, {int(self.options.openmp == 'convert')}"

    def _put_beside(self, call: Call, line: str, before: bool) -> None:
        if not self.options.without_mpi and not any(
            other.chosen and other.problem is None for other in self.decision.facts.calls
        ):
            return
        statement: Node | None = call.node
        while statement is not None and not statement.type.endswith("_statement") and statement.type != "declaration":
            statement = statement.parent
        if statement is None or statement.parent is None or statement.parent.type != "compound_statement":
            reason = f"write it as a statement of its own in a block, so that {line[:-1]} can be put beside it"
            self._problem(call.source, call.callee, reason)
        elif before:
            self.source.insert_before(statement, line)
        else:
            self.source.insert_after(statement, line)

    def _include(self) -> None:
        includes = [each for each in walk(self.source.tree.root_node) if each.type == "preproc_include"]
        if any("couplet_ported.h" in self.source.text_of(each) for each in includes):
            return
        mpi = [
            each for each in includes if self.source.text_of(each).split("include")[1].strip() in ("<mpi.h>", '"mpi.h"')
        ]
        for each in mpi:  # there may be one in each branch of the preprocessor
            if self.options.without_mpi:
                self.source.replace(each, _HEADER + ("\n" if self.source.text_of(each).endswith("\n") else ""))
            else:
                place = self.source.line_end(self.source.start_of(each))
                self.source.edit(place, place, _HEADER + "\n")
        if mpi:
            return
        if includes:
            place = self.source.line_end(self.source.start_of(includes[-1]))
            self.source.edit(place, place, _HEADER + "\n")
        elif self.source.edits:
            self.source.edit(0, 0, _HEADER + "\n")

    def _report_rest(self) -> None:
        """What is left of MPI, in a program that is to have no MPI."""
        for source, leaf, _ in self.reader.parts():
            name = source.text_of(leaf)
            if leaf.type not in ("identifier", "type_identifier") or not name.startswith("MPI_"):
                continue
            if is_gone(self.decision.facts, source, leaf):
                continue
            around = self._call_around(source, leaf)
            is_call = around is not None and around.child_by_field_name("function") == leaf
            if is_call or around is None:
                self._problem(source, leaf, reason_left(self.decision.facts, source, leaf, is_call))

    def _call_around(self, source: Source, node: Node) -> Node | None:
        """Returns the call of MPI in which a name is."""
        place = node.parent
        while place is not None:
            callee = place.child_by_field_name("function") if place.type == "call_expression" else None
            if callee is not None and source.text_of(callee).startswith("MPI_"):
                return place
            place = place.parent
        return None

    def _problem(self, source: Source, node: Node, reason: str) -> None:
        line, text = source.line_of(node), source.text_of(node)
        path = str(source.path)
        if not any((each.path, each.line, each.what) == (path, line, text) for each in self.decision.problems):
            self.decision.problems.append(Finding(path, line, text, reason))
