"""Statuses of Fortran outside of calls of MPI: sections that are copied or passed. Tests: tests/convert."""

from __future__ import annotations

from typing import TYPE_CHECKING

from couplet.convert.deciding import Decision
from couplet.convert.fortran_reading import FortranReader, ancestors, is_argument
from couplet.convert.model import Finding, Symbol
from couplet.convert.parsing import walk

if TYPE_CHECKING:
    from tree_sitter import Node

_WHOLE = (":", "1:", ":mpi_status_size", "1:mpi_status_size")


class StatusCopies:
    """Edits one file: all(:, 2) = status(:) becomes all(2) = status."""

    def __init__(self, reader: FortranReader, decision: Decision, handled: set[int]) -> None:
        self.reader = reader
        self.source = reader.source
        self.decision = decision
        self.handled = handled  # nodes that are edited elsewhere
        self.refused: set[int] = set()

    def write(self) -> None:
        for node in walk(self.source.tree.root_node):
            if node.type == "assignment_statement":
                self._look_at_numbers(node)
            elif node.type == "call_expression" and self._is_part(node):
                self._edit(node)

    def _is_part(self, node: Node) -> bool:
        """Whether a node is an element or a section of a status, and is edited nowhere else."""
        elsewhere = node.id in self.handled | self.refused
        return not elsewhere and self._is_status(node) and not self._is_declared_here(node)

    def _is_status(self, node: Node | None) -> bool:
        symbol: Symbol | None = self.reader.symbol_of(node)
        if symbol is None or symbol.declared is None or "status" not in symbol.root().roles:
            return False
        if not symbol.is_couplet or symbol.is_mixed or symbol.root() in self.decision.dropped_statuses:
            return False
        kind = None if symbol.declared.parent is None else symbol.declared.parent.child_by_field_name("type")
        return kind is not None and kind.type != "derived_type"  # those of mpi_f08 have no first index

    @staticmethod
    def _is_declared_here(node: Node) -> bool:
        return any(each.type == "variable_declaration" for each in ancestors(node))

    def _look_at_numbers(self, statement: Node) -> None:
        """A status to which numbers are assigned."""
        left, right = statement.child_by_field_name("left"), statement.child_by_field_name("right")
        if left is None or left.id in self.handled or not self._is_status(left) or self._is_status(right):
            return
        self.refused.add(left.id)
        self._problem(statement, "a message of Couplet is no array of numbers; it begins without a source")

    def _edit(self, node: Node) -> None:
        given = next((each for each in node.children if each.type == "argument_list"), None)
        indices = [] if given is None else [each for each in given.children if is_argument(each)]
        if not indices:
            return
        first = "".join(self.source.text_of(indices[0]).lower().split())
        passed = node.parent is not None and node.parent.type == "argument_list"
        if first not in _WHOLE and not (first == "1" and passed and len(indices) > 1):
            self._problem(node, "a message of Couplet has no elements; it has %source and %tag")
        elif len(indices) > 1:
            self.source.edit(self.source.start_of(indices[0]), self.source.start_of(indices[1]), "")
        else:
            self.source.edit(self.source.end_of(node.children[0]), self.source.end_of(node), "")

    def _problem(self, node: Node, reason: str) -> None:
        text = " ".join(self.source.text_of(node).split())
        self.decision.problems.append(Finding(str(self.source.path), self.source.line_of(node), text, reason))
