"""Without a hub, or with a stopped one, every process that waits for one that dies is told its name."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from launching import World
from quartet import Guest

MakeWorld = Callable[..., World]
ANY_SOURCE = -1
# The call in which nowcast waits, and what each of the two does before the hub is gone.
WAITS = {
    "receive": ("universe.group.Recv(np.zeros(1), 0, 1)", "1", "1"),
    "any-source": (f"universe.group.Recv(np.zeros(1), {ANY_SOURCE}, 1)", "1", "1"),
    "large-send": ("universe.group.Send(np.zeros(1 << 22), 0, 1)", "1", "1"),
    "series": (
        "reader.read(1, 1)",
        "series = universe.create_series('eta', (4,), 'f8')",
        "reader = universe.open_series('eta', mode='hold')",
    ),
    "area": (
        "all(area.read() is not None for _ in iter(int, 1))",
        "area = universe.create_area('field', (4,), 'f8')",
        "area = universe.open_area('field', 0)",
    ),
    "task": (
        "requester.submit(0, timeout=None)",
        "coupler = universe.coupler('tasks', requesters=['nowcast'], workers=['ocean'])",
        "requester = universe.requester('tasks', couplers='ocean')",
    ),
}


@pytest.fixture(params=[signal.SIGKILL, signal.SIGSTOP], ids=["dead-hub", "stopped-hub"])
def gone_hub(request: pytest.FixtureRequest) -> Iterator[Callable[[World], None]]:
    """Makes the hub of a world silent."""
    silenced: list[World] = []

    def silence(world: World) -> None:
        world.processes[0].send_signal(request.param)
        silenced.append(world)

    yield silence
    for world in silenced:
        world.processes[0].send_signal(signal.SIGCONT)


@pytest.mark.parametrize("wait", WAITS)
def test_a_death_is_told_to_who_waits(make_world: MakeWorld, gone_hub: Callable[[World], None], wait: str) -> None:
    """They have never exchanged messages before, unless their wait needs it."""
    line, of_ocean, of_nowcast = WAITS[wait]
    world = make_world("ocean:1,nowcast:1")
    ocean, nowcast = (Guest(world, program, 0, 1) for program in ("ocean", "nowcast"))
    ocean.ready()
    nowcast.ready()
    if wait == "area":  # its owner answers
        ocean.get(of_ocean)
        ocean.say("all(universe.progress() is None for _ in iter(int, 1))")
        nowcast.get(of_nowcast)
    else:
        ocean.get(of_ocean)
        nowcast.get(of_nowcast)
    gone_hub(world)
    nowcast.say(line)
    ocean.process.kill()
    ocean.process.wait()
    answer = nowcast.hear()
    assert answer.startswith("error COUPLET_ERROR_PEER_LOST "), answer
    assert "program 'ocean' rank 0 (universe rank 0)" in answer, answer
    if wait == "series":
        nowcast.ask("reader.close()")  # the hub cannot be told
    world.processes[0].send_signal(signal.SIGCONT)
    nowcast.leave()


@pytest.mark.parametrize(("relay", "link"), [("auto", "tcp"), ("in_calls", "tcp"), ("auto", "file")])
def test_the_hold_of_a_reader_that_is_killed_on_another_node_ends(
    make_world: MakeWorld, tmp_path: Path, relay: str, link: str
) -> None:
    """Chaos seed 40010: the relay found that nobody listens at the reader's port, and kept the hold for 20 s.

    Chaos seed 29600039: the relay found that the reader's heartbeat was no longer locked, and kept the hold for ever.
    """
    world = make_world("ocean:1,nowcast:1")
    world.environment |= {"COUPLET_CONNECTION_PATIENCE_S": "3600", "COUPLET_RELAY": relay}
    world.environment |= {"COUPLET_LINKS": f"self,shm,{link}", "COUPLET_FILE_DIRECTORY": str(tmp_path / "shared")}
    ocean, nowcast = (Guest(world, name, 0, 1, COUPLET_NODE=node) for name, node in (("ocean", "a"), ("nowcast", "b")))
    ocean.ready()
    nowcast.ready()
    ocean.get(
        "series = universe.create_series('eta', (4,), 'f8', slots=2, required_readers=['nowcast'], wait_timeout=100)"
    )
    ocean.say("[series.put(np.zeros(4), step) for step in range(3)]")
    nowcast.get("reader = universe.open_series('eta', mode='hold')")
    nowcast.get("reader.read(1, 1, timeout=100)")
    ocean.hear()
    world.kill_hub()
    nowcast.process.kill()
    nowcast.process.wait()
    for step in range(3, 9):
        ocean.get(f"series.put(np.zeros(4), {step})")
    ocean.ask("series.close()")  # the hub cannot be told
    ocean.leave()
    world.kill()
    world.clean()


@pytest.mark.parametrize("relay", ["in_calls", "auto"])
def test_the_hold_of_the_next_life_of_a_reader_that_had_left_stands(make_world: MakeWorld, relay: str) -> None:
    """Chaos seed 37300046: once the hub was silent, the reader counted as one that had left, as its first life had."""
    world = make_world("ocean:1,nowcast:1")
    world.environment |= {"COUPLET_RELAY": relay}
    ocean = Guest(world, "ocean", 0, 1, COUPLET_NODE="a")
    nowcast = Guest(world, "nowcast", 0, 1, COUPLET_NODE="b")
    ocean.ready()
    nowcast.ready()
    ocean.say("universe.group.Recv(np.zeros(1), 1)")
    nowcast.get("universe.group.Send(np.zeros(1), 0)")
    ocean.hear()
    nowcast.leave()
    ocean.get(
        "series = universe.create_series('eta', (4,), 'f8', slots=2, required_readers=['nowcast'], wait_timeout=5)"
    )
    nowcast = Guest(world, "nowcast", 0, 1, COUPLET_NODE="b")
    nowcast.ready()
    ocean.say("[series.put(np.zeros(4), step) for step in range(3)]")
    nowcast.get("reader = universe.open_series('eta', mode='hold')")
    nowcast.get("reader.read(1, 1)")
    ocean.hear()
    world.kill_hub()
    answer = ocean.ask("[series.put(np.zeros(4), step) for step in range(3, 9)]")
    assert answer.startswith("error COUPLET_ERROR_TIMEOUT "), f"the reader computes, and was released: {answer}"
    nowcast.get("reader.read(1, 1)")
    nowcast.ask("reader.close()")  # the hub cannot be told
    nowcast.leave()
    ocean.ask("series.close()")
    ocean.leave()
    world.kill()
    world.clean()


@pytest.mark.parametrize("leaves", [False, True], ids=["killed", "leaves"])
def test_the_hold_of_a_reader_ends_without_hub_and_relay(make_world: MakeWorld, leaves: bool) -> None:
    """Chaos seed 29100037: hub and relay were dead, and the writer was held up by a reader that had left."""
    world = make_world("ocean:1,nowcast:1")
    ocean, nowcast = (Guest(world, name, 0, 1, COUPLET_NODE=node) for name, node in (("ocean", "a"), ("nowcast", "b")))
    ocean.ready()
    nowcast.ready()
    ocean.get(
        "series = universe.create_series('eta', (4,), 'f8', slots=2, required_readers=['nowcast'], wait_timeout=60)"
    )
    ocean.say("[series.put(np.zeros(4), step) for step in range(3)]")
    nowcast.get("reader = universe.open_series('eta', mode='hold')")
    nowcast.get("reader.read(1, 1, timeout=100)")
    ocean.hear()
    world.kill_hub()
    for _ in range(2):  # the first of them may be a keeper, which starts no other one without a hub
        for relay in world.relays():
            os.kill(relay, signal.SIGKILL)
    ocean.say("[series.put(np.zeros(4), step) for step in range(3, 9)]")
    time.sleep(7)  # the writer looks for the reader itself, and finds it
    if leaves:
        nowcast.ask("reader.close()")
        nowcast.leave()
    else:
        nowcast.process.kill()
        nowcast.process.wait()
    assert ocean.hear().startswith("is ")
    ocean.ask("series.close()")  # the hub cannot be told
    ocean.leave()
    world.kill()
    world.clean()


@pytest.mark.parametrize(
    ("line", "waits_s"),
    [
        ("universe.group.Recv(np.zeros(1), 0, 1)", 7),  # the source lives when it is dialed
        ("until_done()", 0),
        ("couplet.wait_any([request]) and request.wait()", 0),
        ("couplet.wait_any([universe.group.arrival(0, 1)]) and universe.group.Recv(np.zeros(1), 0, 1)", 0),
    ],
    ids=["receive", "test", "wait-any-request", "wait-any-message"],
)
def test_the_death_of_a_source_on_another_node_is_told(make_world: MakeWorld, line: str, waits_s: float) -> None:
    """Chaos seed 130005: no hub, no lock, and no connection to the source, so that nobody told of its death."""
    world = make_world("ocean:1,nowcast:1")
    ocean, nowcast = (Guest(world, name, 0, 1, COUPLET_NODE=node) for name, node in (("ocean", "a"), ("nowcast", "b")))
    ocean.ready()
    nowcast.ready()
    nowcast.get("couplet = __import__('couplet')")
    nowcast.get("request = universe.group.Irecv(np.zeros(1), 0, 1)")
    nowcast.get("until_done = lambda: all(not request.test()[0] for _ in iter(int, 1))")
    world.kill_hub()
    if waits_s == 0:
        ocean.process.kill()
    nowcast.say(line)
    time.sleep(waits_s)
    ocean.process.kill()
    ocean.process.wait()
    answer = nowcast.hear()
    assert answer.startswith("error COUPLET_ERROR_PEER_LOST "), answer
    assert "program 'ocean' rank 0 (universe rank 0)" in answer, answer
    nowcast.leave()
    world.kill()
    world.clean()


def test_the_first_of_a_group_hears_of_the_death_of_another_one(make_world: MakeWorld) -> None:
    """The others greet the first rank of a group, which calls nobody before. Simulator seed 25035070."""
    world = make_world("ocean:1,nowcast:1")
    ocean, nowcast = (Guest(world, name, 0, 1, COUPLET_NODE=node) for name, node in (("ocean", "a"), ("nowcast", "b")))
    ocean.ready()
    nowcast.ready()
    world.kill_hub()
    ocean.say("universe.group.barrier()")
    time.sleep(1)
    nowcast.process.kill()
    nowcast.process.wait()
    answer = ocean.hear()
    assert answer.startswith("error COUPLET_ERROR_PEER_LOST "), answer
    assert "program 'nowcast' rank 0 (universe rank 1)" in answer, answer
    ocean.leave()
    world.kill()
    world.clean()


def test_who_was_not_told_where_a_peer_is_waits_for_the_hub_only_for_a_time(
    make_world: MakeWorld, tmp_path: Path
) -> None:
    """In large universes the hub tells where a rank is to those who ask for it."""
    config = tmp_path / "settings.json"
    config.write_text(json.dumps({"hub.max_told_contacts": 0, "connection_patience_s": 3}))
    world = make_world("ocean:1,nowcast:1", "--config", str(config))
    ocean, nowcast = (Guest(world, name, 0, 1, COUPLET_NODE=node) for name, node in (("ocean", "a"), ("nowcast", "b")))
    ocean.ready()
    nowcast.ready()
    world.kill_hub()
    answer = nowcast.ask("universe.group.Send(np.zeros(1 << 22), 0, 1)")
    assert answer.startswith("error COUPLET_ERROR_PEER_LOST "), answer
    assert "program 'ocean' rank 0" in answer, answer
    assert "the hub was lost before it had told where this process is" in answer, answer
    for guest in (ocean, nowcast):
        guest.leave()
    world.kill()
    world.clean()


def test_leaving_is_seen_when_the_hub_is_stopped(make_world: MakeWorld) -> None:
    """The hub cannot report it, but the missing page shows it."""
    world = make_world("ocean:1,nowcast:1")
    ocean, nowcast = (Guest(world, program, 0, 1) for program in ("ocean", "nowcast"))
    ocean.ready()
    nowcast.ready()
    world.processes[0].send_signal(signal.SIGSTOP)
    nowcast.say("universe.group.Recv(np.zeros(1), 0, 1)")
    assert ocean.process.stdin is not None
    ocean.process.stdin.close()
    answer = nowcast.hear()
    assert answer.startswith("error COUPLET_ERROR_PEER_LOST ") and "program 'ocean' rank 0" in answer, answer
    ocean.process.wait()
    world.processes[0].send_signal(signal.SIGCONT)
    nowcast.leave()


def start_writer_and_team(world: World) -> tuple[Guest, Guest, Guest]:
    """Starts ocean, which creates series 'eta', and two ranks of nowcast."""
    ocean = Guest(world, "ocean", 0, 1)
    first, second = (Guest(world, "nowcast", rank, 2) for rank in range(2))
    for each in (ocean, first, second):
        each.ready()
    ocean.get("series = universe.create_series('eta', (4,), 'f8')")
    return ocean, first, second


def read_and_leave(ocean: Guest, first: Guest, second: Guest) -> None:
    """Both ranks of nowcast open the series together, and all end in good order."""
    second.say("reader = universe.open_series('eta')")
    first.get("reader = universe.open_series('eta')")
    assert second.hear().startswith("is ")
    for each in (first, second):
        each.say("reader.close()")
        each.hear()
    ocean.get("series.close()")
    ocean.leave(first, second)


def test_a_hub_that_was_started_again_does_not_deny_a_series(make_world: MakeWorld) -> None:
    """Fault: "does not exist", although the hub was started again and its writer had not come back to it."""
    world = make_world("ocean:1,nowcast:2")
    ocean, first, second = start_writer_and_team(world)
    world.kill_hub()
    world.resume_hub()
    why = ("series 'eta' is not found", "no connection to program 'ocean' rank 0, which may write it")
    for timeout in (0, 1):
        first.refused(f"universe.open_series('eta', local=True, timeout={timeout})", "TIMEOUT", *why)
    second.say("universe.open_series('eta', timeout=1)")  # with the other ranks of its program
    first.refused("universe.open_series('eta', timeout=1)", "TIMEOUT", *why)
    assert "the hub has not answered in time, or cannot know of it yet" in second.hear()
    first.say("universe.open_series('psi', local=True, timeout=4)")
    time.sleep(0.5)  # mostly, it has asked by then
    ocean.get("universe.progress()")
    assert "series 'psi' does not exist: no program has created it in time" in first.hear()
    read_and_leave(ocean, first, second)


def test_a_stopped_hub_does_not_deny_a_series(make_world: MakeWorld) -> None:
    """Fault: "series 'eta' does not exist", although the hub had not answered the question."""
    world = make_world("ocean:1,nowcast:2")
    ocean, first, second = start_writer_and_team(world)
    first.refused("universe.open_series('psi', local=True, timeout=0.5)", "TIMEOUT", "'psi' does not exist")
    world.processes[0].send_signal(signal.SIGSTOP)
    silent = ("'eta'", "the hub has not answered in time")
    first.refused("universe.open_series('eta', local=True, timeout=1)", "TIMEOUT", *silent)
    second.say("universe.open_series('eta', timeout=1)")  # with the other ranks of its program
    first.refused("universe.open_series('eta', timeout=1)", "TIMEOUT", *silent)
    answer = second.hear()
    assert answer.startswith("error COUPLET_ERROR_TIMEOUT ") and "the hub has not answered in time" in answer, answer
    world.processes[0].send_signal(signal.SIGCONT)
    read_and_leave(ocean, first, second)
