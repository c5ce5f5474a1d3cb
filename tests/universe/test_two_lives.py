"""Between the messages of two lives of a program, one receive says that the earlier one was lost."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from launching import WATCHDOG_S, World
from quartet import Guest

PLACES: dict[str, dict[str, str]] = {"near": {}, "far": {"COUPLET_NODE": "elsewhere"}}
POLLS = "[universe.progress() or time.sleep(0.01) for _ in range(100)][0]"
LOST = "COUPLET_ERROR_PEER_LOST"


class Couple:
    """A sender, which is killed and started again, and a receiver, which notices both while it makes other calls."""

    def __init__(self, world: World, place: str) -> None:
        self.world = world
        self.receiver = Guest(world, "receiver", 0, 1, **PLACES[place])
        self.sender = Guest(world, "sender", 0, 1)
        for each in (self.sender, self.receiver):
            each.ready()
        self.receiver.get("found = np.zeros(1, np.int64)")

    def send(self, *numbers: int, tag: int = 0) -> None:
        self.receiver.say(POLLS)
        for number in numbers:
            self.sender.get(f"universe.group.Send(np.array([{number}]), 1, tag={tag})")
        assert self.receiver.hear() == "is None"

    def receive(self, source: str = "0", tag: int = 0) -> str:
        """What one receive gets: the number, or the name of the error."""
        self.receiver.ask("found.fill(-1)")
        answer = self.receiver.ask(f"universe.group.Recv(found, {source}, tag={tag}, timeout=20)")
        if answer.startswith("error "):
            return answer.split()[1]
        return self.receiver.get("int(found[0])")

    def restart(self) -> None:
        self.sender.process.kill()
        self.sender.process.wait(WATCHDOG_S)
        self.sender = Guest(self.world, "sender", 0, 1)
        self.receiver.say(POLLS)
        self.sender.ready()
        assert self.receiver.hear() == "is None"

    def end(self) -> None:
        for each in (self.sender, self.receiver):
            each.process.kill()
            each.process.wait(WATCHDOG_S)
        self.world.clean()


@pytest.mark.parametrize("place", list(PLACES))
def test_a_receive_between_the_messages_of_two_lives_is_told_of_the_loss(
    make_world: Callable[..., World], place: str
) -> None:
    """Fault: if the receiver had polled meanwhile, messages of both lives came one after the other without a word."""
    couple = Couple(make_world("sender:1,receiver:1"), place)
    couple.send(10, 11, 12)
    assert couple.receive() == "10"
    couple.restart()
    couple.send(20, 21)
    assert [couple.receive() for _ in range(5)] == ["11", "12", LOST, "20", "21"]
    couple.end()


@pytest.mark.parametrize("place", list(PLACES))
def test_each_of_two_losses_is_told_between_the_messages_of_three_lives(
    make_world: Callable[..., World], place: str
) -> None:
    """Fault: of two losses between two receives, only the last one was told."""
    couple = Couple(make_world("sender:1,receiver:1"), place)
    couple.send(10, 11)
    assert couple.receive() == "10"
    couple.restart()
    couple.send(20, 21)
    couple.restart()
    couple.send(30)
    assert [couple.receive() for _ in range(6)] == ["11", LOST, "20", "21", LOST, "30"]
    couple.end()


def test_a_message_that_was_only_offered_says_that_its_sender_was_lost(make_world: Callable[..., World]) -> None:
    """Fault: the receive of a long message of the earlier life was told of the loss, and the next receive again."""
    couple = Couple(make_world("sender:1,receiver:1"), "near")
    couple.send(10)
    assert couple.receive() == "10"
    couple.receiver.say(POLLS)
    couple.sender.get("many = universe.group.Isend(np.zeros(1_000_000), 1)")
    assert couple.receiver.hear() == "is None"
    couple.restart()
    couple.send(20)
    assert [couple.receive() for _ in range(2)] == [LOST, "20"]
    couple.end()


def test_it_is_told_once_and_by_the_first_receive_that_names_the_program(make_world: Callable[..., World]) -> None:
    couple = Couple(make_world("sender:1,receiver:1"), "near")
    couple.send(10)
    couple.send(11, tag=1)
    assert couple.receive() == "10"
    couple.restart()
    couple.send(20, 22)
    couple.send(21, tag=1)
    assert couple.receive("couplet.ANY_SOURCE") == "20"
    assert [couple.receive(), couple.receive(tag=1), couple.receive(tag=1), couple.receive()] == [
        LOST,
        "11",
        "21",
        "22",
    ]
    couple.end()


def test_who_has_been_told_is_not_told_again(make_world: Callable[..., World]) -> None:
    couple = Couple(make_world("sender:1,receiver:1"), "near")
    couple.send(10)
    assert couple.receive() == "10"
    couple.receiver.say("universe.group.Recv(found, 0, timeout=20)")
    time.sleep(0.2)
    couple.sender.process.kill()
    assert LOST in couple.receiver.hear()
    couple.restart()
    couple.send(20)
    assert couple.receive() == "20"
    couple.end()


@pytest.mark.parametrize("left", [True, False])
def test_who_speaks_with_the_new_life_is_told_only_if_something_is_left_of_the_earlier_one(
    make_world: Callable[..., World], left: bool
) -> None:
    couple = Couple(make_world("sender:1,receiver:1"), "near")
    couple.send(*((10, 11) if left else (10,)))
    assert couple.receive() == "10"
    couple.restart()
    couple.send(20)
    couple.receiver.get("universe.group.Send(np.zeros(1), 0)")
    assert [couple.receive() for _ in range(3 if left else 1)] == (["11", LOST, "20"] if left else ["20"])
    couple.end()
