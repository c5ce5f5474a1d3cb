"""Calls and properties of the Python package that no other test of tests/languages makes."""

from __future__ import annotations

import asyncio
import select
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from launching import World

import couplet

WAIT = 100.0


def test_a_series_describes_itself(solo: couplet.Universe) -> None:
    with solo.create_series("eta", (4, 6), np.float32, box=((0, 4), (0, 6)), memory_bytes=1 << 20) as writer:
        assert (writer.name, writer.shape, writer.dtype, writer.box) == ("eta", (4, 6), np.float32, ((0, 4), (0, 6)))
        assert writer.retained is None and writer.newest is None
        for step in (10, 20, 30):
            writer.put(np.full((4, 6), step, np.float32), step)
        retained = writer.retained
        assert retained is not None
        assert (retained.first, retained.end, retained.newest_step, writer.newest) == (0, 3, 30, 30)
        with solo.open_series("eta", box=(slice(1, 3), slice(2, 6)), dtype=np.float32, buffer_bytes=1 << 20) as reader:
            info = reader.describe()
            assert (info.name, info.program, info.writers, info.box_shape) == ("eta", "solo", 1, (2, 4))
            assert info.step_bytes == info.fields[""].step_bytes == 2 * 4 * 4
            assert info.fields[""].box_shapes == ((2, 4),)
            assert info.slots >= 2 and info.route
            assert reader.retained == retained and reader.newest == 30
            assert reader.read(at_least=3).data[:, 0, 0].tolist() == [10, 20, 30]
            statistics = reader.statistics
            assert statistics.balanced and (statistics.delivered, statistics.largest_batch) == (3, 3)
            assert (statistics.lost_torn, statistics.delivered_torn, statistics.bytes) == (0, 0, 3 * 32)
            assert min(statistics.copy_ns, statistics.held_ns, statistics.library_ns) >= 0
        with pytest.raises(couplet.ElementTypeError):
            solo.open_series("eta", dtype=np.float64)


def test_a_series_of_single_values(solo: couplet.Universe) -> None:
    with solo.create_series("level", (1,)) as writer, solo.open_series("level") as reader:
        writer.put([2.5], 1)
        assert reader.read().data.tolist() == [[2.5]]


def test_starts_of_a_reader(solo: couplet.Universe) -> None:
    with solo.create_series("eta", (2,), slots=8) as writer:
        for step in (10, 20, 30):
            writer.put(np.full(2, float(step)), step)
        first = {start: solo.open_series("eta", start=start) for start in ("oldest", "newest", "next", 15, 20)}
        writer.put(np.full(2, 40.0), 40)
        steps = {start: int(reader.read(up_to=1).steps[0]) for start, reader in first.items()}
        assert steps == {"oldest": 10, "newest": 30, "next": 40, 15: 20, 20: 20}
        for reader in first.values():
            reader.close()


def test_writer_says_for_whom_it_has_waited(solo: couplet.Universe) -> None:
    writer = solo.create_series("eta", (2,), slots=2, wait_timeout=0.01, holders=3)
    assert (writer.waits.count, writer.waits.last_for, writer.waits.last_rank) == (0, "", -1)
    with solo.open_series("eta"):
        for step in (1, 2):
            writer.put(np.zeros(2), step)
        with pytest.raises(couplet.DeadlineError):
            writer.put(np.zeros(2), 3)
        waits = writer.waits
        assert waits.count == 1 and waits.last_ns == waits.longest_ns == waits.total_ns > 0
        assert "solo" in waits.last_for and waits.last_for == waits.longest_for
        assert (waits.last_rank, waits.longest_rank) == (0, 0)


def test_full_is_told_by_put_and_claim(solo: couplet.Universe) -> None:
    writer = solo.create_series("eta", (2,), slots=2, wait_timeout=0)
    with solo.open_series("eta") as reader:
        for step in (1, 2):
            writer.put(np.zeros(2), step)
        with pytest.raises(couplet.Full, match="step 3"):
            writer.put(np.zeros(2), 3)
        with pytest.raises(couplet.Full, match="step 3"), writer.claim(3):
            pass
        assert reader.read(at_least=2).steps.tolist() == [1, 2]
        with pytest.raises(KeyError), writer.claim(3):
            raise KeyError
        writer.abandon()
        with writer.claim(4, time=0.5) as slot:
            slot[...] = 4
        batch = reader.read()
        assert (batch.steps.tolist(), batch.times.tolist(), batch.data.tolist()) == ([4], [0.5], [[4, 4]])


def test_a_batch_gives_fields_by_name(solo: couplet.Universe) -> None:
    fields = {"u": (np.float64, (2,), ((0, 2),)), "v": (np.int32, (3,))}
    with solo.create_series("flow", fields=fields) as writer, solo.open_series("flow", fields={"v": None}) as reader:
        writer.put({"u": np.zeros(2), "v": np.arange(3, dtype=np.int32)}, 1)
        batch = reader.read()
        assert batch["v"].tolist() == [[0, 1, 2]] and list(batch.fields) == ["v"]
        with pytest.raises(LookupError, match="'u'"):
            batch["u"]


@pytest.mark.parametrize("reuse", [False, True])
def test_reading_in_coroutines(solo: couplet.Universe, reuse: bool) -> None:
    async def write(writer: couplet.Writer) -> None:
        for step in range(1, 7):
            writer.put(np.full(3, float(step)), step)
            await asyncio.sleep(0)
        writer.close()

    async def read(reader: couplet.Reader) -> list[float]:
        out = np.zeros((1, 3))
        first = await reader.read_async(at_least=1, up_to=1, timeout=WAIT, out=out)
        assert np.shares_memory(first.data, out)
        found = first.data[:, 0].tolist()
        async for batch in reader.batches_async(up_to=2, at_least=1, timeout=WAIT, reuse=reuse):
            assert len(batch) <= 2
            found += batch.data[:, 0].tolist()
        return found

    async def play() -> None:
        reader = solo.open_series("eta")
        assert (await reader.read_async(timeout=0.01)).status == "not yet"
        found, _ = await asyncio.gather(read(reader), write(writer))
        assert found == [1, 2, 3, 4, 5, 6]
        assert (await reader.read_async()).ended

    writer = solo.create_series("eta", (3,), slots=8)
    asyncio.run(play())


def test_an_event_loop_of_ones_own(solo: couplet.Universe) -> None:
    with solo.create_series("eta", (3,)) as writer, solo.open_series("eta") as reader:
        two = reader.steps(2)
        assert solo.descriptor >= 0
        assert couplet.arm_any([two]) is None
        writer.put(np.zeros(3), 1)
        writer.put(np.zeros(3), 2)
        while (found := couplet.arm_any([two])) is None:
            select.select([solo.descriptor], [], [], WAIT)
        assert found is two
        assert len(reader.read(at_least=2)) == 2


def test_requests_in_every_way(solo: couplet.Universe) -> None:
    group = solo.program_group
    assert (group.rank, group.size, group.name) == (0, 1, "program:solo")
    received = np.zeros(2)
    request = group.Irecv(received, couplet.ANY_SOURCE, couplet.ANY_TAG)
    assert request.test() == (False, None) and request.pending and request.message is None
    group.Send(np.ones(2), 0, 4, timeout=WAIT)
    message = request.wait(WAIT)
    assert (message.source, message.tag, message.count, message.bytes) == (0, 4, 2, 16)
    assert request.test() == (True, message) and request.message is message
    receives = [group.irecv(0, tag) for tag in (1, 2)]
    group.send({"large": "x" * 10_000}, 0, 2, timeout=WAIT)
    assert couplet.waitany(receives, WAIT) == (1, {"large": "x" * 10_000})
    group.send([1], 0, 1)
    assert couplet.waitall(receives, WAIT) == [[1], {"large": "x" * 10_000}]
    assert couplet.waitany(receives) == (-1, None)
    assert receives[0].message is not None and receives[0].message.tag == 1
    with pytest.raises(couplet.TruncatedError):
        group.Isend(np.zeros(5), 0, 1)
        group.Recv(np.zeros(2), 0, 1, timeout=WAIT)


def test_a_freed_group_is_refused(solo: couplet.Universe) -> None:
    group = solo.create_group("alone", (0,))
    group.send("text", 0)
    assert group.recv(0, timeout=WAIT) == "text"
    group.free()
    for call in (lambda: group.rank, lambda: group.Send(np.zeros(1), 0), lambda: group.Irecv(np.zeros(1)), group.free):
        with pytest.raises(couplet.Error):
            call()
    for belongs in (solo.group, solo.program_group):
        with pytest.raises(couplet.ArgumentError, match="not freed"):
            belongs.free()
        assert belongs.rank == 0


def test_members_of_programs(solo: couplet.Universe) -> None:
    program = solo.program
    assert (program.id, program.name, program.size, program.first_rank, solo.program_rank) == (0, "solo", 1, 0, 0)
    assert (solo.rank, solo.size, solo.find_rank("solo", 0)) == (0, 1, 0)
    with pytest.raises(couplet.NotFoundError):
        solo.find_rank("solo", 1)
    assert couplet.version()


def test_areas_in_every_way(solo: couplet.Universe) -> None:
    with solo.create_area("field", (3, 4), np.int32, stamped=True) as area:
        info = area.info
        assert (info.name, info.owner, info.stamped, info.shape, info.dtype) == ("field", 0, True, (3, 4), np.int32)
        memory = area.memory
        assert memory is not None and not memory.any()
        assert area.write(np.arange(12, dtype=np.int32).reshape(3, 4), timeout=WAIT) == 1
        assert area.write(np.array([[50, 60]], np.int32), [(1, 2), (2, 4)], timeout=WAIT) == 2
        assert area.write_elements(np.array([7, 8], np.int32), 3, timeout=WAIT) == 3
        expected = [[0, 1, 2, 7], [8, 5, 50, 60], [8, 9, 10, 11]]
        assert memory.tolist() == area.read(timeout=WAIT).tolist() == expected
        found, stamp = area.read_stamped([slice(1, 2), slice(0, 3)], timeout=WAIT)
        assert (found.tolist(), stamp) == ([[8, 5, 50]], 3)
        assert area.read_elements(10, 2, timeout=WAIT).tolist() == [10, 11]
        area.begin(WAIT)
        memory[...] = 1
        area.end()
        assert area.read_stamped(timeout=WAIT)[1] == 4
        with solo.open_area("field", 0, timeout=WAIT) as opened:
            assert (opened.info.owner, opened.info.shape, opened.info.stamped) == (0, (3, 4), True)
            assert opened.read(timeout=WAIT).tolist() == [[1] * 4] * 3
        with pytest.raises(couplet.ElementTypeError):
            area.write(np.zeros((3, 4)))
        with pytest.raises(couplet.ShapeError):
            area.read([(0, 4), (0, 4)])
    with pytest.raises(couplet.StateError, match="closed"):
        area.read()
    own = np.zeros((2, 2))
    with solo.expose_area("own", own) as area:
        area.write(np.ones((1, 2)), [(1, 2), (0, 2)])
        assert own.tolist() == [[0, 0], [1, 1]]


def test_tasks_in_every_way(join_here: Callable[..., World]) -> None:
    """Three programs in threads: a coupler that runs by itself, a worker that iterates, and a requester that awaits."""
    join_here("asker:1,coupler:1,worker:1")
    failed: list[BaseException] = []

    def couple(universe: couplet.Universe) -> None:
        with universe.coupler(
            "sums", requesters="asker", workers=["worker"], policy="round robin", queue_limit=4
        ) as tasks:
            assert tasks.run(0) is False
            assert tasks.run(WAIT) is True

    def work(universe: couplet.Universe) -> None:
        with universe.worker("sums", worker_id=7, group_size=1) as tasks:
            for task in tasks:
                assert task.source == universe.find_rank("asker") and task.worker in (7, couplet.ANY_WORKER)
                if task.payload is None:
                    task.complete(couplet.LimitError("nothing to add"))
                    continue
                assert task.payload.sum() == task.parameters[0]
                task.complete()

    def ask(universe: couplet.Universe) -> None:
        with universe.requester("sums") as tasks:
            good = tasks.submit(couplet.ANY_WORKER, [6], np.array([1, 2, 3]), timeout=WAIT)
            bad = tasks.submit(7, timeout=WAIT)
            good.wait(WAIT)
            assert not good.pending and good.test()
            with pytest.raises(couplet.LimitError, match="nothing to add"):
                bad.wait(WAIT)
            with pytest.raises(couplet.NotFoundError):
                tasks.submit(8, timeout=WAIT).wait(WAIT)

            async def wait() -> None:
                more = tasks.submit(7, [5], np.array([5.0]), timeout=WAIT)
                await more
                assert couplet.waitany_task([good, more, bad]) == (-1, None)

            asyncio.run(wait())

    def play(name: str, role: Callable[[couplet.Universe], Any]) -> None:
        try:
            with couplet.join(name) as universe:
                role(universe)
        except BaseException as error:
            failed.append(error)

    roles = {"asker": ask, "coupler": couple, "worker": work}
    threads = [threading.Thread(target=play, args=role, daemon=True) for role in roles.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
        assert not thread.is_alive()
    assert not failed
