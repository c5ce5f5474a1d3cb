"""Tasks and areas over separate launches: requesters, couplers and two kinds of workers, under each MPI and none."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from best_of import best_of
from launching import WATCHDOG_S, World, read_line
from pairs import start_program
from quartet import start_tasks

MakeWorld = Callable[..., World]
LONG_S = 280.0  # ten thousand requests on a loaded machine
TOLD_WITHIN_S = 10.0


def run_tasks(world: World, kinds: dict[str, str], ranks: dict[str, int], requests: int, **extra: str) -> int:
    """Starts all programs, waits for all, and returns how many tasks the workers have done."""
    started = {
        name: start_program(world, kinds[name], ranks[name], [name, str(requests)], name="tasking", **extra)
        for name in ranks
    }
    done = 0
    for name, processes in started.items():
        said = [word for process in processes for word in world.finish(process, LONG_S).check().output.split()]
        assert len(said) == (ranks[name] if name in ("first", "second") else 0), name
        done += sum(int(word) for word in said)
    return done


@pytest.mark.parametrize("couplers", [1, 2])
@pytest.mark.parametrize("kinds", ["openmpi mpich none none", "mpich none openmpi mpich", "none openmpi mpich openmpi"])
def test_tasks(make_world: MakeWorld, kinds: str, couplers: int) -> None:
    ranks = {"simulation": 2, "coupler": couplers, "first": 2, "second": 2}
    world = make_world(",".join(f"{name}:{count}" for name, count in ranks.items()))
    assert run_tasks(world, dict(zip(ranks, kinds.split(), strict=True)), ranks, 60) == 120


def test_tasks_over_tcp(make_world: MakeWorld) -> None:
    ranks = {"simulation": 1, "coupler": 1, "first": 2, "second": 1}
    world = make_world(",".join(f"{name}:{count}" for name, count in ranks.items()))
    assert run_tasks(world, dict.fromkeys(ranks, "none"), ranks, 60, COUPLET_LINKS="self,tcp") == 60


def test_ten_thousand_requests(make_world: MakeWorld) -> None:
    ranks = {"simulation": 1, "coupler": 1, "first": 2, "second": 2}
    world = make_world(",".join(f"{name}:{count}" for name, count in ranks.items()))
    assert run_tasks(world, dict.fromkeys(ranks, "none"), ranks, 10_000) == 10_000


@pytest.mark.parametrize("on_lost", ["fail", "retry"])
def test_a_worker_is_killed_with_work_in_hand(make_world: MakeWorld, on_lost: str) -> None:
    ended_after_s = best_of(lambda: kill_a_worker(make_world, on_lost), lambda seconds: seconds < TOLD_WITHIN_S)
    assert ended_after_s < TOLD_WITHIN_S


def kill_a_worker(make_world: MakeWorld, on_lost: str) -> float:
    """Returns after how many seconds the requester has ended."""
    world = make_world("simulation:1,coupler:1,first:1,second:1?")
    started = {
        name: start_program(world, "none", 1, [name, on_lost], name="tasking")[0]
        for name in ("simulation", "coupler", "first")
    }
    assert read_line(started["first"]) == "has it\n"
    began = time.monotonic()
    started["first"].kill()
    if on_lost == "retry":
        (rescuer,) = start_program(world, "none", 1, ["second", "rescue"], name="tasking")
        assert world.finish(rescuer).check().output == "1\n"
    said = world.finish(started["simulation"]).check().output
    ended_after_s = time.monotonic() - began
    world.finish(started["coupler"]).check()
    if on_lost == "retry":
        assert said == "it was done\n"
    else:
        assert said.startswith("COUPLET_ERROR_PEER_LOST: ")
        assert "program 'first' rank 0" in said
    return ended_after_s


def test_a_task_that_a_worker_in_python_gives_up_is_not_done(make_world: MakeWorld) -> None:
    """Faults: with couplet.Error the task counted as done, and any other exception was an AttributeError."""
    world = make_world("coupler:1,worker:1,requester:1")
    coupler, worker, requester = start_tasks(world)
    endings = {
        "couplet.Error('no ice')": ("COUPLET_ERROR_STATE", "no ice"),
        "RuntimeError('no snow')": ("COUPLET_ERROR_STATE", "RuntimeError: no snow"),
        "couplet.LimitError('too much')": ("COUPLET_ERROR_LIMIT", "too much"),
    }
    for error, (status, text) in endings.items():
        requester.get("t = r.submit(couplet.ANY_WORKER, [1], timeout=20)")
        worker.get("(job := next(jobs)).parameters")
        worker.get(f"job.complete({error})")
        answer = requester.ask("t.wait(timeout=20)")
        assert status in answer and text in answer
    requester.get("t = r.submit(couplet.ANY_WORKER, [1], timeout=20)")
    worker.get("(job := next(jobs)).parameters")
    assert "waited 0.5 s for task" in requester.ask("t.wait(timeout=0.5)")  # it said "waited 0 s": the last slice
    assert "COUPLET_ERROR_ARGUMENT complete: needs an exception" in worker.ask("job.complete('no')")
    for each in (requester, worker, coupler):
        each.process.kill()
        each.process.wait(WATCHDOG_S)
    world.clean()
