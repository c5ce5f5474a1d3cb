"""The time-series buffer: 3 x 3 requester ranks, 2 x 2 workers, both modes, all published names (programs/buffer.*)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from cotocoa import Client, failed, hub_list, nothing_left, start_apart, start_job
from launching import World

MakeWorld = Callable[..., World]
WAIT, OVERWRITE = 1, 2
SLOTS = 4


def clients(language: str, variant: str, method: int, steps: int, *more: object) -> list[Client]:
    ranks = {"requester": 9, "coupler": 1, "worker": 4}
    return [
        Client(
            "worker4" if role == "worker" else role, count, "buffer", language, [role, variant, method, steps, *more]
        )
        for role, count in ranks.items()
    ]


def lines(count: int) -> list[str]:
    return [f"worker rank {rank}: {count} steps" for rank in range(4)]


@pytest.mark.parametrize(
    ("flavour", "language", "variant"),
    [
        ("openmpi", "c", "boxes"),
        ("openmpi", "fortran", "untyped"),
        ("mpich", "c", "grid"),
        ("mpich", "fortran", "boxes"),
    ],
)
def test_one_job(make_world: MakeWorld, flavour: str, language: str, variant: str) -> None:
    """The ring wraps: wait loses nothing; overwrite keeps the newest steps; while both run, mixed steps are marked."""
    world = make_world("")
    slots = {"COUPLET_SERIES_COTOCOA_BUFFER_0_SLOTS": str(SLOTS)}
    waited = world.finish(start_job(world, flavour, clients(language, variant, WAIT, 30), **slots)).check()
    assert sorted(waited.output.splitlines()) == lines(30)
    kept = world.finish(start_job(world, flavour, clients(language, variant, OVERWRITE, 30, "late"), **slots)).check()
    assert sorted(kept.output.splitlines()) == lines(SLOTS)
    world.finish(start_job(world, flavour, clients(language, variant, OVERWRITE, 500), **slots)).check()
    nothing_left(world)


def test_nsteps_ends_a_worker_and_its_hold(make_world: MakeWorld) -> None:
    """The requester, which waits for the workers, goes on to its last step after they have ended with their tenth."""
    world = make_world("")
    slots = {"COUPLET_SERIES_COTOCOA_BUFFER_0_SLOTS": str(SLOTS)}
    ended = world.finish(start_job(world, "openmpi", clients("c", "boxes", WAIT, 30, 10), **slots)).check()
    assert sorted(ended.output.splitlines()) == lines(10)
    nothing_left(world)


def test_a_worker_that_reads_exactly_nsteps_holds_nobody(make_world: MakeWorld) -> None:
    """Fault: the hold ended only with one more read, so a requester that waits stopped for ever, and said nothing."""
    world = make_world("")
    slots = {"COUPLET_SERIES_COTOCOA_BUFFER_0_SLOTS": str(SLOTS)}
    ended = world.finish(start_job(world, "openmpi", clients("c", "boxes", WAIT, 30, 10, "exactly"), **slots)).check()
    assert sorted(ended.output.splitlines()) == lines(10)
    nothing_left(world)


@pytest.mark.parametrize(("language", "variant"), [("c", "untyped"), ("fortran", "grid")])
def test_separate_launches(make_world: MakeWorld, language: str, variant: str) -> None:
    programs = clients(language, variant, WAIT, 30)
    world = make_world(hub_list(programs))
    slots = {"COUPLET_SERIES_COTOCOA_BUFFER_0_SLOTS": str(SLOTS)}
    started = [
        start_apart(world, flavour, program, **slots)
        for flavour, program in zip(("openmpi", "mpich", "mpich"), programs, strict=True)
    ]
    output = "".join(world.finish(process).check().output for process in started)
    assert sorted(output.splitlines()) == lines(30)


def test_types_differ(make_world: MakeWorld, tmp_path: pytest.TempPathFactory) -> None:
    world = make_world("")
    errors = tmp_path / "errors"
    programs = [*clients("c", "boxes", WAIT, 3)[:2], *clients("c", "grid", WAIT, 3)[2:]]
    failed(world.finish(start_job(world, "openmpi", programs, errors)))
    said = errors.read_text()
    assert "neither the requester nor this worker has said whether the requester waits or overwrites" in said
    nothing_left(world)
