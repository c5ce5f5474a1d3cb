"""Makes a model of a measurement: plane, split (two planes) and hinge (two planes that meet), per posting order.

The breakpoint of split and hinge is chosen by the data. Which of the three a prediction uses is chosen by Schwarz's
criterion (BIC), which charges for every coefficient and for the breakpoint, unless the caller names one.

The cell without messages is left out: it has no start-up, so that it would bend the planes of small messages.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy

from couplet.cost.curves import fit_curve
from couplet.cost.directions import Directions, fit_directions, saturation
from couplet.cost.errors import CostError, DesignError
from couplet.cost.measurement import Cell, Measurement
from couplet.cost.model import KINDS, ORDERS, Fit, Model, Order, Piece
from couplet.cost.quality import doubts_of_fit
from couplet.cost.regression import METHODS, Array, Regression, r_squared, regress, student_quantile

MIN_PLANE_CELLS = 4
MIN_HINGE_CELLS = 6
_NAMES = ("alpha", "beta", "gamma")
_HINGE_STEPS = 8
_WHAT_TO_DO = "measure more cells: let the probe run with a larger --half-star, or with more ranks on each node"


@dataclass(frozen=True)
class Options:
    """How a fit is made."""

    kind: str = "auto"
    method: str = "least_squares"
    statistic: str = "median"
    confidence: float = 0.95
    message_bytes: int | None = None

    def check(self) -> None:
        """Raises CostError for an option that is not known."""
        known = (("kind", ("auto", *KINDS)), ("method", METHODS), ("statistic", ("median", "minimum")))
        for name, words in known:
            if getattr(self, name) not in words:
                raise CostError(f'{name} "{getattr(self, name)}" is not known; it is one of: {", ".join(words)}')
        if not 0.0 < self.confidence < 1.0:
            raise CostError(f"confidence has to be greater than 0 and less than 1, as in 0.95, not {self.confidence}")


@dataclass
class Fitted:
    """A model, why some kinds of fit could not be made, and what else the cells tell of each posting order.

    ``without_empty_cell``: the cell without messages was measured, and left out.
    """

    model: Model
    left_out: list[str] = field(default_factory=list)
    saturation: dict[str, float] = field(default_factory=dict)
    directions: dict[str, Directions] = field(default_factory=dict)
    without_empty_cell: bool = False


@dataclass(frozen=True)
class _Data:
    """The cells of one posting order as arrays."""

    pa: Array
    pe: Array
    seconds: Array
    options: Options
    where: str

    def part(self, chosen: Array) -> _Data:
        return _Data(self.pa[chosen], self.pe[chosen], self.seconds[chosen], self.options, self.where)

    def regress(self, *columns: Array) -> Regression:
        design = numpy.stack([*columns, numpy.ones_like(self.pa)], axis=1)
        return regress(design, self.seconds, self.options.method, self.options.confidence)


def fit_measurement(measurement: Measurement, options: Options | None = None) -> Fitted:
    """Fits both posting orders and all curves of a measurement.

    Raises DesignError if the cells do not determine a plane, or not the kind that the options name, and CostError for
    options that make no sense.
    """
    options = options or Options()
    options.check()
    size = _message_size(measurement, options)
    fitted = Fitted(Model(measurement.machine, size, {}))
    orders: dict[str, Order] = {}
    doubts: list[str] = []
    for name in ORDERS:
        cells = measurement.select(name, size)
        if not cells:
            raise DesignError(
                f"the measurement has no cells of the posting order {name} with messages of {size} bytes; "
                "let the probe measure both orders"
            )
        orders[name] = fit_cells(cells, name, options, fitted.left_out)
        if (at := saturation(cells)) is not None:
            fitted.saturation[name] = at
        used = [cell for cell in cells if cell.has_messages]
        doubts += doubts_of_fit(name, used, orders[name].fit(), options.statistic)
        fitted.without_empty_cell |= len(used) < len(cells)
        found = fit_directions(used, options.method, options.statistic, options.confidence)
        if found is not None:
            fitted.directions[name] = found
    curves = tuple(fit_curve(points, options.statistic) for points in measurement.curves)
    details = {key: value for key, value in measurement.document["machine"].items() if key not in ("name", "hosts")}
    fitted.model = Model(
        measurement.machine,
        size,
        orders,
        measurement.hosts,
        curves,
        "fitted by couplet fit",
        options.statistic,
        details,
        tuple(doubts),
    )
    return fitted


def _message_size(measurement: Measurement, options: Options) -> int:
    sizes = measurement.message_sizes
    if not sizes:
        raise DesignError("the measurement has no cells at all; let the probe run again, with a larger half_star")
    shown = ", ".join(str(size) for size in sizes)
    if options.message_bytes is None:
        if len(sizes) > 1:
            raise CostError(f"the measurement has cells of several message sizes; choose one of them: {shown}")
        return sizes[0]
    if options.message_bytes not in sizes:
        raise CostError(f"the measurement has no cells with messages of {options.message_bytes} bytes, only: {shown}")
    return options.message_bytes


def fit_cells(cells: Sequence[Cell], order: str, options: Options, left_out: list[str] | None = None) -> Order:
    """Fits the cells of one posting order that have messages; what cannot be fitted is named in ``left_out``."""
    cells = [cell for cell in cells if cell.has_messages]
    if not cells:
        raise DesignError(f"order {order}: only the cell without messages was measured; {_WHAT_TO_DO}")
    data = _Data(
        numpy.array([cell.pa for cell in cells], dtype=numpy.float64),
        numpy.array([cell.pe for cell in cells], dtype=numpy.float64),
        numpy.array([cell.seconds(options.statistic) for cell in cells], dtype=numpy.float64),
        options,
        f"order {order}",
    )
    makers: dict[str, Callable[[_Data], Fit]] = {"plane": _plane, "split": _split, "hinge": _hinge}
    fits = {"plane": _plane(data)}
    for kind in ("split", "hinge"):
        try:
            fits[kind] = makers[kind](data)
        except DesignError as error:
            if options.kind == kind:
                raise
            if left_out is not None:
                left_out.append(str(error))
    kind = options.kind if options.kind != "auto" else min(fits, key=lambda one: fits[one].bic or 0.0)
    return Order(kind, fits)


def _require_plane(data: _Data, part: str = "") -> None:
    """Raises DesignError, with what to do, if the cells do not determine alpha, beta and gamma."""
    where = f"{data.where}{part}"
    pa, pe = numpy.unique(data.pa), numpy.unique(data.pe)
    kinds = (("pa", "alpha", pa), ("pe", "beta", pe))
    # A kind of messages that does not occur at all is said first.
    for name, coefficient, values in sorted(kinds, key=lambda one: bool(one[2].any())):
        if len(values) < 2:
            kind = "intra-node" if name == "pa" else "inter-node"
            raise DesignError(
                f"{where}: all cells have {values[0]:g} {kind} pairs ({name}), so {coefficient} cannot be told; "
                f"measure at least two values of {name}"
            )
    if len(data.pa) < MIN_PLANE_CELLS:
        raise DesignError(
            f"{where}: a plane needs at least {MIN_PLANE_CELLS} cells with messages, and there are "
            f"{len(data.pa)}; {_WHAT_TO_DO}"
        )
    design = numpy.stack([data.pa, data.pe, numpy.ones_like(data.pa)], axis=1)
    if numpy.linalg.matrix_rank(design) < 3:
        raise DesignError(
            f"{where}: pa and pe lie on one line in all cells, so alpha and beta cannot be told apart; "
            "measure each value of pa with at least two values of pe"
        )


def _criterion(data: _Data, residuals: Array, parameters: int) -> float:
    """Schwarz's criterion; for the robust method with absolute residuals (Laplace's distribution)."""
    count = len(residuals)
    floor = max(1e-9 * float(numpy.abs(data.seconds).max()), 1e-150)
    if data.options.method == "robust":
        size = 2.0 * math.log(max(float(numpy.abs(residuals).mean()), floor))
    else:
        size = math.log(max(float((residuals**2).mean()), floor**2))
    return count * size + parameters * math.log(count)


def _piece(data: _Data, fitted: Regression, bounds: tuple[float, float]) -> Piece:
    intervals = {
        name: (float(pair[0]), float(pair[1])) for name, pair in zip(_NAMES, fitted.intervals, strict=True)
    }  # fmt: skip
    alpha, beta, gamma = (float(one) for one in fitted.coefficients)
    return Piece(*bounds, alpha, beta, gamma, len(data.pa), fitted.r_squared, intervals)


def _fit(
    kind: str, data: _Data, pieces: Sequence[Piece], residuals: Array, parameters: int,
    at: float | None = None, interval: tuple[float, float] | None = None,
) -> Fit:  # fmt: skip
    return Fit(
        kind, tuple(pieces), data.options.method, r_squared(data.seconds, residuals),
        float(numpy.sqrt((residuals**2).mean())), _criterion(data, residuals, parameters), at, interval,
        data.options.confidence, float(data.pe.max()),
    )  # fmt: skip


def _plane(data: _Data) -> Fit:
    _require_plane(data)
    fitted = data.regress(data.pa, data.pe)
    piece = _piece(data, fitted, (0.0, float(data.pa.max())))
    return _fit("plane", data, [piece], fitted.residuals, 4)


def _split(data: _Data) -> Fit:
    """Two planes; every value of pa is tried as the first of the second plane."""
    found: list[tuple[float, float, list[tuple[_Data, Regression]]]] = []
    for at in numpy.unique(data.pa)[1:]:
        parts = [data.part(data.pa < at), data.part(data.pa >= at)]
        try:
            for part in parts:
                _require_plane(part, f", split at pa = {at:g}")
        except DesignError:
            continue
        fitted = [(part, part.regress(part.pa, part.pe)) for part in parts]
        found.append((sum(one.loss for _, one in fitted), float(at), fitted))
    if not found:
        raise DesignError(
            f"{data.where}: a split needs at least {MIN_PLANE_CELLS} cells, two values of pa and two of pe on either "
            f"side of its breakpoint, and no breakpoint leaves so many; {_WHAT_TO_DO}"
        )
    _, at, best = min(found, key=lambda one: one[0])
    bounds = [(0.0, at), (at, float(data.pa.max()))]
    pieces = [_piece(part, fitted, bound) for (part, fitted), bound in zip(best, bounds, strict=True)]
    residuals = numpy.concatenate([fitted.residuals for _, fitted in best])
    seconds = numpy.concatenate([part.seconds for part, _ in best])
    sorted_data = _Data(data.pa, data.pe, seconds, data.options, data.where)
    losses = [(loss, candidate) for loss, candidate, _ in found]
    return _fit("split", sorted_data, pieces, residuals, 8, at, _interval(data, losses, 7))


def _interval(data: _Data, losses: Sequence[tuple[float, float]], parameters: int) -> tuple[float, float]:
    """The breakpoints that the data do not rule out: those whose loss is not much greater than the least (profile)."""
    least = min(loss for loss, _ in losses)
    degrees = max(1, len(data.pa) - parameters)
    factor = 1.0 + student_quantile(data.options.confidence, degrees) ** 2 / degrees
    limit = least * (math.sqrt(factor) if data.options.method == "robust" else factor)
    allowed = [at for loss, at in losses if loss <= limit]
    return min(allowed), max(allowed)


def _hinge(data: _Data) -> Fit:
    """Two planes that share beta and meet at a breakpoint b: alpha pa + beta pe + gamma + bend max(0, pa - b)."""
    values = numpy.unique(data.pa)
    _require_plane(data)
    if len(values) < 4 or len(data.pa) < MIN_HINGE_CELLS:
        raise DesignError(
            f"{data.where}: a hinge needs at least {MIN_HINGE_CELLS} cells and four values of pa, and there are "
            f"{len(data.pa)} and {len(values)}; {_WHAT_TO_DO}"
        )

    def bent(at: float) -> Regression:
        return data.regress(data.pa, data.pe, numpy.maximum(0.0, data.pa - at))

    def loss(at: float) -> float:
        try:
            return bent(at).loss
        except DesignError:
            return math.inf

    # Between two values of pa the loss is smooth: look at a grid, then closely around its best place.
    low, high = float(values[1]), float(values[-2])
    grid = numpy.linspace(low, high, _HINGE_STEPS * (len(values) - 3) + 1)
    losses = [(loss(float(at)), float(at)) for at in grid]
    at = _refine(loss, min(losses)[1], float(grid[1] - grid[0]), (low, high))
    fitted = bent(at)
    losses.append((fitted.loss, at))
    alpha, beta, bend, gamma = (float(one) for one in fitted.coefficients)
    interval = {name: fitted.intervals[index] for name, index in (("alpha", 0), ("beta", 1), ("gamma", 3))}
    shown = {name: (float(pair[0]), float(pair[1])) for name, pair in interval.items()}
    below = data.pa < at
    parts = [(below, (0.0, at), alpha, gamma), (~below, (at, float(data.pa.max())), alpha + bend, gamma - bend * at)]
    pieces = [
        Piece(*bound, slope, beta, base, int(chosen.sum()), r_squared(data.seconds[chosen], fitted.residuals[chosen]),
              shown if index == 0 else {"beta": shown["beta"]})
        for index, (chosen, bound, slope, base) in enumerate(parts)
    ]  # fmt: skip
    return _fit("hinge", data, pieces, fitted.residuals, 6, at, _interval(data, losses, 5))


def _refine(loss: Callable[[float], float], at: float, step: float, bounds: tuple[float, float]) -> float:
    try:
        from scipy.optimize import minimize_scalar
    except ImportError as error:
        raise CostError("a hinge fit needs SciPy: pip install couplet[cost]") from error
    if bounds[0] == bounds[1]:
        return at
    around = (max(bounds[0], at - step), min(bounds[1], at + step))
    found = float(minimize_scalar(loss, bounds=around, method="bounded", options={"xatol": 1e-6}).x)
    return found if loss(found) <= loss(at) else at
