"""Clients in Python on two ranks. Usage: coalesce_clients.py RANK"""

from __future__ import annotations

import gc
import json
import sys
import traceback

import numpy as np

import couplet


class Faces(couplet.Client):
    """Sends the middle of a block with gaps, and receives at its side."""

    def __init__(self, manager: couplet.StepManager, rank: int) -> None:
        self.rank = rank
        self.manager = manager
        self.block = np.zeros((5, 7, 3))
        self.heard = np.zeros(8, dtype=np.int32)
        self.peers: list[int] = []
        number = manager.add("faces", self)
        manager.send(number, self.block[:, 1, ::2], 1 - rank, title="face")
        manager.receive(number, self.block[:, 0, ::2], 1 - rank, title="face")
        self.said = manager.send(number, np.arange(8, dtype=np.int32), 1 - rank, tag=1, variable=True)
        self.read = manager.receive(number, self.heard, 1 - rank, tag=1, variable=True)

    def fill(self, moment: couplet.Moment) -> None:
        self.block[:, 1] = 10 * moment.round + self.rank
        self.manager.set_length(self.said, 4 * (moment.round % 8))

    def arrived(self, moment: couplet.Moment) -> None:
        self.peers.append(moment.peer)

    def use(self, moment: couplet.Moment) -> None:
        assert (self.block[:, 0, ::2] == 10 * moment.round + 1 - self.rank).all(), self.block
        assert (self.block[:, 0, 1] == 0).all(), "between the elements nothing changes"
        assert self.manager.length(self.read) == 4 * (moment.round % 8)


class Failing(couplet.Client):
    def use(self, moment: couplet.Moment) -> None:
        if moment.round == 30:
            raise KeyError("no such site")


class Leaving(couplet.Client):
    """Tries to leave the universe that its round needs."""

    def __init__(self, universe: couplet.Universe) -> None:
        self.universe = universe
        self.refusals: list[str] = []

    def use(self, moment: couplet.Moment) -> None:
        try:
            self.universe.leave()
        except couplet.StateError as error:
            self.refusals.append(str(error))


def leave_within(universe: couplet.Universe) -> None:
    """Everything goes on after a refused leave: the group, the exchange and the round."""
    group = universe.group
    here, there = np.zeros(1), np.zeros(1)
    with group.create_exchange("beside") as exchange, group.create_step_manager("leaving") as manager:
        exchange.send(here, 1 - group.rank)
        exchange.receive(there, 1 - group.rank)
        exchange.freeze()
        client = Leaving(universe)
        manager.add("leaving", client)
        manager.freeze()
        for step in range(3):
            here[0] = step
            exchange.start()
            manager.round(timeout=60)
            exchange.wait(timeout=60)
            assert there[0] == step
        assert client.refusals == ["leave: a callback of coalesced rounds is running"] * 3, client.refusals
    assert universe.rank == group.rank


def run(universe: couplet.Universe, rank: int) -> None:
    with universe.group.create_step_manager("flow", max_events=50) as manager:
        faces = Faces(manager, rank)
        sums: list[tuple[int, int, float]] = []
        heard: list[tuple[int, int]] = []
        manager.add_reduction(
            "norm",
            "sum",
            give=lambda round: np.array([round + 100.0 * rank]),
            take=lambda began, givers, value: sums.append((began, givers, float(value[0]))),
            to_all=True,
        )
        manager.add_broadcast(
            "words",
            give=lambda round: np.arange(round, dtype=np.int16) if round % 3 == 0 else None,
            take=lambda began, value: heard.append((began, len(value))),
            capacity=40,
            dtype=np.int16,
        )
        gc.collect()
        manager.freeze()
        for _ in range(20):
            manager.round(timeout=60)
        assert faces.peers == [1 - rank] * 20
        assert sums == [(began, 2, 2.0 * began + 100) for began in range(19)], sums
        assert heard == [(began, began) for began in range(0, 20, 3)], heard
        assert "faces" in manager.table()
        counts = json.loads(manager.json())
        assert counts["peers"][0]["sent_messages"] == 20
        assert counts["phases"][0]["synchronisation_points"] == 20
        assert len(json.loads(manager.timeline())["traceEvents"]) > 50
        manager.add("failing", Failing() if rank == 1 else couplet.Client())
        manager.amend(25)
        try:
            while True:
                manager.round(timeout=60)
        except KeyError as error:
            frames = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
            print(f"rank {rank}: raised {error} in {frames[-1]}, round {manager.round_number}")
        except couplet.Error as error:
            what = str(error)
            assert "client 'failing' has failed in use of phase 0, round 30, at rank 1" in what, what
            print(f"rank {rank}: {type(error).__name__}: {what[what.index('KeyError') :]}")


def main(rank: int) -> None:
    with couplet.join("clients", rank=rank, size=2) as universe:
        leave_within(universe)
        run(universe, rank)


if __name__ == "__main__":
    main(int(sys.argv[1]))
