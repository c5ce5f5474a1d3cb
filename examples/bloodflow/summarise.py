"""Compares the runs of demo.py, draws the pictures, and prints the table of times. Ends with 1 if a check fails.

usage: summarise.py FOLDER [--only-table] [--no-pictures]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import picture

matplotlib.use("Agg")
from matplotlib import cm, colors
from matplotlib import pyplot as plt

SAME_AS_FLOW = ("one-rank", "four-ranks", "separate-waits", "separate-messages", "repartitioned", "killed")
MASS, INWARD, OUTWARD, SPEED, CHANGE = 1, 2, 3, 4, 5  # columns of checks


def load(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "run.json").read_text())


def check_bits(output: Path) -> list[str]:
    """All runs of the same flow have the same bits, at the end and in each frame."""
    flow = load(output / "flow")
    problems = []
    for name in SAME_AS_FLOW:
        other = load(output / name)
        if other["digest"] != flow["digest"]:
            problems.append(f"{name}: at the end the values are not those of flow")
        for number, digest in other["frames"].items():
            if flow["frames"].get(number) != digest:
                problems.append(f"{name}: the frame of round {number} is not that of flow")
        if name != "killed" and len(other["frames"]) != len(flow["frames"]):
            problems.append(f"{name}: {len(other['frames'])} frames, and flow has {len(flow['frames'])}")
    return problems


def check_pictures(output: Path) -> list[str]:
    """The viewer has received the same frames, also from a solver that was killed."""
    problems = []
    with np.load(output / "flow" / "frames.npz") as flow:
        for name in ("separate-messages", "repartitioned", "killed"):
            with np.load(output / name / "frames.npz") as other:
                problems += [
                    f"{name}: the viewer has received other {field}"
                    for field in ("rounds", "angles", "speed", "wall")
                    if not np.array_equal(flow[field], other[field])
                ]
        if len(np.unique(flow["angles"])) < 3:
            problems.append(f"flow: the viewpoint was not steered: {np.unique(flow['angles'])}")
        if not (flow["wall"][-1] > 0).any():
            problems.append("flow: the last picture has no wall")
    problems += [
        f"killed: {file.name} differs"
        for file in sorted((output / "flow").glob("frame-*.png"))
        if file.read_bytes() != (output / "killed" / file.name).read_bytes()
    ]
    return problems


def check_death(output: Path) -> list[str]:
    record = json.loads((output / "killed" / "viewer.json").read_text())
    first = load(output / "killed")["first_round"]
    if len(record["lives"]) != 2 or record["lives"][1] != first or first == 0:
        return [f"killed: the viewer has seen lives from {record['lives']} on, and the last one began with {first}"]
    return []


def profile_error(output: Path) -> float:
    """Returns the largest difference from Poiseuille's profile, as a share of the speed at the axis."""
    radius, inflow = tube_of(output)
    y, z, speed = np.loadtxt(output / "tube" / "profile.txt", unpack=True)
    wanted = 2 * inflow * (1 - (y**2 + z**2) / radius**2)
    return float(np.abs(speed - wanted).max() / (2 * inflow))


def tube_of(output: Path) -> tuple[float, float]:
    """Returns radius and inflow with which demo.py has started the tube."""
    words = (output / "tube" / "coupled.toml").read_text().replace("'", " ").replace(",", " ").split()
    values = dict(word.split("=") for word in words if word.count("=") == 1 and len(word) > 1)
    return float(values["radius"]), float(values["inflow"])


def mass_errors(output: Path) -> tuple[float, float]:
    """Returns the share of the mass that a closed vessel gains, and the difference of the fluxes of the tube."""
    closed, tube = load(output / "closed"), load(output / "tube")
    excess = np.array(closed["checks"])[:, MASS]
    last = tube["checks"][-1]
    return float(np.ptp(excess)) / closed["sites"], abs(last[INWARD] - last[OUTWARD]) / last[INWARD]


def check_physics(output: Path) -> list[str]:
    problems = []
    error = profile_error(output)
    gained, difference = mass_errors(output)
    if not error < 0.02:
        problems.append(f"tube: the profile differs by {error:.1%} from Poiseuille's")
    if not gained < 1e-12:
        problems.append(f"closed: the mass changes by a share of {gained:.1e}")
    if not difference < 5e-3:
        problems.append(f"tube: what flows in and out differs by {difference:.1%}")
    if not problems:
        print(f"the profile in a tube is Poiseuille's within {error:.1%} of its largest speed")
        print(f"the mass in a closed vessel stays within {gained:.1e}; the fluxes of the tube within {difference:.2%}")
    return problems


# ---- pictures ----


def draw_film(output: Path) -> None:
    """Five frames side by side: the mean speed along the lines of sight, and the shear of the wall."""
    with np.load(output / "flow" / "frames.npz") as saved:
        places = (np.array([0.05, 0.3, 0.53, 0.67, 1]) * (len(saved["rounds"]) - 1)).round().astype(int)
        fields = [saved[name] for name in ("rounds", "angles", "speed", "wall")]
        frames = [picture.Frame(*(field[at] for field in fields)) for at in places]
    height = len(frames[0].speed)
    used = np.flatnonzero(np.any([frame.speed > 0 for frame in frames], axis=(0, 2)))
    figure, axes = plt.subplots(
        2, 5, figsize=(15, 5.0), layout="constrained", facecolor=picture.BACKGROUND, sharex=True, sharey=True
    )
    for column, frame in enumerate(frames):
        image = picture.paint(frame)
        for row, part in enumerate((image[:height], image[height:])):
            axes[row, column].imshow(part[used[0] : used[-1] + 1], interpolation="bilinear")
            axes[row, column].axis("off")
        axes[0, column].set_title(f"round {frame.round}, {frame.angle:.0f} degrees", color="white", fontsize=11)
    for row, (name, most, label) in enumerate(
        (
            (picture.SPEED_MAP, picture.MAX_SPEED, "speed, projected"),
            (picture.SHEAR_MAP, 1e3 * picture.MAX_SHEAR, "wall shear x 1000"),
        )
    ):
        bar = figure.colorbar(
            cm.ScalarMappable(colors.Normalize(0, most), name), ax=axes[row, :], shrink=0.8, pad=0.01, aspect=14
        )
        bar.set_label(label, color="white", fontsize=11)
        bar.ax.tick_params(colors="white")
        bar.outline.set_visible(False)
    figure.savefig(output / "film.png", dpi=100)
    plt.close(figure)


def draw_checks(output: Path) -> None:
    """The profile, and what the monitor has seen."""
    radius, inflow = tube_of(output)
    y, z, speed = np.loadtxt(output / "tube" / "profile.txt", unpack=True)
    checks = np.array(load(output / "flow")["checks"])
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    r = np.linspace(0, radius, 100)
    left.plot(r, 2 * inflow * (1 - r**2 / radius**2), color="tab:red", label="Poiseuille")
    left.plot(np.hypot(y, z), speed, ".", color="0.3", markersize=4, label="sites of the tube")
    left.set(xlabel="distance from the axis", ylabel="speed", title="A straight tube")
    left.legend()
    right.plot(checks[:, 0], checks[:, INWARD], label="flux in")
    right.plot(checks[:, 0], checks[:, OUTWARD], label="flux out")
    for command in json.loads((output / "flow" / "viewer.json").read_text())["commands"]:
        right.axvline(command[0], color="0.6", linestyle="--", linewidth=1)
    right.set(xlabel="round", title="The bifurcation; dashed: the viewer steers")
    right.legend()
    figure.savefig(output / "checks.png", dpi=110)
    plt.close(figure)


# ---- the table ----


def messages_a_round(report: dict[str, Any]) -> float:
    return sum(peer["sent_messages"] for peer in report["peers"]) / report["rounds"]


def waits_a_round(report: dict[str, Any]) -> float:
    return sum(phase["synchronisation_points"] for phase in report["phases"]) / report["rounds"]


def print_table(output: Path, name: str) -> list[str]:
    """Prints the paper's table: medians of total, communication and picture seconds, coalesced and not."""
    runs = [json.loads(line) for line in (output / name / "table.jsonl").read_text().splitlines()]
    first = runs[0]
    print(
        f"\n{first['sites']} sites on {first['ranks']} ranks, {first['rounds']} rounds, by "
        f"{first['rank_0']['method']}; medians of "
        f"{len({run['pair'] for run in runs})} interleaved pairs, in seconds; on: coalesced; waits: in each round\n"
    )
    print("| frames | total on | off | communication on | off | on / off | pictures on | off | waits on | off |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for frames in sorted({run["frames"] for run in runs}):
        of = {on: [run for run in runs if run["frames"] == frames and run["merged"] is on] for on in (True, False)}
        cells = [
            f"{np.median([run['times'][kind] for run in of[on]]):.3f}"
            for kind in ("total", "communication", "pictures")
            for on in (True, False)
        ]
        ratios = [
            one["times"]["communication"] / other["times"]["communication"]
            for one, other in zip(of[True], of[False], strict=True)
        ]
        waits = [f"{waits_a_round(of[on][0]['rank_0']):.2f}" for on in (True, False)]
        print(f"| {frames} | {' | '.join(cells[:4])} | {np.median(ratios):.2f} | {' | '.join(cells[4:] + waits)} |")
    each = [
        1e3 * float(np.median([run["times"]["pictures"] / run["frames"] for run in runs if run["frames"] == frames]))
        for frames in sorted({run["frames"] for run in runs})
    ]
    print(f"\na picture takes {', '.join(f'{one:.3f}' for one in each)} ms")
    if len({run["digest"] for run in runs}) != 1:
        return [f"{name}: the runs do not end with the same values"]
    return []


def print_frames_a_second(output: Path) -> None:
    record = json.loads((output / "flow" / "viewer.json").read_text())
    print(f"the viewer has received {record['frames'] / record['seconds']:.1f} frames a second")


def main(output: Path, only_table: bool, has_pictures: bool) -> int:
    problems = []
    if not only_table:
        problems += check_bits(output) + check_pictures(output) + check_death(output) + check_physics(output)
        if has_pictures:
            draw_film(output)
            draw_checks(output)
        print_frames_a_second(output)
    for name in ("table", "small-table", "small-table-mapped"):
        problems += print_table(output, name)
    for problem in problems:
        print(f"WRONG: {problem}")
    if not problems and not only_table:
        print(f"\n{len(SAME_AS_FLOW) + 1} runs of the same flow have the same bits; {output}/film.png")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), "--only-table" in sys.argv[2:], "--no-pictures" not in sys.argv[2:]))
