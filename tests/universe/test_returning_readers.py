"""A reader that is killed and started again keeps the hold of its new life.

Issue 9, fault 2: the writer met the new life in its table of holders before the hub had reported that life. It took it
for a dead one, since the incarnation was not the one that it knew. A holder lost 6 of 10 steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from launching import BUILD, WATCHDOG_S, World, read_line
from quartet import Guest

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


@pytest.mark.parametrize("own", [False, True], ids=["arrays-of-the-reader", "arrays-of-the-user"])
@pytest.mark.parametrize(
    "later",
    [
        "universe.create_series('eta', (100_000,), slots=6)",
        "universe.create_series('eta', (3,), slots=6)",
        "universe.create_series('eta', (2, 2), slots=6)",
        "universe.create_series('eta', (4,), 'i4', slots=6)",
        "universe.create_series('eta', (4,), 'c16', slots=6)",
    ],
)
def test_the_next_life_of_a_writer_may_have_another_shape_and_type(
    make_world: Callable[..., World], later: str, own: bool
) -> None:
    """Fault: what the new writer put was copied into arrays for the old one: garbage, or beyond their end."""
    world = make_world("sky:1,eye:1")
    sky, eye = Guest(world, "sky", 0, 1), Guest(world, "eye", 0, 1)
    for each in (sky, eye):
        each.ready()
    sky.get("s = universe.create_series('eta', (4,), slots=6)")
    eye.get("r = universe.open_series('eta')")
    eye.get("mine = np.zeros((2, 4))")
    read = f"r.read(up_to=2, timeout=20{', out=mine' if own else ''})"
    sky.get("s.put(np.full(4, 1.0), 1)")
    assert eye.get(f"{read}.data.tolist()") == str([[1.0] * 4])
    sky.process.kill()
    sky.process.wait(WATCHDOG_S)
    sky = Guest(world, "sky", 0, 1).ready()
    sky.get(f"s = {later}")
    sky.get("s.put(np.full(s.shape, 7, s.dtype), 7)")
    while eye.get("(b := " + read + ").status") == "'not yet'":
        pass
    assert eye.get("b.status") == "'restarted'"
    assert eye.get("(r.shape, r.dtype)") == sky.get("(s.shape, s.dtype)")
    if own:
        answer = eye.ask(read)
        assert answer.startswith(("error COUPLET_ERROR_SHAPE", "error COUPLET_ERROR_TYPE", "error COUPLET_ERROR_ARG"))
        assert eye.get("mine.tolist()") == str([[1.0] * 4, [0.0] * 4])
    assert eye.get("(b := r.read(up_to=2, timeout=20)).status") == "'ok'"
    assert eye.get("(b.data.shape, b.data.dtype, bool((b.data == 7).all()))") == sky.get(
        "((1, *s.shape), s.dtype, True)"
    )
    eye.leave(sky)


@pytest.mark.parametrize("reuse", [False, True])
def test_batches_go_on_with_other_fields_of_the_next_life(make_world: Callable[..., World], reuse: bool) -> None:
    """Fault: with the fields in another order, each name had the values of another one."""
    world = make_world("sky:1,eye:1")
    sky, eye = Guest(world, "sky", 0, 1), Guest(world, "eye", 0, 1)
    for each in (sky, eye):
        each.ready()
    create = "s = universe.create_series('q', slots=6, fields={{{}}})"
    sky.get(create.format("'a': ('f8', (3,)), 'b': ('f8', (3,))"))
    eye.get("r = universe.open_series('q')")
    eye.get(f"them = r.batches(timeout=20, reuse={reuse})")
    put = "s.put({'a': np.full(3, 1.0), 'b': np.full(3, 2.0)}, 1)"
    values = "[f := next(them), {name: float(data[0][0]) for name, data in f.fields.items() if f.status == 'ok'}][1]"
    sky.get(put)
    assert eye.get(values) == "{'a': 1.0, 'b': 2.0}"
    sky.process.kill()
    sky.process.wait(WATCHDOG_S)
    sky = Guest(world, "sky", 0, 1).ready()
    sky.get(create.format("'b': ('f8', (3,)), 'a': ('f8', (3,))"))
    sky.get(put)
    while (found := eye.get(values)) == "{}":
        pass
    assert found == "{'b': 2.0, 'a': 1.0}"
    eye.leave(sky)


LATER_FIELDS = {
    "other-order": "'b': ('f8', (3,)), 'a': ('f8', (4,))",
    "other-shape-of-the-second": "'a': ('f8', (4,)), 'b': ('f8', (2,))",
    "larger-second": "'a': ('f8', (4,)), 'b': ('f8', (100_000,))",
    "other-type": "'a': ('f8', (4,)), 'b': ('f4', (3,))",
    "one-more-between": "'a': ('f8', (4,)), 'c': ('f8', (5,)), 'b': ('f8', (3,))",
    "one-less": "'b': ('f8', (3,))",
}


def lives_with_fields(make_world: Callable[..., World], reader: str, later: str, reads: int) -> list[str]:
    """Lets a writer of the fields a and b come back with others, and returns what a reader prints of its reads."""
    world = make_world("sky:1,eye:1")
    sky = Guest(world, "sky", 0, 1)
    eye = world.start([str(BUILD / "tests" / "programs" / f"returning_{reader}"), "eye", "q", str(reads)])
    sky.ready()
    create = "s = universe.create_series('q', slots=6, fields={{{}}})"
    full = "np.full(field.shape, {'a': 1, 'b': 2, 'c': 3}[name], field.dtype)"
    put = f"s.put({{name: {full} for name, field in s.describe().fields.items()}}, 1)"
    sky.get(create.format("'a': ('f8', (4,)), 'b': ('f8', (3,))"))
    assert read_line(eye) == "ready\n"
    sky.get(put)
    first = read_line(eye)
    sky.process.kill()
    sky.process.wait(WATCHDOG_S)
    sky = Guest(world, "sky", 0, 1).ready()
    sky.get(create.format(later))
    sky.get(put)
    lines = [first, *(read_line(eye) for _ in range(reads - 1))]
    assert eye.wait(WATCHDOG_S) == 0
    sky.leave()
    return lines


@pytest.mark.parametrize("later", LATER_FIELDS)
def test_a_reader_of_fields_in_cpp_has_those_of_the_next_life(make_world: Callable[..., World], later: str) -> None:
    """Fault: it kept the old ones, so that a name gave the values of another field, or what lies behind the batch."""
    first, restarted, second = lives_with_fields(make_world, "cpp", LATER_FIELDS[later], 3)
    assert first == "COUPLET_OK a 4 1 b 3 2\n"
    assert restarted == "COUPLET_RESTARTED\n"
    expected = {
        "other-order": "b 3 2 a 4 1",
        "other-shape-of-the-second": "a 4 1 b 2 2",
        "larger-second": "a 4 1 b 100000 2",
        "other-type": "a 4 1 b(float) 3 2",
        "one-more-between": "a 4 1 c 5 3 b 3 2",
        "one-less": "b 3 2",
    }
    assert second == f"COUPLET_OK {expected[later]}\n"


@pytest.mark.parametrize("later", LATER_FIELDS)
def test_a_reader_of_fields_in_fortran_refuses_those_of_the_next_life(
    make_world: Callable[..., World], later: str
) -> None:
    """Fault: another shape of the second field was not seen, and its array reached beyond the step."""
    first, restarted, second = lives_with_fields(make_world, "fortran", LATER_FIELDS[later], 3)
    assert first == "COUPLET_OK 4 1.0 3 2.0\n"
    assert restarted == "4\n"  # COUPLET_RESTARTED
    assert "series 'q' was created again with another shape, type or order of fields" in second


@pytest.mark.parametrize("node", ["same", "elsewhere"])
def test_who_wants_more_steps_than_there_are_slots_gets_what_is_left_at_the_end(
    make_world: Callable[..., World], node: str
) -> None:
    """Fault: on another node such a read said LIMIT for ever, since it ended before it had looked at what had come."""
    world = make_world("sky:1,eye:1")
    sky = Guest(world, "sky", 0, 1, COUPLET_NODE="same")
    eye = Guest(world, "eye", 0, 1, COUPLET_NODE=node)
    for each in (sky, eye):
        each.ready()
    sky.get("s = universe.create_series('q', (4,), slots=2)")
    eye.get("b = universe.open_series('q')")
    for step in range(2):
        sky.get(f"s.put(np.zeros(4), {step})")
    read = "b.read(at_least=3, timeout=3).steps.tolist()"
    eye.refused(read, "LIMIT")
    sky.get("s.close()")
    deadline = time.monotonic() + WATCHDOG_S
    while (answer := eye.ask(read)).startswith("error COUPLET_ERROR_LIMIT"):
        assert time.monotonic() < deadline, answer
        time.sleep(0.05)  # the end comes by a frame
    assert answer == "is [0, 1]", answer
    eye.get("b.close()")
    sky.leave(eye)


def test_a_rank_that_waits_for_a_step_hears_that_another_rank_is_gone(make_world: Callable[..., World]) -> None:
    """Fault: it heard of that only when a step came, and without a timeout never if the writer was silent."""
    world = make_world("sky:1,eye:4")
    sky = Guest(world, "sky", 0, 1)
    eyes = [Guest(world, "eye", rank, 4) for rank in range(4)]
    for each in (sky, *eyes):
        each.ready()
    sky.get("s = universe.create_series('q', (4,), slots=2)")
    sky.get("s.put(np.zeros(4), 0)")
    for line in ("b = universe.open_series('q')", "b.read(timeout=20)", "b.read(timeout=None)"):
        for eye in eyes:
            eye.say(line)
        if "None" not in line:
            assert all(eye.hear().startswith("is") for eye in eyes)
    time.sleep(0.5)  # they wait by then
    eyes[3].process.kill()
    eyes[3].process.wait(WATCHDOG_S)
    began = time.monotonic()
    for eye in eyes[:3]:
        answer = eye.hear()
        assert answer.startswith("error COUPLET_ERROR_PEER_LOST") and "program 'eye' rank 3" in answer, answer
    assert time.monotonic() - began < 20
    sky.get("s.close()")
    sky.leave(*eyes[:3])
