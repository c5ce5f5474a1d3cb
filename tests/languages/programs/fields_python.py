"""The fields of tests/languages in Python; see test_fields.py. Usage: fields_python.py writer|reader"""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import couplet

STEPS = 6
SHAPE = (4, 6)
LEVELS = 5


def density_of(step: int) -> Any:
    row, column = np.indices(SHAPE)
    return (100 * step + 10 * row + column).astype(np.float64)


def level_of(step: int) -> Any:
    return np.arange(step, step + LEVELS, dtype=np.int32)


def refused(error: type[couplet.Error], words: str, call: Callable[[], Any]) -> None:
    try:
        call()
    except error as caught:
        assert words in str(caught), str(caught)
    else:
        raise AssertionError(words)


def mistakes_of_writing(series: couplet.Writer) -> None:
    density, level = density_of(70), level_of(70)
    both = [density[:, :2], density[:, 2:]]
    refused(couplet.ArgumentError, "'density', 'level'", lambda: series.put(density, 70))
    refused(couplet.ArgumentError, "'density', 'level'", lambda: series.put({"density": both}, 70))
    refused(couplet.ArgumentError, "2 boxes", lambda: series.put({"density": density, "level": level}, 70))
    refused(couplet.ArgumentError, "1 array is", lambda: series.put({"density": both[:1], "level": level}, 70))
    refused(couplet.ShapeError, "(4, 2)", lambda: series.put({"density": [density, both[1]], "level": level}, 70))
    refused(couplet.ElementTypeError, "'level'", lambda: series.put({"density": both, "level": level * 1.0}, 70))
    refused(couplet.StepError, "29.5", lambda: series.put({"density": both, "level": level}, 70, time=29.5))
    refused(couplet.ArgumentError, "NaN", lambda: series.put({"density": both, "level": level}, 70, time=np.nan))


def write_series(universe: couplet.Universe) -> None:
    fields = {
        "density": (np.float64, SHAPE, [[(0, 4), (0, 2)], [slice(0, 4), slice(2, 6)]]),
        "level": (np.int32, (LEVELS,)),
    }
    refused(couplet.ArgumentError, "fields", lambda: universe.create_series("sky"))
    refused(couplet.ArgumentError, "fields", lambda: universe.create_series("sky", fields={}))
    refused(
        couplet.ShapeError,
        "the array has 1",
        lambda: universe.create_series("sky", fields={"a": ("f8", (4,), [(0, 4), (0, 2)])}),
    )
    with universe.create_series("sky", fields=fields, slots=4, required_readers="reader") as series:
        for step in range(10, 10 * STEPS + 1, 10):
            if step % 20 == 0:
                with_ghosts = np.zeros((6, 8), order="F")
                density = with_ghosts[1:-1, 1:-1]
                density[...] = density_of(step)
                arrays = {"density": [density[:, :2], density[:, 2:]], "level": level_of(step)[::-1][::-1]}
                series.put(arrays, step, time=0.5 * step)
            else:
                with series.claim(step, time=0.5 * step) as slot:
                    slot["density"][0][...] = density_of(step)[:, :2]
                    slot["density"][1][...] = density_of(step)[:, 2:]
                    slot["level"][...] = level_of(step)
        mistakes_of_writing(series)
        described = series.describe().fields
        assert list(described) == ["density", "level"]
        assert described["density"].boxes == (((0, 4), (0, 2)), ((0, 4), (2, 6)))
        waits = series.waits
        assert "'reader'" in waits.longest_for if waits.count else waits.longest_for == ""


def read_series(universe: couplet.Universe) -> None:
    refused(couplet.NotFoundError, "it has 'density', 'level'", lambda: universe.open_series("sky", fields=["vapour"]))
    refused(couplet.ArgumentError, "list of names", lambda: universe.open_series("sky", fields="level"))
    refused(couplet.ArgumentError, "no fields", lambda: universe.open_series("sky", fields=[]))
    wanted = {"level": [(1, 4)], "density": [(1, 3), (1, 5)]}
    with universe.open_series("sky", fields=wanted) as series:
        out = {"level": np.empty((2, 6), np.int32)[:, ::2], "density": np.empty((2, 2, 4), order="F")}
        refused(couplet.ArgumentError, "'level', 'density'", lambda: series.read(out=out["level"]))
        refused(couplet.ShapeError, "'density'", lambda: series.read(out={**out, "density": np.empty((2, 3, 4))}))
        refused(couplet.ElementTypeError, "'level'", lambda: series.read(out={**out, "level": np.empty((2, 3))}))
        got = turn = 0
        while not (batch := series.read(up_to=2, out=out if turn % 2 == 0 else None)).ended:
            turn += 1
            assert batch.lost == 0
            for step, boxes in batch:
                got += 1
                assert step == 10 * got
                np.testing.assert_array_equal(boxes["density"], density_of(step)[1:3, 1:5])
                np.testing.assert_array_equal(boxes["level"], level_of(step)[1:4])
            np.testing.assert_array_equal(batch.times, 0.5 * batch.steps)
            refused(couplet.NotFoundError, "'vapour'", lambda read=batch: read["vapour"])
        assert got == STEPS
    with universe.open_series("sky", mode="follow", interval=20) as series:
        batch = series.read(up_to=8)
        assert batch.steps.tolist() == [30, 40] and batch.times.tolist() == [15, 20]
        assert set(batch.fields) == {"density", "level"}


def one_field(universe: couplet.Universe) -> None:
    """Several boxes, and arrays with gaps, of a series without named fields."""
    boxes = [[(0, 2), (0, 3)], [(0, 2), (3, 5)]]
    writer = universe.create_series("parts", (2, 5), box=boxes, slots=2)
    reader = universe.open_series("parts", local=True)
    whole = np.arange(40.0).reshape(4, 10)[::2, ::2]
    writer.put([whole[:, :3], whole[:, 3:]], 1)
    with writer.claim(2) as (left, right):
        left[...] = 1
        right[...] = 2
    first, second = reader.read(at_least=2).data
    np.testing.assert_array_equal(first, whole)
    assert second.tolist() == [[1, 1, 1, 2, 2]] * 2
    writer.close()
    with universe.create_series("one", (2, 5), slots=2) as one, universe.open_series("one", local=True) as reader:
        one.put(whole, 1)
        one.put(whole.T.copy().T, 2, time=3)
        batch = reader.read(at_least=2)
        np.testing.assert_array_equal(batch.data, [whole, whole])
        assert np.isnan(batch.times[0]) and batch.times[1] == 3


def main() -> None:
    role = sys.argv[1]
    with couplet.join(role) as universe:
        if role == "writer":
            write_series(universe)
            one_field(universe)
        else:
            read_series(universe)
        done = np.zeros(1, np.int32)
        universe.group.Send(done, 1 - universe.rank, 1)
        universe.group.Recv(done, 1 - universe.rank, 1)
    print(f"python {role}: {STEPS} steps")


main()
