"""Series that are read from another node, through a relay: two "nodes" on one machine by COUPLET_NODE."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from enduring import Process, goes_on
from launching import BUILD, WATCHDOG_S, World, read_line
from quartet import Guest

MakeWorld = Callable[..., World]
STEPS = BUILD / "tests" / "programs" / "steps"
RELAY = BUILD / "libexec" / "couplet" / "couplet-relay"
MAX_STARTS = 8  # of relays, by one process


def start(world: World, what: str, program: str, rank: int, size: int, node: str, **settings: object) -> Program:
    """Starts one rank of a program on a node, and waits until it is ready."""
    words = [f"{key}={value}" for key, value in settings.items()]
    return Program(world, world.start([str(STEPS), what, program, str(rank), str(size), *words], COUPLET_NODE=node))


class Program:
    """A process of programs/steps.cpp."""

    def __init__(self, world: World, process: subprocess.Popen[str]) -> None:
        self.world = world
        self.process = process

    def ready(self) -> Program:
        line = read_line(self.process)
        if line.strip() != "ready":
            ended = self.world.finish(self.process)
            raise AssertionError(f"{line}{ended.output}{ended.errors}")
        return self

    def finish(self, timeout: float = WATCHDOG_S) -> str:
        return self.world.finish(self.process, timeout).check().output


def counts(output: str) -> dict[str, int]:
    (line,) = re.findall(r"^route .*", output, re.MULTILINE)
    assert "equation holds" in line, output
    return {name: int(value) for name, value in re.findall(r"(\w+) (\d+)", line)}


def check_all_delivered(output: str, steps: int) -> None:
    assert "ended COUPLET_END" in output, output
    assert "route relay" in output, output
    found = counts(output)
    assert found["published"] == found["delivered"] == steps and found["lost"] == 0, output


def test_a_required_holder_on_another_node_gets_every_step(make_world: MakeWorld) -> None:
    world = make_world("ocean:2,nowcast:1")
    writers = [start(world, "write", "ocean", rank, 2, "a", required="nowcast", steps=300) for rank in range(2)]
    reader = start(world, "read", "nowcast", 0, 1, "b", start="10,5", stop="50,33")
    check_all_delivered(reader.finish(), 300)
    for writer in writers:
        assert "written 300" in writer.finish()


@pytest.mark.parametrize("mode", ["external", "in_calls"])
def test_ways_to_have_a_relay(make_world: MakeWorld, mode: str) -> None:
    world = make_world("ocean:1,nowcast:1")
    world.environment["COUPLET_RELAY"] = mode
    if mode == "external":
        world.start([str(RELAY)], COUPLET_NODE="a")
    writer = start(world, "write", "ocean", 0, 1, "a", required="nowcast", steps=100)
    reader = start(world, "read", "nowcast", 0, 1, "b")
    check_all_delivered(reader.finish(), 100)
    assert "written 100" in writer.finish()


@pytest.mark.parametrize("mode", ["hold", "follow"])
def test_a_reader_that_was_told_that_its_relay_is_away_gets_what_is_written_later(
    make_world: MakeWorld, mode: str
) -> None:
    """Fault: it took the end of the relay for that of the writer, and wanted no step any more."""
    world = make_world("ocean:1,nowcast:1")
    world.environment["COUPLET_RELAY"] = "external"
    relay = world.start([str(RELAY)], COUPLET_NODE="a")
    ocean = Guest(world, "ocean", 0, 1, COUPLET_NODE="a")
    nowcast = Guest(world, "nowcast", 0, 1, COUPLET_NODE="b")
    for guest in (ocean, nowcast):
        guest.ready()
    ocean.get("s = universe.create_series('eta', (3,), slots=4)")
    nowcast.get(f"r = universe.open_series('eta', mode='{mode}')")
    read = "[each for each in r.read(1, 1, timeout=20).steps.tolist()]"
    ocean.get("s.put(np.full(3, 0.0), 0)")
    assert nowcast.get(read) == "[0]"
    relay.kill()
    relay.wait(WATCHDOG_S)
    nowcast.refused("r.read(1, 1, timeout=20)", "PEER_LOST", "relay")
    world.start([str(RELAY)], COUPLET_NODE="a")
    ocean.get("s.put(np.full(3, 1.0), 1)")
    end = time.monotonic() + WATCHDOG_S
    while (answer := nowcast.ask(read)) != "is [1]":
        assert "COUPLET_ERROR_PEER_LOST" in answer and time.monotonic() < end, answer
    for step in range(2, 12):
        ocean.get(f"s.put(np.full(3, {step}.0), {step})")
        assert nowcast.get(read) == f"[{step}]"
    ocean.get("s.close()")
    ocean.leave(nowcast)


def test_who_leaves_sends_what_waits_for_a_reader_that_computes(make_world: MakeWorld) -> None:
    """Leaving waits for 30 s, whether the steps wait for credit or behind a full socket."""
    world = make_world("ocean:1,nowcast:1")
    world.environment["COUPLET_RELAY"] = "in_calls"
    pace = {"pause_us": 400_000, "rows": 800, "columns": 800}  # it can answer the reader in its calls for 5 s
    writer = start(world, "write", "ocean", 0, 1, "a", required="nowcast", steps=12, slots=16, **pace)
    reader = start(world, "read", "nowcast", 0, 1, "b").ready()
    reader.process.send_signal(signal.SIGSTOP)
    time.sleep(5 + 7)  # leaving waits 5 s for others
    reader.process.send_signal(signal.SIGCONT)
    check_all_delivered(reader.finish(), 12)
    writer.finish()


def test_a_relay_is_started_once_a_process_has_come_to_another_node(make_world: MakeWorld) -> None:
    """The need of a relay was looked at once, when the series was created, and nobody was on another node then."""
    world = make_world("ocean:1,nowcast:1?")
    writer = start(world, "write", "ocean", 0, 1, "", required="nowcast", steps=100)
    reader = start(world, "read", "nowcast", 0, 1, "b")
    check_all_delivered(reader.finish(), 100)
    assert "written 100" in writer.finish()


def test_the_next_writer_of_a_node_starts_the_relay_if_the_first_one_is_gone(make_world: MakeWorld) -> None:
    world = make_world("ocean:2,nowcast:1?")
    writers = [start(world, "write", "ocean", rank, 2, "", steps=8, pause_us=1_000_000) for rank in range(2)]
    for writer in writers:
        writer.ready()
    writers[0].process.kill()
    reader = start(world, "read", "nowcast", 0, 1, "b", start="30,0", stop="60,40")  # the rows of the other writer
    reader.ready()
    assert "written 8" in writers[1].finish()
    assert counts(reader.finish())["delivered"] > 0


def test_none_is_told(make_world: MakeWorld) -> None:
    world = make_world("ocean:1,nowcast:1")
    world.environment["COUPLET_RELAY"] = "none"
    writer = start(world, "write", "ocean", 0, 1, "a", steps=10)
    reader = start(world, "read", "nowcast", 0, 1, "b")
    ended = world.finish(reader.process)
    assert ended.status == 2 and "COUPLET_ERROR_UNSUPPORTED" in ended.output and "no relays" in ended.output
    writer.finish()


def test_a_follower_on_another_node_accounts_for_what_it_lost(make_world: MakeWorld) -> None:
    world = make_world("ocean:1,nowcast:1,witness:1")
    witness = start(world, "read", "witness", 0, 1, "a")
    writer = start(world, "write", "ocean", 0, 1, "a", required="witness", steps=4000, slots=4)
    reader = start(world, "read", "nowcast", 0, 1, "b", mode="follow", pause_us=3000)
    output = reader.finish()
    found = counts(output)
    assert "ended COUPLET_END" in output and found["delivered"] > 0, output
    assert found["published"] == 4000 and found["pending"] == 0, output
    assert "written 4000" in writer.finish()
    assert "route mapped" in witness.finish()


def test_a_follower_of_several_nodes_with_an_every_above_its_slots_reads_to_the_end(make_world: MakeWorld) -> None:
    """Fault: it counted steps as lost, but did not tell the relays, which then waited for credit for ever."""
    world = make_world("ocean:3,nowcast:1")
    pace = {"begin_ns": time.monotonic_ns() + 2_000_000_000, "period_us": 4_000, "rows": 400, "columns": 400}
    writers = [start(world, "write", "ocean", rank, 3, f"node{rank}", steps=200, slots=2, **pace) for rank in range(3)]
    reader = start(world, "read", "nowcast", 0, 1, "b", mode="follow", every=5, up_to=1, timeout=0, again_us=100)
    output = reader.finish()
    found = counts(output)
    assert "ended COUPLET_END" in output and found["delivered"] > 0, output
    assert found["published"] == 200 and found["pending"] == 0, output
    for writer in writers:
        assert "written 200" in writer.finish()


def test_what_a_writer_that_leaves_at_once_retained_is_still_read(make_world: MakeWorld) -> None:
    """The writer is the only process of its node, and gone before the reader has opened. Its relay is still there."""
    world = make_world("ocean:1,nowcast:1")
    writer = start(world, "write", "ocean", 0, 1, "a", steps=3, slots=4)
    reader = start(world, "read", "nowcast", 0, 1, "b")
    assert "written 3" in writer.finish()
    check_all_delivered(reader.finish(), 3)


def test_a_writer_that_only_writes_starts_another_relay(make_world: MakeWorld) -> None:
    """Fault: if relay and keeper were killed, put did not notice it, and no process started another relay."""
    world = make_world("ocean:1,nowcast:1")
    program = str(BUILD / "tests" / "programs" / "endure")
    ocean = Process(world.start([program, "ocean", "follow"], standard_input=True))
    nowcast = Process(world.start([program, "nowcast", "follow"], standard_input=True, COUPLET_NODE="elsewhere"))
    try:
        for each in (nowcast, ocean):
            assert not goes_on(each, time.monotonic() + WATCHDOG_S), each.said
        deadline = time.monotonic() + WATCHDOG_S
        while len(killed := set(world.relays())) != 2:  # for a moment, the parent of the keeper is there
            assert time.monotonic() < deadline, f"{killed} are not a relay and its keeper"
            time.sleep(0.01)
        for relay in killed:
            os.kill(relay, signal.SIGKILL)
        deadline = time.monotonic() + WATCHDOG_S
        while not set(world.relays()) - killed:
            assert time.monotonic() < deadline, "no other relay was started"
            time.sleep(0.01)
        for each in (nowcast, ocean):
            each.say("stop")
        for each in (nowcast, ocean):
            each.process.wait(WATCHDOG_S)
        world.wait_for_relays()
        assert world.hub is not None and world.hub.wait(WATCHDOG_S) == 0, "it ends with the universe"
    finally:
        world.kill()
        for each in (ocean, nowcast):
            each.close()


def in_place_of_the_relay(world: World, script: str) -> Path:
    """Lets the processes that the test starts run a shell script in place of couplet-relay. Returns a file with one
    line for each start of the script.
    """
    folder = world.directory / "in place of the relay"
    folder.mkdir()
    starts = folder / "starts"
    starts.touch()
    stand_in = folder / "couplet-relay"
    stand_in.write_text(f"#!/bin/sh\necho >>'{starts}'\n{script}\n")
    stand_in.chmod(0o700)
    world.environment["COUPLET_LIBEXEC"] = str(folder)
    return starts


@contextmanager
def first_relay_held_up(world: World) -> Iterator[Callable[[], None]]:
    """The first relay of the world cannot join, since it asks a hub that does not answer. Yields a function that kills
    it and its keeper, once they are there.
    """
    with socket.create_server(("127.0.0.1", 0)) as silent:
        hub = f"127.0.0.1:{silent.getsockname()[1]}"
        mark = world.directory / "the first one"
        first = f"if mkdir '{mark}' 2>/dev/null; then export COUPLET_HUB={hub}; fi"
        in_place_of_the_relay(world, f"{first}\nexec '{RELAY}' \"$@\"")

        def held_up() -> list[int]:
            words = f"COUPLET_HUB={hub}".encode()
            return [each for each in world.relays() if words in variables(each)]

        def kill() -> None:
            with silent.accept()[0]:
                while found := held_up():
                    for each in found:
                        with suppress(ProcessLookupError):
                            os.kill(each, signal.SIGKILL)
                    time.sleep(0.01)

        yield kill


def variables(process: int) -> list[bytes]:
    try:
        return Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
    except OSError:  # it has ended meanwhile
        return []


def test_a_relay_that_is_killed_before_it_has_joined_is_replaced(make_world: MakeWorld) -> None:
    """Fault: if relay and keeper were killed before the relay had joined, no process started another one."""
    world = make_world("ocean:1,nowcast:1")
    with first_relay_held_up(world) as kill_first_relay:
        writer = start(world, "write", "ocean", 0, 1, "a", required="nowcast", steps=100)
        reader = start(world, "read", "nowcast", 0, 1, "b")
        kill_first_relay()
        check_all_delivered(reader.finish(), 100)
        assert "written 100" in writer.finish()


def test_who_leaves_waits_for_the_relay_that_replaces_a_killed_one(make_world: MakeWorld) -> None:
    """Fault: the writer waited 10 s for the killed relay, and left; its steps were removed before they were read."""
    world = make_world("ocean:1,nowcast:1")
    with first_relay_held_up(world) as kill_first_relay:
        writer = start(world, "write", "ocean", 0, 1, "a", steps=3, slots=4)
        reader = start(world, "read", "nowcast", 0, 1, "b")
        kill_first_relay()
        assert "written 3" in writer.finish()
        check_all_delivered(reader.finish(), 3)


def test_who_leaves_does_not_wait_for_relays_that_end_at_once(make_world: MakeWorld) -> None:
    """Fault: nobody noticed that the relay had ended before it had joined, and the writer waited 10 s to leave."""
    world = make_world("ocean:1,nowcast:1")
    starts = in_place_of_the_relay(world, "kill -9 $$")
    writer = start(world, "write", "ocean", 0, 1, "a", steps=3, slots=4)
    reader = start(world, "read", "nowcast", 0, 1, "b", open_s=5)
    assert "written 3" in writer.finish()
    assert len(starts.read_text().splitlines()) == MAX_STARTS
    ended = world.finish(reader.process)
    assert ended.status == 2 and "looking for the relay of node a" in ended.output, ended.output


def test_a_hold_ends_when_its_reader_closes_and_has_not_heard_of_a_new_relay(make_world: MakeWorld) -> None:
    """Chaos seed 30400052: the reader computed while its relay was killed and started again. It then told the relay
    that was gone that it had closed, and the writer waited for it until its process ended.
    """
    world = make_world("ocean:1,nowcast:1")
    ocean, nowcast = (Guest(world, name, 0, 1, COUPLET_NODE=node) for name, node in (("ocean", "a"), ("nowcast", "b")))
    ocean.ready()
    nowcast.ready()
    ocean.get("series = universe.create_series('eta', (4,), 'f8', slots=2, wait_timeout=20)")
    nowcast.get("reader = universe.open_series('eta', mode='hold')")
    ocean.get("series.put(np.zeros(4), 0)")
    nowcast.get("reader.read(1, 1, timeout=100)")
    before = set(world.relays())
    os.kill(max(before), signal.SIGKILL)  # not the keeper, which has started it
    deadline = time.monotonic() + WATCHDOG_S
    while set(world.relays()) <= before:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    time.sleep(1)  # it joins
    nowcast.get("reader.close()")
    for step in range(1, 6):
        ocean.get(f"series.put(np.zeros(4), {step})")
    ocean.get("series.close()")
    ocean.leave(nowcast)
