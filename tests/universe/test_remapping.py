"""Conservative weights between two unlike grids, inside the read, against SciPy: each MPI, mapped and relayed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import scipy.sparse
from launching import World
from pairs import start_program

MakeWorld = Callable[..., World]
SOURCE = (60, 100)  # as in programs/remapping.hpp
TARGET = (17, 43)
STEPS = 12
FILL = -999.0


def overlaps(sources: int, targets: int) -> np.ndarray:
    """Of each target cell the share that each source cell covers, along one dimension of length 1."""
    low = np.maximum(np.arange(targets)[:, None] / targets, np.arange(sources)[None, :] / sources)
    high = np.minimum(np.arange(1, targets + 1)[:, None] / targets, np.arange(1, sources + 1)[None, :] / sources)
    return np.maximum(high - low, 0) * targets


def conservative() -> scipy.sparse.csr_array:
    """Weights for all target cells, in C order."""
    rows = scipy.sparse.csr_array(overlaps(SOURCE[0], TARGET[0]))
    columns = scipy.sparse.csr_array(overlaps(SOURCE[1], TARGET[1]))
    return scipy.sparse.csr_array(scipy.sparse.kron(rows, columns, format="csr"))


def field(step: int) -> np.ndarray:
    flat = np.arange(SOURCE[0] * SOURCE[1], dtype=np.int64)
    return ((flat * 7919 + step * step * 104729) % 1000003) / 1000.0


def give_weights(world: World, matrix: scipy.sparse.csr_array, readers: int) -> list[tuple[int, int]]:
    """A file for each reader rank, with a row without entries at its end; the rows of each."""
    parts = []
    for rank in range(readers):
        first, last = (matrix.shape[0] * r // readers for r in (rank, rank + 1))
        part = matrix[first:last]
        offsets = np.append(part.indptr, part.indptr[-1]).astype(np.int64)
        with (world.directory / f"weights-{rank}").open("wb") as file:
            for numbers in (np.array([len(offsets) - 1, part.nnz]), offsets, part.indices):
                file.write(numbers.astype(np.int64).tobytes())
            file.write(part.data.astype(np.float64).tobytes())
        parts.append((first, last))
    return parts


def couple(make_world: MakeWorld, kinds: tuple[str, str], ranks: tuple[int, int], far: bool, what: str) -> None:
    world = make_world(f"ocean:{ranks[0]},air:{ranks[1]}")
    matrix = conservative()
    parts = give_weights(world, matrix, ranks[1])
    nodes = {"COUPLET_NODE": "far"} if far else {}
    started = [
        *start_program(world, kinds[0], ranks[0], ["ocean"], name="remapping"),
        *start_program(world, kinds[1], ranks[1], ["air", what], name="remapping", **nodes),
    ]
    said = sorted(line for process in started for line in world.finish(process).check().output.splitlines())
    assert said == sorted(
        f"{program} {rank}: done" for program, size in zip(("ocean", "air"), ranks, strict=True) for rank in range(size)
    )
    exact = np.stack([matrix @ field(step) for step in range(STEPS)])
    if what == "times":  # at 0.25, 0.5, ...: half way between the steps, and at them
        between = (exact[:-1] + exact[1:]) / 2
        exact = np.stack([exact[i // 2] if i % 2 == 0 else between[i // 2] for i in range(1, 23)])
    for rank, (first, last) in enumerate(parts):
        rows = np.fromfile(world.directory / f"rows-{rank}").reshape(-1, last - first + 1)
        assert len(rows) == len(exact)
        np.testing.assert_allclose(rows[:, :-1], exact[:, first:last], rtol=1e-13, atol=0)
        assert np.all(rows[:, -1] == FILL)
        assert (world.directory / f"route-{rank}").read_text() == ("relay" if far else "mapped")


@pytest.mark.parametrize("far", [False, True], ids=["mapped", "relayed"])
@pytest.mark.parametrize("ranks", [(3, 2), (6, 4)], ids=["3 to 2", "6 to 4"])
@pytest.mark.parametrize("kinds", [("openmpi", "mpich"), ("mpich", "openmpi"), ("none", "none")], ids="-".join)
def test_rows_are_those_of_scipy(
    make_world: MakeWorld, kinds: tuple[str, str], ranks: tuple[int, int], far: bool
) -> None:
    couple(make_world, kinds, ranks, far, "steps")


@pytest.mark.parametrize("far", [False, True], ids=["mapped", "relayed"])
def test_rows_at_physical_times_lie_between_those_of_scipy(make_world: MakeWorld, far: bool) -> None:
    couple(make_world, ("openmpi", "mpich"), (3, 4), far, "times")
