"""Programs in the style of WaitIO's users (programs/*): C, Fortran in fixed and free form, and the module; 1 to 4
parallel blocks, which are separate launches under Open MPI and MPICH, over sockets and over files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from launching import World
from waitio import file_variables, finish, nothing_left, start_blocks

MakeWorld = Callable[..., World]
BLOCKS = [(1,), (2, 1), (1, 2), (1, 1, 2), (1, 1, 1, 1)]


def lines_of(
    world: World, ranks: Sequence[int], programs: Sequence[str], words: Sequence[object] = (), **extra: str
) -> list[str]:
    started = start_blocks(world, ranks, programs, words, **extra)
    return [line for ended in finish(world, started) for line in ended.check().output.splitlines()]


@pytest.mark.parametrize("ranks", BLOCKS, ids=str)
def test_bytes_and_groups(make_world: MakeWorld, ranks: Sequence[int]) -> None:
    world = make_world("")
    lines = lines_of(world, ranks, ["pingpong"])
    expected = [f"PB {b} of {len(ranks)} rank {r}: right" for b, size in enumerate(ranks) for r in range(size)]
    assert sorted(lines) == expected
    nothing_left(world)


def test_sizes(make_world: MakeWorld) -> None:
    world = make_world("")
    lines = lines_of(world, (1, 1), ["pingpong"], [0, 128, 129, 524288, 3000001])
    assert lines == [f"PB {block} of 2 rank 0: right" for block in range(2)]
    nothing_left(world)


@pytest.mark.parametrize("ranks", [(1,), (2, 1), (1, 2, 1)], ids=str)
def test_conversion(make_world: MakeWorld, ranks: Sequence[int]) -> None:
    """Every call of waitio_mpi.h. The rank in the universe is the sizes of the blocks before, and the rank."""
    world = make_world("")
    total = sum(ranks)
    places = {}
    for line in lines_of(world, ranks, ["convert"]):
        found = re.fullmatch(rf"PB (\d+) rank (\d+) is (\d+) of {total}: (\d+) right, 0 wrong", line)
        assert found, line
        assert int(found[4]) > 40
        places[int(found[1]), int(found[2])] = int(found[3])
    inside = [(block, rank) for block, size in enumerate(ranks) for rank in range(size)]
    assert places == {place: index for index, place in enumerate(inside)}
    nothing_left(world)


@pytest.mark.parametrize("ranks", [(1, 2), (2, 1, 1)], ids=str)
@pytest.mark.parametrize("program", ["talk", "second", "module"])
def test_fortran(make_world: MakeWorld, program: str, ranks: Sequence[int]) -> None:
    world = make_world("")
    total = sum(ranks)
    lines = lines_of(world, ranks, [program], first=len(ranks) % 2)
    assert sorted(lines) == [f"{program}: rank {rank} of {total}: 0 wrong" for rank in range(total)]
    nothing_left(world)


@pytest.mark.parametrize("program", ["convert", "second"])
def test_over_sockets(make_world: MakeWorld, program: str) -> None:
    """No memory is shared between the blocks."""
    world = make_world("")
    lines = lines_of(world, (1, 2), [program], APART="1")
    assert len(lines) == 3
    assert all(re.search(r"[: ,]0 wrong$", line) for line in lines), lines
    nothing_left(world)


@pytest.mark.parametrize("program", ["convert", "talk", "module"])
def test_over_files(make_world: MakeWorld, program: str) -> None:
    """No memory is shared between the blocks, and there is no address of a host."""
    world = make_world("")
    extra = file_variables(world) | {"WAITIO_MASTER_HOST": "", "WAITIO_MASTER_PORT": "", "APART": "1"}
    lines = lines_of(world, (1, 1), [program], **extra)
    assert len(lines) == 2
    assert all(re.search(r"[: ,]0 wrong$", line) for line in lines), lines
    nothing_left(world)


@pytest.mark.parametrize("kind", ["hybrid", "verbs"])
def test_other_types(make_world: MakeWorld, kind: str, tmp_path: Path) -> None:
    world = make_world("")
    errors = tmp_path / "errors"
    extra = file_variables(world) | {"WAITIO_COMM_TYPE": kind, "WAITIO_HYBRID_THRESHOULD": "524288", "APART": "1"}
    started = start_blocks(world, (1, 1), ["pingpong"], [600000], errors=errors, **extra)
    for ended in finish(world, started):
        assert ended.check().output.endswith(": right\n")
    assert "WaitIO" not in errors.read_text()
