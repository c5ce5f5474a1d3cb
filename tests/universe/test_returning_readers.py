"""A reader that is killed and started again keeps the hold of its new life.

Issue 9, fault 2: the writer met the new life in its table of holders before the hub had reported that life. It took it
for a dead one, since the incarnation was not the one that it knew. A holder lost 6 of 10 steps.
"""

from __future__ import annotations

from collections.abc import Callable

from launching import BUILD, WATCHDOG_S, World, read_line

STEPS_PROGRAM = str(BUILD / "tests" / "programs" / "steps")
STEPS = 12


def test_a_hold_that_the_writer_has_not_heard_of_stands(make_world: Callable[..., World]) -> None:
    world = make_world("sky:1,eye:1")
    written = f"steps={STEPS}", "slots=2", "halt=2", "required=eye"
    sky = world.start([STEPS_PROGRAM, "write", "sky", "0", "1", *written], standard_input=True)
    first = world.start([STEPS_PROGRAM, "read", "eye", "0", "1", "mode=hold", "up_to=1"])
    assert read_line(sky) == "ready\n"
    assert read_line(first) == "ready\n"
    assert read_line(sky) == "halted\n"  # it then makes no call
    first.kill()
    first.wait(WATCHDOG_S)
    second = world.start([STEPS_PROGRAM, "read", "eye", "0", "1", "mode=hold", "up_to=1", "pause_us=50000"])
    assert read_line(second) == "ready\n"
    assert sky.stdin is not None
    sky.stdin.write("\n")
    sky.stdin.flush()
    assert "lost 0 " in world.finish(second).check().output
    world.finish(sky).check()
