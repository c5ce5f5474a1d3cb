"""Checks the workers' answers against the spacecraft's record, and draws the picture. Ends with 1 if a check fails.

usage: summarise.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
from matplotlib import pyplot as plt

PAST = 40  # number of steps that a worker looks back
SPACING, INTERVAL = 0.2, 0.05
TURNED, PILED_UP = 1, 2
TURNS_AT = (4, 20, 36, 52)  # when the wind's field turns over at the inflow
PLACE = (-6.1, 0.9)  # place of the spacecraft, in planet radii
INFLOW = -16.1
RADIUS = 3


def load(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Reads (step, bx, by, current) of the spacecraft, and (step, kind, three numbers) of the events."""
    return np.loadtxt(folder / "spacecraft.txt"), np.loadtxt(folder / "events.txt", ndmin=2)


def travel_time() -> float:
    """Returns the time that the flow around the cylinder takes from the inflow to the spacecraft."""
    x = np.linspace(INFLOW, PLACE[0], 2000)
    y = PLACE[1]
    u = 1 - RADIUS**2 * (x**2 - y**2) / (x**2 + y**2) ** 2
    return float(np.trapezoid(1 / u, x) if hasattr(np, "trapezoid") else np.trapz(1 / u, x))


def check_turns(seen: np.ndarray, turns: np.ndarray) -> list[str]:
    problems = []
    if len(turns) != len(TURNS_AT):
        return [f"{len(turns)} fronts were seen, {len(TURNS_AT)} had been sent"]
    for event, sent in zip(turns, TURNS_AT, strict=True):
        step = int(event[0])
        late = step * INTERVAL - sent - travel_time()
        if not -0.5 < late < 1.5:
            problems.append(f"the front of {sent} came at step {step}, {late:.2f} late")
        past = seen[step - PAST : step, 1:3]
        variances, directions = np.linalg.eigh(np.cov(past.T))
        if (
            abs(abs(directions[:, 0] @ event[2:4]) - 1) > 1e-9
            or abs(event[4] / (variances[1] / variances[0]) - 1) > 1e-6
        ):
            problems.append(f"step {step}: the worker found {event[2:]}, the spacecraft saw {directions[:, 0]}")
        if not event[2] > 0.9 or not event[4] > 10:
            problems.append(f"step {step}: the front does not come with the wind: {event[2:]}")
    return problems


def check_sheets(seen: np.ndarray, sheets: np.ndarray) -> list[str]:
    problems = []
    if len(sheets) < len(TURNS_AT):
        problems.append(f"the field piled up {len(sheets)} times, after {len(TURNS_AT)} fronts")
    for step, _, largest, at, in_box in sheets:
        past = np.abs(seen[int(step) - PAST : int(step), 3])
        if not np.isclose(past.max(), largest, rtol=1e-12) or int(at) != int(step) - PAST + 1 + past.argmax():
            problems.append(f"step {step:.0f}: the worker found {largest} at {at:.0f}, the spacecraft saw {past.max()}")
        if in_box < largest:
            problems.append(f"step {step:.0f}: less in the box than at the spacecraft")
    return problems


def draw(folder: Path, seen: np.ndarray, events: np.ndarray) -> None:
    with np.load(folder / "plane.npz") as saved:
        step, potential = int(saved["step"]), saved["potential"]
    rows, columns = potential.shape
    x = (np.arange(columns) + 0.5 - columns / 2) * SPACING
    y = (np.arange(rows) + 0.5 - rows / 2) * SPACING
    gradient_y, gradient_x = np.gradient(potential, SPACING)
    strength = np.hypot(gradient_x, gradient_y)
    planet = np.hypot(*np.meshgrid(x, y)) < RADIUS
    strength[planet] = np.nan
    figure, (plane, series) = plt.subplots(2, 1, figsize=(9, 9), height_ratios=[2, 1], layout="constrained")
    image = plane.pcolormesh(x, y, strength, cmap="viridis", vmin=0, vmax=3, shading="nearest")
    plane.contour(x, y, np.where(planet, np.nan, potential), 40, colors="white", linewidths=0.6)
    plane.plot(*PLACE, "o", color="tab:red", label="spacecraft")
    plane.set(title=f"Step {step}: the wind's field drapes around the magnetosphere", xlabel="x", ylabel="y", aspect=1)
    plane.legend(loc="upper right")
    figure.colorbar(image, ax=plane, label="strength of the field")
    series.plot(seen[:, 0], seen[:, 1], label="bx")
    series.plot(seen[:, 0], seen[:, 2], label="by")
    for kind, colour, label in (
        (TURNED, "tab:red", "it turned: a normal"),
        (PILED_UP, "0.5", "it piled up: a current"),
    ):
        for number, event in enumerate(events[events[:, 1] == kind]):
            series.axvline(event[0], color=colour, linestyle="--", label=None if number else label)
    series.set(title="What the spacecraft saw, and when it asked for a closer look", xlabel="step")
    series.set_ylim(-2.3, 1.6)
    series.legend(loc="lower left", ncols=4)
    figure.savefig(folder / "spacecraft.png", dpi=110)


def main(folder: Path) -> int:
    seen, events = load(folder)
    turns, sheets = events[events[:, 1] == TURNED], events[events[:, 1] == PILED_UP]
    problems = check_turns(seen, turns) + check_sheets(seen, sheets)
    for problem in problems:
        print(f"WRONG: {problem}")
    draw(folder, seen, events)
    print(f"{len(turns)} fronts and {len(sheets)} pile-ups looked at over {PAST} steps each; {folder}/spacecraft.png")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
