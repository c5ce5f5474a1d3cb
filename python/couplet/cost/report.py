"""The reports of a measurement and of a placement: one HTML page with pictures, which needs nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from couplet.cost.curves import fit_curve
from couplet.cost.errors import DesignError
from couplet.cost.fit import Options, fit_measurement
from couplet.cost.measurement import Measurement
from couplet.cost.patterns import Pattern
from couplet.cost.placement import Placement
from couplet.cost.quality import ADVICE
from couplet.cost.tables import faster_order, loggp_rows
from couplet.cost.tables import fitted as fitted_lines
from couplet.cost.units import rate_unit, significant, time_unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DIRECTIONS = ("intra_in", "intra_out", "inter_in", "inter_out")
_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>
body {{ font-family: sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em; color: #222; }}
svg {{ max-width: 100%; height: auto; }}
table {{ border-collapse: collapse; }}
td, th {{ padding: 0.15em 0.8em; text-align: right; border-bottom: 1px solid #ddd; }}
td:first-child, th:first-child {{ text-align: left; }}
pre {{ background: #f4f4f4; padding: 1em; overflow-x: auto; }}
</style>
</head>
<body>
<h1>{title}</h1>
{body}
</body>
</html>
"""


def _picture(figure: Figure) -> str:
    from couplet.cost.plots import svg

    text = svg(figure)
    return f"<figure>{text[text.index('<svg') :]}</figure>"


def _table(head: list[str], rows: list[list[Any]]) -> str:
    lines = ["<tr>" + "".join(f"<th>{escape(cell)}</th>" for cell in head) + "</tr>"]
    lines += ["<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows]
    return "<table>\n" + "\n".join(lines) + "\n</table>"


_WORDS = (
    "pa, pe: the pairs of messages of the hot spot inside its node and between nodes; a pair is one in and one out. "
    "The hot spot is the rank that is timed; with sub-groups (procedure 2) each one has its own. half star: pairs go "
    "from 0 to half star - 1. Spread: upper quartile minus lower quartile of the repetitions. Outliers: times that are "
    "more than three spreads above the upper quartile."
)


def _setting(measurement: Measurement) -> str:
    names = ("created", "mpi", "procedure", "sub_groups", "nodes", "partners", "half_star", "warm_up", "repetitions")
    shown: list[list[Any]] = [
        ["hosts", ", ".join(measurement.hosts)],
        ["ranks", len(measurement.document["processes"])],
    ]
    if cores := measurement.document["machine"].get("cores_per_node"):
        shown.append(["cores of a node", cores])
    shown += [[name.replace("_", " "), measurement.document[name]] for name in names if name in measurement.document]
    return f"{_table(['', ''], shown)}\n<p>{escape(_WORDS)}</p>"


def _cells(measurement: Measurement, size: int) -> str:
    """Cells with their statistics; outliers are shown, not hidden."""
    chosen = [
        (cell, entry)
        for cell, entry in zip(measurement.cells, measurement.document["cells"], strict=True)
        if cell.message_bytes == size
    ]
    unit, factor = time_unit(cell.median_s for cell, _ in chosen)
    rate_name, rate_factor = rate_unit(cell.node_bytes_per_s or 0.0 for cell, _ in chosen)
    directions = _DIRECTIONS if any(cell.intra_in != cell.intra_out or cell.inter_in != cell.inter_out
                                    for cell, _ in chosen) else ()  # fmt: skip
    head = ["order", "pa", "pe", *(name.replace("_", " ") for name in directions)]
    head += [f"median {unit}", f"minimum {unit}", f"spread {unit}", rate_name, f"outliers {unit}"]
    rows = []
    for cell, entry in chosen:
        rate = significant(cell.node_bytes_per_s * rate_factor) if cell.node_bytes_per_s else ""
        outliers = ", ".join(significant(one * factor) for one in entry.get("outliers_s", []))
        times = [significant(one * factor) for one in (cell.median_s, cell.minimum_s, cell.spread_s or 0.0)]
        counts = [str(getattr(cell, name)) for name in directions]
        rows.append([cell.order, f"{cell.pa:g}", f"{cell.pe:g}", *counts, *times, rate, outliers])
    return _table(head, rows)


def _loggp(measurement: Measurement) -> str:
    """The parameters, and in a sentence for each what they mean."""
    head, *rows = loggp_rows(measurement.loggp)
    meaning = (
        "L: the time on the way, which is half a round trip of 8 bytes without both overheads. o: the work of the "
        "processor for a message, at the sender and at the receiver. g: the least time between two short messages. "
        "1/G: the bytes in a second that long messages come to, sent one after the other. Medians; a latency below 0 "
        "says that the work of both sides overlaps."
    )
    return f"<p>{escape(meaning)}</p>\n{_table(head, rows)}"


def report(measurement: Measurement, options: Options | None = None) -> str:
    """Returns the page: setting, fits and cells for each message size, curves, and where the processes were."""
    from couplet.cost.plots import curve_figure, fit_figure

    options = options or Options()
    parts = [_setting(measurement)]
    for size in measurement.message_sizes:
        parts.append(f"<h2>Messages of {size} bytes</h2>")
        try:
            fitted = fit_measurement(
                measurement, Options(options.kind, options.method, options.statistic, options.confidence, size)
            )
            parts.append(_picture(fit_figure(measurement, fitted.model)))
            parts.append(f"<pre>{escape(chr(10).join(fitted_lines(fitted)))}</pre>")
            parts += [f"<p>Doubt: {escape(text)}.</p>" for text in fitted.model.doubts]
            parts += [f"<p>{escape(ADVICE[0].upper() + ADVICE[1:])}.</p>"] if fitted.model.doubts else []
        except DesignError as error:
            parts.append(f"<p>No model: {escape(str(error))}.</p>")
        parts += [f"<p>{escape(faster_order(measurement, size))}</p>", _cells(measurement, size)]
    if measurement.curves:
        curves = [fit_curve(points, options.statistic) for points in measurement.curves]
        parts += ["<h2>One message</h2>", _picture(curve_figure(measurement, curves, options.statistic))]
    if measurement.loggp:
        parts += ["<h2>Latency, overhead and gap (LogGP)</h2>", _loggp(measurement)]
    rows = [[one["rank"], one["node"], one["host"], one.get("core", "")] for one in measurement.document["processes"]]
    parts += ["<h2>Where the processes were</h2>", "<p>core: -1 means that the process was not bound to a core.</p>"]
    parts.append(_table(["rank", "node", "host", "core"], rows))
    return _PAGE.format(title=escape(f"Communication costs of {measurement.machine}"), body="\n".join(parts))


def placement_report(
    lines: Sequence[str], figure: Figure, one: Placement, pattern: Pattern, hosts: Sequence[str] | None
) -> str:
    """Returns the page of a placement: what was printed, the picture, and the messages from node to node."""
    names = [str(node) if hosts is None else f"{node} ({hosts[node]})" for node in range(len(one.node_set))]
    flows = pattern.flows([0, *accumulate(one.node_set)], one.aggregators)
    rows = [[name, *(f"{float(amount):g}" for amount in row)] for name, row in zip(names, flows, strict=True)]
    parts = [
        f"<pre>{escape(chr(10).join(lines))}</pre>",
        _picture(figure),
        f"<h2>From node to node, in {escape(pattern.message_unit)}</h2>",
        _table(["from / to", *names], rows),
    ]
    return _PAGE.format(title=escape(f"Placement of {pattern.describe()}"), body="\n".join(parts))
