"""A member of tests/universe/test_collectives.py. Usage: collective_rounds.py PROGRAM RANK SIZE rounds|death ..."""

from __future__ import annotations

import hashlib
import random
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

import couplet

INTEGERS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
REALS = (np.float32, np.float64)
COMPLEX = (np.complex64, np.complex128)
OPERATIONS: dict[str, Any] = {
    "sum": np.add,
    "product": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
}
METHODS: dict[str, tuple[Any, ...]] = {
    "broadcast": ("automatic", "binomial", "ring", "systems"),
    "reduce": ("automatic", "binomial", "systems"),
    "allreduce": ("automatic", "doubling", "ring", "systems"),
    "gather": ("automatic", "linear", "binomial"),
    "allgather": ("automatic", "doubling", "ring"),
    "scatter": ("automatic", "linear", "binomial"),
    "alltoall": ("automatic", "pairwise"),
    "reduce_scatter": ("automatic", "ring", "reduce_linear"),
    "scan": ("automatic", "linear", "doubling"),
}
KINDS = (*METHODS, "gatherv", "allgatherv", "scatterv", "alltoallv", "barrier")
Arrays = list[NDArray[Any]]


def values(seed: int, rank: int, count: int, dtype: type) -> NDArray[Any]:
    """The array that the member `rank` gives: every process can compute that of each."""
    generator = np.random.default_rng([seed, rank])
    if dtype in COMPLEX:
        return (generator.integers(-9, 9, count) + 1j * generator.integers(-9, 9, count)).astype(dtype)
    low = 0 if np.issubdtype(dtype, np.unsignedinteger) else -50
    return generator.integers(low, 50, count).astype(dtype)


def combined(arrays: Arrays, op: str) -> NDArray[Any]:
    """Combines the arrays. One array alone is its own result, as in MPI, also if the operation is logical."""
    with np.errstate(over="ignore"):
        result = arrays[0]
        for array in arrays[1:]:
            result = OPERATIONS[op](result, array).astype(array.dtype)
        return result


def agrees(found: NDArray[Any] | None, wanted: NDArray[Any] | None) -> bool:
    """Sums of whole numbers are exact; products of many may be rounded in another order."""
    if found is None or wanted is None:
        return found is None and wanted is None
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return False
    if found.dtype.kind in "fc":
        return bool(np.allclose(found, wanted, rtol=1e-5, atol=0))
    return bool(np.array_equal(found, wanted))


class Round:
    """One call of all members of a group, with arguments that the seed decides."""

    def __init__(self, seed: int, group: couplet.Group) -> None:
        dice = random.Random(seed)
        self.seed = seed
        self.group = group
        self.rank = group.rank
        self.size = group.size
        self.kind = dice.choice(KINDS)
        self.dtype = dice.choice(INTEGERS + REALS + COMPLEX)
        self.count = dice.choice((0, 1, 2, 7, 100, 3000, 40000))
        self.root = dice.randrange(self.size)
        names = list(OPERATIONS)
        if self.dtype in COMPLEX:
            names = names[:2]
        elif self.dtype in REALS:
            names = names[:4]
        self.op = dice.choice(names)
        self.method: Any = dice.choice(METHODS.get(self.kind, ("automatic",)))
        self.counts = [dice.choice((0, 1, 5, 900)) for _ in range(self.size)]
        self.matrix = [[dice.choice((0, 1, 4, 700)) for _ in range(self.size)] for _ in range(self.size)]
        self.waits = dice.random() < 0.5

    def describe(self) -> str:
        what = f"{self.kind} {self.op} of {self.count} {self.dtype.__name__} by {self.method}, root {self.root}"
        return f"seed {self.seed}: {what}"

    def all(self, count: int) -> Arrays:
        return [values(self.seed, rank, count, self.dtype) for rank in range(self.size)]

    def make(self) -> tuple[couplet.CollectiveRequest, NDArray[Any] | None]:
        """Starts the call, and computes what it has to give."""
        group, root, method = self.group, self.root, self.method
        arrays = self.all(self.count)
        own = arrays[self.rank]
        at_root = self.rank == root
        if self.kind == "barrier":
            return group.ibarrier(), None
        if self.kind == "broadcast":
            return group.ibroadcast(own.copy(), root, method=method), arrays[root]
        if self.kind == "reduce":
            return group.ireduce(own, self.op, root, method=method), combined(arrays, self.op) if at_root else None
        if self.kind == "allreduce":
            return group.iallreduce(own, self.op, method=method), combined(arrays, self.op)
        if self.kind == "scan":
            return group.iscan(own, self.op, method=method), combined(arrays[: self.rank + 1], self.op)
        if self.kind == "gather":
            return group.igather(own, root, method=method), np.stack(arrays) if at_root else None
        if self.kind == "allgather":
            return group.iallgather(own, method=method), np.stack(arrays)
        if self.kind == "alltoall":
            wide = [array.reshape(self.size, self.count) for array in self.all(self.count * self.size)]
            wanted = np.stack([array[self.rank] for array in wide])
            return group.ialltoall(wide[self.rank], method=method), wanted
        if self.kind == "scatter":
            whole = values(self.seed, root, self.count * self.size, self.dtype)
            out = np.empty(self.count, self.dtype)
            wanted = whole[self.rank * self.count : (self.rank + 1) * self.count]
            return group.iscatter(whole if at_root else None, out, root, method=method), wanted
        return self.make_uneven()

    def make_uneven(self) -> tuple[couplet.CollectiveRequest, NDArray[Any] | None]:
        group, root, rank = self.group, self.root, self.rank
        blocks = [values(self.seed, each, count, self.dtype) for each, count in enumerate(self.counts)]
        joined = np.concatenate(blocks)
        at_root = rank == root
        if self.kind == "gatherv":
            return group.igatherv(blocks[rank], self.counts, root), joined if at_root else None
        if self.kind == "allgatherv":
            return group.iallgatherv(blocks[rank], self.counts), joined
        if self.kind == "scatterv":
            out = np.empty(self.counts[rank], self.dtype)
            return group.iscatterv(joined if at_root else None, self.counts, out, root), blocks[rank]
        if self.kind == "alltoallv":
            rows = [values(self.seed, each, sum(row), self.dtype) for each, row in enumerate(self.matrix)]
            cut = [np.split(row, np.cumsum(counts)[:-1]) for row, counts in zip(rows, self.matrix, strict=True)]
            coming = [row[rank] for row in self.matrix]
            return group.ialltoallv(rows[rank], self.matrix[rank], coming), np.concatenate([row[rank] for row in cut])
        arrays = self.all(sum(self.counts))
        first = sum(self.counts[:rank])
        wanted = combined(arrays, self.op)[first : first + self.counts[rank]]
        return group.ireduce_scatter(arrays[rank], self.counts, self.op, method=self.method), wanted


def random_group(universe: couplet.Universe, seed: int) -> couplet.Group | None:
    dice = random.Random(seed)
    ranks = dice.sample(range(universe.size), dice.randint(1, universe.size))
    return universe.create_group(f"group {seed}", ranks) if universe.rank in ranks else None


def run_rounds(universe: couplet.Universe, seed: int, rounds: int) -> None:
    """Members of no group of a round go on at once. What all get is in the digest."""
    digest = hashlib.sha256()
    pending: list[tuple[Round, couplet.CollectiveRequest, NDArray[Any] | None]] = []

    def finish() -> None:
        while pending:
            made, request, wanted = pending.pop(random.randrange(len(pending)))
            found = request.wait(timeout=60)
            assert made.kind == "barrier" or agrees(found, wanted), made.describe()

    for number in range(rounds):
        group = universe.group if number % 3 else random_group(universe, seed + number)
        if group is not None:
            made = Round(seed * 1000 + number, group)
            pending.append((made, *made.make()))
            if made.waits or number % 3 == 0:
                finish()
            if number % 3 == 0:
                group.free()
    finish()
    for method in ("doubling", "ring", "systems"):
        noise = np.random.default_rng([seed, universe.rank]).standard_normal(1000) * 1e10
        digest.update(universe.group.allreduce(noise, method=method).tobytes())  # type: ignore[arg-type]
    print(f"{rounds} rounds, digest {digest.hexdigest()[:16]}")


def die_and_go_on(universe: couplet.Universe, seed: int, victim: int) -> None:
    group = universe.group
    group.barrier()
    print("begun", flush=True)
    dice = random.Random(seed)
    try:
        while True:
            group.allreduce(np.ones(dice.choice((1, 1000, 300000))))
            group.broadcast(np.ones(dice.choice((1, 50000))), root=dice.randrange(universe.size))
    except couplet.PeerLostError as error:
        print("lost", str(error).replace("\n", " "), flush=True)
    left = universe.create_group("left", [rank for rank in range(universe.size) if rank != victim])
    print("again", int(left.allreduce(np.ones(1))[0]), flush=True)


def main() -> None:
    program, rank, size, what, seed, number = sys.argv[1:7]
    with couplet.join(program, rank=int(rank), size=int(size)) as universe:
        (run_rounds if what == "rounds" else die_and_go_on)(universe, int(seed), int(number))


if __name__ == "__main__":
    main()
