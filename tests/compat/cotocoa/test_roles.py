"""Requester, coupler and four worker programs, in each language, as CoToCoA's users write them (programs/*).

Requests without data and with each type, with and without handles; areas of each type, read and written by coupler and
workers; groups of two ranks and two groups of one program; program ids in no order; profiling. They run in one job
under each MPI, and as separate launches under both at the same time.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from cotocoa import Client, hub_list, nothing_left, start_apart, start_job
from jobs import FLAVOURS
from launching import World

MakeWorld = Callable[..., World]
REQUESTERS = 2
# The workers of each phase: (program id, ranks, ranks of a group).
WORKERS = ((7, 2, 2), (3, 1, 1), (5, 1, 1), (0, 2, 1))
LANGUAGES = [
    ("c", "fortran", ("c", "fortran", "python", "c")),
    ("fortran", "c", ("python", "c", "fortran", "fortran")),
]
RESULTS = 24  # results of a requester rank
BY_PHASE = 12
PROCESSES = REQUESTERS + 1 + sum(ranks for _, ranks, _ in WORKERS)
COLUMNS = 15  # those of the table that a profile is


def clients(requester: str, coupler: str, workers: tuple[str, ...]) -> list[Client]:
    of_phase = [word for number, _, procs in WORKERS for word in (number, procs)]
    ids = [number for number, _, _ in WORKERS]
    return [
        Client("requester", REQUESTERS, "requester", requester, of_phase),
        Client("coupler", 1, "coupler", coupler, [REQUESTERS, *ids]),
        *(
            Client(f"worker{number}", ranks, "worker", language, [number, procs, phase])
            for phase, ((number, ranks, procs), language) in enumerate(zip(WORKERS, workers, strict=True))
        ),
    ]


def check_output(output: str) -> None:
    lines = output.splitlines()
    for rank in range(REQUESTERS):
        assert f"requester rank {rank} of {REQUESTERS}: {RESULTS} right" in lines
    assert f"coupler: {REQUESTERS * RESULTS} requests" in lines
    for number, ranks, procs in WORKERS:
        done = [int(line.split()[2]) for line in lines if line.startswith(f"worker {number}: ")]
        assert len(done) == ranks // procs
        assert sum(done) == BY_PHASE
    check_profile(lines)


def check_profile(lines: list[str]) -> None:
    """There is a row for each process: role, program, rank, three times, then seconds and calls of four kinds,
    megabytes. What a launcher passes on of other ranks may come between the rows.
    """
    (title,) = [index for index, line in enumerate(lines) if line.startswith("CoToCoA profile")]
    rows = [words for line in lines[title + 2 :] if len(words := line.split()) == COLUMNS]
    assert len(rows) == PROCESSES
    assert [row[:3] for row in rows[:3]] == [["requester", "-", "0"], ["requester", "-", "1"], ["coupler", "-", "0"]]
    assert sorted((int(row[1]), int(row[2])) for row in rows[3:]) == [(0, 0), (0, 1), (3, 0), (5, 0), (7, 0), (7, 1)]
    for row in rows:
        total, calc, measured, *columns, megabytes = (float(word) for word in row[3:])
        calls = dict(zip(("request", "wait", "area", "buffer"), columns[1::2], strict=True))
        assert 0 <= calc <= measured
        assert (total > 0) == (row[0] == "requester")
        assert calls["buffer"] == 0
        if row[0] == "requester":
            assert calls["request"] == RESULTS
            assert calls["area"] == 3
        elif row[0] == "coupler":
            assert (calls["request"], calls["wait"]) == (REQUESTERS * RESULTS, REQUESTERS * RESULTS + 1)
            assert calls["area"] == 3 + 2 * REQUESTERS * RESULTS
            assert megabytes > 0
        else:
            assert calls["wait"] == calls["request"] + 1


@pytest.mark.parametrize("languages", LANGUAGES, ids=["c", "fortran"])
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_one_job(make_world: MakeWorld, flavour: str, languages: tuple[str, str, tuple[str, ...]]) -> None:
    world = make_world("")
    check_output(world.finish(start_job(world, flavour, clients(*languages))).check().output)
    nothing_left(world)


@pytest.mark.parametrize("languages", LANGUAGES, ids=["c", "fortran"])
@pytest.mark.parametrize("first", [0, 1])
def test_separate_launches(make_world: MakeWorld, first: int, languages: tuple[str, str, tuple[str, ...]]) -> None:
    programs = clients(*languages)
    world = make_world(hub_list(programs))
    started = [
        start_apart(world, FLAVOURS[(first + index) % 2], program)
        for index, program in reversed([*enumerate(programs)])
    ]
    check_output("".join(world.finish(process).check().output for process in started))


def test_programs_under_names_of_their_own(make_world: MakeWorld) -> None:
    """The programs are started as couplet run starts them: COUPLET_PROGRAM says the name."""
    programs = clients(*LANGUAGES[0])
    names = ["magnetosphere", "control", "a", "b", "c", "d"]
    world = make_world(",".join(f"{name}:{client.ranks}" for name, client in zip(names, programs, strict=True)))
    started = [
        start_apart(world, "openmpi", client, COUPLET_PROGRAM=name)
        for name, client in zip(names, programs, strict=True)
    ]
    check_output("".join(world.finish(process).check().output for process in started))


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_ten_thousand_requests(make_world: MakeWorld, flavour: str) -> None:
    """They go through one coupler, faster than they are done. Each is done exactly once."""
    world = make_world("")
    programs = [
        Client("requester", REQUESTERS, "many", "c", ["requester", 5000]),
        Client("coupler", 1, "many", "c", ["coupler", 0]),
        *(Client(f"worker{number}", 1, "many", "c", ["worker", number]) for number in range(2)),
    ]
    output = world.finish(start_job(world, flavour, programs), 120).check().output
    assert sorted(output.splitlines()) == [f"requester rank {rank}: 5000 done" for rank in range(REQUESTERS)]
    nothing_left(world)
