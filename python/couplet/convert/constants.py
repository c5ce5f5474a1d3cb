"""Decides which of MPI's constants outside of calls become Couplet's. Tests: tests/convert/test_constants_in_doubt.py.

A constant follows the variable that it is assigned to or compared with. If that says nothing, it follows the calls that
take a value of its kind: ranks, tags, datatypes and so on.
"""

from __future__ import annotations

from collections.abc import Callable

from couplet.convert.calls import C_TYPES, COLLECTIVE_CALLS, FORTRAN_TYPES, NEUTRAL, OPERATIONS, ROLES
from couplet.convert.model import Call, Constant, Facts, Use

_NULL_HANDLES = ("MPI_REQUEST_NULL", "MPI_COMM_NULL", "MPI_DATATYPE_NULL")
_ROLES_OF = {
    "MPI_PROC_NULL": ("rank",), "MPI_ANY_SOURCE": ("rank",), "MPI_ANY_TAG": ("tag",),
    "MPI_COMM_WORLD": ("comm",), "MPI_COMM_NULL": ("comm", "newcomm"), "MPI_REQUEST_NULL": ("request", "requests"),
    "MPI_STATUS_IGNORE": ("status",), "MPI_STATUSES_IGNORE": ("statuses",), "MPI_DATATYPE_NULL": ("type", "types"),
}  # fmt: skip


def _takes(call: Call, name: str) -> bool:
    """Whether a call has an argument of the kind of a constant."""
    if name == "MPI_IN_PLACE":
        return call.name in COLLECTIVE_CALLS
    if name.startswith("MPI_ORDER_"):
        return call.name == "mpi_type_create_subarray"
    if name in C_TYPES or name in FORTRAN_TYPES:
        return bool(call.of_role("type", "types"))
    if name in OPERATIONS:
        return bool(call.of_role("op"))
    return bool(call.of_role(*_ROLES_OF[name])) if name in _ROLES_OF else call.name in ROLES


class Constants:
    """The constants of all files, once it is known which calls are converted and which stay."""

    def __init__(self, facts: Facts, kept: list[tuple[Call, Use]], without_mpi: bool) -> None:
        self.chosen = [call for call in facts.calls if call.chosen and call.name in ROLES]
        self.kept = kept
        # The calls that were to be converted and have a problem of their own.
        self.refused = {(call.written, str(call.source.path), call.line) for call in facts.calls if call.problem}
        self.without_mpi = without_mpi

    def converts(self, constant: Constant) -> bool | None:
        """Says whether a constant becomes Couplet's; none: that cannot be decided (see `doubt`)."""
        if self.without_mpi:
            return True
        if constant.name in NEUTRAL:
            return False
        symbol = constant.symbol
        if symbol is not None and any(symbol.root().uses.values()):
            return None if symbol.is_mixed else symbol.is_couplet
        if constant.name == "MPI_COMM_WORLD":
            return False
        if symbol is not None and constant.name in _NULL_HANDLES:
            return False  # its variable is used by no call, and keeps its type
        chosen, kept = self._calls_that_take(constant)
        return None if chosen and kept else bool(chosen)

    def _calls_that_take(self, constant: Constant) -> tuple[list[Call], list[Use]]:
        """Returns the calls of both sides that take such a value: those of the file or, if it has none, all.

        If no call in any file takes one, any calls of the file count.
        """
        filters: tuple[Callable[[Call], bool], ...] = (
            lambda call: call.source is constant.source and _takes(call, constant.name),
            lambda call: _takes(call, constant.name),
            lambda call: call.source is constant.source,
        )
        for counts in filters:
            chosen = [call for call in self.chosen if counts(call)]
            kept = [use for call, use in self.kept if counts(call)]
            if chosen or kept:
                return chosen, kept
        return [], []

    def _is_refused(self, use: Use) -> bool:
        return (use.call, use.path, use.line) in self.refused

    def doubt(self, constant: Constant) -> str:
        """Says why it cannot be decided whether a constant becomes Couplet's, and what to do."""
        symbol = constant.symbol
        if symbol is not None and symbol.is_mixed:
            uses = symbol.root().uses
            ours = next((use for use in uses["couplet"] if not self._is_refused(use)), uses["couplet"][0])
            theirs = uses["mpi"][0]
            how = "is to be converted" if self._is_refused(ours) else "is converted"
            first = f"{ours.call} at {ours.place}, which {how}" if ours.line else "calls that are converted"
            if ours.status and ours.status == theirs.status:
                return (
                    f"'{ours.status}', from which '{symbol.name}' is copied, is filled by {first}, and by "
                    f"{theirs.call} at {theirs.place}, which stays MPI{theirs.because('does')}; use a status for each"
                )
            return (
                f"'{symbol.name}' is used with {first}, and with {theirs.call} at {theirs.place}, which stays MPI"
                f"{theirs.because('does')}; use a variable for each"
            )
        use = self._calls_that_take(constant)[1][0]
        return (
            f"it cannot be decided whether this is MPI's or Couplet's, since {use.call} at {use.place} stays MPI"
            f"{use.because('does')}; assign it to a variable that is used with one of them only"
        )
