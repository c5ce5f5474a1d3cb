"""Latency and bandwidth over the message size: straight lines from size to size, as few as describe the points."""

from __future__ import annotations

import math

import numpy

from couplet.cost.errors import DesignError
from couplet.cost.measurement import Points
from couplet.cost.model import Curve, Segment
from couplet.cost.regression import Array

MIN_SEGMENT_POINTS = 3
MAX_SEGMENTS = 8
MAX_POINTS = 128
# A line is fitted again with other weights at most so often; it converges in a few rounds.
_ROUNDS = 20
# A prediction below this share of the measured time gets the weight of this share.
_LEAST_SHARE = 1e-3


def fit_curve(points: Points, statistic: str = "median") -> Curve:
    """Fits latency + size / bandwidth in segments. Relative errors count, so that small messages weigh as large ones.

    The number of segments is chosen by Schwarz's criterion. Raises DesignError for fewer than two sizes.
    """
    seconds = numpy.array(points.minimum_s if statistic == "minimum" else points.median_s, dtype=numpy.float64)
    sizes = numpy.array(points.sizes, dtype=numpy.float64)
    count = len(sizes)
    if not 2 <= count <= MAX_POINTS:
        raise DesignError(
            f'curve "{points.name}": latency and bandwidth need between 2 and {MAX_POINTS} message sizes, and there '
            f"are {count}; let the probe measure a list of sizes"
        )
    loss = numpy.full((count + 1, count + 1), math.inf)
    lines = {}
    for first in range(count):
        for stop in range(first + MIN_SEGMENT_POINTS, count + 1):
            lines[first, stop], loss[first, stop] = _line(sizes[first:stop], seconds[first:stop])
    best: tuple[float, list[int]] | None = None
    for segments in range(1, min(MAX_SEGMENTS, count // MIN_SEGMENT_POINTS) + 1):
        total, cuts = _cut(loss, count, segments)
        # Two coefficients and one cut per segment. A relative error of 1e-4 is below what any clock repeats.
        criterion = count * math.log(max(total / count, 1e-8)) + 3 * segments * math.log(count)
        if best is None or criterion < best[0]:
            best = (criterion, cuts)
    assert best is not None
    ends = [*best[1], count]
    parts = []
    for index, first in enumerate(best[1]):
        latency, slope = lines[first, ends[index + 1]]
        parts.append(Segment(points.sizes[first] if index else 0, float(latency), float(slope)))
    return Curve(points.name, tuple(parts))


def _line(sizes: Array, seconds: Array) -> tuple[tuple[float, float], float]:
    """Latency and seconds per byte with the least squared logarithms of predicted over measured.

    So half of the measured time is as wrong as twice of it. A line does not fall with the size.
    """
    predicted, best = seconds, ((0.0, 0.0), math.inf)
    for _ in range(_ROUNDS):
        # (p - m)^2 / (p m) is the square of the logarithm for small errors, and as large for m / p as for p / m.
        line = _weighted_line(sizes, seconds, 1.0 / numpy.sqrt(predicted * seconds))
        values = line[0] + line[1] * sizes
        loss = float((numpy.log(values / seconds) ** 2).sum()) if (values > 0.0).all() else math.inf
        if loss >= best[1] and best[1] < math.inf:
            break
        best = min(best, (line, loss), key=lambda one: one[1])
        predicted = numpy.maximum(values, seconds * _LEAST_SHARE)
    if best[1] == math.inf:
        flat = float(numpy.exp(numpy.log(seconds).mean()))
        best = ((flat, 0.0), float((numpy.log(flat / seconds) ** 2).sum()))
    return best


def _weighted_line(sizes: Array, seconds: Array, weights: Array) -> tuple[float, float]:
    design = numpy.stack([numpy.ones_like(sizes), sizes], axis=1) * weights[:, None]
    latency, slope = (float(one) for one in numpy.linalg.lstsq(design, seconds * weights, rcond=None)[0])
    if slope < 0.0:
        return float((seconds * weights**2).sum() / (weights**2).sum()), 0.0
    return latency, slope


def _cut(loss: Array, count: int, segments: int) -> tuple[float, list[int]]:
    """The best places to cut ``count`` points into so many segments, by dynamic programming: (loss, first points)."""
    best = [(float(loss[0, stop]), [0]) for stop in range(count + 1)]
    for _ in range(1, segments):
        longer = [(math.inf, [0])] * (count + 1)
        for stop in range(count + 1):
            for cut in range(MIN_SEGMENT_POINTS, stop - MIN_SEGMENT_POINTS + 1):
                total = best[cut][0] + float(loss[cut, stop])
                if total < longer[stop][0]:
                    longer[stop] = (total, [*best[cut][1], cut])
        best = longer
    return best[count]
