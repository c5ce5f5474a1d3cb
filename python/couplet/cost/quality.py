"""Reasons to doubt a fit: the plane does not describe the cells, or they do not tell what a pair costs."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from couplet.cost.measurement import Cell
from couplet.cost.model import Fit
from couplet.cost.units import shown_time

MIN_R_SQUARED = 0.9
ADVICE = (
    "the model says little: measure again with more --repetitions on nodes that do nothing else, or with more cells "
    "(--half-star)"
)
_PAIRS = {"alpha": "a pair inside a node", "beta": "a pair between nodes"}


def doubts_of_fit(order: str, cells: Sequence[Cell], fit: Fit, statistic: str) -> list[str]:
    """Returns a sentence for each reason to doubt the chosen fit of a posting order; ``cells``: the fitted ones."""
    return _poor(order, cells, fit, statistic) + _unknown(order, fit)


def _poor(order: str, cells: Sequence[Cell], fit: Fit, statistic: str) -> list[str]:
    if fit.r_squared is None or fit.r_squared >= MIN_R_SQUARED:
        return []
    fitted = [float(fit.cost(Fraction(cell.pa), Fraction(cell.pe))) for cell in cells]
    measured = [cell.seconds(statistic) for cell in cells]
    worst = max(range(len(cells)), key=lambda one: abs(measured[one] - fitted[one]))
    return [
        f"{order}: R^2 of the {fit.kind} is {100 * fit.r_squared:.1f} %, less than {100 * MIN_R_SQUARED:.0f} %; the "
        f"largest residual is at pa = {cells[worst].pa:g}, pe = {cells[worst].pe:g}: measured "
        f"{shown_time(measured[worst])}, fitted {shown_time(fitted[worst])}"
    ]


def _unknown(order: str, fit: Fit) -> list[str]:
    found = []
    for index, piece in enumerate(fit.pieces):
        where = f"{piece.min_pa:g} <= pa {'<=' if piece is fit.pieces[-1] else '<'} {piece.max_pa:g}"
        for name, pair in _PAIRS.items():
            if fit.kind == "hinge" and name == "beta" and index:
                continue  # the pieces of a hinge have the same beta
            value = getattr(piece, name)
            low, high = piece.intervals.get(name, (value, value))
            if low < 0.0 < high:
                found.append(
                    f"{order}: the interval of {name} for {where} ({shown_time(low)} to {shown_time(high)}) contains "
                    f"0: the cells do not show what {pair} costs"
                )
            elif value < 0.0:
                found.append(
                    f"{order}: {name} is {shown_time(value)} for {where}, and {pair} cannot cost less than nothing"
                )
    return found
