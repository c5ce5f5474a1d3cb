"""What pairs cannot tell: where the throughput of a node saturates, and what in and out cost by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy

from couplet.cost.errors import DesignError
from couplet.cost.measurement import Cell
from couplet.cost.regression import regress

NAMES = ("intra_in", "intra_out", "inter_in", "inter_out")
MIN_DIRECTION_CELLS = 6
SATURATED = 0.95  # share of the highest throughput


@dataclass(frozen=True)
class Directions:
    """Seconds of one message, by where it comes from and goes to, each with its interval; and R^2."""

    seconds: dict[str, tuple[float, float, float]]
    r_squared: float


def fit_directions(cells: Sequence[Cell], method: str, statistic: str, confidence: float) -> Directions | None:
    """Fits seconds = sum of (messages * seconds of one) + a constant.

    Returns None if the cells have as many messages in as out, or too few cells: then only the sum of both is known.
    """
    design = numpy.array([[*(getattr(cell, name) for name in NAMES), 1.0] for cell in cells], dtype=numpy.float64)
    if len(cells) < MIN_DIRECTION_CELLS:
        return None
    try:
        found = regress(design, numpy.array([cell.seconds(statistic) for cell in cells]), method, confidence)
    except DesignError:
        return None
    triples = (
        (float(value), float(low), float(high))
        for value, (low, high) in zip(found.coefficients, found.intervals, strict=True)
    )
    return Directions(dict(zip(NAMES, triples, strict=False)), found.r_squared)


def saturation(cells: Sequence[Cell]) -> float | None:
    """Returns the pa from which the node's throughput hardly rises: the median over the values of pe.

    It is to be seen beside the breakpoint of the fit. Returns None if no throughput was measured, or if it still rises
    at the greatest pa.
    """
    found = []
    greatest = max((cell.pa for cell in cells), default=0.0)
    for pe in sorted({cell.pe for cell in cells}):
        row = sorted((cell.pa, cell.node_bytes_per_s) for cell in cells if cell.pe == pe and cell.node_bytes_per_s)
        if row:
            highest = max(rate for _, rate in row)
            found.append(next(pa for pa, rate in row if rate >= SATURATED * highest))
    if not found:
        return None
    middle = float(numpy.median(found))
    return middle if middle < greatest else None
