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
    expect(TypeError, "cells[0] is 24.5; it must be a whole number", lambda: couplet.Grid((24.5, 3), 1))
    expect(TypeError, "ranks is 1.5", lambda: couplet.Grid((24, 3), 1.5))  # type: ignore[arg-type]
    expect(TypeError, "blocks[1] is 1.0", lambda: couplet.Grid((24, 3), 1, blocks=(1, 1.0)))  # type: ignore[arg-type]
    expect(TypeError, "offset[0] is 0.5", lambda: grid.neighbor(0, (0.5, 1)))  # type: ignore[arg-type]


def check_misuse(group: couplet.Group, grid: couplet.Grid, array: np.ndarray) -> None:
    with group.create_halo("misused", grid) as halo:
        expect(couplet.ShapeError, "has 1 dimension, and the halo 2", lambda: halo.add(array[0]))
        expect(couplet.ShapeError, "points in dimension 0", lambda: halo.add(array, width=3))
        expect(couplet.ArgumentError, "below", lambda: halo.add(array, below=[1]))
        expect(couplet.ArgumentError, "larger than the smallest block", lambda: halo.add(array, width=100))
        expect(couplet.ArgumentError, "all its widths are 0", lambda: halo.add(array))
        expect(TypeError, "below[0] is 0.5", lambda: halo.add(array, below=[0.5, 1]))  # type: ignore[list-item]
        expect(TypeError, "width[1] is 1.5", lambda: halo.add(array, width=(1, 1.5)))  # type: ignore[arg-type]
        frozen = array.copy()
        frozen.flags.writeable = False
        expect(Exception, "", lambda: halo.add(frozen, width=1))
        expect(couplet.StateError, "not frozen", halo.begin)
        assert halo.method == ""
    expect(couplet.StateError, "closed", halo.begin)


def check_lists(group: couplet.Group) -> None:
    """Each rank owns every `size`-th point, and needs the next one; here with given owners and places."""
    rank, size = group.rank, group.size
    owned = np.arange(rank, 4 * size, size)
    ghosts = (owned + 1) % (4 * size)
    values = np.full((3, 8), -1.0)
    places = [*range(1, 8, 2), *range(0, 8, 2)]
    with group.create_list_halo("list", owned, ghosts, owners=ghosts % size, places=places) as halo:
        expect(couplet.ArgumentError, "belong to grids", lambda: halo.add(values, width=1, component_axis=0))
    with group.create_list_halo("list", owned, ghosts, owners=ghosts % size, places=places) as halo:
        halo.add(values, component_axis=0, name="values")
        halo.freeze()
        for step in range(5):
            values[:, 1::2] = owned + 100 * step + np.array([[0], [1000], [2000]])
            halo.begin()
            halo.end(timeout=60)
            assert (values[:, ::2] == ghosts + 100 * step + np.array([[0], [1000], [2000]])).all(), values
    expect(TypeError, "mask", lambda: group.create_list_halo("masks", owned > 1, []))
    halves: list[int] = [0.5]  # type: ignore[list-item]
    expect(TypeError, "ghosts[0] is 0.5", lambda: group.create_list_halo("halves", [0], halves))
    expect(couplet.ArgumentError, "owners must have 1", lambda: group.create_list_halo("short", [0], [1], owners=[]))
    with group.create_list_halo("nobody", owned, [10**9] if rank == size - 1 else []) as halo:
        words = f"halo 'nobody': rank {size - 1} needs index 1000000000, which no rank owns"
        expect(couplet.ArgumentError, words, halo.freeze)


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
        check_lists(group)

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
