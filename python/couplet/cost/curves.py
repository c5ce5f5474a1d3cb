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


def fit_curve(points: Points, statistic: str = "median") -> Curve:
    """Fits latency + size / bandwidth in segments; relative errors count, so that small messages weigh as large ones.

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
    """Latency and seconds per byte with the least squared relative errors; a line does not fall with the size."""
    design = numpy.stack([numpy.ones_like(sizes), sizes], axis=1) / seconds[:, None]
    target = numpy.ones_like(seconds)
    latency, slope = (float(one) for one in numpy.linalg.lstsq(design, target, rcond=None)[0])
    if slope < 0.0:
        latency, slope = float((1.0 / seconds).sum() / (1.0 / seconds**2).sum()), 0.0
    error = design @ numpy.array([latency, slope]) - target
    return (latency, slope), float((error**2).sum())


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
