"""The hub is killed and started again: members find it, and it knows again what they know."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from launching import World
from members import Member

MakeWorld = Callable[..., World]
WITHIN_S = 20.0
PATIENT = {"COUPLET_HUB_RETURN_PATIENCE_S": "60"}


def start(world: World, **sizes: int) -> list[Member]:
    members = [Member(world, name, rank, size, **PATIENT) for name, size in sizes.items() for rank in range(size)]
    for member in members:
        member.joined()
    return members


def ask_until(member: Member, question: str, answer: str) -> None:
    """Asks until the news has arrived. A call to the hub lets the member receive what the hub has sent."""
    deadline = time.monotonic() + WITHIN_S
    while not (heard := member.ask(question)).startswith(answer):
        assert time.monotonic() < deadline, f"{question}: {heard}, not {answer}"
        member.ask("find nothing 0")


def test_a_series_that_is_opened_after_the_hub_was_killed_works(make_world: MakeWorld) -> None:
    world = make_world("ocean:1,nowcast:1,follower:1?")
    ocean, nowcast = start(world, ocean=1, nowcast=1)
    assert ocean.ask("announce eta") == "announced 0"
    assert nowcast.ask("opened eta") == "opened ok"
    for _ in range(2):  # twice in a row
        world.kill_hub()
        world.resume_hub()
        nowcast.say("find eta 30")  # it waits until a member that knows the series returns to the hub
        assert ocean.ask("find nothing 0") == "COUPLET_NOT_YET COUPLET_NOT_YET"
        assert nowcast.hear() == "found eta of ocean"
    follower = Member(world, "follower", 0, 1)
    assert follower.joined().peer == 2
    assert follower.ask("find eta 30") == "found eta of ocean"
    assert follower.ask("opened eta") == "opened ok"
    assert ocean.ask("written eta") == "written ok"
    assert follower.ask("find eta 30") == "found eta of ocean closed"
    for member in (ocean, nowcast, follower):
        member.leave()
    assert world.hub is not None and world.hub.wait(WITHIN_S) == 0, "it ends with the universe"


def test_requests_that_wait_are_asked_again(make_world: MakeWorld) -> None:
    world = make_world("ocean:1,nowcast:1")
    ocean, nowcast = start(world, ocean=1, nowcast=1)
    nowcast.say("find eta 60")
    time.sleep(0.1)  # it has mostly been asked by then
    world.kill_hub()
    world.resume_hub()
    assert ocean.ask("announce eta").startswith("announced ")
    assert nowcast.hear() == "found eta of ocean"
    for member in (ocean, nowcast):
        member.leave()


def test_a_rank_that_died_while_there_was_no_hub_is_known(make_world: MakeWorld) -> None:
    world = make_world("ocean:2,nowcast:1")
    first, second, nowcast = start(world, ocean=2, nowcast=1)
    world.kill_hub()
    second.kill()
    world.resume_hub()
    ask_until(nowcast, "find nothing 0", "COUPLET_NOT_YET")
    answer = nowcast.ask("lost")
    assert answer.startswith("lost 1 program 'ocean' rank 1") and "ended without leaving" in answer, answer
    again = Member(world, "ocean", 1, 2)
    assert again.joined().incarnation > 0
    for member in (first, again, nowcast):
        ask_until(member, "alive 1", "alive ok")
    for member in (first, again, nowcast):
        member.leave()
    assert world.hub is not None and world.hub.wait(WITHIN_S) == 0


def test_who_left_while_there_was_no_hub_is_not_waited_for(make_world: MakeWorld) -> None:
    world = make_world("ocean:1,nowcast:1")
    ocean, nowcast = start(world, ocean=1, nowcast=1)
    world.kill_hub()
    ocean.leave()
    world.resume_hub()
    ask_until(nowcast, "find nothing 0", "COUPLET_NOT_YET")
    ask_until(nowcast, "alive 0", "alive COUPLET_ERROR_PEER_LOST program 'ocean' rank 0")
    nowcast.leave()
    assert world.hub is not None and world.hub.wait(WITHIN_S) == 0


@pytest.mark.parametrize("joined", range(3))
def test_the_hub_is_killed_while_programs_join(make_world: MakeWorld, joined: int) -> None:
    world = make_world("ocean:2,nowcast:1")
    words = [("ocean", 0, 2), ("ocean", 1, 2), ("nowcast", 0, 1)]
    members = [Member(world, *each, **PATIENT) for each in words[:joined]]
    time.sleep(0.2)  # joining mostly takes so long, and the time of the kill is what matters
    world.kill_hub()
    world.resume_hub()
    members += [Member(world, *each, **PATIENT) for each in words[joined:]]
    assert sorted(member.joined().peer for member in members) == [0, 1, 2]
    for member in members:
        member.leave()
    assert world.hub is not None and world.hub.wait(WITHIN_S) == 0


def test_a_hub_of_another_run_refuses_by_name(make_world: MakeWorld) -> None:
    world = make_world("ocean:1,nowcast:1")
    ocean, nowcast = start(world, ocean=1, nowcast=1)
    world.kill_hub()
    world.run = "0123456789abcdef"
    world.resume_hub()
    nowcast.say("find eta 60")
    answer = nowcast.hear()
    assert answer.startswith("COUPLET_ERROR_HUB_LOST") and "belongs to" in answer and world.run in answer, answer
    for member in (ocean, nowcast):
        member.leave()
