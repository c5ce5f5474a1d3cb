"""Checks that all methods of exchange give the same solution, and draws the picture. Ends with 1 if a check fails.

usage: summarise.py FOLDER
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("Agg")
from matplotlib import pyplot as plt

MAX_RESIDUAL, MAX_ERROR = 1e-10, 1e-8


def load(folder: Path) -> tuple[dict[str, Any], list[dict[str, Any]], list[dict[str, Any]]]:
    """Returns what is known of the run, the methods that were used, and those that were left out."""
    head, *rows = (json.loads(line) for line in (folder / "cg.jsonl").read_text().splitlines())
    return head, [row for row in rows if "seconds" in row], [row for row in rows if "seconds" not in row]


def mistakes_in(head: dict[str, Any], used: list[dict[str, Any]]) -> list[str]:
    problems = []
    if head["chosen"] not in [row["method"] for row in used]:
        problems.append(f"the chosen method {head['chosen']} is not among those that were used")
    for row in used:
        name = row["method"]
        if not row["residual"] <= MAX_RESIDUAL:
            problems.append(f"{name}: the residual is {row['residual']:.3e}")
        if not row["error"] <= MAX_ERROR:
            problems.append(f"{name}: the solution differs by {row['error']:.3e}")
        if row["iterations"] != used[0]["iterations"]:
            problems.append(f"{name}: {row['iterations']} iterations, and {used[0]['method']} {used[0]['iterations']}")
        if row["history"] != used[0]["history"]:
            problems.append(f"{name}: the residuals of the iterations are not those of {used[0]['method']}")
    return problems


def draw(folder: Path, head: dict[str, Any], used: list[dict[str, Any]]) -> None:
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(11, 4.6), layout="constrained", gridspec_kw={"width_ratios": [2, 3]}
    )
    left.semilogy(np.arange(1, used[0]["iterations"] + 1), used[0]["history"])
    left.axhline(MAX_RESIDUAL, color="0.6", linestyle="--", linewidth=1)
    left.set(xlabel="iteration", ylabel="residual / size of b", title="The same for every method")
    order = sorted(used, key=lambda row: float(np.median(row["seconds"])), reverse=True)
    times = [1e6 * float(np.median(row["seconds"])) / row["iterations"] for row in order]
    shades = ["tab:red" if row["method"] == head["chosen"] else "tab:blue" for row in order]
    right.barh([row["method"] for row in order], times, color=shades)
    right.set(
        xlabel="microseconds an iteration (median)",
        title=f"{head['cells']}$^3$ cells on {head['ranks']} ranks; red: chosen by measurement",
    )
    figure.savefig(folder / "cg.png", dpi=110)
    plt.close(figure)


def main(folder: Path) -> int:
    head, used, left_out = load(folder)
    problems = mistakes_in(head, used) if used else ["no method was used"]
    for problem in problems:
        print(f"WRONG: {problem}")
    if used:
        draw(folder, head, used)
        worst = max(row["residual"] for row in used)
        print(
            f"{used[0]['iterations']} iterations and a residual of at most {worst:.2e} with each of {len(used)} methods"
            f"; {len(left_out)} left out; chosen: {head['chosen']}; {folder}/cg.png"
        )
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
