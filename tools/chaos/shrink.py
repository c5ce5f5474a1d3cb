"""Shrinks a plan: leaves out what is not needed for a finding of the same kind, for as long as there is time."""

from __future__ import annotations

import time
from collections.abc import Callable

from chaos.plan import Piece, Plan, pieces_of, without


def shrink(plan: Plan, still_fails: Callable[[Plan], bool], seconds: float) -> Plan:
    """Delta debugging over faults, programs and lines: halves first, then smaller parts.

    still_fails runs a candidate. A finding that needs a rare moment may be missed on the way. The result is then larger
    than necessary, but never wrong.
    """
    end = time.monotonic() + seconds
    for kind in ("fault", "program", "line"):
        plan = shrink_kind(plan, kind, still_fails, end)
    return plan


def shrink_kind(plan: Plan, kind: str, still_fails: Callable[[Plan], bool], end: float) -> Plan:
    pieces = [piece for piece in pieces_of(plan) if piece.kind == kind]
    left_out: set[Piece] = set()
    size = max(1, len(pieces) // 2)
    while size >= 1:
        remaining = [piece for piece in pieces if piece not in left_out]
        for start in range(0, len(remaining), size):
            if time.monotonic() > end:
                return without(plan, left_out)
            candidate = left_out | set(remaining[start : start + size])
            smaller = without(plan, candidate)
            if smaller.programs and still_fails(smaller):
                left_out = candidate
        size = size // 2
    return without(plan, left_out)
