"""The collective calls of tests/languages in Python; see test_collectives.py. Usage: collectives_python.py PROGRAM"""

import sys
from typing import Any

import numpy as np

import couplet


def make_calls(universe: couplet.Universe) -> None:
    group = universe.group
    rank = group.rank
    assert group.size == 2
    group.barrier()
    data = np.array([rank + 1, 10 * (rank + 1)])
    assert group.allreduce(data).tolist() == [3, 30]
    highest = group.reduce(data, "max", root=1)
    assert (highest is None) == (rank == 0)
    assert highest is None or highest.tolist() == [2, 20]
    assert group.scan(data, "product").tolist() == ([1, 10] if rank == 0 else [2, 200])
    assert group.allgather(data).tolist() == [[1, 10], [2, 20]]
    rows = group.gather(data)
    assert group.scatter(rows, np.empty(2, data.dtype)).tolist() == data.tolist()
    assert group.alltoall(data).tolist() == ([1, 2] if rank == 0 else [10, 20])
    uneven = np.arange(rank + 1) + 100 * (rank + 1)
    assert group.allgatherv(uneven, [1, 2]).tolist() == [100, 200, 201]
    joined = group.gatherv(uneven, [1, 2])
    assert group.scatterv(joined, [1, 2], np.empty(rank + 1, uneven.dtype)).tolist() == uneven.tolist()
    swapped = group.alltoallv(np.full(3, rank), [1, 2], [1 + rank, 1 + rank])
    assert swapped.tolist() == [0] * (1 + rank) + [1] * (1 + rank)
    assert group.reduce_scatter(np.array([1, 2, 3]), [1, 2]).tolist() == ([2] if rank == 0 else [4, 6])
    assert group.broadcast(np.full(3, float(rank)), root=1).tolist() == [1.0] * 3

    compose = universe.create_operation("compose", lambda left, right: left * 10 + right, commutative=False)
    request = group.iallreduce(np.array([rank + 1]), compose)
    assert request.wait().tolist() == [12]
    assert group.collective_method("allreduce", 8) == "doubling"
    pair = group.allreduce(np.array([5.0, float(rank)]), "maxloc")
    assert pair.tolist() == [5.0, 0.0]

    check_refusals(group, data)
    check_refusals_of_one(group)
    check_groups(universe)
    group.barrier(timeout=60)


def check_refusals(group: couplet.Group, data: "np.ndarray[tuple[int, ...], np.dtype[np.int64]]") -> None:
    for call, words in (
        (lambda: group.allreduce(data, "mean"), "op is 'mean'"),
        (lambda: group.allreduce(data, method="fast"), "method is 'fast'"),  # type: ignore[arg-type]
        (lambda: group.allgatherv(data, [1]), "2 counts"),
        (lambda: group.allreduce(data, out=np.empty(3)), "out is float64"),
    ):
        try:
            call()
        except couplet.Error as error:
            assert words in str(error), error
        else:
            raise AssertionError(f"not refused: {words}")
    try:
        group.allreduce(np.ones(2 + group.rank))
    except couplet.MismatchError as error:
        assert "of 2 double" in str(error) and "of 3 double" in str(error), error
    else:
        raise AssertionError("no mismatch")


def check_refusals_of_one(group: couplet.Group) -> None:
    """What one member refuses fails at both, and the next calls match."""
    refuses = group.rank == 1
    one = np.ones(2)
    method: Any = "fast" if refuses else "ring"
    for call, words in (
        (lambda: group.allreduce(one, out=np.empty(3 if refuses else 2)), "out is float64"),
        (lambda: group.allreduce(one, "mean" if refuses else "sum"), "op is 'mean'"),
        (lambda: group.allreduce(one, method=method), "method is 'fast'"),
        (lambda: group.alltoall(np.ones(3 if refuses else 2)), "a multiple of 2"),
        (lambda: group.allgatherv(one, [2] if refuses else [2, 2]), "2 counts"),
        (lambda: group.allreduce(np.array(["a", "b"]) if refuses else one), "allreduce"),
        (lambda: group.broadcast(np.ones(4)[::2] if refuses else one, root=1), "broadcast"),
        (lambda: group.barrier(timeout=float("nan") if refuses else 60), "timeout"),
        (lambda: group.barrier(timeout="long" if refuses else 60), ""),  # type: ignore[arg-type]
        (lambda: group.scatter(one, np.empty(1, dtype=np.int32 if refuses else np.float64), root=1), "scatter"),
    ):
        try:
            call()
        except (couplet.Error, TypeError) as error:
            assert words in str(error), error
        else:
            raise AssertionError(f"not refused: {words}")
        assert group.allreduce(np.ones(1)).tolist() == [2.0], words
    if refuses:
        group.refuse_collective("barrier", "the mesh is not there")
    else:
        try:
            group.barrier()
        except couplet.StateError as error:
            assert "the mesh is not there" in str(error), error
        else:
            raise AssertionError("not refused")
    assert group.allreduce(np.ones(1)).tolist() == [2.0]


def check_groups(universe: couplet.Universe) -> None:
    heads = universe.heads_group()
    assert heads.size == len(universe.programs)
    alone = universe.split("by rank", universe.rank)
    assert alone is not None and alone.size == 1 and alone.allreduce(np.ones(1)).tolist() == [1.0]
    backwards = universe.split("backwards", 0, key=-universe.rank)
    assert backwards is not None and backwards.rank == universe.size - 1 - universe.rank
    assert universe.split("only first", 0 if universe.rank == 0 else None) is None or universe.rank == 0
    last = universe.filter_group("last", lambda rank, _: rank == universe.size - 1)
    if universe.rank == universe.size - 1:
        last.barrier()
    else:
        try:
            last.barrier()
        except couplet.StateError as error:
            assert "no member of group 'last'" in str(error), error
        else:
            raise AssertionError("no member, and not refused")


def main() -> None:
    with couplet.join(sys.argv[1]) as universe:
        make_calls(universe)
    print("python: all collective calls are right")


if __name__ == "__main__":
    main()
