"""Linear regression, by least squares or robust, with confidence intervals. NumPy and SciPy do the mathematics.

The robust method is Tukey's biweight with a scale from the median absolute deviation, begun from Huber's weights
(Maronna, Martin, Yohai: Robust Statistics): cells that were disturbed lose their weight instead of bending the plane.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy

from couplet.cost.errors import CostError, DesignError

Array = numpy.ndarray[Any, Any]

METHODS = ("least_squares", "robust")
MAX_ITERATIONS = 50
_HUBER, _TUKEY, _MAD_TO_SIGMA = 1.345, 4.685, 1.4826


@dataclass(frozen=True)
class Regression:
    """Coefficients, their intervals, and how well they describe the values."""

    coefficients: Array
    intervals: Array
    residuals: Array
    loss: float
    r_squared: float


def r_squared(values: Array, residuals: Array) -> float:
    """Returns 1 - residual variation / variation of the values; 1 for equal values that are met exactly."""
    total = float(((values - values.mean()) ** 2).sum())
    left = float((residuals**2).sum())
    if total == 0.0:
        return 1.0 if left == 0.0 else 0.0
    return 1.0 - left / total


def student_quantile(confidence: float, degrees: int) -> float:
    """Returns how many standard errors a two-sided interval reaches."""
    try:
        from scipy.special import stdtrit
    except ImportError as error:
        raise CostError("confidence intervals need SciPy: pip install couplet[cost]") from error
    return float(stdtrit(degrees, 0.5 + confidence / 2))


def regress(design: Array, values: Array, method: str, confidence: float) -> Regression:
    """Fits values = design @ coefficients. The design has more rows than columns.

    Raises DesignError if its columns are not independent, so that there is more than one best fit.
    ``loss`` is what models are compared by: the sum of squared residuals, or of absolute ones for the robust method.
    """
    if numpy.linalg.matrix_rank(design) < design.shape[1]:
        raise DesignError("the cells do not tell the coefficients apart; vary pa and pe independently of each other")
    coefficients = numpy.linalg.lstsq(design, values, rcond=None)[0]
    residuals = values - design @ coefficients
    rows, columns = design.shape
    if method == "robust":
        coefficients = _robust(design, values, coefficients)
        residuals = values - design @ coefficients
        variance = _robust_variance(residuals, rows - columns)
        loss = float(numpy.abs(residuals).sum())
    else:
        loss = float((residuals**2).sum())
        variance = loss / (rows - columns)
    covariance = variance * numpy.linalg.inv(design.T @ design)
    reach = student_quantile(confidence, rows - columns) * numpy.sqrt(numpy.clip(numpy.diag(covariance), 0.0, None))
    intervals = numpy.stack([coefficients - reach, coefficients + reach], axis=1)
    return Regression(coefficients, intervals, residuals, loss, r_squared(values, residuals))


def _scale(residuals: Array) -> float:
    return float(_MAD_TO_SIGMA * numpy.median(numpy.abs(residuals)))


def _tiny(values: Array) -> float:
    """Residuals below this are rounding errors."""
    return float(1e-12 * numpy.abs(values).max())


def _weights(ratio: Array, tukey: bool) -> Array:
    size = numpy.abs(ratio)
    if tukey:
        return numpy.where(size < _TUKEY, (1.0 - (size / _TUKEY) ** 2) ** 2, 0.0)
    return numpy.where(size <= _HUBER, 1.0, _HUBER / numpy.maximum(size, _HUBER))


def _robust(design: Array, values: Array, start: Array) -> Array:
    """Iteratively reweighted least squares; Huber's weights first, since Tukey's depend on where they begin."""
    coefficients = start
    for tukey in (False, True):
        for _ in range(MAX_ITERATIONS):
            residuals = values - design @ coefficients
            scale = _scale(residuals)
            if scale <= _tiny(values):
                return coefficients
            root = numpy.sqrt(_weights(residuals / scale, tukey))
            weighted = design * root[:, None]
            if numpy.linalg.matrix_rank(weighted) < design.shape[1]:
                break
            improved = numpy.linalg.lstsq(weighted, values * root, rcond=None)[0]
            done = numpy.allclose(improved, coefficients, rtol=1e-8, atol=1e-15)
            coefficients = improved
            if done:
                break
    return coefficients


def _robust_variance(residuals: Array, degrees: int) -> float:
    """The variance of an M-estimator's error, up to (X'X)^-1: scale^2 mean(psi^2) / mean(psi')^2."""
    scale = _scale(residuals)
    if scale == 0.0:
        return 0.0
    ratio = residuals / scale
    part = (ratio / _TUKEY) ** 2
    inside = numpy.abs(ratio) < _TUKEY
    psi = numpy.where(inside, ratio * (1.0 - part) ** 2, 0.0)
    slope = numpy.where(inside, (1.0 - part) * (1.0 - 5.0 * part), 0.0)
    mean_slope = max(float(slope.mean()), 1e-3)
    return float(scale**2 * (psi**2).sum() / degrees / mean_slope**2)
