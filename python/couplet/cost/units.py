"""Units that fit the numbers of a table or a picture, and numbers with three significant digits."""

from __future__ import annotations

import math
from collections.abc import Iterable

_TIMES = (("s", 1.0), ("ms", 1e3), ("us", 1e6))
_RATES = (("GB/s", 1e-9), ("MB/s", 1e-6), ("kB/s", 1e-3))


def time_unit(seconds: Iterable[float]) -> tuple[str, float]:
    """Returns the unit for times, by the longest of them, and what seconds are multiplied with."""
    return _fitting(_TIMES, seconds)


def rate_unit(bytes_per_s: Iterable[float]) -> tuple[str, float]:
    """Returns the unit for throughputs, by the highest of them, and what bytes per second are multiplied with."""
    return _fitting(_RATES, bytes_per_s)


def _fitting(units: tuple[tuple[str, float], ...], values: Iterable[float]) -> tuple[str, float]:
    most = max((abs(float(value)) for value in values), default=0.0)
    return next((one for one in units if most * one[1] >= 1.0), units[-1] if most > 0.0 else units[0])


def significant(value: float, digits: int = 3) -> str:
    """Returns a number with so many significant digits and no exponent: 0.0123, 1.23, 123, 12345."""
    if value == 0.0:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{decimals}f}"


def shown_time(seconds: float) -> str:
    """Returns a time with three significant digits and its unit."""
    unit, factor = time_unit([seconds])
    return f"{significant(seconds * factor)} {unit}"
