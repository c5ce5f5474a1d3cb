"""A rank that sends messages, makes collective calls and freezes an exchange, and prints how. Usage: costs.py RANK SIZE

It prints the number of messages that were sent eagerly and announced, methods, the table of an exchange, and explain.
"""

from __future__ import annotations

import json
import os
import sys

import numpy as np

import couplet
from couplet.cli.observe import nodes

EAGER, ANNOUNCED = 16, 17  # counters
SIZES = (8, 1000, 1001, 20000, 200000)
CALLS = (("allreduce", 8), ("allreduce", 1 << 20), ("broadcast", 8), ("scan", 8))


def counted() -> tuple[int, int]:
    """The counters of this process, as its page shows them."""
    pages = [page for node in nodes(None) for page in node.pages() if page.process == os.getpid()]
    return pages[0].counters[EAGER], pages[0].counters[ANNOUNCED]


def main(rank: int, size: int) -> None:
    with couplet.join("costs", rank=rank, size=size) as universe:
        group = universe.group
        for bytes_ in (1, *SIZES):  # the first one opens the connection
            if bytes_ == SIZES[0]:
                before = counted()
            data = np.full(bytes_, rank, dtype=np.uint8)
            request = group.Irecv(data.copy(), (rank + size - 1) % size)
            group.Send(data, (rank + 1) % size)
            request.wait()
        after = counted()
        print(f"COUNTED eager {after[0] - before[0]} announced {after[1] - before[1]}")
        assert group.allreduce(np.array([float(rank)]))[0] == sum(range(size))
        for call, nbytes in CALLS:
            print(f"METHOD {call} {nbytes} {group.collective_method(call, nbytes)}")
        out, incoming = np.zeros(100), np.zeros(100)
        with group.create_exchange("costs") as exchange:
            exchange.send(out, (rank + 1) % size)
            exchange.receive(incoming, (rank + size - 1) % size)
            exchange.freeze()
            exchange.start()
            exchange.wait()
            print("TABLE\n" + exchange.explain().rstrip() + "\nEND")
        print("EXPLAIN")
        print(json.dumps(universe.explain()))
        group.barrier()  # a peer that has left has no link any more


main(int(sys.argv[1]), int(sys.argv[2]))
