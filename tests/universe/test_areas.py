"""Areas and tasks whose owner, coupler or requester is killed and started again while a neighbour lives on."""

from __future__ import annotations

import time
from collections.abc import Callable

from launching import WATCHDOG_S, World
from quartet import Guest, start_tasks

LIVES = 4


def area_files(world: World) -> list[str]:
    return sorted(path.name for path in world.run_directory.rglob("area-*"))


def owner(world: World, value: float) -> Guest:
    """A program that makes an area, and then is in a call that serves others."""
    made = Guest(world, "owner", 0, 1)
    made.say("area = universe.create_area('heat', (1000,), np.float64)")
    made.say(f"area.write(np.full(1000, {value:.1f}))")
    made.say("universe.group.Recv(np.zeros(1), 1, tag=9, timeout=60)")
    return made


def end(guest: Guest) -> None:
    guest.process.kill()
    guest.process.wait(WATCHDOG_S)


def hear_of_the_death(neighbour: Guest) -> str:
    """Reads the area until that is an error, and returns the error."""
    deadline = time.monotonic() + WATCHDOG_S
    while not (answer := neighbour.ask("area.read(timeout=5).sum()")).startswith("error"):
        assert time.monotonic() < deadline, answer
        time.sleep(0.05)
    return answer


def test_an_area_is_opened_again_after_its_owner_was_started_again(make_world: Callable[..., World]) -> None:
    """Fault: the neighbour, which made no other call, was told for ever that the owner is gone."""
    world = make_world("owner:1,neighbour:1")
    neighbour = Guest(world, "neighbour", 0, 1)
    for life in range(LIVES):
        victim = owner(world, life + 1.0)
        for each in (victim, neighbour) if life == 0 else (victim,):
            each.ready()
        for _ in range(2):
            assert victim.hear().startswith("is ")
        neighbour.get("area = universe.open_area('heat', 0, timeout=20)")
        assert "3000.0" in neighbour.get("area.read(timeout=20).sum() * 3 / " + str(life + 1.0))
        assert len(area_files(world)) == 1, "the file of an earlier life is left"
        end(victim)
        assert "PEER_LOST" in hear_of_the_death(neighbour)
    assert not area_files(world), "the neighbour that has noticed the death removes the file"
    end(neighbour)
    world.clean()


def test_who_asks_for_an_area_that_is_not_there_is_told_what_is_there(make_world: Callable[..., World]) -> None:
    """Fault: "does not answer": the wait was cut into parts, of which the last one was too short for an answer."""
    world = make_world("owner:1,neighbour:1")
    victim, neighbour = owner(world, 1.0), Guest(world, "neighbour", 0, 1)
    for each in (victim, neighbour):
        each.ready()
    for timeout in (0.4, 0.8, 1.1):
        answer = neighbour.ask(f"universe.open_area('cold', 0, timeout={timeout})")
        assert "NOT_FOUND" in answer and "heat" in answer
    end(victim)
    end(neighbour)
    world.clean()


def test_files_of_areas_go_with_the_next_life_of_their_owner(make_world: Callable[..., World]) -> None:
    """Fault: nobody removed them before the end of the universe, and /dev/shm filled up."""
    world = make_world("owner:1,neighbour:1")
    neighbour = Guest(world, "neighbour", 0, 1)
    for life in range(LIVES):
        victim = owner(world, life)
        for each in (victim, neighbour) if life == 0 else (victim,):
            each.ready()
        for _ in range(2):
            assert victim.hear().startswith("is ")
        assert len(area_files(world)) == 1
        end(victim)
    end(neighbour)
    world.clean()


def test_tasks_are_submitted_again_after_their_coupler_was_started_again(make_world: Callable[..., World]) -> None:
    """Fault: 'no coupler is left', for ever, unless the requester made some other call."""
    world = make_world("coupler:1,neighbour:1,worker:1")
    neighbour = Guest(world, "neighbour", 0, 1)
    worker = Guest(world, "worker", 0, 1)
    for life in range(2):
        coupler = Guest(world, "coupler", 0, 1)
        for each in (coupler, worker, neighbour) if life == 0 else (coupler,):
            each.ready()
        coupler.get("c = universe.coupler('t', requesters='neighbour', workers='worker')")
        coupler.say("c.run(timeout=60)")
        if life == 0:
            worker.get("w = universe.worker('t')")
            neighbour.get("r = universe.requester('t')")
        neighbour.get("r.submit(2, [1, 2], timeout=20)")
        end(coupler)
    end(neighbour)
    end(worker)
    world.clean()


def test_a_task_of_the_next_life_is_not_done_by_one_of_the_last(make_world: Callable[..., World]) -> None:
    """Faults: the answer to a task of the killed requester ended the next one's task; and the coupler ended then."""
    world = make_world("coupler:1,worker:1,requester:1")
    coupler, worker, requester = start_tasks(world)
    requester.get("t = r.submit(couplet.ANY_WORKER, [13])")
    assert "[13]" in worker.get("(job := next(jobs)) and list(job.parameters)")
    end(requester)
    requester = Guest(world, "requester", 0, 1)
    requester.ready()
    requester.get("r = universe.requester('t')")
    requester.get("t = r.submit(couplet.ANY_WORKER, [42])")
    worker.get("job.complete()")
    assert "[42]" in worker.get("(job := next(jobs)) and list(job.parameters)")
    assert "TIMEOUT" in requester.ask("t.wait(timeout=0.5)")
    worker.get("job.complete()")
    requester.get("t.wait(timeout=20)")
    requester.get("t = r.submit(couplet.ANY_WORKER, [43], timeout=20)")
    assert "[43]" in worker.get("(job := next(jobs)) and list(job.parameters)")
    worker.get("job.complete()")
    requester.get("t.wait(timeout=20)")
    requester.get("r.close()")
    assert coupler.hear().startswith("is ")
    for each in (requester, worker, coupler):
        end(each)
    world.clean()
