"""Joins with a communicator of mpi4py; see test_mpi.py."""

from mpi4py import MPI

import couplet

comm = MPI.COMM_WORLD
with couplet.join("team", comm) as universe:
    assert (universe.program_rank, universe.program.size, universe.program.name) == (comm.rank, 2, "team")
    # A series of both ranks, which both read: each reads its half of the other direction.
    rows, columns = slice(2 * comm.rank, 2 * comm.rank + 2), slice(3 * comm.rank, 3 * comm.rank + 3)
    with (
        universe.create_series("eta", (4, 6), box=[rows, (0, 6)], slots=4) as writer,
        universe.open_series("eta", box=[(0, 4), columns]) as reader,
    ):
        for step in (5, 10):
            with writer.claim(step) as slot:
                slot[...] = step + comm.rank
        batch = reader.read(at_least=2)
        assert batch.data[:, :2].min() == 5 and batch.data[1, 2:].min() == 11 and batch.data.shape == (2, 4, 3)
        assert writer.describe().writers == 2
if comm.rank == 0:
    print("joined: python")
