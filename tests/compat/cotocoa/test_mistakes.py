"""Every mistake ends every launch with a status that is not 0 and a sentence that says which process, what and
where.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from cotocoa import (
    Client,
    failed,
    hub_list,
    hubs,
    nothing_left,
    processes,
    processor_time,
    start_apart,
    start_job,
)
from jobs import FLAVOURS
from launching import WATCHDOG_S, World

MakeWorld = Callable[..., World]
REQUESTER = "CoToCoA requester, rank 0: "
COUPLER = "CoToCoA coupler, rank 0: "
WORKER = "CoToCoA worker 3, rank 0: "
# The mistake, the process that reports it, and the words of the sentence.
MISTAKES = [
    ("parameters", WORKER, r"CTCAW_pollreq_withreal8: .*has 2 parameters, the worker expects 3"),
    ("size", WORKER, r"CTCAW_pollreq_withreal8: .*payload has 4 elements, the worker expects 5"),
    ("type", WORKER, r"CTCAW_pollreq_withreal4: .*elements of type double, the worker expects float"),
    ("no data", WORKER, r"CTCAW_pollreq: .*payload has 4 elements, the worker expects 0"),
    ("parameters at the coupler", COUPLER, r"CTCAC_pollreq_withreal8: .*requester rank 0.* 2 .*parameters.* 3 "),
    ("unknown program", COUPLER, r"CTCAC_enqreq_withreal8: .*no workers have the id 99; the ids are: 3"),
    ("enqueued twice", COUPLER, r"CTCAC_enqreq_withreal8: reqinfo is not that of a request"),
    ("unknown reqinfo", COUPLER, r"CTCAC_enqreq_withreal8: reqinfo is not that of a request"),
    ("unknown area", WORKER, r"CTCAW_readarea_real8: there is no area 9: 1 are registered"),
    ("type of the area", WORKER, r"CTCAW_readarea_real4: area 0 is of real8, not of real4"),
    ("rank", WORKER, r"CTCAW_readarea_real8: area 0: the requester has no rank 7, it has 0 to 0"),
    ("offset", WORKER, r"CTCAW_readarea_real8: .*3 elements from offset 6 are outside it, it has 8"),
    ("completed twice", WORKER, r"CTCAW_complete: .*no task in hand"),
    (
        "other order",
        REQUESTER,
        r"CTCAR_finalize: coupler rank 0 is in the registration of an area while .* in finalize",
    ),
    ("before init", "CoToCoA: ", r"CTCAR_sendreq: is called before init, or after finalize"),
    ("init twice", REQUESTER, r"CTCAR_init: init was called already"),
    ("wrong role", REQUESTER, r"CTCAW_complete: is a function of the worker, and this process is a requester"),
    (
        "groups",
        "CoToCoA worker, rank 2 of its launch: ",
        r"CTCAW_init: its 1 ranks do not make groups of procspercomm = 2",
    ),
    ("program id", "CoToCoA worker, rank 2 of its launch: ", r"CTCAW_init: -1 is no program id"),
]


def clients(what: str, roles: str = "requester coupler worker") -> list[Client]:
    return [Client("worker3" if role == "worker" else role, 1, "mistake", "c", [role, what]) for role in roles.split()]


@pytest.mark.parametrize(("what", "who", "sentence"), MISTAKES, ids=[each[0].replace(" ", "-") for each in MISTAKES])
def test_mistake(make_world: MakeWorld, tmp_path: Path, what: str, who: str, sentence: str) -> None:
    world = make_world("")
    errors = tmp_path / "errors"
    failed(world.finish(start_job(world, "openmpi", clients(what), errors)))
    said = errors.read_text()
    assert re.search(rf"^{who}.*{sentence}", said, re.MULTILINE), said
    nothing_left(world)


LAUNCHES = 80 if os.environ.get("COUPLET_STRESS") else 8


@pytest.mark.stress
def test_the_sentence_comes_through_the_launcher(make_world: MakeWorld) -> None:
    """MPICH's launcher lost it in 3 of 80 launches, since MPI_Abort ended everything before it was read."""
    world = make_world("")
    for _ in range(LAUNCHES):
        ended = failed(world.finish(start_job(world, "mpich", clients("unknown area"))))
        assert f"{WORKER}CTCAW_readarea_real8: there is no area 9: 1 are registered" in ended.errors + ended.output
    nothing_left(world)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_no_mistake(make_world: MakeWorld, flavour: str) -> None:
    """The program of these tests is right, except for its mistakes."""
    world = make_world("")
    ended = world.finish(start_job(world, flavour, clients("nothing"))).check()
    assert ended.output == "requester: done\n"
    nothing_left(world)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_the_coupler_never_polls(make_world: MakeWorld, tmp_path: Path, flavour: str) -> None:
    world = make_world("")
    errors = tmp_path / "errors"
    job = start_job(world, flavour, clients("coupler never polls"), errors, COUPLET_COTOCOA_TIMEOUT="6")
    failed(world.finish(job))
    # Either the coupler had not taken the request, or it had, in an earlier call, and has not polled it.
    assert re.search(
        rf"^{REQUESTER}CTCAR_(sendreq_withreal8_hdl|wait): .*coupler.* has not (taken|polled) ", errors.read_text()
    )
    nothing_left(world)


@pytest.mark.parametrize("roles", ["requester worker", "coupler worker", "worker"])
def test_a_job_without_all_roles(make_world: MakeWorld, tmp_path: Path, roles: str) -> None:
    world = make_world("")
    errors = tmp_path / "errors"
    failed(world.finish(start_job(world, "openmpi", clients("nothing", roles), errors)))
    missing = "coupler" if "requester" in roles else "requester"
    assert f"no rank of this MPI job is the {missing}: start requester" in errors.read_text()
    nothing_left(world)


@pytest.mark.parametrize("victim", ["worker", "requester"])
@pytest.mark.parametrize("together", [True, False], ids=["one job", "separate launches"])
def test_a_process_is_killed(make_world: MakeWorld, tmp_path: Path, together: bool, victim: str) -> None:
    """The worker dies with work in hand; the requester dies after its request."""
    programs = clients(f"{victim} dies")
    errors = tmp_path / "errors"
    if together:
        world = make_world("")
        failed(world.finish(start_job(world, "openmpi", programs, errors)))
    else:
        world = make_world(hub_list(programs))
        for process in [start_apart(world, "openmpi", program, errors) for program in programs]:
            failed(world.finish(process))
        name = "worker3" if victim == "worker" else "requester"
        others = {"worker": (REQUESTER,), "requester": (COUPLER, WORKER)}[victim]
        said = errors.read_text()
        for who in others:
            assert re.search(rf"^{who}.* is lost", said, re.MULTILINE), said
        assert re.search(rf"program '{name}' rank 0.* is lost", said), said
    nothing_left(world)


def test_another_group_does_what_a_lost_one_had(make_world: MakeWorld) -> None:
    """COUPLET_COTOCOA_ON_LOST=retry: two launches of worker 3 have a request each, and the first dies with it."""
    names = ["requester", "coupler", "first", "second"]
    world = make_world(",".join(f"{name}:1" for name in names))
    programs = [
        *clients("two requests", "requester"),
        *clients("nothing", "coupler"),
        *clients("worker dies", "worker"),
        *clients("nothing", "worker"),
    ]
    requester, coupler, first, second = (
        start_apart(world, "openmpi", client, COUPLET_PROGRAM=name, COUPLET_COTOCOA_ON_LOST="retry")
        for name, client in zip(names, programs, strict=True)
    )
    assert world.finish(requester).check().output == "requester: done\n"
    world.finish(coupler).check()
    world.finish(second).check()
    failed(world.finish(first))


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_waiting_costs_nothing_and_a_killed_launcher_leaves_nothing(make_world: MakeWorld, flavour: str) -> None:
    """The coupler sleeps, and requester and worker wait, which also sleep. Then the launcher is killed."""
    world = make_world("")
    job = start_job(world, flavour, clients("coupler never polls"))
    deadline = time.monotonic() + WATCHDOG_S
    used = 1000
    while used > 5:  # ticks of three processes within a second, once they wait
        assert time.monotonic() < deadline, f"{used} ticks within a second"
        pids = processes(world, "mistake_c")
        if len(pids) == 3 and hubs(world):
            before = processor_time(pids)
            time.sleep(1)
            used = processor_time(pids) - before
    job.kill()
    nothing_left(world)
    assert not processes(world, "mistake_c")
