"""Features that only Python has: Ctrl-C, the GIL, lifetimes of buffers, DLPack, context managers."""

from __future__ import annotations

import ast
import gc
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from launching import World, command_for

import couplet

BLOCKED = ["join", "open", "put", "claim", "read", "batches", "send", "recv", "Recv", "wait", "waitall", "waitany"]
TWICE = ("join", "put", "claim", "read", "batches", "recv")


@pytest.mark.parametrize("case", BLOCKED)
def test_control_c_ends_a_blocked_call(make_world: Callable[..., World], case: str) -> None:
    world = make_world("solo:1,other:1" if case == "join" else "solo:1")
    (ended,) = world.run_together([*command_for("interrupt", "python"), case])
    assert ended.output == "interrupted\n" * (2 if case in TWICE else 1)


def test_blocked_calls_release_the_gil(join_here: Callable[..., World]) -> None:
    """Two programs in one process, each in a thread: each blocks until the other has run."""
    join_here("left:1,right:1")
    seen: dict[str, Any] = {}

    def play(name: str) -> None:
        with couplet.join(name) as universe:
            if name == "left":
                with universe.create_series("eta", (2, 3), slots=2, required_readers="right") as series:
                    for step in range(1, 8):
                        series.put(np.full((2, 3), float(step)), step)
                seen["answer"] = universe.group.recv(tag=1)
            else:
                with universe.open_series("eta") as series:
                    seen["steps"] = [step for batch in series.batches(up_to=1) for step, _ in batch]
                universe.group.send("thanks", universe.find_rank("left"), 1)

    threads = [threading.Thread(target=play, args=(name,), daemon=True) for name in ("left", "right")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
        assert not thread.is_alive()
    assert seen == {"steps": [1, 2, 3, 4, 5, 6, 7], "answer": "thanks"}


def test_two_threads_are_told(solo: couplet.Universe) -> None:
    request = solo.group.Irecv(np.zeros(1), 0, 1)
    ended: list[type[BaseException]] = []

    def wait() -> None:
        try:
            request.wait(5)
        except couplet.Error as error:
            ended.append(type(error))

    blocked = threading.Thread(target=wait, daemon=True)
    with pytest.raises(couplet.ThreadError, match="another call"):  # once the other thread is in its call
        blocked.start()
        while blocked.is_alive():
            solo.progress()
    blocked.join(100)
    assert ended == [couplet.DeadlineError]
    assert request.pending


def test_several_threads_where_that_was_asked_for(join_here: Callable[..., World]) -> None:
    join_here("solo:1")
    with couplet.join("solo", multiple_threads=True) as universe:
        received = np.zeros(1)
        receiver = threading.Thread(target=lambda: universe.group.Recv(received, 0, 1), daemon=True)
        receiver.start()
        universe.group.Send(np.array([5.0]), 0, 1)
        receiver.join(100)
        assert not receiver.is_alive()
        assert received[0] == 5


@pytest.mark.parametrize("timeout", [float("inf"), 1e300, 2e10, -1.0])
def test_a_timeout_without_end_does_not_end_at_once(join_here: Callable[..., World], timeout: float) -> None:
    join_here("solo:1")
    with couplet.join("solo", multiple_threads=True) as universe:
        writer = universe.create_series("eta", (3,), slots=2)
        reader = universe.open_series("eta", timeout=timeout)
        read: list[couplet.Batch] = []
        received = np.zeros(1)

        def wait() -> None:
            read.append(reader.read(timeout=timeout))
            universe.group.Recv(received, 0, 1, timeout=timeout)

        waiting = threading.Thread(target=wait, daemon=True)
        waiting.start()
        for _ in range(100):  # the other thread comes in between, and waits
            universe.progress()
        writer.put(np.ones(3), 1)
        universe.group.Send(np.array([5.0]), 0, 1)
        waiting.join(100)
        assert not waiting.is_alive()
        assert (len(read[0]), received[0]) == (1, 5)


def test_a_timeout_that_is_no_number_is_refused(solo: couplet.Universe) -> None:
    nan = float("nan")
    writer = solo.create_series("eta", (3,), slots=2)
    writer.put(np.ones(3), 1)
    reader = solo.open_series("eta")
    for call in (
        lambda: reader.read(timeout=nan),
        lambda: solo.open_series("eta", timeout=nan),
        lambda: solo.create_series("zeta", (3,), wait_timeout=nan),
        lambda: solo.group.Irecv(np.zeros(1), 0, 1).wait(nan),
        lambda: solo.group.Send(np.zeros(1), 0, 2, timeout=nan),
        lambda: solo.open_area("a", 0, timeout=nan),
    ):
        with pytest.raises(couplet.ArgumentError, match="NaN"):
            call()
    assert len(reader.read()) == 1


def test_a_dropped_request_keeps_its_buffer(solo: couplet.Universe) -> None:
    """The message arrives although Python has dropped request and array. Nothing else is overwritten."""
    group = solo.group
    group.Irecv(np.zeros(100_000), 0, 1)
    gc.collect()
    others = [np.zeros(100_000) for _ in range(20)]
    group.Send(np.ones(100_000), 0, 1)
    group.Send(np.ones(3), 0, 2)
    kept = np.zeros(3)
    assert group.Recv(kept, 0, 2, timeout=100).count == 3
    assert not any(other.any() for other in others)


def test_data_outlives_the_next_read(solo: couplet.Universe) -> None:
    writer = solo.create_series("eta", (50, 40), slots=4)
    reader = solo.open_series("eta")
    batches = []
    for step in range(1, 4):
        writer.put(np.full((50, 40), float(step)), step)
        batches.append(reader.read())
    reader.close()
    writer.close()
    gc.collect()
    assert [batch.data.min() for batch in batches] == [batch.data.max() for batch in batches] == [1, 2, 3]


def test_reuse_reads_into_one_array(solo: couplet.Universe) -> None:
    writer = solo.create_series("eta", (2, 2), np.int16, slots=8)
    reader = solo.open_series("eta")
    for step in range(1, 6):
        writer.put(np.full((2, 2), step, np.int16), step)
    writer.close()
    memory = {batch.data.__array_interface__["data"][0] for batch in reader.batches(up_to=2, reuse=True)}
    assert len(memory) == 1


def test_every_third_step_and_the_latest(solo: couplet.Universe) -> None:
    writer = solo.create_series("eta", (4,), slots=16)
    third = solo.open_series("eta", every=3)
    latest = solo.open_series("eta", mode="follow", latest=True, torn=True)
    for step in range(11):
        writer.put(np.full(4, float(step)), step)
    assert third.read(at_least=3).steps.tolist() == [0, 3, 6, 9]
    batch = latest.read()
    assert batch.steps.tolist() == [10]
    assert batch.torn.tolist() == [False]
    assert (batch.data == 10.0).all()
    assert third.statistics.skipped == 6 and latest.statistics.skipped == 10
    assert third.statistics.balanced and latest.statistics.balanced
    with pytest.raises(couplet.ArgumentError, match="latest"):
        solo.open_series("eta", latest=True)
    for end in (third, latest, writer):
        end.close()


def test_a_batch_is_bounded_in_bytes(solo: couplet.Universe) -> None:
    writer = solo.create_series("eta", (4,), slots=16)
    reader = solo.open_series("eta", up_to_bytes=100)  # three steps of 32 bytes
    for step in range(7):
        writer.put(np.full(4, float(step)), step)
    assert [len(reader.read(up_to=16)) for _ in range(3)] == [3, 3, 1]
    with pytest.raises(couplet.LimitError, match="only 3 steps of 32 bytes fit into up_to_bytes"):
        reader.read(at_least=4)
    with pytest.raises(TypeError, match="open_series: series 'eta': up_to_bytes is 'many'; it must be a whole number"):
        solo.open_series("eta", up_to_bytes="many")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="unexpected keyword argument 'up_to_byte'; .* up_to_bytes"):
        solo.open_series("eta", up_to_byte=100)  # type: ignore[call-arg]
    reader.close()
    writer.close()


def test_a_claim_that_fails_is_not_published(solo: couplet.Universe) -> None:
    writer = solo.create_series("eta", (3,), slots=4)
    with pytest.raises(ZeroDivisionError), writer.claim(1) as slot:
        slot[...] = 1 / 0
    assert writer.newest is None
    with writer.claim(1) as slot:
        slot[...] = 7
    assert writer.newest == 1
    assert solo.open_series("eta").read().data.tolist() == [[7, 7, 7]]
    with pytest.raises(ValueError, match="read-only"):
        slot[0] = 8


class Foreign:
    """An array that supports DLPack and nothing else."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array
        self.shape = array.shape

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, index: Any) -> np.ndarray:
        return self._array[index]


def test_dlpack(solo: couplet.Universe) -> None:
    writer = solo.create_series("eta", (2, 3), np.float32, slots=4)
    reader = solo.open_series("eta")
    writer.put(Foreign(np.full((2, 3), 4, np.float32)), 1)
    out = np.zeros((1, 2, 3), np.float32)
    reader.read(out=Foreign(out))
    assert out.min() == out.max() == 4
    received = np.zeros(3)
    request = solo.group.Irecv(Foreign(received), 0, 1)
    solo.group.Send(Foreign(np.arange(3.0)), 0, 1)
    request.wait(100)
    assert received.tolist() == [0, 1, 2]


@pytest.mark.parametrize("what", [np.zeros(3, bool), np.zeros(3, ">f8"), "text", [1.0, 2.0]])
def test_what_cannot_be_sent(solo: couplet.Universe, what: Any) -> None:
    with pytest.raises((couplet.ArgumentError, couplet.ElementTypeError), match="Send: buffer"):
        solo.group.Send(what, 0)


def test_a_series_has_as_many_holders_as_it_was_made_for(solo: couplet.Universe) -> None:
    solo.create_series("eta", (3,), slots=2, holders=2)
    first, second = (solo.open_series("eta") for _ in range(2))
    with pytest.raises(couplet.LimitError, match="holders"):
        solo.open_series("eta", timeout=0)
    with solo.open_series("eta", mode="follow"):  # needs no entry
        first.close()
    solo.open_series("eta").close()
    second.close()


def test_waiting_for_holders_has_an_end(solo: couplet.Universe) -> None:
    writer = solo.create_series("eta", (3,), slots=2, wait_timeout=0.25)
    reader = solo.open_series("eta")
    writer.put(np.zeros(3), 1)
    writer.put(np.zeros(3), 2)
    with pytest.raises(couplet.DeadlineError, match=r"'eta'.* 0\.25 s: program 'solo'") as raised:
        writer.put(np.zeros(3), 3)
    assert raised.value.code == -101
    assert len(reader.read(at_least=2)) == 2
    writer.put(np.zeros(3), 3)
    assert reader.statistics.balanced


def test_the_environment_says_how_long_to_wait_for_holders(
    join_here: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    join_here("solo:1")
    monkeypatch.setenv("COUPLET_SERIES_ETA_WAIT_TIMEOUT_S", "0.25")
    with couplet.join("solo") as universe:
        writer = universe.create_series("eta", (3,), slots=2)
        reader = universe.open_series("eta")
        writer.put(np.zeros(3), 1)
        writer.put(np.zeros(3), 2)
        with pytest.raises(couplet.DeadlineError, match=r"'eta'.* 0\.25 s: program 'solo'"):
            writer.put(np.zeros(3), 3)
        assert len(reader.read(at_least=2)) == 2


def test_what_comes_after_the_timeout_is_for_the_next(solo: couplet.Universe) -> None:
    group = solo.group
    with pytest.raises(couplet.DeadlineError):
        group.Recv(np.zeros(3), 0, 1, timeout=0.05)
    with pytest.raises(couplet.DeadlineError):
        group.recv(0, 1, timeout=0.05)
    group.Isend(np.full(3, 5.0), 0, 1)
    got = np.zeros(3)
    group.Recv(got, 0, 1, timeout=100)
    assert got.tolist() == [5, 5, 5]
    group.isend("x" * 100_000, 0, 1)
    assert group.recv(0, 1, timeout=100) == "x" * 100_000


def test_a_required_reader_that_does_not_come_is_told(join_here: Callable[..., World]) -> None:
    join_here("solo:1,late:1?")
    with couplet.join("solo") as universe:
        writer = universe.create_series("eta", (3,), slots=2, required_readers="late", required_timeout=0.3)
        writer.put(np.zeros(3), 1)
        writer.put(np.zeros(3), 2)
        with pytest.raises(couplet.DeadlineError, match="late"):
            writer.put(np.zeros(3), 3)
        writer.put(np.zeros(3), 3)


def test_objects_know_that_they_have_ended(solo: couplet.Universe) -> None:
    writer = solo.create_series("eta", (3,), slots=4)
    reader = solo.open_series("eta")
    group = solo.group
    with writer, reader:
        writer.put(np.zeros(3), 1)
    assert writer.closed and reader.closed
    writer.close()
    calls: list[Callable[[], Any]] = [
        lambda: writer.put(np.zeros(3), 2),
        lambda: reader.read(),
        lambda: reader.statistics,
        lambda: writer.newest,
    ]
    for call in calls:
        with pytest.raises(couplet.StateError, match="closed"):
            call()
    solo.leave()
    solo.leave()
    for call in [*calls, lambda: group.rank, lambda: group.Send(np.zeros(1), 0), lambda: solo.rank]:
        with pytest.raises(couplet.StateError, match="left"):
            call()


def test_programs_and_explanation(join_here: Callable[..., World]) -> None:
    join_here("solo:1,late:2?")
    with couplet.join("solo") as universe:
        assert [(program.name, program.size) for program in universe.programs] == [("solo", 1), ("late", 2)]
        assert universe.program == universe.programs[0]
        assert universe.find_rank("late", 1) == 2
        with pytest.raises(LookupError, match="nobody"):
            universe.find_rank("nobody")
        assert isinstance(universe.explain(), dict)
        group = universe.create_group("alone", [0])
        assert (group.rank, group.size, group.name) == (0, 1, "alone")
        group.free()


def test_stubs_name_what_is_there() -> None:
    """The stub of the extension and the extension have the same functions, classes and members."""
    from couplet import _couplet

    stub = Path(couplet.__file__).with_name("_couplet.pyi")
    tree = ast.parse(stub.read_text())

    def names(body: list[ast.stmt]) -> set[str]:
        found = {node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        return {name for name in found if not name.startswith("__")}

    def members(thing: Any) -> set[str]:
        return {name for name in vars(thing) if not name.startswith("__")}

    assert names(tree.body) == members(_couplet)
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            assert names(node.body) == members(getattr(_couplet, node.name)), node.name


def test_what_was_sent_before_leaving_arrives(join_here: Callable[..., World]) -> None:
    """The receiver checks only after the sender has left in good order."""
    join_here("left:1,right:1")
    right_is_here = threading.Event()

    def leave_early() -> None:
        with couplet.join("left") as universe:
            universe.group.Recv(np.zeros(1), 1, 0)
            for value in (1.0, 2.0, 3.0):
                universe.group.Send(np.array([value]), 1, 7)
            right_is_here.wait(100)

    left = threading.Thread(target=leave_early, daemon=True)
    left.start()
    with couplet.join("right") as universe:
        universe.group.Send(np.zeros(1), 0, 0)
        right_is_here.set()
        left.join(100)
        assert not left.is_alive()
        received = [float(take(universe.group)) for _ in range(3)]
        assert received == [1, 2, 3]
        with pytest.raises(ConnectionError, match="left"):
            take(universe.group)


def take(group: couplet.Group) -> np.ndarray:
    value = np.zeros(())
    group.Recv(value, 0, 7, timeout=100)
    return value


def test_the_first_words_of_one_who_leaves_at_once_arrive(join_here: Callable[..., World]) -> None:
    """A process that leaves waits until the other has joined the memory in which its message is."""
    join_here("left:1,right:1")

    def say_and_leave() -> None:
        with couplet.join("left") as universe:
            universe.group.Send(np.array([5.0]), 1, 7)

    left = threading.Thread(target=say_and_leave, daemon=True)
    left.start()
    with couplet.join("right") as universe:
        left.join(0.5)  # it has sent by then, or will; both orders must work
        assert take(universe.group) == 5
        left.join(100)
        assert not left.is_alive()
