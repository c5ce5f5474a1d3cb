"""Draws what run.py found, as docs/scale.md shows it.

Usage: draw.py RESULTS FOLDER      RESULTS: the folder of results.json; FOLDER gets the pictures
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt

Rows = Sequence[dict[str, Any]]
MARKERS = {"isend": "o", "persistent": "x", "put_fence": "s", "put_pscw": "^", "put_lock": "D", "put_flag": "v"}


def lines(axes: Any, rows: Rows, across: str, title: str) -> None:
    """One line for each method: microseconds of a round."""
    for method, marker in MARKERS.items():
        own = sorted((row[across], row["round_s"] * 1e6) for row in rows if row["method"] == method)
        if own:
            axes.plot([x for x, _ in own], [y for _, y in own], marker=marker, label=method, linewidth=1)
    axes.set(xscale="log", yscale="log", ylabel="us a round", xlabel=across.replace("_", " "), title=title)
    places = sorted({row[across] for row in rows})
    axes.set_xticks(places, [str(place) for place in places])
    top = max(row["round_s"] for row in rows) * 1e6
    least = min(row["round_s"] for row in rows) * 1e6
    shown = [one for one in (1, 2, 5, 10, 20, 50, 100, 200, 500) if 0.7 * least <= one <= 1.4 * top]
    axes.set_yticks(shown, [str(one) for one in shown])
    axes.minorticks_off()
    axes.legend(fontsize=7)


def draw_methods(results: dict[str, Rows], across: str, names: Sequence[tuple[str, str]], path: Path) -> None:
    found = [(results[name], title) for name, title in names if name in results]
    if not found:
        return
    figure, all_axes = plt.subplots(1, len(found), figsize=(5 * len(found), 4), layout="constrained", squeeze=False)
    for axes, (rows, title) in zip(all_axes[0], found, strict=True):
        lines(axes, rows, across, title)
    figure.savefig(path, dpi=110)
    print(f"picture: {path}")


def draw_coalesce(rows: Rows, path: Path) -> None:
    """Communication time and synchronisation points for each way of merging and each rate of images."""
    figure, all_axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    periods = sorted({row["period"] for row in rows}, reverse=True)
    for axes, name, factor, label in zip(
        all_axes, ("communication_s", "waits"), (1e6, 1.0),
        ("communication, us a rank and round", "synchronisation points a rank and round"), strict=True,
    ):  # fmt: skip
        for index, merged in enumerate(("nothing", "waits", "messages")):
            own = {row["period"]: row[name] * factor for row in rows if row["merged"] == merged}
            shown = {"nothing": "nothing merged", "waits": "one wait", "messages": "one message and one wait"}[merged]
            axes.bar([x + 0.27 * (index - 1) for x in range(len(periods))], [own[one] for one in periods], 0.27,
                     label=shown)  # fmt: skip
        axes.set_xticks(range(len(periods)), [f"each {one} rounds" for one in periods])
        axes.set(ylabel=label, xlabel="an image")
        axes.legend(fontsize=8, loc="lower left", framealpha=1.0)
    figure.savefig(path, dpi=110)
    print(f"picture: {path}")


def main(results_folder: Path, folder: Path) -> int:
    results: dict[str, Rows] = json.loads((results_folder / "results.json").read_text())
    neighbors = (
        ("neighbors-1d", "1-D, 128 ranks, 4 on a node"), ("neighbors-3d", "3-D, 128 ranks, 4 on a node"),
        ("neighbors-3d-large", "3-D, 1,000 ranks, 4 on a node"),
    )  # fmt: skip
    draw_methods(results, "neighbors", neighbors, folder / "scale-neighbors.png")
    per_node = (
        ("per-node-1d", "1-D, 128 ranks, 32 neighbours"),
        ("per-node-3d", "3-D, 729 ranks, 24 = 3 x 8 neighbours"),
    )
    draw_methods(results, "per_node", per_node, folder / "scale-per-node.png")
    if "coalesce" in results:
        draw_coalesce(results["coalesce"], folder / "scale-coalesce.png")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
