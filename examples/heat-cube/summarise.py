"""Compares the forms, prints the table of times and draws the picture. Ends with 1 if a check fails.

usage: summarise.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
from matplotlib import pyplot as plt

COUPLED = {
    "files": "files",
    "messages": "messages, written by hand",
    "converted": "messages, by couplet convert",
    "one_job": "one MPI job",
}
SPLIT = ("split", "laws")
DIGITS = 1e-12


def cut_of(folder: Path, name: str) -> np.ndarray:
    """Returns the temperatures in the cut through the middle; the first index is the height."""
    values = np.loadtxt(folder / f"{name}.cut").ravel()
    edge = round(values.size**0.5)
    return values.reshape(edge, edge)


def faces_of(folder: Path, name: str, edge: int) -> np.ndarray:
    """Returns the faces of a listing, one for each step."""
    words = np.array((folder / f"{name}.out").read_text().split(), dtype=float)
    return words.reshape(-1, 2 + edge * edge)[:, 2:].reshape(-1, edge, edge)


def check_coupled(output: Path) -> list[str]:
    """The listings of all forms are the same to the last bit, and the third program has had the second one's face."""
    found = []
    for name in ("s1", "s2", "s3"):
        expected = (output / "files" / f"{name}.out").read_bytes()
        if not expected:
            found.append(f"files: {name}.out is empty")
        found += [
            f"{form}: {name}.out differs from that of the files"
            for form in COUPLED
            if (output / form / f"{name}.out").read_bytes() != expected
        ]
    for form in COUPLED:
        forced = cut_of(output / form, "s3")
        given = faces_of(output / form, "s2", len(forced))[-1]
        if not np.array_equal(forced[-1], given[len(given) // 2]) or not forced[-1].any():
            found.append(f"{form}: the top face of s3 is not the bottom face of s2")
    return found


def check_split(output: Path) -> list[str]:
    """The cube of two programs: the iterations of the cube of one MPI job, and its temperatures to 12 digits."""
    found = []
    for form in SPLIT:
        expected, split = (np.loadtxt(output / name / "cube.out") for name in (f"{form}_one_job", form))
        if not np.array_equal(expected[:, 1:3], split[:, 1:3]):
            found.append(f"{form}: the numbers of iterations differ from those of one MPI job")
        cuts = [cut_of(output / name, "cube") for name in (f"{form}_one_job", form)]
        for what, one, two in (("warmest", expected[:, 3], split[:, 3]), ("cut", *cuts)):
            difference = np.abs(one - two).max() / np.abs(one).max()
            if not difference < DIGITS:
                found.append(f"{form}: {what} differs from that of one MPI job by {difference:.1e}")
    solutions = np.loadtxt(output / "laws" / "cube.out")[:, 1]
    if solutions.max() < 3:
        found.append("laws: the non-linear material needed no further solutions")
    return found


def table(output: Path) -> str:
    """Returns the times: medians of the runs, and what the last run says about its parts."""
    head = ("", "whole run", "s3 takes, waiting", "s2 writes listing", "s2 gives")
    rows = [head]
    for form, title in COUPLED.items():
        second, third = (np.loadtxt(output / form / f"{name}.times") for name in ("s2", "s3"))
        whole = np.median(np.loadtxt(output / form / "seconds", ndmin=1))
        rows.append((title, f"{whole:.2f} s", f"{third[1]:.2f} s", f"{second[3]:.3f} s", f"{second[4] * 1e3:.1f} ms"))
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    lines = []
    for row in rows:
        words = [word.rjust(width) for word, width in zip(row, widths, strict=True)]
        lines.append("  ".join([row[0].ljust(widths[0]), *words[1:]]))
    lines.append("(whole run: the median of the runs; the other columns: the last run)")
    for form in SPLIT:
        one, two = (float(np.loadtxt(output / name / "cube.times")) for name in (f"{form}_one_job", form))
        total = int(np.loadtxt(output / form / "cube.out")[:, 2].sum())
        lines.append(f"{form}: {total} iterations in {two:.2f} s; one MPI job: {one:.2f} s")
    return "\n".join(lines)


def last_plane(folder: Path) -> int:
    """Returns the last plane of nodes of the first rank, which is a program of its own."""
    with (folder / "cube.out").open() as listing:
        return int(listing.readline().split()[-1])


def draw(output: Path) -> None:
    """Draws the cuts through the middle of all cubes, and the source."""
    figure, axes = plt.subplots(2, 3, figsize=(12, 7), layout="constrained")
    pictures = [
        ("s2: the top face is kept at 0", "messages", cut_of(output / "messages", "s2")),
        ("s3: its top face is the bottom face of s2", "messages", cut_of(output / "messages", "s3")),
        ("one cube, split over two programs", "split", cut_of(output / "split", "cube")),
        ("linear below, non-linear above", "laws", cut_of(output / "laws", "cube")),
    ]
    largest = max(float(np.quantile(cut, 0.99)) for _, _, cut in pictures)
    for place, (title, form, cut) in zip((axes[0, 0], axes[1, 0], axes[0, 1], axes[1, 1]), pictures, strict=True):
        edge = len(cut) - 1
        image = place.contourf(
            np.linspace(0, 1, edge + 1), np.linspace(0, 1, edge + 1), np.clip(cut, 0, largest),
            levels=np.linspace(0, largest, 25), cmap="inferno",
        )  # fmt: skip
        if form in SPLIT:
            place.axhline((last_plane(output / form) + 0.5) / edge, color="white", linestyle="--", linewidth=1)
        place.set(title=title, xlabel="x", ylabel="height", aspect="equal")
    figure.colorbar(image, ax=axes[:, 1], label="temperature (cut off at the source)")
    times, source = np.loadtxt(output / "messages" / "s1.out").T
    axes[0, 2].plot(times, source)
    axes[0, 2].set(title="s1: the source", xlabel="t (s)", ylabel="power")
    for name in ("s2", "s3"):
        faces = faces_of(output / "messages", name, len(pictures[0][2]))
        axes[1, 2].plot(times[: len(faces)], faces.mean(axis=(1, 2)), label=f"{name}, bottom face, mean")
    axes[1, 2].set(xlabel="t (s)", ylabel="temperature")
    axes[1, 2].legend()
    figure.savefig(output / "heat_cube.png", dpi=110)


def main(output: Path) -> int:
    draw(output)
    print(table(output))
    print(f"results: {output}/heat_cube.png")
    found = check_coupled(output) + check_split(output)
    for mistake in found:
        print(f"WRONG: {mistake}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
