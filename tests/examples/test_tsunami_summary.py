"""The proof at the end of the demonstration: what summarise.py accepts, and that it refuses everything else."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import checksums
import numpy as np
import pytest
import summarise

STEPS = 2000
OCEAN = {
    "name": "ocean",
    "mpi": "Open MPI v4",
    "ranks": 2,
    "steps": STEPS,
    "bytes": STEPS * 900 * 900 * 4,
    "seconds_couplet": 0.1,
    "seconds_held": 0.5,
    "seconds_computation": 30.0,
}
NOWCAST = {
    "name": "nowcast",
    "mpi": "MPICH",
    "ranks": 1,
    "published": STEPS,
    "first": 0,
    "delivered": STEPS,
    "lost": 0,
    "lost_torn": 0,
    "skipped": 0,
    "pending": 0,
    "steps_per_call": 32,
}
FOLLOWER = NOWCAST | {"name": "follower", "mpi": "none", "first": 3, "delivered": 400, "lost": STEPS - 403}
FOLLOWER["steps_per_call"] = 4


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Makes the files of a good run."""
    sums = np.arange(STEPS, dtype="<i8") * 7 + 1
    sums.tofile(tmp_path / "checksums_ocean.bin")
    np.full(STEPS, 50e-6).tofile(tmp_path / "coupling_ocean.bin")
    for report in (OCEAN, NOWCAST, FOLLOWER):
        (tmp_path / f"{report['name']}.json").write_text(json.dumps(report))
    everything = list(range(1, STEPS + 1))
    checksums.write(tmp_path / "checksums_nowcast.bin", everything, sums.tolist())
    some = everything[3:1603:4]
    checksums.write(tmp_path / "checksums_follower.bin", some, [int(sums[step - 1]) for step in some])
    return tmp_path


def test_a_good_run_is_accepted(folder: Path) -> None:
    summary = summarise.summary_of(folder)
    assert summarise.mistakes_in(summary) == []
    assert set(summary) == {
        "steps_written",
        "readers",
        "programs",
        "bytes",
        "writer_seconds_couplet",
        "writer_seconds_couplet_usual",
        "writer_seconds_held",
        "writer_seconds_computation",
    }
    assert [reader["checksums_equal"] for reader in summary["readers"]] == [True, True]
    assert all(set(reader) == {*summarise.READER_KEYS, "checksums_equal"} for reader in summary["readers"])
    assert summary["programs"][2] == {"name": "follower", "ranks": 1, "mpi": "none"}


@pytest.mark.parametrize(
    ("program", "change", "complaint"),
    [
        ("nowcast", {"lost": 1}, "accounted for"),
        ("nowcast", {"delivered": STEPS - 1, "lost": 1}, "nowcast: 1999 of 2000"),
        ("nowcast", {"steps_per_call": 7}, "at most 7 steps a call"),
        ("follower", {"lost": STEPS - 404}, "follower: 2000 published"),
        ("follower", {"lost": 0, "first": STEPS - 400}, "nothing was lost"),
        ("follower", {"delivered": 399, "lost": STEPS - 402}, "follower: a check sum differs"),
        ("ocean", {"steps": 1999}, "only 1999 steps"),
    ],
)
def test_each_mistake_is_found(folder: Path, program: str, change: dict[str, Any], complaint: str) -> None:
    path = folder / f"{program}.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    assert any(complaint in mistake for mistake in summarise.mistakes_in(summarise.summary_of(folder)))


def test_the_usual_coupling_of_a_step_is_judged(folder: Path) -> None:
    """Half of all steps and one take longer than 2 % of their computation; then half of all steps but one."""
    computation = OCEAN["seconds_computation"] / STEPS
    each = np.where(np.arange(STEPS) <= STEPS // 2, 0.021 * computation, 0)
    each.tofile(folder / "coupling_ocean.bin")
    assert any("coupling took" in mistake for mistake in summarise.mistakes_in(summarise.summary_of(folder)))
    each[: STEPS // 2 - 1] = computation
    each[STEPS // 2 - 1 :] = 0
    each.tofile(folder / "coupling_ocean.bin")
    assert summarise.mistakes_in(summarise.summary_of(folder)) == []


@pytest.mark.parametrize("reader", ["nowcast", "follower"])
@pytest.mark.parametrize(
    "damage",
    [
        lambda pairs: pairs | {100: 5},
        lambda pairs: {STEPS + 1 if step == 100 else step: total for step, total in pairs.items()},
        lambda pairs: dict(list(pairs.items())[:-1]),
    ],
    ids=["another sum", "a step that was not written", "one missing"],
)
def test_a_wrong_box_is_found(folder: Path, reader: str, damage: Callable[[dict[int, int]], dict[int, int]]) -> None:
    path = folder / f"checksums_{reader}.bin"
    pairs = damage(copy.copy(checksums.read(path)))
    checksums.write(path, list(pairs), list(pairs.values()))
    mistakes = summarise.mistakes_in(summarise.summary_of(folder))
    assert f"{reader}: a check sum differs from the ocean's" in mistakes
