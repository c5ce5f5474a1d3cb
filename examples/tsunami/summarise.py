"""The proof and the pictures: merges the results of the three programs into summary.json, map.png and gauges.png.

Checks that the accounting of each reader is right, that every delivered step is the step that the ocean computed, and
that the reader which holds has lost nothing. If a check fails, it says which, and ends with 1.
Usage: summarise.py FOLDER
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import checksums
import numpy as np
import pictures

READER_KEYS = ("name", "first", "delivered", "lost", "lost_torn", "skipped", "pending", "steps_per_call")
MOST_COUPLING = 0.02  # share of the time of the computation


def load(folder: Path, program: str) -> dict[str, Any]:
    """Returns the report that a program wrote about itself."""
    report: dict[str, Any] = json.loads((folder / f"{program}.json").read_text())
    return report


def checksums_equal(folder: Path, reader: dict[str, Any]) -> bool:
    """Says whether each delivered step has the check sum that the ocean computed, and there is one for each."""
    expected = np.fromfile(folder / "checksums_ocean.bin", "<i8")  # the check sums of the steps 1, 2, 3, ...
    got = checksums.read(folder / f"checksums_{reader['name']}.bin")
    return len(got) == reader["delivered"] > 0 and all(
        0 < step <= len(expected) and total == expected[step - 1] for step, total in got.items()
    )


def usual_coupling(folder: Path) -> float:
    """Returns the seconds that coupling takes in all steps if each takes as long as the median one.

    With fewer processors than processes, the operating system now and then lets a reader compute while the ocean
    publishes. Such milliseconds are no work of Couplet, and few steps have them.
    """
    each = np.fromfile(folder / "coupling_ocean.bin", "<f8")
    return float(np.median(each) * len(each)) if len(each) else 0.0


def summary_of(folder: Path) -> dict[str, Any]:
    """Returns the content of summary.json."""
    ocean, *readers = (load(folder, program) for program in ("ocean", "nowcast", "follower"))
    return {
        "steps_written": ocean["steps"],
        "readers": [
            {key: reader[key] for key in READER_KEYS} | {"checksums_equal": checksums_equal(folder, reader)}
            for reader in readers
        ],
        "programs": [{key: program[key] for key in ("name", "ranks", "mpi")} for program in (ocean, *readers)],
        "bytes": ocean["bytes"],
        "writer_seconds_couplet": ocean["seconds_couplet"],
        "writer_seconds_couplet_usual": usual_coupling(folder),
        "writer_seconds_held": ocean["seconds_held"],
        "writer_seconds_computation": ocean["seconds_computation"],
    }


def mistakes_in(summary: dict[str, Any]) -> list[str]:
    """Returns what is wrong with the run; nothing, if all checks hold."""
    found = []
    steps = summary["steps_written"]
    if steps < 2000:
        found.append(f"only {steps} steps were written")
    for reader in summary["readers"]:
        name = reader["name"]
        accounted = sum(reader[key] for key in ("delivered", "lost", "skipped", "pending"))
        if steps - reader["first"] != accounted:
            found.append(f"{name}: {steps} published - {reader['first']} first, but {accounted} accounted for")
        if not reader["checksums_equal"]:
            found.append(f"{name}: a check sum differs from the ocean's")
    nowcast, follower = summary["readers"]
    if nowcast["delivered"] != steps:
        found.append(f"nowcast: {nowcast['delivered']} of {steps} steps were delivered")
    if nowcast["steps_per_call"] < 8:
        found.append(f"nowcast: at most {nowcast['steps_per_call']} steps a call")
    if follower["lost"] == 0:
        found.append("follower: nothing was lost, though it is slow")
    share = summary["writer_seconds_couplet_usual"] / summary["writer_seconds_computation"]
    if share > MOST_COUPLING:
        found.append(f"ocean: coupling took {share:.1%} of the time of its computation")
    return found


def main(folder: Path) -> int:
    summary = summary_of(folder)
    (folder / "summary.json").write_text(json.dumps(summary, indent=2) + "\n")
    pictures.draw(folder)
    for reader in summary["readers"]:
        print("{name}: {delivered} steps delivered, {lost} lost, up to {steps_per_call} a call".format(**reader))
    computation = summary["writer_seconds_computation"]
    usual = summary["writer_seconds_couplet_usual"] / computation
    measured = summary["writer_seconds_couplet"] / computation
    print(
        f"ocean: {computation:.1f} s of computation; beside that {usual:.2%} in couplet ({measured:.2%} with the",
        end=" ",
    )
    print(f"time that readers computed meanwhile), {summary['writer_seconds_held']:.1f} s waiting for the nowcast")
    print(f"results: {folder}/summary.json, map.png, gauges.png")
    found = mistakes_in(summary)
    for mistake in found:
        print(f"WRONG: {mistake}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
