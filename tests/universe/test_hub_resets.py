"""Connections of members to the hub are reset while all live: nobody is lost, and what is asked is answered."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable

import pytest
from launching import WATCHDOG_S, World
from members import Member
from quartet import Guest
from resets import need_resets, reset_connections

MakeWorld = Callable[..., World]


@pytest.fixture(autouse=True)
def resets() -> None:
    need_resets()


def start(world: World, **sizes: int) -> list[Member]:
    members = [Member(world, name, rank, size) for name, size in sizes.items() for rank in range(size)]
    for member in members:
        member.joined()
    return members


def reset_hub_connections(world: World) -> None:
    assert reset_connections([int(world.environment["COUPLET_HUB"].rpartition(":")[2])]) > 0


def answers(member: Member) -> None:
    """The hub answers its requests (again)."""
    deadline = time.monotonic() + WATCHDOG_S
    while not member.ask("find nothing 0").startswith("COUPLET_NOT_YET"):
        assert time.monotonic() < deadline, "the hub takes it back"


def leave(world: World, *members: Member) -> None:
    for member in members:
        member.leave()
    assert world.hub is not None and world.hub.wait(WATCHDOG_S) == 0, "it ends with the universe"


def test_members_whose_connections_are_reset_are_not_lost(make_world: MakeWorld) -> None:
    world = make_world("ocean:2,nowcast:1")
    members = start(world, ocean=2, nowcast=1)
    assert members[0].ask("announce eta") == "announced 0"
    assert members[2].ask("opened eta") == "opened ok"
    for _ in range(5):
        reset_hub_connections(world)
        for member in members:
            answers(member)
    for member in members:
        for peer in range(3):
            assert member.ask(f"alive {peer}") == "alive ok"
    assert members[2].ask("find eta 100") == "found eta of ocean"
    assert members[0].ask("written eta") == "written ok"
    assert members[2].ask("find eta 100") == "found eta of ocean closed"
    leave(world, *members)


def test_a_request_that_waits_is_asked_again_after_a_reset(make_world: MakeWorld) -> None:
    world = make_world("ocean:1,nowcast:1")
    ocean, nowcast = start(world, ocean=1, nowcast=1)
    nowcast.say("find eta 100")
    for _ in range(3):
        reset_hub_connections(world)
        answers(ocean)
    assert ocean.ask("announce eta").startswith("announced ")
    assert nowcast.hear() == "found eta of ocean"
    leave(world, ocean, nowcast)


def test_a_member_that_computes_is_not_lost_by_a_reset(make_world: MakeWorld) -> None:
    """It makes no call for longer than the hub waits for one that has died; its port takes calls meanwhile."""
    world = make_world("guest:2")
    guests = [Guest(world, "guest", rank, 2) for rank in range(2)]
    for guest in guests:
        guest.ready()
        guest.get("found = np.zeros(1, 'i8')")
    computing, waiting = guests
    computing.process.send_signal(signal.SIGSTOP)
    reset_hub_connections(world)
    waiting.refused("universe.group.Recv(found, 0, timeout=6.5)", "TIMEOUT")  # not PEER_LOST
    computing.process.send_signal(signal.SIGCONT)
    waiting.say("universe.group.Recv(found, 0, timeout=100)")
    computing.get("universe.group.Send(np.array([4]), 1, timeout=100)")
    assert waiting.hear().startswith("is Message(")
    waiting.leave(computing)
    assert world.hub is not None and world.hub.wait(WATCHDOG_S) == 0, "it ends with the universe"


def test_a_member_that_dies_with_its_connection_reset_is_lost_by_name(make_world: MakeWorld) -> None:
    world = make_world("ocean:2,nowcast:1")
    ocean0, ocean1, nowcast = start(world, ocean=2, nowcast=1)
    ocean1.process.send_signal(signal.SIGSTOP)
    reset_hub_connections(world)
    ocean0.say("lost")
    nowcast.say("lost")
    ocean1.kill()
    for member in (ocean0, nowcast):
        assert member.hear().startswith("lost 1 program 'ocean' rank 1 (universe rank 1) on host ")
    leave(world, ocean0, nowcast)


def test_leaving_just_after_a_reset_is_leaving_in_good_order(make_world: MakeWorld) -> None:
    world = make_world("ocean:1,nowcast:1")
    ocean, nowcast = start(world, ocean=1, nowcast=1)
    reset_hub_connections(world)
    ocean.leave()
    answers(nowcast)
    deadline = time.monotonic() + WATCHDOG_S
    while "left" not in (heard := nowcast.ask("alive 0")):
        assert time.monotonic() < deadline, heard
        answers(nowcast)  # a call to the hub lets the member receive what the hub has sent
    leave(world, nowcast)


def test_a_close_that_the_hub_has_not_heard_frees_the_name(make_world: MakeWorld) -> None:
    """The rank counted as a writer for as long as it lived."""
    world = make_world("ocean:2,nowcast:1")
    assert world.hub is not None
    oceans = [Guest(world, "ocean", rank, 2, COUPLET_HUB_RETURN_PATIENCE_S="0.5") for rank in range(2)]
    nowcast = Guest(world, "nowcast", 0, 1)
    for guest in (*oceans, nowcast):
        guest.ready()
    for rank, ocean in enumerate(oceans):
        ocean.say(f"series = universe.create_series('eta', (4,), 'f8', box=[({2 * rank}, {2 * rank + 2})], slots=4)")
    for ocean in oceans:
        assert ocean.hear().startswith("is ")
    world.hub.send_signal(signal.SIGSTOP)
    try:
        reset_hub_connections(world)
        oceans[1].ask("series.close()")  # the hub cannot be told
    finally:
        world.hub.send_signal(signal.SIGCONT)
    oceans[0].get("series.close()")
    for guest in (oceans[1], nowcast):
        guest.ask("universe.open_series('nothing', timeout=1)")  # a call to the hub, which takes it back
    nowcast.get("series = universe.create_series('eta', (4,), 'f8', slots=4)")
    nowcast.get("series.close()")
    oceans[0].leave(oceans[1], nowcast)
    assert world.hub.wait(WATCHDOG_S) == 0, "it ends with the universe"


def test_a_relay_that_nobody_uses_yet_waits_for_the_hub(make_world: MakeWorld) -> None:
    """Chaos seed 180003: the last writer of a node left while the hub was cut off. The relay ended at once, and no
    reader on another node could open what it kept.
    """
    world = make_world("ocean:1,nowcast:1")
    assert world.hub is not None
    ocean = Guest(world, "ocean", 0, 1, COUPLET_NODE="a", COUPLET_HUB_RETURN_PATIENCE_S="0.5")
    nowcast = Guest(world, "nowcast", 0, 1, COUPLET_NODE="b")
    ocean.ready()
    nowcast.ready()
    ocean.get("series = universe.create_series('eta', (4,), 'f8', slots=4)")
    ocean.get("[series.put(np.zeros(4), step) for step in range(3)]")
    nowcast.get("universe.open_series('eta', mode='follow').close()")  # the relay is there, and nobody uses it
    world.hub.send_signal(signal.SIGSTOP)
    try:
        reset_hub_connections(world)
        ocean.ask("series.close()")  # the hub cannot be told
        ocean.leave()
        time.sleep(1)  # the fault took less
    finally:
        world.hub.send_signal(signal.SIGCONT)
    nowcast.get("reader = universe.open_series('eta', mode='follow', timeout=30)")
    assert nowcast.get("[step for step, _ in reader.read(3, 3, timeout=30)]") == "[0, 1, 2]"
    nowcast.leave()
    world.wait_for_relays()
    assert world.hub.wait(WATCHDOG_S) == 0, "it ends with the universe"


@pytest.mark.parametrize("met", [True, False], ids=["met", "new"])
def test_what_a_rank_sent_arrives_if_it_came_and_went_while_the_hub_was_not_heard(
    make_world: MakeWorld, met: bool
) -> None:
    """The hub tells a member that comes back of the newest incarnation only: what those before sent was never taken."""
    world = make_world("host:1,guest:1?")
    host = Guest(world, "host", 0, 1).ready()
    host.get("found = np.zeros(1, 'i8')")
    for life in range(5):
        if life == 1:
            reset_hub_connections(world)
        guest = Guest(world, "guest", 0, 1).ready()
        guest.get(f"universe.group.Send(np.array([{life}]), 0, timeout=20)")
        world.finish(guest.process).check()
        if life == 0 and met:
            host.get("universe.group.Recv(found, 1, timeout=20)")
    received: list[int] = []
    deadline = time.monotonic() + WATCHDOG_S
    while len(received) < (4 if met else 5) and time.monotonic() < deadline:
        if host.ask("universe.group.Recv(found, 1, timeout=1)").startswith("is "):
            received.append(int(host.get("int(found[0])")))
    assert received == list(range(1 if met else 0, 5))
    assert world.finish(host.process).check().output == ""
    assert world.hub is not None and world.hub.wait(WATCHDOG_S) == 0, "it ends with the universe"
