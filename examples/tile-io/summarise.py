"""Compares what tile_io counted and timed on each node set with what `couplet predict` says: a table and a picture.

usage: summarise.py FOLDER      ends with 1 if a count differs
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from scipy.stats import spearmanr

ORDER = "intra_first"
RANKS = 16


def load(folder: Path) -> list[dict[str, Any]]:
    """Returns what tile_io printed for each node set, in the order in which they ran."""
    files = sorted((folder / "sets").glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
    return [json.loads(path.read_text()) for path in files]


def predict(folder: Path, one: dict[str, Any]) -> dict[str, Any]:
    """Returns what the command predicts for the node set of a run."""
    shown = ",".join(str(count) for count in one["node_set"])
    words = ["--tiles", one["tiles"], "--nodes", shown, "--json"]
    words += ["--cb-buffer-size", str(one["cb_buffer_size"]), "--file-size", str(one["file_bytes"])]
    command = ["couplet", "predict", "--model", str(folder / "model.json"), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: {done.stderr}")
    predicted: dict[str, Any] = json.loads(done.stdout)
    return predicted


def check(one: dict[str, Any], predicted: dict[str, Any]) -> list[str]:
    """Returns what was not counted as predicted; reading has the same messages in the other direction."""
    problems = []
    nodes = predicted["orders"][ORDER]["nodes"]
    for name, pairs in (("ca", "pa"), ("ce", "pe"), ("read_ca", "pa"), ("read_ce", "pe")):
        expected = [2 * node[pairs] for node in nodes]
        if one[name] != expected:
            problems.append(f"{one['node_set']}: {name} was counted as {one[name]}, and predicted as {expected}")
    if one["iterations"] != predicted["iterations"]["count"]:
        problems.append(
            f"{one['node_set']}: {one['iterations']} iterations, and {predicted['iterations']['count']} were predicted"
        )
    return problems


def ranks_of(numbers: list[float]) -> list[int]:
    order = sorted(numbers)
    return [1 + order.index(number) for number in numbers]


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    figure, (costs, phases) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    costs.scatter([row["predicted"] * 1e3 for row in rows], [row["write_exchange"] * 1e3 for row in rows])
    for row in rows:
        costs.annotate(row["name"], (row["predicted"] * 1e3, row["write_exchange"] * 1e3), fontsize=7)
    costs.set(xlabel="predicted (ms)", ylabel="measured exchange of a write (ms)", title="node sets")
    costs.margins(x=0.25)
    places = range(len(rows))
    for index, (name, label) in enumerate(
        (
            ("write_exchange", "write: exchange"), ("write_file", "write: file"), ("write_mpi_io", "write: MPI-IO"),
            ("read_exchange", "read: exchange"), ("read_file", "read: file"), ("read_mpi_io", "read: MPI-IO"),
        )
    ):  # fmt: skip
        phases.bar([place + 0.13 * (index - 2.5) for place in places], [row[name] * 1e3 for row in rows], 0.13,
                   label=label)  # fmt: skip
    phases.set_xticks(list(places), [row["name"] for row in rows], rotation=40, ha="right", fontsize=7)
    phases.set(ylabel="ms", title="medians", yscale="log")
    phases.legend(fontsize=7)
    figure.savefig(path, dpi=120)


def main(folder: Path) -> int:
    problems: list[str] = []
    rows: list[dict[str, Any]] = []
    for one in load(folder):
        predicted = predict(folder, one)
        problems += check(one, predicted)
        row: dict[str, Any] = {"name": ",".join(str(count) for count in one["node_set"])}
        row["predicted"] = predicted["orders"][ORDER]["cost"]
        row["messages"] = one["messages"]
        for name in one:
            if name.endswith("_s"):
                row[name.removesuffix("_s")] = median(one[name])
        rows.append(row)
    print(f"{'node set':<17} {'cost (s)':>10} {'rank':>4} {'measured':>10} {'rank':>4}  messages")
    columns = [ranks_of([row[name] for row in rows]) for name in ("predicted", "write_exchange")]
    for row, predicted_rank, measured_rank in zip(rows, *columns, strict=True):
        print(
            f"{row['name']:<17} {row['predicted']:>10.6f} {predicted_rank:>4} {row['write_exchange']:>10.6f} "
            f"{measured_rank:>4}  {row['messages']:.0f}"
        )
    same = spearmanr([row["predicted"] for row in rows], [row["write_exchange"] for row in rows]).statistic
    print(f"rank correlation of predicted and measured: {same:.2f}")
    if (cores := os.cpu_count() or 1) < RANKS:
        print(f"{RANKS} ranks share {cores} cores, so the order of the times says little; the counts are exact")
    draw(rows, folder / "tile_io.png")
    print(f"picture: {folder / 'tile_io.png'}")
    for problem in problems:
        print(f"WRONG: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
