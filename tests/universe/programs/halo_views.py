"""Halos of NumPy views between the ranks of one program. Usage: halo_views.py RANK SIZE"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable

import numpy as np

import couplet

CELLS = (12, 10)


def expect(kind: type[Exception], words: str, call: Callable[[], object]) -> None:
    """Fails unless the call raises this error with these words."""
    try:
        call()
    except kind as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"{words}: no error")


def check_grids() -> None:
    grid = couplet.Grid(np.array([10, 6]), 6, block_cells=[[1, 7, 2], [4, 2]])
    assert grid.blocks == (3, 2)
    assert grid.box(3) == [(1, 8), (4, 6)]
    assert grid.shape(3, width=1) == (9, 4)
    assert grid.neighbor(0, (1, 1)) == 3
    assert grid.neighbor(0, (-1, 0)) is None
    expect(couplet.ArgumentError, "1 to 4 dimensions", lambda: couplet.Grid([1] * 5, 1))
    expect(couplet.ArgumentError, "7 blocks", lambda: couplet.Grid([3, 2], 7))
    expect(couplet.ArgumentError, "entries", lambda: couplet.Grid([3, 2], 1, periodic=[True]))
    expect(couplet.ArgumentError, "0 to 5", lambda: grid.box(6))
    expect(couplet.ArgumentError, "entries", lambda: grid.neighbor(0, [1]))


def check_misuse(group: couplet.Group, grid: couplet.Grid, array: np.ndarray) -> None:
    with group.create_halo("misused", grid) as halo:
        expect(couplet.ShapeError, "dimensions", lambda: halo.add(array[0]))
        expect(couplet.ShapeError, "points in dimension 0", lambda: halo.add(array, width=3))
        expect(couplet.ArgumentError, "below", lambda: halo.add(array, below=[1]))
        expect(couplet.ArgumentError, "larger than the smallest block", lambda: halo.add(array, width=100))
        frozen = array.copy()
        frozen.flags.writeable = False
        expect(Exception, "", lambda: halo.add(frozen, width=1))
        expect(couplet.StateError, "not frozen", halo.begin)
        assert halo.method == ""
    expect(couplet.StateError, "closed", halo.begin)


def main(rank: int, size: int) -> None:
    check_grids()
    with couplet.join("views", rank=rank, size=size) as universe:
        group = universe.group
        grid = couplet.Grid(CELLS, size, periodic=(True, True))
        (top, bottom), (left, right) = grid.box(rank)
        rows, columns = np.ogrid[top - 1 : bottom + 1, left - 1 : right + 1]
        place = 100 * (rows % CELLS[0]) + columns % CELLS[1]
        shape = grid.shape(rank, width=1)
        check_misuse(group, grid, np.zeros(shape))

        fortran = np.zeros(shape, order="F")
        gaps = np.zeros((2 * shape[0], 3 * shape[1]), dtype=np.complex64)
        vector = np.zeros((3, *shape), dtype=np.int16)
        with group.create_halo("views", grid, widths=True) as halo:
            halo.add(fortran, width=1, corners=True, name="fortran")
            halo.add(gaps[::2, 1::3], width=(1, 1), corners=True, name="gaps")
            halo.add(vector, width=1, corners=True, component_axis=0, name="vector")
            gc.collect()
            halo.freeze()
            for step in range(1, 21):
                for array in (fortran, gaps, vector):
                    array[:] = -1
                now = place + 2000 * (step % 3)
                inside = (slice(1, -1), slice(1, -1))
                fortran[inside] = now[inside]
                gaps[::2, 1::3][inside] = now[inside] * 1j
                for component in range(3):
                    vector[component][inside] = now[inside] + component
                halo.begin(1 if step % 2 else None)
                if step % 4:
                    halo.end(timeout=60)
                else:
                    while not halo.test():
                        pass
                assert (fortran == now).all(), fortran
                assert (gaps[::2, 1::3] == now * 1j).all()
                assert (gaps[1::2] == -1).all(), "between the elements nothing changes"
                assert all((vector[component] == now + component).all() for component in range(3))
            halo.begin(0)
            halo.end()
            expect(couplet.ArgumentError, "0 to 1, not 2", lambda: halo.begin(2))
            expect(couplet.ArgumentError, "0 to 1, not -2", lambda: halo.begin(-7))
            assert halo.method in halo.explain()
            print(halo.method)


main(int(sys.argv[1]), int(sys.argv[2]))
