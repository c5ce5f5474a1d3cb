"""The ranks of a reader open a series together: rank 0 asks the hub, and passes its answer on to the others.

Issue 8, fault 10: every reader rank asked the hub for the whole description of a series.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from launching import BUILD, WATCHDOG_S, World, read_line
from members import Member

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
