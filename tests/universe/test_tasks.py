"""Tasks and areas over separate launches: requesters, couplers and two kinds of workers, under each MPI and none."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from best_of import best_of
from launching import WATCHDOG_S, World, read_line
from pairs import start_program
from quartet import Guest, start_guests, start_tasks

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
    assert "waited 0.5" in requester.ask("t.wait(timeout=0.5)")  # it said "waited 0 s": the last slice
    assert "COUPLET_ERROR_ARGUMENT complete: needs an exception" in worker.ask("job.complete('no')")
    for each in (requester, worker, coupler):
        each.process.kill()
        each.process.wait(WATCHDOG_S)
    world.clean()


def test_a_coupler_that_was_started_again_has_the_workers_that_live(make_world: MakeWorld) -> None:
    """Fault: it took requests, and no worker ever did them, since workers had greeted only its earlier life."""
    world = make_world("coupler:2,worker:1,requester:1")
    couplers = [Guest(world, "coupler", rank, 2) for rank in range(2)]
    worker, requester = Guest(world, "worker", 0, 1), Guest(world, "requester", 0, 1)

    def opens(coupler: Guest) -> None:
        coupler.get("c = universe.coupler('t', requesters='requester', workers='worker')")
        coupler.say("c.run(timeout=100)")

    for each in (*couplers, worker, requester):
        each.ready()
    for coupler in couplers:
        opens(coupler)
    worker.get("w = universe.worker('t')")
    requester.get("r = universe.requester('t')")
    couplers[0].process.kill()
    couplers[0].process.wait(WATCHDOG_S)
    couplers[0] = Guest(world, "coupler", 0, 2).ready()
    opens(couplers[0])
    worker.say("[job.complete() for job in w]")
    for number in range(4):  # the couplers take turns
        requester.get(f"t = r.submit(couplet.ANY_WORKER, [{number}], timeout=20)")
        assert requester.get("t.wait(timeout=20)") == "None"
    requester.get("r.close()")
    for each in (*couplers, worker):
        each.hear()
    requester.leave(worker, *couplers)


@pytest.mark.parametrize("opens_again", [False, True])
def test_a_worker_is_told_that_its_only_coupler_was_lost(make_world: MakeWorld, opens_again: bool) -> None:
    """Fault: next() said that there are no further tasks, and the worker left before the coupler was there again.

    A worker that opened the tasks after the death was told so even when the coupler was back.
    """
    world = make_world("coupler:1,worker:1,requester:1")
    coupler, worker, requester = start_guests(world, "coupler", "worker", "requester")
    coupler.get("c = universe.coupler('t', requesters='requester', workers='worker')")
    worker.get("w = universe.worker('t')")
    requester.get("r = universe.requester('t')")
    coupler.process.kill()
    coupler.process.wait(WATCHDOG_S)
    for _ in range(2):
        answer = worker.ask("w.next(timeout=20)")
        assert "COUPLET_ERROR_PEER_LOST" in answer and "program 'coupler' rank 0" in answer, answer
        if opens_again:
            worker.get("w.close()")
            worker.get("w = universe.worker('t')")
    coupler = Guest(world, "coupler", 0, 1).ready()
    coupler.get("c = universe.coupler('t', requesters='requester', workers='worker')")
    coupler.say("c.run(timeout=100)")
    answer = worker.ask("w.next(timeout=0.1)")  # was said to be lost once or twice more
    assert "COUPLET_ERROR_TIMEOUT" in answer, answer
    worker.say("[job.complete() for job in w]")
    requester.get("t = r.submit(couplet.ANY_WORKER, [1], timeout=20)")
    assert requester.get("t.wait(timeout=20)") == "None"
    requester.get("r.close()")
    coupler.hear()
    worker.hear()
    requester.leave(worker, coupler)


@pytest.mark.parametrize("call", ["next", "run"])
def test_a_coupler_is_told_that_its_only_requester_was_lost(make_world: MakeWorld, call: str) -> None:
    """Fault: it was told that all requesters had closed, for ever; what the next life submitted was never taken."""
    world = make_world("coupler:1,worker:1,requester:1")
    coupler, worker, requester = start_guests(world, "coupler", "worker", "requester")
    coupler.get("c = universe.coupler('t', requesters='requester', workers='worker')")
    worker.get("w = universe.worker('t')")
    worker.say("[job.complete() for job in w]")
    requester.get("r = universe.requester('t')")
    line = "[job.dispatch() for job in c]" if call == "next" else "c.run()"
    coupler.say(line)
    requester.get("t = r.submit(couplet.ANY_WORKER, [1], timeout=20)")
    assert requester.get("t.wait(timeout=20)") == "None"
    requester.process.kill()
    requester.process.wait(WATCHDOG_S)
    answer = coupler.hear()
    assert "COUPLET_ERROR_PEER_LOST" in answer and "program 'requester' rank 0" in answer, answer
    assert "COUPLET_ERROR_PEER_LOST" in coupler.ask("c.next(timeout=20)")
    requester = Guest(world, "requester", 0, 1).ready()
    requester.get("r = universe.requester('t')")
    coupler.say(line)
    requester.get("t = r.submit(couplet.ANY_WORKER, [2], timeout=20)")
    assert requester.get("t.wait(timeout=20)") == "None"
    requester.get("r.close()")
    coupler.hear()
    worker.hear()
    requester.leave(worker, coupler)


def test_what_a_requester_has_closed_its_next_life_has_not(make_world: MakeWorld) -> None:
    """Fault: a coupler that opened the tasks late took the close of the earlier life for that of the present one."""
    world = make_world("coupler:1,worker:1,requester:1")
    coupler, worker, requester = start_guests(world, "coupler", "worker", "requester")
    requester.get("r = universe.requester('t')")
    requester.get("r.close()")
    requester.leave()
    requester = Guest(world, "requester", 0, 1).ready()
    coupler.get("[universe.progress() or time.sleep(0.01) for _ in range(100)][0]")
    requester.get("r = universe.requester('t')")
    coupler.get("c = universe.coupler('t', requesters='requester', workers='worker')")
    coupler.say("c.run(timeout=100)")
    worker.get("w = universe.worker('t')")
    worker.say("[job.complete() for job in w]")
    time.sleep(0.5)  # in which the coupler must not end
    requester.get("t = r.submit(couplet.ANY_WORKER, [1], timeout=20)")
    assert requester.get("t.wait(timeout=20)") == "None"
    requester.get("r.close()")
    assert coupler.hear().startswith("is ") and worker.hear().startswith("is ")
    requester.leave(worker, coupler)
