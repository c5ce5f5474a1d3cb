"""Members that have created their groups, or other ones, unlike often: after failures, frees and restarts they meet."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from launching import World
from quartet import Guest, start_guests

MakeWorld = Callable[..., World]
MAKE = "[g := universe.create_group('g', [0, 1])] and 0"
BARRIER = "outcome(lambda: g.barrier(timeout=50))"


def in_both(guests: list[Guest], line: str) -> list[str]:
    for each in guests:
        each.say(line)
    return [each.hear() for each in guests]


@pytest.mark.parametrize("how", ["killed in a call", "left in good order"])
def test_a_later_life_is_not_told_what_had_failed_before(make_world: MakeWorld, how: str) -> None:
    """Fault: its first call failed with that, and the member that had created the group again waited for ever."""
    world = make_world("one:1,two:1")
    one, two = guests = start_guests(world, "one", "two")
    in_both(guests, MAKE)
    if how == "killed in a call":
        assert in_both(guests, BARRIER) == ["is 'None'"] * 2
        two.say(BARRIER)
        one.process.kill()
        one.process.wait()
        assert "PEER_LOST" in two.hear()
    else:
        one.get("g.refuse_collective('barrier', 'no data')")
        assert "no data" in two.ask(BARRIER)
        in_both(guests, "g.free()")
        in_both(guests, MAKE)
        assert in_both(guests, BARRIER) == ["is 'None'"] * 2
        one.leave()
    two.get("g.free()")
    two.get(MAKE)
    one = Guest(world, "one", 0, 1).ready()
    one.get(MAKE)
    one.say(BARRIER)
    two.get("[universe.progress() or time.sleep(0.01) for _ in range(250)] and 0")  # the other asks after 1 s
    two.say(BARRIER)
    assert [one.hear(), two.hear()] == ["is 'None'"] * 2
    one.leave(two)


def test_the_creations_of_many_other_groups_do_not_count(make_world: MakeWorld) -> None:
    """Fault: after 257 of them, a first call that failed at another member was waited for for ever."""
    world = make_world("one:1,two:1")
    one, two = start_guests(world, "one", "two")
    one.get("[(own := universe.create_group(f'own{n}', [0]), own.barrier(), own.free()) for n in range(300)] and 0")
    two.refused("universe.group.barrier(timeout=0.3)", "TIMEOUT", "has given up")
    one.refused("universe.group.barrier(timeout=50)", "TIMEOUT", "revoked by rank 1", "has given up")
    one.leave(two)


def test_a_creation_without_a_call_does_not_count(make_world: MakeWorld) -> None:
    """Fault: it counted at a member whose last notice had not been sent, and the other waited for it for ever."""
    world = make_world("one:1,two:1")
    world.environment |= {"COUPLET_EAGER_BYTES": "0"}
    one, two = start_guests(world, "one", "two")
    one.say("universe.group.Send(np.zeros(1), 1)")
    two.get("universe.group.Recv(np.zeros(1), 0)")
    one.hear()
    again = "g.free(), g := universe.create_group('g', [0, 1])"
    one.get(MAKE)
    one.get(f"[g.refuse_collective('barrier', 'x' * 4000), {again}, {again}] and 0")
    two.get(MAKE)
    one.say("[universe.progress() or time.sleep(0.01) for _ in range(100)] and 0")
    two.refused("g.barrier(timeout=50)", "STATE", "xxx")
    one.hear()
    two.get(f"[{again}, {again}] and 0")
    two.get("g.refuse_collective('barrier', 'no data again')")
    one.refused("g.barrier(timeout=20)", "STATE", "no data again")
    one.leave(two)
