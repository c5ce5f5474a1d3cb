"""Reading at physical times in Python: with and without arrays of the caller, of several fields, and remapped.

That the values are right, also over many ranks, is tested in tests/universe/test_remapping.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import couplet

SHAPE = (4, 3)
TIMES = [0.5, 1.0, 2.25]


def values_at(time: float, dtype: Any = np.float64) -> np.ndarray:
    """Returns what is written at integer times, and what lies between them."""
    return (np.arange(12.0).reshape(SHAPE) + 10 * time).astype(dtype)


def write(universe: couplet.Universe, dtype: Any = np.float64) -> couplet.Writer:
    writer = universe.create_series("eta", SHAPE, dtype, slots=8)
    for step in range(4):
        writer.put(values_at(step, dtype), step, time=step)
    return writer


def check(batch: couplet.Batch, times: list[float] = TIMES) -> None:
    assert (batch.status, len(batch)) == ("ok", len(times))
    assert batch.times.tolist() == times
    assert batch.steps.tolist() == [int(time) for time in times]
    assert not batch.torn.any()
    for index, time in enumerate(times):
        assert np.allclose(batch.data[index], values_at(time))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_times_without_an_array(solo: couplet.Universe, dtype: Any) -> None:
    with write(solo, dtype), solo.open_series("eta") as reader:
        batch = reader.read_at(TIMES)
        check(batch)
        assert batch.data.dtype == dtype


def test_times_into_an_array(solo: couplet.Universe) -> None:
    with write(solo), solo.open_series("eta") as reader:
        out = np.full((5, *SHAPE), -1.0)
        batch = reader.read_at(TIMES, out=out)
        check(batch)
        assert np.shares_memory(batch.data, out)
        assert (out[3:] == -1).all()


def test_one_time(solo: couplet.Universe) -> None:
    with write(solo), solo.open_series("eta") as reader:
        check(reader.read_at(1.5), [1.5])
        check(reader.read_at(np.float32(2.5)), [2.5])


def test_times_of_a_box_of_one_column(solo: couplet.Universe) -> None:
    """A dimension of one element may have any stride."""
    with write(solo), solo.open_series("eta", box=((1, 3), (2, 3))) as reader:
        out = np.zeros((3, 2, 4))[:, :, :1]
        with pytest.raises(couplet.ArgumentError, match="C order"):
            reader.read_at(TIMES, out=out)
        out = np.lib.stride_tricks.as_strided(np.zeros(6), (3, 2, 1), (16, 8, 4096))
        batch = reader.read_at(TIMES, out=out)
        assert [data.tolist() for data in batch.data] == [values_at(time)[1:3, 2:3].tolist() for time in TIMES]


@pytest.mark.parametrize("out", [np.zeros((3, 3, 4)).transpose(0, 2, 1), np.zeros((6, 4, 3))[::2]])
def test_an_array_with_gaps_or_in_another_order_is_refused(solo: couplet.Universe, out: np.ndarray) -> None:
    with write(solo), solo.open_series("eta") as reader:
        with pytest.raises(couplet.ArgumentError, match="without gaps, in C order"):
            reader.read_at(TIMES, out=out)
        check(reader.read_at(TIMES))


def test_an_array_that_does_not_fit_is_refused(solo: couplet.Universe) -> None:
    with write(solo), solo.open_series("eta") as reader:
        with pytest.raises(couplet.ShapeError, match="out has shape"):
            reader.read_at(TIMES, out=np.zeros((2, *SHAPE)))
        with pytest.raises(couplet.ElementTypeError, match="float32"):
            reader.read_at(TIMES, out=np.zeros((3, *SHAPE), np.float32))
        with pytest.raises(couplet.ArgumentError, match="descend"):
            reader.read_at([1.0, 0.5])


def test_times_of_several_fields(solo: couplet.Universe) -> None:
    with solo.create_series("flow", fields={"u": (np.float32, (3,)), "v": (np.float64, (2, 2))}, slots=8) as writer:
        for step in range(3):
            writer.put({"u": np.full(3, step, np.float32), "v": np.full((2, 2), 10.0 * step)}, step, time=step)
        with solo.open_series("flow") as reader:
            batch = reader.read_at([0.25, 1.5])
            assert batch["u"].tolist() == [[0.25] * 3, [1.5] * 3]
            assert batch["v"].tolist() == [[[2.5] * 2] * 2, [[15.0] * 2] * 2]
        with solo.open_series("flow") as reader:
            out = {"u": np.zeros((1, 3), np.float32), "v": np.zeros((1, 2, 2))}
            reader.read_at(0.5, out=out)
            assert out["u"].tolist() == [[0.5] * 3] and out["v"].tolist() == [[[5.0] * 2] * 2]


WEIGHTS = couplet.Weights(12, np.array([0, 2, 3]), np.array([0, 11, 5]), np.array([0.25, 0.75, 1.0]))


def test_remapped_times(solo: couplet.Universe) -> None:
    expected = [[0.25 * field[0] + 0.75 * field[11], field[5]] for field in (values_at(time).ravel() for time in TIMES)]
    with write(solo), solo.open_series("eta", weights=WEIGHTS) as reader:
        assert np.allclose(reader.read_at(TIMES).data, expected)


def test_remapped_times_into_an_array(solo: couplet.Universe) -> None:
    with write(solo), solo.open_series("eta", weights=WEIGHTS) as reader:
        out = np.zeros((1, 2))
        for time in TIMES:
            field = values_at(time).ravel()
            reader.read_at(time, out=out)
            assert np.allclose(out, [[0.25 * field[0] + 0.75 * field[11], field[5]]])


def test_times_that_do_not_come(solo: couplet.Universe) -> None:
    writer = write(solo)
    with solo.open_series("eta") as reader, solo.open_series("eta", beyond_newest="error") as strict:
        check(reader.read_at([2.5, 9.0], timeout=0.05), [2.5])  # the earlier ones are delivered
        assert reader.read_at(9.0, timeout=0).status == "not yet"
        with pytest.raises(couplet.Error, match="9"):
            strict.read_at(9.0)
        writer.close()
        assert reader.read_at(9.0).ended
