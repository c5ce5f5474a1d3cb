"""Pictures as SVG: measured surfaces with fitted planes, predicted against measured, costs per node, placements.

Matplotlib draws them; it is loaded only here. The text of a picture stays text. A picture names no date and has fixed
ids, so that the same data give the same file.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy

from couplet.cost.documents import write_text
from couplet.cost.errors import CostError
from couplet.cost.measurement import Cell, Measurement
from couplet.cost.model import ORDERS, Curve, Fit, Model
from couplet.cost.patterns import Pattern
from couplet.cost.placement import Placement
from couplet.cost.prediction import Prediction
from couplet.cost.units import rate_unit, time_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = {"intra_first": "#1f6fb4", "inter_first": "#c8501e"}
_HOT = "#c02020"
_FIELD = "#d8d8d8"
_INSIDE = "#7a9e3b"
_BETWEEN = "#7b5aa6"
MAX_DRAWN_NODES = 64
MAX_NUMBERED_ARCS = 40
MAX_LINE_WIDTH = 8.0


def _figure(width: float, height: float) -> Figure:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise CostError("a picture needs Matplotlib: pip install couplet[plots]") from error
    return Figure(figsize=(width, height), layout="constrained")


def _plain(text: str) -> str:
    """The text as it is: no formulas, and no characters that a picture cannot hold."""
    return "".join(one if one.isprintable() else "?" for one in text).replace("$", r"\$")


def svg(figure: Figure) -> str:
    """Returns the SVG of a figure, the same for the same data."""
    import matplotlib

    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "couplet"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": "couplet"})
    return buffer.getvalue()


def save(figure: Figure, path: Path) -> None:
    """Writes a figure as SVG; no other format is known."""
    if path.suffix != ".svg":
        raise CostError(f"{path}: pictures are written as SVG; the name has to end with .svg")
    write_text(path, svg(figure))


def _fitted_seconds(fit: Fit, pa: Any, pe: Any) -> Any:
    """T of a whole array, in floating point."""
    result = numpy.zeros(numpy.broadcast(pa, pe).shape)
    for index, piece in enumerate(fit.pieces):
        inside = (
            numpy.ones_like(result, dtype=bool) if index == 0 else numpy.broadcast_to(pa, result.shape) >= piece.min_pa
        )
        plane = piece.alpha * pa + piece.beta * pe + piece.gamma
        result = numpy.where(inside, plane, result)
    return result


def _scattered(axes: Any, cells: Sequence[Cell], places: Sequence[Any], colour: str, name: str) -> None:
    """Draws a point for each cell; that without messages, which is not fitted, is hollow."""
    fitted = numpy.array([cell.has_messages for cell in cells])
    axes.scatter(*(values[fitted] for values in places), s=10, color=colour)
    if not fitted.all():
        hollow = axes.scatter(*(values[~fitted] for values in places), s=14, facecolors="none", edgecolors=colour)
        hollow.set_gid(f"not-fitted-{name}")


def _surface(axes: Any, cells: Sequence[Cell], fit: Fit, statistic: str, name: str) -> None:
    pa, pe = (numpy.array([getattr(cell, one) for cell in cells]) for one in ("pa", "pe"))
    seconds = numpy.array([cell.seconds(statistic) for cell in cells])
    unit, factor = time_unit(seconds)
    for index, piece in enumerate(fit.pieces):
        last = index == len(fit.pieces) - 1
        grid_pa, grid_pe = numpy.meshgrid(
            numpy.linspace(piece.min_pa, piece.max_pa - (0.0 if last else 1e-9), 6), numpy.linspace(0.0, pe.max(), 6)
        )
        plane = piece.alpha * grid_pa + piece.beta * grid_pe + piece.gamma
        axes.plot_surface(grid_pa, grid_pe, plane * factor, alpha=0.35, color=_COLOURS[name], linewidth=0.2)
    _scattered(axes, cells, (pa, pe, seconds * factor), "black", f"surface-{name}")
    # A label of this axis would reach into the next plot.
    axes.set(xlabel="pa", ylabel="pe", title=f"{name}: {fit.kind} ({unit})")


def _against(axes: Axes, cells: Sequence[Cell], fit: Fit, statistic: str, name: str) -> None:
    measured, predicted, unit = _compared(cells, fit, statistic)
    top = float(max(measured.max(), predicted.max()))
    axes.plot([0, top], [0, top], color=_FIELD)
    _scattered(axes, cells, (predicted, measured), _COLOURS[name], f"against-{name}")
    axes.set(xlabel=f"predicted ({unit})", ylabel=f"measured ({unit})", title="predicted against measured")


def _residuals(axes: Axes, cells: Sequence[Cell], fit: Fit, statistic: str, name: str) -> None:
    measured, predicted, unit = _compared([cell for cell in cells if cell.has_messages], fit, statistic)
    axes.axhline(0.0, color=_FIELD)
    axes.scatter(predicted, measured - predicted, s=10, color=_COLOURS[name])
    axes.set(xlabel=f"predicted ({unit})", ylabel=f"measured - predicted ({unit})", title="residuals")


def _compared(cells: Sequence[Cell], fit: Fit, statistic: str) -> tuple[Any, Any, str]:
    """The measured and the predicted times of cells, and their unit."""
    pa, pe = (numpy.array([getattr(cell, one) for cell in cells]) for one in ("pa", "pe"))
    seconds = numpy.array([cell.seconds(statistic) for cell in cells])
    unit, factor = time_unit(seconds)
    return seconds * factor, _fitted_seconds(fit, pa, pe) * factor, unit


def _throughput(axes: Axes, cells: Sequence[Cell], fit: Fit) -> None:
    unit, factor = rate_unit([cell.node_bytes_per_s or 0.0 for cell in cells])
    for pe in sorted({cell.pe for cell in cells}):
        row = sorted((cell.pa, cell.node_bytes_per_s or 0.0) for cell in cells if cell.pe == pe)
        axes.plot(
            [pa for pa, _ in row], [rate * factor for _, rate in row], marker=".", label=f"pe = {pe:g}", linewidth=0.8
        )
    if fit.breakpoint is not None:
        axes.axvline(fit.breakpoint, color="black", linestyle="--", linewidth=0.8)
    axes.set(xlabel="pa", ylabel=unit, title="throughput of the node")
    axes.legend(fontsize=6)


def fit_figure(measurement: Measurement, model: Model) -> Figure:
    """Draws the cells with the chosen fit of both posting orders, residuals, and throughput if it was measured."""
    select = {name: measurement.select(name, model.message_bytes) for name in ORDERS}
    with_rate = any(cell.node_bytes_per_s for cells in select.values() for cell in cells)
    columns = 3 + with_rate
    figure = _figure(4.2 * columns, 7.5)
    statistic = model.statistic or "median"
    for row, name in enumerate(ORDERS):
        cells, fit = select[name], model.orders[name].fit()
        place = row * columns
        _surface(figure.add_subplot(2, columns, place + 1, projection="3d"), cells, fit, statistic, name)
        _against(figure.add_subplot(2, columns, place + 2), cells, fit, statistic, name)
        _residuals(figure.add_subplot(2, columns, place + 3), cells, fit, statistic, name)
        if with_rate:
            _throughput(figure.add_subplot(2, columns, place + 4), cells, fit)
    figure.suptitle(f"{_plain(model.machine)}, messages of {model.message_bytes} bytes")
    return figure


def curve_figure(measurement: Measurement, curves: Sequence[Curve], statistic: str = "median") -> Figure:
    """Draws the seconds of a message over its size, measured and fitted."""
    figure = _figure(6.0, 4.5)
    axes = figure.add_subplot()
    for points, curve in zip(measurement.curves, curves, strict=True):
        seconds = points.minimum_s if statistic == "minimum" else points.median_s
        line = axes.loglog(
            [max(1, size) for size in points.sizes], seconds, "o", markersize=3, label=_plain(curve.name)
        )[0]
        axes.loglog(
            [max(1, size) for size in points.sizes],
            [curve.seconds(size) for size in points.sizes],
            color=line.get_color(),
        )
    axes.set(xlabel="bytes", ylabel="s")
    axes.legend()
    return figure


def prediction_figure(predictions: Sequence[Prediction], about: str = "") -> Figure:
    """Draws the cost of each node, for each node set and posting order, on one scale; hot spots are outlined in red.

    ``about``: the pattern and the model, for the title.
    """
    if not predictions or len(predictions) > 16:
        raise CostError(f"a picture shows 1 to 16 node sets, not {len(predictions)}")
    figure = _figure(max(6.0, 0.4 * max(len(one.node_set) for one in predictions)), 2.4 * len(predictions) + 0.9)
    unit, factor = time_unit(float(order.cost) for one in predictions for order in one.orders.values())
    rows = figure.subplots(len(predictions), 1, sharey=True, squeeze=False)[:, 0]
    for axes, one in zip(rows, predictions, strict=True):
        for index, name in enumerate(ORDERS):
            order = one.orders[name]
            places = [node + 0.4 * index - 0.2 for node in range(len(order.nodes))]
            bars = axes.bar(
                places, [float(node.cost) * factor for node in order.nodes], 0.38, color=_COLOURS[name], label=name
            )
            for bar, node in zip(bars, order.nodes, strict=True):
                if node.cost == order.cost:
                    bar.set_edgecolor(_HOT)
                    bar.set_linewidth(1.8)
        shown = [str(count) for count in one.node_set]
        axes.set_xticks(range(len(shown)), [f"{node}\n{count}" for node, count in enumerate(shown)], fontsize=8)
        axes.set(ylabel=unit, title="node set " + ",".join(shown) if len(shown) <= 24 else f"{len(shown)} nodes")
    figure.axes[0].legend(fontsize=8)
    figure.axes[-1].set_xlabel("node, and below it its processes; hot spots are outlined in red")
    if about:
        figure.suptitle(_plain(about), fontsize=9)
    return figure


def placement_figure(one: Placement, pattern: Pattern, hosts: Sequence[str] | None = None) -> Figure:
    """Draws the nodes in order, and what they send to each other.

    Processes are squares and aggregators rings. An arc between two nodes is as wide as they exchange messages, and so
    is the ring below a node for the messages inside it; the bars have the sums for each node.
    """
    if len(one.node_set) > MAX_DRAWN_NODES:
        raise CostError(f"a picture shows at most {MAX_DRAWN_NODES} nodes, not {len(one.node_set)}")
    domain_of = {node: domain for domain, node in enumerate(one.aggregators)}
    starts = [0, *accumulate(one.node_set)]
    flows = pattern.flows(starts, one.aggregators)
    traffic = [
        pattern.traffic(starts[node], count, domain_of.get(node), len(one.aggregators))
        for node, count in enumerate(one.node_set)
    ]
    figure = _figure(max(6.0, 0.9 * len(one.node_set)), 7.0)
    nodes, arcs, bars = figure.subplots(3, 1, sharex=True, height_ratios=[3, 3, 2])
    # What a node costs follows from its messages alone.
    hot = [node for node, each in enumerate(traffic) if each == traffic[one.hot_spot]]
    _draw_nodes(nodes, one, domain_of if pattern.uses_aggregators else {}, hosts, hot)
    _draw_flows(arcs, flows, pattern.message_unit)
    places = range(len(traffic))
    bars.bar([x - 0.2 for x in places], [_number(of.ca) for of in traffic], 0.38, color=_INSIDE, label="ca (inside)")
    bars.bar(
        [x + 0.2 for x in places], [_number(each.ce) for each in traffic], 0.38, color=_BETWEEN,
        label="ce (between nodes)",
    )  # fmt: skip
    bars.set_xticks(list(places), [str(node) for node in places])
    bars.set(xlabel="node", ylabel=pattern.message_unit)
    bars.legend(fontsize=8)
    figure.suptitle(f"cost {float(one.cost):.6f} s, hot spot node {one.hot_spot}")
    return figure


def _draw_flows(axes: Axes, flows: Sequence[Sequence[Fraction]], unit: str) -> None:
    """The traffic: a ring for each node, an arc for each pair of nodes, the wider the more messages go both ways."""
    from matplotlib.patches import Arc, Circle

    count = len(flows)
    both = {
        (one, other): _number(flows[one][other] + flows[other][one])
        for one in range(count) for other in range(one + 1, count)
    }  # fmt: skip
    inside = [_number(flows[node][node]) for node in range(count)]
    most = max([*both.values(), *inside, 0.0])
    arcs = {pair: amount for pair, amount in both.items() if amount > 0}
    for node, amount in enumerate(inside):
        if amount > 0:
            ring = Circle((node, 0.0), 0.24, fill=False, edgecolor=_INSIDE, linewidth=_width(amount, most))
            ring.set_gid(f"inside-{node}")
            axes.add_patch(ring)
        axes.text(node, 0.0, f"{amount:g}", ha="center", va="center", fontsize=7, color="#406010")
    for (one, other), amount in arcs.items():
        depth = _depth(one, other, count)
        middle = (one + other) / 2
        arc = Arc(
            (middle, -0.35), other - one, 2 * depth, theta1=180, theta2=360, edgecolor=_BETWEEN,
            linewidth=_width(amount, most), alpha=0.7,
        )  # fmt: skip
        arc.set_gid(f"between-{one}-{other}")
        axes.add_patch(arc)
        if len(arcs) <= MAX_NUMBERED_ARCS:
            box = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
            axes.text(middle, -0.35 - depth, f"{amount:g}", ha="center", va="center", fontsize=6, bbox=box)
    deepest = max((_depth(*pair, count) for pair in arcs), default=0.0)
    axes.set(xlim=(-0.6, count - 0.4), ylim=(-0.65 - deepest, 0.5), yticks=[])
    axes.set_title(f"{unit}: inside a node (rings), and between nodes in both directions (arcs)", fontsize=9)


def _depth(one: int, other: int, count: int) -> float:
    """How far the arc between two nodes reaches down: the farther, the longer it is."""
    return 0.5 + 2.5 * (other - one) / max(1, count - 1)


def _width(amount: float, most: float) -> float:
    """The width of a line, in points: in proportion to its messages, as far as it can be seen."""
    return max(0.4, MAX_LINE_WIDTH * amount / most)


def _number(value: Fraction) -> float:
    return float(value)


def _draw_nodes(
    axes: Axes, one: Placement, domain_of: dict[int, int], hosts: Sequence[str] | None, hot: Sequence[int]
) -> None:
    from matplotlib.patches import Circle, Rectangle

    width = max(1, round(max(one.node_set) ** 0.5))
    height = -(-max(one.node_set) // width)
    process = 0
    for node, count in enumerate(one.node_set):
        edge = _HOT if node in hot else "#505050"
        axes.add_patch(Rectangle((node - 0.45, 0.0), 0.9, height, fill=False, edgecolor=edge, linewidth=2))
        for index in range(count):
            x, y = node - 0.45 + 0.9 * (index % width + 0.5) / width, index // width + 0.5
            axes.add_patch(Rectangle((x - 0.36 / width, y - 0.4), 0.72 / width, 0.8, color="#cfe0f0"))
            if sum(one.node_set) <= 256:
                axes.text(x, y, str(process), ha="center", va="center", fontsize=7)
            process += 1
        if node in domain_of:
            axes.add_patch(Circle((node, height + 0.5), 0.18, fill=False, edgecolor=_BETWEEN, linewidth=2))
            axes.text(node, height + 0.5, str(domain_of[node]), ha="center", va="center", fontsize=7)
        if hosts is not None:
            axes.text(node, -0.15, hosts[node], ha="center", va="top", fontsize=7, rotation=30)
    axes.set(xlim=(-0.6, len(one.node_set) - 0.4), ylim=(-0.8, height + 1.0), yticks=[])
    rings = ", file domains of aggregators (rings)" if domain_of else ""
    axes.set_title(f"processes (squares){rings}, nodes that cost most (red)", fontsize=9)
