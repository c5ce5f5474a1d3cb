"""The story of tests/languages in Python; see test_story.py. Usage: story_python.py writer|reader"""

import sys

import numpy as np

import couplet

STEPS = 20
LARGE = 100_000
SHAPE = (4, 3, 5)
BOX = [(1, 4), (0, 2), (2, 5)]


def value(step: int) -> np.ndarray:
    k, j, i = np.indices(SHAPE)
    return (1000 * step + 100 * k + 10 * j + i).astype(np.float64)


def write_series(universe: couplet.Universe) -> None:
    with universe.create_series(
        "eta", SHAPE, slots=6, required_readers=["reader"], holders=3, collective=True
    ) as series:
        for step in range(10, 10 * STEPS + 1, 10):
            if step % 20 == 0:
                series.put(value(step), step)
            else:
                try:
                    with series.claim(step - 1) as eta:
                        eta[...] = value(step - 1)
                        raise RuntimeError("no step after all")
                except RuntimeError:
                    series.abandon()
                with series.claim(step) as eta:
                    eta[...] = value(step)
        assert series.newest == 10 * STEPS


def read_series(universe: couplet.Universe) -> None:
    with universe.open_series("eta", box=BOX, dtype=np.float64) as series:
        got = 0
        for batch in series.batches(up_to=4):
            assert batch.status == "ok" and batch.lost == 0
            assert batch.ordinals.tolist() == list(range(got, got + len(batch)))
            for step, eta in batch:
                got += 1
                assert step == 10 * got
                np.testing.assert_array_equal(eta, value(step)[1:4, 0:2, 2:5])
        assert got == STEPS
        counts = series.statistics
        assert counts.delivered == STEPS and counts.lost == 0 and counts.balanced


def answer(group: couplet.Group) -> None:
    numbers = np.empty(LARGE, np.int64)
    for turn in range(5):
        message = group.Recv(numbers)
        assert (message.source, message.tag) == (1, 100 + turn)
        group.Send(2 * numbers[: message.count], message.source, 200 + turn)
    first = np.array([1.5, 2.5, 3.5], np.float32)
    second = np.array(1 + 2j)
    couplet.waitall([group.Isend(first, 1, 21), group.Isend(second, 1, 22)], timeout=100)


def ask(group: couplet.Group) -> None:
    numbers = np.empty(LARGE, np.int64)
    for turn, count in enumerate((0, 1, 7, 4000, LARGE)):
        group.Send(np.arange(count) + turn, 0, 100 + turn)
        message = group.Recv(numbers, 0, 200 + turn)
        assert (message.source, message.count, message.bytes) == (0, count, 8 * count)
        np.testing.assert_array_equal(numbers[:count], 2 * (np.arange(count) + turn))
    first = np.empty(3, np.float32)
    second = np.empty((), np.complex128)
    requests = [group.Irecv(second, 0, 22), group.Irecv(first, couplet.ANY_SOURCE, 21)]
    index, message = couplet.waitany(requests, timeout=100)
    assert message.tag == (22, 21)[index]
    requests[1 - index].wait(60)
    assert requests[0].test()[0] and not requests[0].pending
    assert second == 1 + 2j and first.tolist() == [1.5, 2.5, 3.5]


def main() -> None:
    role = sys.argv[1]
    writer = role == "writer"
    with couplet.join(role) as universe:
        assert universe.size == 2 and universe.rank == (0 if writer else 1)
        assert universe.find_rank("reader" if writer else "writer") == 1 - universe.rank
        if writer:
            write_series(universe)
            answer(universe.group)
        else:
            read_series(universe)
            ask(universe.group)
    print(f"python {role}: the story is told")


main()
