"""The ranks of a reader open a series together: rank 0 asks the hub, and passes its answer on to the others.

Issue 8, fault 10: every reader rank asked the hub for the whole description of a series.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from launching import BUILD, WATCHDOG_S, World, read_line
from members import Member
from quartet import Guest

STEPS_PROGRAM = str(BUILD / "tests" / "programs" / "steps")
READERS = 3


def test_the_death_of_the_rank_that_asks_is_told_to_the_others(make_world: Callable[..., World]) -> None:
    world = make_world(f"sky:1,eye:{READERS}")
    eyes = [
        world.start([STEPS_PROGRAM, "read", "eye", str(rank), str(READERS), f"open_s={2 * WATCHDOG_S}"])
        for rank in range(READERS)
    ]
    sky = Member(world, "sky", 0, 1)
    sky.joined()
    time.sleep(0.3)  # rank 0 mostly asks by then
    eyes[0].kill()
    eyes[0].wait(WATCHDOG_S)
    for eye in eyes[1:]:
        ended = world.finish(eye)
        assert ended.status == 2, ended
        assert "open: COUPLET_ERROR_PEER_LOST" in ended.output and "rank 0" in ended.output, ended
    sky.leave()


def test_ranks_that_wait_for_a_series_get_it_after_the_hub_was_killed(make_world: Callable[..., World]) -> None:
    world = make_world(f"sky:2,eye:{READERS}")
    eyes = [
        world.start([STEPS_PROGRAM, "read", "eye", str(rank), str(READERS), "mode=hold", f"open_s={2 * WATCHDOG_S}"])
        for rank in range(READERS)
    ]
    other = Member(world, "sky", 1, 2)
    first = Member(world, "sky", 0, 2)
    for member in (other, first):
        member.joined()
    time.sleep(0.3)
    world.kill_hub()
    world.resume_hub()
    first.leave()
    other.leave()
    again = [
        world.start([STEPS_PROGRAM, "write", "sky", str(rank), "2", "steps=12", "slots=2", "required=eye"])
        for rank in range(2)
    ]
    for process in (*again, *eyes):
        assert read_line(process) == "ready\n"
    outputs = [world.finish(process).check().output for process in eyes]
    assert any("lost 0 " in output for output in outputs), outputs
    for process in again:
        world.finish(process).check()


@pytest.mark.parametrize("dies", ["before", "after"])
def test_a_dead_rank_of_a_local_group_smaller_than_its_program_is_not_waited_for(
    make_world: Callable[..., World], dies: str
) -> None:
    """Fault: the hub counted the ranks of the program that live, which a rank beside the group kept up, and the writer
    waited for ever.
    """
    world = make_world("ocean:1,nowcast:3")
    ocean = Guest(world, "ocean", 0, 1)
    first, second, beside = (Guest(world, "nowcast", rank, 3) for rank in range(3))
    for each in (ocean, first, second, beside):
        each.ready()
    ocean.get("eta = universe.create_series('eta', (3,), slots=2, required_readers='nowcast', wait_timeout=20)")
    for each in (first, second):
        each.say("pair = universe.create_group('pair', [1, 2])")
    for each in (first, second):
        assert each.hear().startswith("is ")
    opens = "eta = universe.open_series('eta', group=pair, local=True)"
    if dies == "after":
        first.get(opens)
    second.process.kill()
    second.process.wait(WATCHDOG_S)
    if dies == "before":
        first.get(opens)
    for step in range(5):
        ocean.get(f"eta.put(np.full(3, {step}.0), {step})")
        assert first.get("eta.read(up_to=1).data[0].tolist()") == str([float(step)] * 3)
    first.leave(ocean, beside)


@pytest.mark.parametrize("missing", [0, 3, 5])
def test_all_are_told_which_rank_has_not_come(make_world: Callable[..., World], missing: int) -> None:
    """Fault: a rank named its neighbor in the tree, which only waited for another one and gave up with it."""
    world = make_world("sky:1,eye:6")
    sky = Guest(world, "sky", 0, 1)
    eyes = [Guest(world, "eye", rank, 6) for rank in range(6)]
    for guest in (sky, *eyes):
        guest.ready()
    sky.get("s = universe.create_series('eta', (4,), slots=2)")
    there = [eye for rank, eye in enumerate(eyes) if rank != missing]
    for eye in there:
        eye.say("r = universe.open_series('eta', timeout=4)")
    for eye in there:
        answer = eye.hear()
        assert "COUPLET_ERROR_TIMEOUT" in answer and f"program 'eye' rank {missing} " in answer, answer
    for eye in eyes:
        eye.say("r = universe.open_series('eta', timeout=20)")
    for eye in eyes:
        assert eye.hear().startswith("is ")
    sky.leave(*eyes)
