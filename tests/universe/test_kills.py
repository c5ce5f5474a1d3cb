"""kill -9 at random times: the others answer with the name within 5 seconds or go on, and nothing is left.

In half of the rounds nowcast reads from another node, through a relay, which is killed too: alone (its keeper starts
another one), together with its keeper, or started by hand.

Each round has a seed of its own, which its name shows. COUPLET_KILLS_SEED=<it> COUPLET_KILLS=1 repeats one.
COUPLET_KILLS is the number of rounds: a few in make test, 200 in make stress.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from best_of import best_of
from enduring import Process, error_of, goes_on
from launching import BUILD, WATCHDOG_S, World

MakeWorld = Callable[..., World]
ROUNDS = int(os.environ.get("COUPLET_KILLS", "40"))
SEED = int(os.environ.get("COUPLET_KILLS_SEED", str(random.SystemRandom().randrange(10**6) * 1000)))
PROGRAMS = ("ocean", "nowcast", "ping", "pong")
VICTIMS = (*PROGRAMS, "hub", "everything")
APART_VICTIMS = ("ocean", "nowcast", "hub", "everything", "relay", "relay", "relay and keeper", "relay by hand")
PARTNER = {"ocean": "nowcast", "nowcast": "ocean", "ping": "pong", "pong": "ping"}
WITHIN_S = 5.0  # the promise
JOIN_S = 3.0
LATE_S = 20.0  # no stall of the machine explains an answer that is even later: such a round is not repeated
RETURN_S = 100.0  # a watchdog: another relay comes when the processors have time for it
LIBEXEC = BUILD / "libexec" / "couplet"


def check(name: str, process: Process, victim: str, deadline: float) -> None:
    """A process that needs the victim names it, and the others go on. Before all had joined, all are told what is
    missing.
    """
    if victim.startswith("relay"):
        check_without_relay(name, process, victim, deadline)
        return
    needed = PARTNER.get(victim) == name and name != "ocean"  # ocean releases a dead holder
    answer = error_of(process, deadline) if needed else goes_on(process, deadline)
    if answer.startswith(("error COUPLET_ERROR_TIMEOUT joining", "error COUPLET_ERROR_HUB_LOST")):
        missing = ("the hub", "no hub at") if victim == "hub" else (f"'{victim}'",)
        assert any(each in answer for each in missing), f"{name}: {answer}"
    elif answer.startswith("error COUPLET_ERROR_TIMEOUT"):
        without_hub = victim == "hub" and "the hub at" in answer  # it was to say where the relay is
        assert (needed and "series 'eta'" in answer) or without_hub, f"{name}: {answer}"  # it was never there
    elif needed:
        assert answer.startswith("error COUPLET_ERROR_PEER_LOST"), f"{name}: {answer}"
        assert f"program '{victim}' rank 0" in answer, f"{name}: {answer}"
    else:
        assert not answer, f"{name}: {answer}"


def check_without_relay(name: str, process: Process, victim: str, deadline: float) -> None:
    """All go on, with another relay. If none has to be started, the reader may name the relay."""
    answer = goes_on(process, deadline)
    alone = victim == "relay" or name != "nowcast"
    by_name = answer.startswith("error COUPLET_ERROR_PEER_LOST") and "the relay of node" in answer
    never_there = answer.startswith("error COUPLET_ERROR_TIMEOUT") and "relay of node" in answer
    assert not answer or (not alone and (by_name or never_there)), f"{name}: {answer}"


def kill_relays(world: World, with_keeper: bool) -> None:
    """Kills the relay with SIGKILL, together with its keeper or alone (if the keeper has started it already)."""
    relays = world.relays()
    for each in relays if with_keeper else filter(is_kept, relays):
        with contextlib.suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)


def is_kept(relay: int) -> bool:
    """Says whether it is a keeper's child: the first of the two processes is a child of the session's, and ends at
    once.
    """
    try:
        _, parent, _, session = Path(f"/proc/{relay}/stat").read_text().rpartition(")")[2].split()[:4]
        keeper = Path(f"/proc/{parent}/comm").read_text() == "couplet-relay\n"
        return keeper and parent != session and relay != int(session)
    except OSError:
        return False


def kept_relay(world: World) -> int:
    """Returns the relay that a keeper has started, once there is one."""
    deadline = time.monotonic() + RETURN_S
    while not (relays := [each for each in world.relays() if is_kept(each)]):
        assert time.monotonic() < deadline, "no keeper has started a relay"
        time.sleep(0.001)
    return relays[0]


def wait_for_hub(hub: subprocess.Popen[str], events: Path) -> None:
    try:
        hub.wait(WATCHDOG_S)
    except subprocess.TimeoutExpired:
        raise AssertionError(f"the hub does not end\n{events.read_text()}") from None


@pytest.mark.stress
@pytest.mark.parametrize("seed", range(SEED, SEED + ROUNDS))
def test_kill(make_world: MakeWorld, tmp_path: Path, seed: int) -> None:
    answered_after_s = best_of(
        lambda: play_round(make_world, tmp_path, seed), lambda seconds: seconds < WITHIN_S + JOIN_S
    )
    assert answered_after_s < WITHIN_S + JOIN_S


def play_round(make_world: MakeWorld, tmp_path: Path, seed: int) -> float:
    """Returns after how many seconds the last one has answered, or 0 if the time is not part of the promise."""
    choose = random.Random(seed)
    apart = choose.random() < 0.5
    victim = choose.choice(APART_VICTIMS if apart else VICTIMS)
    mode = choose.choice(["hold", "follow"])
    delay_s = choose.choice([0.04, 0.4, 0.4]) * choose.random()  # a third of them while the programs join and open
    events = tmp_path / f"events-{time.monotonic_ns()}"
    world = make_world("ocean:1,nowcast:1,ping:1,pong:1", "--events", str(events))
    hub = world.processes[0]
    program = str(BUILD / "tests" / "programs" / "endure")
    world.environment["COUPLET_JOIN_TIMEOUT"] = str(JOIN_S)
    if victim == "relay by hand":
        world.environment["COUPLET_RELAY"] = "external"
        world.start([str(LIBEXEC / "couplet-relay")])
    nodes = {name: {"COUPLET_NODE": "elsewhere"} if apart and name == "nowcast" else {} for name in PROGRAMS}
    processes = {
        name: Process(world.start([program, name, mode], standard_input=True, **nodes[name])) for name in PROGRAMS
    }
    time.sleep(delay_s)  # the time of the kill is what matters
    if victim.startswith("relay") or victim == "everything":
        kill_relays(world, victim != "relay")
    if not victim.startswith("relay"):
        for name in [victim] if victim != "everything" else [*choose.sample(PROGRAMS, 4), "hub"]:
            (hub if name == "hub" else processes[name].process).kill()
    others = {name: each for name, each in processes.items() if victim not in (name, "everything")}
    try:
        killed = time.monotonic()
        for name, each in others.items():
            check(name, each, victim, killed + (RETURN_S if victim.startswith("relay") else LATE_S))
        answered_after_s = 0.0 if victim.startswith("relay") else time.monotonic() - killed
        for each in others.values():
            each.say("stop")
        for name, each in others.items():
            each.process.wait(WATCHDOG_S)
            assert each.process.returncode == 0, f"{name}: {each.said}"
        complete = any("running" in each.said for each in others.values())
        if victim in PROGRAMS and not complete:
            hub.terminate()  # the hub would wait for a process to return
        wait_for_hub(hub, events)
        world.wait_for_relays()
    finally:
        world.kill()
        for each in processes.values():
            each.close()
    if victim == "everything" or (victim == "hub" and (apart or not complete)):
        world.clean()  # perhaps only the hub had entered, or the nowcast on its own node could wait for the hub
    left = [str(path) for path in world.run_directory.rglob("*")]
    assert not left, f"left behind after the death of {victim}: {left}"
    return answered_after_s


@contextlib.contextmanager
def pair_apart(world: World, mode: str, events: Path) -> Iterator[tuple[Process, Process]]:
    """Starts nowcast, on a node of its own, and ocean. In the end both have to go on, and then to end with the hub."""
    program = str(BUILD / "tests" / "programs" / "endure")
    ocean = Process(world.start([program, "ocean", mode], standard_input=True))
    nowcast = Process(world.start([program, "nowcast", mode], standard_input=True, COUPLET_NODE="elsewhere"))
    try:
        yield nowcast, ocean
        for each in (nowcast, ocean) * 20:  # more turns than there are slots
            assert not goes_on(each, time.monotonic() + RETURN_S), each.said
        for each in (nowcast, ocean):
            each.say("stop")
        for each in (nowcast, ocean):
            each.process.wait(WATCHDOG_S)
            assert each.hear(WATCHDOG_S) == "stopped", each.said
        assert world.hub is not None
        wait_for_hub(world.hub, events)
        world.wait_for_relays()
    finally:
        world.kill()
        for each in (ocean, nowcast):
            each.close()


@pytest.mark.parametrize("mode", ["hold", "follow"])
def test_each_relay_is_killed_soon(make_world: MakeWorld, tmp_path: Path, mode: str) -> None:
    """The reader may be meeting the relay. It goes on with the last one."""
    choose = random.Random(SEED)
    events = tmp_path / "events"
    world = make_world("ocean:1,nowcast:1", "--events", str(events))
    with pair_apart(world, mode, events):
        for _ in range(5):  # a keeper gives up after 10 that ran for less than a second
            relay = kept_relay(world)
            time.sleep(choose.random() * 0.15)
            with contextlib.suppress(ProcessLookupError):  # the hub had not heard yet of the end of the previous one
                os.kill(relay, signal.SIGKILL)


@pytest.mark.parametrize(("with_keeper", "mode"), [(False, "follow"), (True, "hold")], ids=["relay", "and_keeper"])
def test_a_relay_is_killed_while_there_is_no_hub(
    make_world: MakeWorld, tmp_path: Path, with_keeper: bool, mode: str
) -> None:
    """The keeper ended, since its relay could not join. A relay that joined later was given the incarnation of the one
    that had died, so that the reader took it for that one.
    """
    events = tmp_path / "events"
    world = make_world("ocean:1,nowcast:1", "--events", str(events))
    world.environment["COUPLET_HUB_RETURN_PATIENCE_S"] = "60"
    with pair_apart(world, mode, events) as (nowcast, _):
        relay = kept_relay(world)
        assert not goes_on(nowcast, time.monotonic() + RETURN_S), nowcast.said
        world.kill_hub()
        kill_relays(world, with_keeper)
        with contextlib.suppress(OSError):  # once it has gone
            while Path(f"/proc/{relay}/cmdline").read_bytes():
                time.sleep(0.001)
        world.resume_hub()
