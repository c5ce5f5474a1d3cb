"""A collective call that Python refuses on one rank: the other ranks are told at once, and all stay in step.

The ranks of a pair obey the test (tests/support/obedient.py). On the ranks that have made no mistake the timeouts are
those by default, or longer than the test's patience: a rank that is not told makes the test fail.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from launching import World
from quartet import Guest

MakeWorld = Callable[..., World]

FORBIDDEN = ("incompatible function arguments", "std::bad_cast", "nanobind", "Invoked with")
CREATE = "universe.create_series('{}', (4, 3), box=[(2 * universe.rank, 2 * universe.rank + 2), (0, 3)]{})"
OPEN = "universe.open_series('{}'{})"

# For each call: what precedes it on both ranks, the right call, the wrong one, and the sentence that both ranks get.
MISTAKES: dict[str, tuple[tuple[str, ...], str, str, str]] = {
    "create_series, dtype": ((), CREATE.format("a", ""), CREATE.format("a", ", dtype='f2'"), "dtype is float16"),
    "create_series, slots": ((), CREATE.format("b", ""), CREATE.format("b", ", slots='4'"), "slots is '4'"),
    "create_series, readers": (
        (),
        CREATE.format("c", ""),
        CREATE.format("c", ", required_readers=5"),
        "required_readers is 5",
    ),
    "create_series, shape": (
        (),
        CREATE.format("d", ""),
        CREATE.format("d", "").replace("(4, 3)", "(4.7, 3)"),
        "shape[0] is 4.7",
    ),
    "open_series, every": ((), OPEN.format("eta", ""), OPEN.format("eta", ", every='1'"), "every is '1'"),
    "open_series, mode": ((), OPEN.format("eta", ""), OPEN.format("eta", ", mode='Hold'"), "mode is 'Hold'"),
    "open_series, box": ((), OPEN.format("eta", ""), OPEN.format("eta", ", box=(0, 4)"), "box[0] is 0"),
    "open_series, timeout": ((), OPEN.format("eta", ""), OPEN.format("eta", ", timeout='2'"), "timeout is '2'"),
    "open_series, absent": ((), OPEN.format("never", ""), OPEN.format("never", ", start=1.5"), "start is 1.5"),
    "read, out": ((), "reader.read()", "reader.read(out=np.zeros((2, 3)))", "out has shape (2, 3)"),
    "read, dtype of out": ((), "reader.read()", "reader.read(out=np.zeros((2, 4, 3), 'f4'))", "out has float32"),
    "read, out with gaps of bytes": ((), "reader.read()", "reader.read(out=[1.5])", "out is [1.5]"),
    "read, read-only": (
        ("frozen = np.zeros((8, 4, 3))", "frozen.setflags(write=False)"),
        "reader.read()",
        "reader.read(out=frozen)",
        "which is read-only",
    ),
    "read, timeout": ((), "reader.read()", "reader.read(timeout='2')", "timeout is '2'"),
    "read, at_least": ((), "reader.read()", "reader.read(1.5)", "at_least is 1.5"),
    "batches": ((), "next(reader.batches())", "next(reader.batches(reuse='x'))", "reuse is 'x'"),
    "read_at": ((), "reader.read_at([1.0])", "reader.read_at('x')", "times is 'x'"),
    "put, shape": (
        (),
        "writer.put(np.zeros((2, 3)), 10**6)",
        "writer.put(np.zeros((3, 2)), 1)",
        "box has shape (2, 3)",
    ),
    "put, step": ((), "writer.put(np.zeros((2, 3)), 10**6)", "writer.put(np.zeros((2, 3)), 1.5)", "step is 1.5"),
    "put, swapped": ((), "writer.put(np.zeros((2, 3)), 10**6)", "writer.put(1, np.zeros((2, 3)))", "step is an array"),
    "split": ((), "universe.split('s', 0)", "universe.split(0, 0)", "name is 0"),
    "split, color": ((), "universe.split('s', 0)", "universe.split('s', 'x')", "color is 'x'"),
    "barrier": ((), "universe.group.barrier()", "universe.group.barrier('x')", "barrier: timeout is 'x'"),
    "allreduce": (
        (),
        "universe.group.allreduce(np.zeros(2))",
        "universe.group.allreduce(np.zeros(2), op=[1])",
        "allreduce: op is [1]",
    ),
    "alltoall": (
        (),
        "universe.group.alltoall(np.zeros(2))",
        "universe.group.alltoall(np.zeros(2), method=1)",
        "alltoall: method is 1",
    ),
    "gatherv": (
        (),
        "universe.group.allgatherv(np.zeros(2), [2, 2])",
        "universe.group.allgatherv(np.zeros(2), [2.5, 2])",
        "allgatherv: counts[0] is 2.5",
    ),
}


@pytest.fixture
def pair(make_world: MakeWorld) -> tuple[Guest, Guest]:
    """Two ranks of one program, with a series that each of them writes a part of, and a reader of it."""
    world = make_world("pair:2")
    both = (Guest(world, "pair", 0, 2), Guest(world, "pair", 1, 2))
    for each in both:
        each.ready()
    together(both, "writer = " + CREATE.format("eta", ", collective=True"))
    together(both, "reader = universe.open_series('eta')")
    return both


def together(both: tuple[Guest, Guest], line: str) -> None:
    for each in both:
        each.say(line)
    for each in both:
        answer = each.hear()
        assert answer.startswith("is "), f"{line}: {answer}"


def check_told(innocent: Guest, mistaken: Guest, right: str, wrong: str, sentence: str) -> str:
    """One rank makes a mistake, and both get its sentence. Returns that of the rank that was right."""
    innocent.say(right)
    own = mistaken.ask(wrong)
    told = innocent.hear()
    for answer in (own, told):
        assert answer.startswith("error COUPLET_ERROR_") and sentence in answer, f"{wrong}: {own}; {right}: {told}"
        assert not any(words in answer for words in FORBIDDEN), answer
    return told


def check_in_step(both: tuple[Guest, Guest], step: int) -> None:
    """The collective calls that come next are those of both ranks."""
    together(both, f"universe.group.allreduce(np.full(3, {step}))")
    together(both, f"writer.put(np.full((2, 3), {step}.0), {step})")
    together(both, f"reader.read().steps.tolist()[-1] == {step} or 1 / 0")


def test_the_other_rank_is_told_of_a_mistake(pair: tuple[Guest, Guest]) -> None:
    """Faults: the other rank waited until the process with the mistake had ended, or for ever."""
    for number, (before, right, wrong, sentence) in enumerate(MISTAKES.values()):
        mistaken = number % 2
        for line in (*before, f"writer.put(np.full((2, 3), 0.0), {100 * number + 100})"):
            together(pair, line)
        told = check_told(pair[1 - mistaken], pair[mistaken], right, wrong, sentence)
        assert f"rank {mistaken}" in told, told
        check_in_step(pair, 100 * number + 150)
    for each in pair:
        each.get("[reader.close(), writer.close()]")
    pair[0].leave(pair[1])


@pytest.mark.parametrize("call", ["create_series, slots", "open_series, every", "read, timeout"])
def test_a_rank_that_comes_late_is_told(pair: tuple[Guest, Guest], call: str) -> None:
    _, right, wrong, sentence = MISTAKES[call]
    together(pair, "writer.put(np.zeros((2, 3)), 1)")
    pair[1].say(wrong)
    assert pair[0].get("time.sleep(3)") == "None"  # longer than the mistaken rank waits in an opening or a read
    told = pair[0].ask(right)
    assert sentence in told and "rank 1" in told, told
    assert sentence in pair[1].hear()
    check_in_step(pair, 10)
    for each in pair:
        each.get("[reader.close(), writer.close()]")
    pair[0].leave(pair[1])


def test_a_rank_that_waits_for_steps_is_told_when_its_time_is_over(pair: tuple[Guest, Guest]) -> None:
    """Fault: it waited until the process with the mistake had ended."""
    told = check_told(*pair, "reader.read(timeout=1)", "reader.read(timeout='1')", "timeout is '1'")
    assert "rank 1" in told
    check_in_step(pair, 10)
    for each in pair:
        each.get("[reader.close(), writer.close()]")
    pair[0].leave(pair[1])


@pytest.mark.parametrize("mistaken", [0, 1])
def test_a_worker_group_is_told(make_world: MakeWorld, mistaken: int) -> None:
    """The task that has come meanwhile is left to the next call. A wrong end of it is told to its requester."""
    world = make_world("coupler:1,worker:2,requester:1")
    both = (Guest(world, "worker", 0, 2), Guest(world, "worker", 1, 2))
    coupler, requester = Guest(world, "coupler", 0, 1), Guest(world, "requester", 0, 1)
    for each in (*both, coupler, requester):
        each.ready()
    coupler.get("c = universe.coupler('t', requesters='requester', workers='worker')")
    coupler.say("c.run()")
    together(both, "tasks = universe.worker('t')")
    requester.get("r = universe.requester('t')")
    wrong = "tasks.next('x')"
    told = check_told(both[1 - mistaken], both[mistaken], "tasks.next()", wrong, "next: parameters is 'x'")
    assert f"rank {mistaken} of the worker group" in told or mistaken == 0, told
    requester.get("t = r.submit(couplet.ANY_WORKER, [7])")
    check_told(both[1 - mistaken], both[mistaken], "tasks.next()", wrong, "next: parameters is 'x'")
    in_c = "tasks._handle.next(-1, -1, -1, float('nan'))"  # what a program in C, C++ or Fortran calls
    check_told(
        both[1 - mistaken], both[mistaken], "tasks.next()", in_c, "timeout_s must be a number of seconds, not NaN"
    )
    together(both, "task = tasks.next()")
    assert [each.get("task.parameters") for each in both] == ["(7,)", "(7,)"]
    both[1 - mistaken].say("task.complete()")
    assert "complete: needs an exception" in both[mistaken].ask("task.complete('no ice')")
    assert both[1 - mistaken].hear() == "is None"
    requester.refused("t.wait()", "ARGUMENT", "complete: needs an exception", "'no ice'")
    requester.get("r.close()")
    for each in both:
        each.get("tasks.close()")
    assert coupler.hear() == "is True"
    coupler.get("c.close()")
    both[0].leave(both[1], coupler, requester)
