"""An exchange of NumPy views between two ranks. Usage: exchange_views.py RANK"""

from __future__ import annotations

import gc
import sys

import numpy as np

import couplet


def main(rank: int) -> None:
    other = 1 - rank
    with couplet.join("views", rank=rank, size=2) as universe:
        block = np.full((5, 7, 3), float(rank))
        nodes = np.arange(20.0) + 100 * rank
        ghosts = np.zeros(4)
        text = np.zeros(32, dtype=np.uint8)
        heard = np.zeros(32, dtype=np.uint8)
        with universe.group.create_exchange("views") as exchange:
            exchange.send(block[:, 1, ::2], other, title="face")
            exchange.receive(block[:, 0, ::2], other, title="face")
            exchange.send_list(nodes, [3, 1], other, block=2, tag=1)
            exchange.receive(ghosts, other, tag=1)
            said = exchange.send(text, other, tag=2, variable=True)
            read = exchange.receive(heard, other, tag=2, variable=True)
            gc.collect()
            exchange.freeze()
            for step in range(1, 20):
                block[:, 1] = 10 * step + rank
                nodes[:] = np.arange(20.0) + 100 * rank + step
                text[:step] = step + rank
                exchange.set_length(said, step)
                exchange.start()
                while not exchange.test():
                    pass
                assert (block[:, 0, ::2] == 10 * step + other).all(), block
                assert (block[:, 0, 1] == rank).all(), "between the elements nothing changes"
                assert list(ghosts) == [value + 100 * other + step for value in (6, 7, 2, 3)], ghosts
                assert exchange.length(read) == step
                assert (heard[:step] == step + other).all()
                assert exchange.arrived(read)
            try:
                exchange.set_length(said, 33)
            except couplet.LimitError as error:
                assert "33" in str(error)
            else:
                raise AssertionError("a length beyond the edge was taken")
            assert exchange.method in exchange.explain()
        try:
            exchange.start()
        except couplet.StateError as error:
            print(f"rank {rank}: {error}")


main(int(sys.argv[1]))
