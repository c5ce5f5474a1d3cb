"""Makes the edits in a Fortran file: calls, constants, fields of statuses, joining. Tests: tests/convert."""

from __future__ import annotations

from typing import TYPE_CHECKING

from couplet.convert.calls import (
    FORTRAN_CONSTANTS,
    FORTRAN_PROCESS_CONSTANTS,
    IGNORED_STATUS,
    PORTED,
    PROCESS_CALLS,
    STATUS_FIELDS,
)
from couplet.convert.deciding import Decision
from couplet.convert.fortran_copying import StatusCopies
from couplet.convert.fortran_declaring import Declarations
from couplet.convert.fortran_reading import FortranReader, Scope, ancestors, is_argument
from couplet.convert.leftovers import is_gone, reason_left
from couplet.convert.model import Argument, Call, Finding
from couplet.convert.parsing import leaves, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_CONSTANTS = FORTRAN_CONSTANTS | FORTRAN_PROCESS_CONSTANTS


class FortranWriter:
    """Edits one file."""

    def __init__(self, reader: FortranReader, decision: Decision) -> None:
        self.reader = reader
        self.source = reader.source
        self.decision = decision
        self.options = decision.options
        self.used_in: dict[int, Scope] = {}  # units that need `use couplet_ported`
        self.done: set[int] = set()  # constants that belong to an edited argument
        self.handled: set[int] = set()  # statuses in calls and fields, which are edited with these
        self.renames: list[tuple[Scope, str]] = []

    def write(self) -> None:
        """Makes all edits of the file."""
        for call in self.decision.facts.calls:
            if call.source is not self.source:
                continue
            if call.problem is not None:
                self._mark(call)
            elif call.chosen:
                self._convert(call)
        for source, node, symbol in self.decision.facts.read_statuses:
            if source is self.source and symbol.is_couplet and not symbol.is_mixed:
                self._convert_field(node)
        declarations = Declarations(self.reader, self.decision)
        for statement in declarations.write():
            self._use_in(statement)
        self.renames = declarations.renames
        StatusCopies(self.reader, self.decision, self.handled).write()
        self._convert_process_calls()
        self._convert_constants()
        if self.options.without_mpi:
            self._remove_mpi()
        self._add_uses()
        if self.options.without_mpi:
            self._report_rest()

    # ---- calls ----

    def _mark(self, call: Call) -> None:
        """With --partial, a comment says what was not converted."""
        self.source.insert_line_before(call.node, f"! couplet convert: {call.written} is not converted: {call.problem}")

    def _convert(self, call: Call) -> None:
        self._use_in(call.node)
        self.source.replace(call.callee, PORTED[call.name])
        given = next(each for each in call.node.children if each.type == "argument_list")
        nodes = [each for each in given.children if is_argument(each)]
        dropped = False
        for place, argument in enumerate(call.arguments):
            if argument.role in ("status", "statuses") and self._drops(argument):
                self._drop(nodes, place, argument)
                dropped = True
                continue
            if dropped and argument.keyword is None:
                self.source.edit(self.source.start_of(argument.node), self.source.start_of(argument.node), "ierror=")
            if argument.role in ("status", "statuses", "request", "requests"):
                self._convert_handle(argument)
            self._convert_constants_in(argument.node)

    def _drops(self, argument: Argument) -> bool:
        symbol = argument.symbol
        return argument.constant in IGNORED_STATUS or (
            symbol is not None and symbol.root() in self.decision.dropped_statuses
        )

    def _drop(self, nodes: list[Node], place: int, argument: Argument) -> None:
        self.done |= {leaf.id for leaf in leaves(argument.node)}
        if place + 1 < len(nodes):
            self.source.edit(self.source.start_of(nodes[place]), self.source.start_of(nodes[place + 1]), "")
        else:
            self.source.edit(self.source.end_of(nodes[place - 1]), self.source.end_of(nodes[place]), "")

    def _convert_handle(self, argument: Argument) -> None:
        """statuses(:, i) and statuses(1, i) become statuses(i)."""
        if argument.role in ("status", "statuses") and argument.node.type == "call_expression":
            self.handled.add(argument.node.id)
            self._drop_first_index(argument.node, argument.role == "statuses")

    def _drop_first_index(self, node: Node, begins: bool = False) -> None:
        given = next((each for each in node.children if each.type == "argument_list"), None)
        if given is None or self._is_of_mpi_f08(node):
            return
        indices = [each for each in given.children if is_argument(each)]
        if len(indices) > 1:
            self.source.edit(self.source.start_of(indices[0]), self.source.start_of(indices[1]), "")
        elif not begins:
            self.source.edit(self.source.end_of(node.children[0]), self.source.end_of(node), "")

    def _is_of_mpi_f08(self, node: Node) -> bool:
        symbol = self.reader.symbol_of(node)
        if symbol is None or symbol.declared is None or symbol.declared.parent is None:
            return False
        kind = symbol.declared.parent.child_by_field_name("type")
        return kind is not None and kind.type == "derived_type"

    def _convert_field(self, node: Node) -> None:
        self._use_in(node)
        self.handled.add(node.id)
        if node.type == "derived_type_member_expression":
            member = next(each for each in node.children if each.type == "type_member")
            name = STATUS_FIELDS.get(self.source.text_of(member).upper())
            if name is None:
                self._problem(member, "errors of the ported calls end the run")
            else:
                self.source.replace(member, name)
            return
        given = next(each for each in node.children if each.type == "argument_list")
        indices = [each for each in given.children if is_argument(each)]
        name = STATUS_FIELDS.get(self.source.text_of(indices[0]).upper())
        self.done |= {leaf.id for leaf in leaves(indices[0])}
        if name is None:
            self._problem(node, "errors of the ported calls end the run")
        elif len(indices) > 1:
            self.source.edit(self.source.start_of(indices[0]), self.source.start_of(indices[1]), "")
            self.source.edit(self.source.end_of(node), self.source.end_of(node), f"%{name}")
        else:
            self.source.replace(given, f"%{name}")

    # ---- constants ----

    def _convert_constants_in(self, node: Node) -> None:
        for leaf in leaves(node):
            name = self.source.text_of(leaf).upper()
            if leaf.type == "identifier" and name in _CONSTANTS and leaf.id not in self.done:
                self.done.add(leaf.id)
                self.source.replace(leaf, _CONSTANTS[name])

    def _convert_constants(self) -> None:
        for constant in self.decision.facts.constants:
            if constant.source is not self.source or constant.node.id in self.done:
                continue
            answer = self.decision.constants.converts(constant)
            if answer is None:
                self._problem(constant.node, self.decision.constants.doubt(constant))
            elif answer:
                self._use_in(constant.node)
                self.source.replace(constant.node, _CONSTANTS[constant.name])

    # ---- the process: joining, leaving, and programs without MPI ----

    def _convert_process_calls(self) -> None:
        for call in self.decision.facts.calls:
            if call.source is not self.source or call.name not in PROCESS_CALLS:
                continue
            if self.options.without_mpi:
                self._use_in(call.node)
                self.source.replace(call.callee, PROCESS_CALLS[call.name])
                for argument in call.arguments:
                    self._convert_constants_in(argument.node)
                if call.name in ("mpi_init", "mpi_init_thread"):
                    self._add_join_arguments(call)
            elif call.name in ("mpi_init", "mpi_init_thread", "mpi_finalize"):
                self._join_or_leave(call)

    def _add_join_arguments(self, call: Call) -> None:
        extra = self._join_arguments()
        given = next((each for each in call.node.children if each.type == "argument_list"), None)
        if given is None:
            self.source.edit(self.source.end_of(call.callee), self.source.end_of(call.callee), f"({extra})")
        elif extra:
            end = self.source.end_of(given) - 1
            self.source.edit(end, end, f", {extra}" if call.arguments else extra)

    def _join_arguments(self) -> str:
        found = []
        if self.options.program is not None:
            found.append(f'program="{self.options.program}"')
        if self.options.whole_universe:
            found.append("whole_universe=.true.")
        if self.options.openmp == "convert":
            found.append("multiple_threads=.true.")
        return ", ".join(found)

    def _join_or_leave(self, call: Call) -> None:
        if not any(other.chosen and other.problem is None for other in self.decision.facts.calls):
            return
        statement = call.node
        parent = statement.parent
        if parent is not None and parent.type == "if_statement" and statement.prev_sibling is not None:
            header = statement.prev_sibling
            if header.type == "parenthesized_expression":
                self._problem(call.callee, "write the if as a block, so that a call of Couplet can be put beside it")
                return
        self._use_in(statement)
        if call.name == "mpi_finalize":
            start = self.source.start_of(statement)
            if self.source.text[self.source.line_start(start) : start].strip().isdigit():
                self._problem(call.callee, "it has a label: put call couplet_ported_leave() behind the label")
                return
            self.source.insert_before(statement, "call couplet_ported_leave()")
        else:
            self.source.insert_after(statement, f"call couplet_ported_join({self._join_arguments()})")

    # ---- use statements ----

    def _use_in(self, node: Node) -> None:
        top = self.reader.scope_of(node).top
        self.used_in[top.node.id] = top

    def _add_uses(self) -> None:
        for scope in self.used_in.values():
            uses = [each for each in walk(scope.node) if each.type == "use_statement"]
            own = [each for each in uses if self.reader.scope_of(each) is scope]
            if any(self._module(each) == "couplet_ported" for each in own):
                continue
            mpi = [each for each in own if self._module(each) in ("mpi", "mpi_f08")]
            in_branches = any(ancestor.type.startswith("preproc") for each in mpi for ancestor in ancestors(each))
            for number, each in enumerate(mpi):
                needed = number == 0 or in_branches  # any branch of the preprocessor may be the one
                if needed and not self.options.without_mpi:
                    self.source.insert_after(each, "use couplet_ported")
                elif needed:
                    self.source.replace(each, "use couplet_ported")
                elif self.options.without_mpi:
                    self._delete_line(each)
            if mpi:
                continue
            if scope.node.type == "translation_unit" and self.source.path.suffix.lower() in (".inc", ".fh"):
                continue  # it is included: the units that include it have the module
            if scope.node.type == "translation_unit":
                first = next((each for each in scope.node.children if each.type != "comment"), scope.node)
                self.source.insert_line_before(first, "use couplet_ported")
            else:
                self.source.insert_after(scope.node.children[0], self._deeper(scope) + "use couplet_ported")
        for scope, name in self.renames:
            line = f"use couplet_ported, only: {name} => couplet_world"
            self.source.insert_after(scope.node.children[0], self._deeper(scope) + line)

    def _deeper(self, scope: Scope) -> str:
        """Returns the blanks by which the statements of a unit are indented, relative to its first one."""
        own = len(self.source.indent_of(scope.node))
        for child in scope.node.children[1:]:
            if child.type not in ("comment", "\n"):
                return " " * max(len(self.source.indent_of(child)) - own, 0)
        return ""

    def _module(self, use: Node) -> str:
        named = next((each for each in use.children if each.type == "module_name"), None)
        return "" if named is None else self.source.text_of(named).lower()

    def _delete_line(self, node: Node) -> None:
        start, end = (
            self.source.line_start(self.source.start_of(node)),
            self.source.line_end(self.source.end_of(node) - 1),
        )
        self.source.edit(start, end, "")

    def _remove_mpi(self) -> None:
        for node in walk(self.source.tree.root_node):
            if node.type == "use_statement" and self._module(node) in ("mpi", "mpi_f08"):
                scope = self.reader.scope_of(node)
                if scope.top is not scope:
                    self._delete_line(node)
                    self._use_in(node)
                else:
                    self.used_in[scope.node.id] = scope
            elif node.type == "include_statement" and "mpif.h" in self.source.text_of(node):
                self._delete_line(node)

    def _report_rest(self) -> None:
        """What is left of MPI, in a program that is to have no MPI."""
        known = {call.callee.id for call in self.decision.facts.calls if call.chosen or call.name in PROCESS_CALLS}
        left = [
            call for call in self.decision.facts.calls if call.source is self.source and call.callee.id not in known
        ]
        callees = {call.callee.id for call in left}
        call_nodes = {call.node.id for call in left} | {
            call.node.id
            for call in self.decision.facts.calls
            if call.source is self.source and call.problem is not None
        }
        for leaf in leaves(self.source.tree.root_node):
            name = self.source.text_of(leaf)
            if leaf.type not in ("identifier", "type_name") or not name.upper().startswith("MPI_") or leaf.id in known:
                continue
            if is_gone(self.decision.facts, self.source, leaf):
                continue
            if any(each.type in ("use_statement", "include_statement") for each in ancestors(leaf)):
                continue
            is_call = leaf.id in callees
            if is_call or not any(each.id in call_nodes for each in ancestors(leaf)):
                self._problem(leaf, reason_left(self.decision.facts, self.source, leaf, is_call))

    def _problem(self, node: Node, reason: str) -> None:
        line, text = self.source.line_of(node), self.source.text_of(node)
        finding = Finding(str(self.source.path), line, text, reason)
        if not any((each.path, each.line, each.what) == (finding.path, line, text) for each in self.decision.problems):
            self.decision.problems.append(finding)
