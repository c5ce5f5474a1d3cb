"""The text that the commands print: plain lines, seconds with six decimals, rounded half up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from statistics import quantiles
from typing import Any

from couplet.cost.directions import Directions
from couplet.cost.fit import Fitted
from couplet.cost.loggp import LogGP
from couplet.cost.measurement import Measurement
from couplet.cost.model import ORDERS, Fit, Piece
from couplet.cost.placement import Placement, Result
from couplet.cost.prediction import Iterations, OrderCost, Prediction, rank

DECIMALS = 6
_Counts = tuple[int, int, int, int]


def half_up(value: Fraction, decimals: int = DECIMALS) -> str:
    """Returns ``value`` with so many decimals; an exact tie is rounded up."""
    whole = math.floor(value * 10**decimals + Fraction(1, 2))
    sign, digits = "-" if whole < 0 else "", str(abs(whole)).rjust(decimals + 1, "0")
    return f"{sign}{digits[:-decimals]}.{digits[-decimals:]}"


def small(seconds: float) -> str:
    """Returns a coefficient with six decimals, or with four digits if too little would be left of it."""
    return f"{seconds:.6f}" if seconds == 0.0 or abs(seconds) >= 1e-3 else f"{seconds:.3e}"


def pairs(value: Fraction) -> str:
    """Returns a number of pairs: halves with one decimal, other fractions (of bytes) with three."""
    return half_up(value, 1 if (value * 10).denominator == 1 else 3)


def list_of(numbers: Sequence[int]) -> str:
    """Returns ``4,4,2,2``."""
    return ",".join(str(number) for number in numbers)


def aligned(rows: Sequence[Sequence[str]], indent: str = "  ") -> list[str]:
    """Returns the rows as lines, columns aligned to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = (indent + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return [line.rstrip() for line in lines]


def _order(name: str, order: OrderCost, iterations: Iterations | None) -> list[str]:
    lines = [f"{name}: cost {half_up(order.cost)} s, hot spot node {order.hot_spot}"]
    if iterations is not None:
        part = half_up(order.cost * iterations.share)
        lines.append(f"  {iterations.count} iterations of the collective buffer, {part} s for each full one")
    rows = [["node", "processes", "pa", "pe", "cost", ""]]
    for index, node in enumerate(order.nodes):
        mark = "<- hot spot" if index == order.hot_spot else ""
        rows.append([str(index), str(node.processes), pairs(node.pa), pairs(node.pe), half_up(node.cost), mark])
    return lines + aligned(rows)


def prediction(one: Prediction, iterations: Iterations | None = None) -> list[str]:
    """Returns the lines of one node set: both posting orders, each with a table of its nodes."""
    lines = [f"node set {list_of(one.node_set)}"]
    if one.aggregators is not None and len(one.aggregators) != len(one.node_set):
        lines.append(f"aggregators on the nodes {list_of(one.aggregators)}")
    for name in ORDERS:
        lines += _order(name, one.orders[name], iterations)
    return lines + [f"note: {text}" for text in one.notes()]


def ranking(predictions: Sequence[Prediction]) -> list[str]:
    """Returns the node sets from cheap to dear, for both posting orders."""
    lines = []
    for name in ORDERS:
        rows = [["rank", "cost", "hot spot", "node set"]]
        for place, index in enumerate(rank(predictions, name), 1):
            order = predictions[index].orders[name]
            rows.append([str(place), half_up(order.cost), str(order.hot_spot), list_of(predictions[index].node_set)])
        lines += [f"ranking, {name}", *aligned(rows)]
    return lines


def _placement(name: str, one: Placement, given: Fraction) -> list[str]:
    search = one.search
    lines = [f"{name}: cost {half_up(one.cost)} s, hot spot node {one.hot_spot} (given order: {half_up(given)} s)"]
    lines.append(f"  node set {list_of(one.node_set)}, from the given nodes {list_of(one.nodes)}")
    if len(one.aggregators) != len(one.node_set):
        lines.append(f"  aggregators on the nodes {list_of(one.aggregators) or 'none'}")
    if search.proven:
        lines.append(f"  {search.method} search, {search.examined} candidates: no order costs less")
    else:
        lines.append(
            f"  {search.method} search, {search.examined} candidates: no order costs less than "
            f"{half_up(search.bound)} s, which is {100 * search.gap(one.cost):.1f} % below"
        )
    if one.cost < 0:
        lines.append("  note: the model gives negative times here; it does not hold there")
    return lines


def placement(result: Result, order: str | None = None) -> list[str]:
    """Returns the best order of the nodes for both posting orders, and which of the two is taken."""
    lines = []
    for name in ORDERS:
        lines += _placement(name, result.orders[name], result.given[name])
    return [*lines, f"chosen: {order or result.chosen}"]


def faster_order(measurement: Measurement, message_bytes: int) -> str:
    """Returns a sentence: in how many cells of a message size which posting order was faster, and by how much."""
    cells = [measurement.select(name, message_bytes) for name in ORDERS]
    seconds = [
        {(one.intra_in, one.intra_out, one.inter_in, one.inter_out): one.median_s for one in each} for each in cells
    ]
    # A cell without messages of both kinds is the same in either order.
    both = [key for key in seconds[0] if key in seconds[1] and key[0] + key[1] and key[2] + key[3]]
    if not both:
        return f"Messages of {message_bytes} bytes: no cell has messages of both kinds, so there is one order only."
    won = [sum(seconds[one][key] < seconds[1 - one][key] for key in both) for one in (0, 1)]
    names = [name.replace("_", " ") for name in ORDERS]
    counts = f"{names[0]} was faster in {won[0]} and {names[1]} in {won[1]} of {len(both)} cells with both kinds"
    return f"Messages of {message_bytes} bytes: {counts}; {_difference(seconds, both, names)}."


def _difference(seconds: Sequence[dict[_Counts, float]], both: Sequence[_Counts], names: Sequence[str]) -> str:
    """How much less time the faster order took in the median cell, if the cells agree about it."""
    pairs = [(seconds[0][key], seconds[1][key]) for key in both]
    saved = [100.0 * (other - one) / max(one, other) if max(one, other) > 0.0 else 0.0 for one, other in pairs]
    low, middle, high = quantiles(saved, n=4, method="inclusive") if len(saved) > 1 else 3 * saved
    if high - low > abs(middle):
        return (
            f"the median difference of {abs(middle):.1f} % is less than its spread of {high - low:.1f} % over the "
            "cells, so that neither is known to be faster"
        )
    if abs(middle) < 0.05:
        return "in the median cell both took the same time"
    return f"in the median cell {names[0 if middle > 0 else 1]} took {abs(middle):.1f} % less time"


def loggp_rows(ways: Sequence[LogGP]) -> list[list[str]]:
    """Returns a table of the parameters, its head first."""
    rows = [["way", "L us", "o us", "o of sender us", "o of receiver us", "g us", "G ns/byte", "1/G GB/s"]]
    for one in ways:
        times = (one.latency_s, one.overhead_s, one.send_overhead_s, one.receive_overhead_s, one.gap_s)
        per_byte = one.gap_per_byte_s
        rate = f"{1e-9 / per_byte:.3f}" if per_byte > 0.0 else "-"
        rows.append([one.name, *(f"{1e6 * time:.3f}" for time in times), f"{1e9 * per_byte:.4f}", rate])
    return rows


def link_rows(costs: dict[str, Any]) -> list[list[str]]:
    """Returns a table of the links in a cost file, its head first."""
    rows = [["link", "latency us", "of bytes", "bandwidth GB/s", "by", "at bytes"]]
    for name in dict.fromkeys(entry["link"] for entry in costs["links"]):
        points = [
            (point["bytes"], point["time_s"], entry["way"])
            for entry in costs["links"]
            if entry["link"] == name
            for point in entry["points"]
        ]
        least = min(point[0] for point in points)
        latency_s = min(seconds for size, seconds, _ in points if size == least)
        rates = [(size / seconds * 1e-9, way, size) for size, seconds, way in points if seconds > 0.0]
        rate, way, size = max(rates, default=(0.0, "-", 0))
        rows.append([name, f"{1e6 * latency_s:.3f}", str(least), f"{rate:.3f}" if rates else "-", way, str(size)])
    return rows


def _interval(piece: Piece, name: str) -> str:
    if name not in piece.intervals:
        return ""
    low, high = piece.intervals[name]
    return f" ({small(low)} to {small(high)})"


def _fit(name: str, fit: Fit, chosen: bool) -> list[str]:
    quality = f"R^2 {fit.r_squared:.4f}" if fit.r_squared is not None else "R^2 unknown"
    lines = [f"  {name}: {quality}{', chosen' if chosen else ''}"]
    if fit.breakpoint is not None and fit.breakpoint_interval is not None:
        low, high = fit.breakpoint_interval
        lines[0] += f", breakpoint pa = {fit.breakpoint:.3f} ({low:.3f} to {high:.3f})"
    for index, piece in enumerate(fit.pieces):
        sign = "<=" if index == len(fit.pieces) - 1 else "<"
        terms = [f"{name} {small(getattr(piece, name))}{_interval(piece, name)}" for name in ("alpha", "beta", "gamma")]
        lines.append(f"    {piece.min_pa:g} <= pa {sign} {piece.max_pa:g}: {', '.join(terms)}")
    return lines


def _directions(one: Directions) -> list[str]:
    terms = (
        f"{name} {small(value)} ({small(low)} to {small(high)})" for name, (value, low, high) in one.seconds.items()
    )
    return [f"  seconds of a message by direction: R^2 {one.r_squared:.4f}", f"    {', '.join(terms)}"]


def fitted(result: Fitted) -> list[str]:
    """Returns the fits of both posting orders and the curves."""
    model = result.model
    lines = [f"machine {model.machine}, messages of {model.message_bytes} bytes, {model.statistic} times"]
    lines.append("alpha and beta are in s for each pair, gamma is in s")
    if result.without_empty_cell:
        lines.append("the cell without messages (pa = pe = 0) is not fitted: gamma is the start-up of an exchange")
    for name in ORDERS:
        order = model.orders[name]
        confidence = order.fit().confidence or 0.95
        lines.append(f"{name} ({order.fit().method}, intervals of {100 * confidence:g} %)")
        for kind, fit in order.fits.items():
            lines += _fit(kind, fit, kind == order.kind)
        if name in result.saturation:
            lines.append(f"  throughput of the node: hardly rises from pa = {result.saturation[name]:g} on")
        if name in result.directions:
            lines += _directions(result.directions[name])
    for curve in model.curves:
        lines.append(f"curve {curve.name}")
        for segment in curve.segments:
            rate = f"{1e-9 / segment.s_per_byte:.3f} GB/s" if segment.s_per_byte else "no bandwidth term"
            lines.append(f"  from {segment.min_bytes} bytes: latency {segment.latency_s * 1e6:.3f} us, {rate}")
    return lines + [f"left out: {reason}" for reason in result.left_out]
