"""Waiting for any of two series and messages between two programs: each MPI, mapped and relayed; deaths and cancels."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable

import pytest
from jobs import FLAVOURS
from launching import BUILD, World, read_line
from needs import built
from pairs import start_program
from quartet import Guest
from sky import start

MakeWorld = Callable[..., World]
KINDS = [("openmpi", "mpich"), ("mpich", "openmpi"), ("openmpi", "none"), ("none", "mpich"), ("none", "none")]


@pytest.mark.parametrize("far", [False, True], ids=["mapped", "relayed"])
@pytest.mark.parametrize("what", ["alone", "loop", "together"])
@pytest.mark.parametrize("kinds", KINDS, ids=" to ".join)
def test_everything_comes(make_world: MakeWorld, kinds: tuple[str, str], what: str, far: bool) -> None:
    world = make_world("left:2,right:2")
    nodes = {"COUPLET_NODE": "far"} if far else {}
    started = [
        *start_program(world, kinds[0], 2, ["left"], name="waiting"),
        *start_program(world, kinds[1], 2, ["right", what], name="waiting", **nodes),
    ]
    said = sorted(line for process in started for line in world.finish(process).check().output.splitlines())
    assert said == ["left 0: done", "left 1: done", "right 0: done", "right 1: done"]


@pytest.mark.parametrize("direct", ["1", "0"], ids=["mapped", "got"])
@pytest.mark.parametrize("what", ["alone", "loop"])
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_everything_comes_through_the_window_of_a_job(
    make_world: MakeWorld, flavour: str, what: str, direct: str
) -> None:
    world = make_world("left:2,right:2")
    program = built(BUILD / "tests" / "programs" / f"waiting.{flavour}", "cpp", flavour)
    window = {"COUPLET_MPI_WINDOW_BYTES": str(4 << 20), "COUPLET_MPI_WINDOW_DIRECT": direct}
    chosen = {f"COUPLET_SERIES_{name}_WINDOW": "1" for name in ("ETA", "RHO")}
    parts = [["-n", "2", program, "left"], ["-n", "2", program, "right", what]]
    said = world.finish(start(world, flavour, *parts, **window, **chosen)).check().output
    assert sorted(said.splitlines()) == ["left 0: done", "left 1: done", "right 0: done", "right 1: done"]


WRITER = """
import sys, time
import numpy as np
import couplet
with couplet.join("writer") as universe:
    eta = universe.create_series("eta", (4,), slots=4, required_readers="waiter")
    eta.put(np.zeros(4), 1)
    print("written", flush=True)
    for line in sys.stdin:
        if line == "send\\n":
            universe.group.send({"to": "waiter"}, 1, 5)
        if line == "put\\n":
            eta.put(np.ones(4), 2)
        if line == "close\\n":
            eta.close()
"""


def python(world: World, text: str, **extra: str) -> subprocess.Popen[str]:
    return world.start([sys.executable, "-c", text], standard_input=True, **extra)


def say(process: subprocess.Popen[str], word: str) -> None:
    assert process.stdin is not None
    process.stdin.write(word + "\n")
    process.stdin.flush()


SLEEPER = """
import asyncio, sys
import couplet

def take(reader):
    try:
        reader.read(timeout=0)
    except couplet.PeerLostError as error:
        print(f"lost: {error}", flush=True)

def wait(universe, eta):
    print("waits", flush=True)
    assert couplet.wait_any([eta, universe.group.arrival(1, 5)]) is eta
    take(eta)

async def loop(universe, eta):
    print("waits", flush=True)
    assert await universe.ready(eta, universe.group.arrival(1, 5)) is eta
    take(eta)

universe = couplet.join("waiter")
eta = universe.open_series("eta")
eta.read()
if sys.argv[1:] == ["loop"]:
    asyncio.run(loop(universe, eta))
else:
    wait(universe, eta)
eta.close()
universe.leave()
"""


@pytest.mark.parametrize("how", ["call", "loop"])
@pytest.mark.parametrize("far", [False, True], ids=["mapped", "relayed"])
def test_the_death_of_a_writer_ends_the_wait(make_world: MakeWorld, far: bool, how: str) -> None:
    world = make_world("writer:1,waiter:1")
    writer = python(world, WRITER)
    waiter = world.start(
        [sys.executable, "-c", SLEEPER, how], standard_input=True, **({"COUPLET_NODE": "far"} if far else {})
    )
    assert read_line(writer) == "written\n"
    assert read_line(waiter) == "waits\n"
    writer.kill()
    told = world.finish(waiter).check().output
    assert told.startswith("lost: ") and "program 'writer' rank 0" in told


LOOPS = """
import asyncio, sys
import numpy as np
import couplet

async def ticker(ticks):
    while True:
        ticks.append(1)
        await asyncio.sleep(0.01)

async def cancelled(universe, eta):
    group = universe.group
    calls = [eta.read_async(), group.recv_async(0, 5), eta.read_async(timeout=3600)]
    calls.append(universe.ready(eta, group.arrival(0, 5)))
    readers = [asyncio.create_task(call) for call in calls]
    await asyncio.sleep(0)
    for task in readers:
        task.cancel()
    for task in readers:
        try:
            await task
        except asyncio.CancelledError:
            continue
        raise AssertionError("not cancelled")

async def main(universe, eta):
    ticks = []
    ticking = asyncio.create_task(ticker(ticks))
    batch = await eta.read_async()
    assert batch.steps.tolist() == [1]
    assert (await eta.read_async(timeout=0.05)).status == "not yet"
    assert await universe.ready(eta, timeout=0.05) is None
    await cancelled(universe, eta)
    print("cancelled", flush=True)
    # Two coroutines wait for the same message, and one of them gets it; the other one goes on waiting.
    both = [asyncio.create_task(universe.group.recv_async(0, 5)) for _ in range(2)]
    done, waiting = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    assert [task.result() for task in done] == [{"to": "waiter"}] and len(waiting) == 1
    for task in waiting:
        task.cancel()
    print("received", flush=True)
    # Two coroutines wait for the same series, for different numbers of steps.
    far = asyncio.create_task(universe.ready(eta.steps(2)))
    assert await universe.ready(eta) is eta and not far.done()
    batch = await eta.read_async()
    assert batch.steps.tolist() == [2]
    far.cancel()
    print("read", flush=True)
    assert [batch async for batch in eta] == []
    ticking.cancel()
    assert len(ticks) > 2
    closed = universe.open_series("eta", mode="follow", start="oldest")
    closed.close()
    try:
        await universe.ready(closed)
    except couplet.StateError as error:
        assert "closed" in str(error)
    else:
        raise AssertionError("a closed series is waited for")

universe = couplet.join("waiter")
eta = universe.open_series("eta")
asyncio.run(main(universe, eta))
eta.close()
universe.leave()
print("left", flush=True)
"""


@pytest.mark.parametrize("far", [False, True], ids=["mapped", "relayed"])
def test_coroutines(make_world: MakeWorld, far: bool) -> None:
    world = make_world("writer:1,waiter:1")
    writer = python(world, WRITER)
    waiter = python(world, LOOPS, **({"COUPLET_NODE": "far"} if far else {}))
    assert read_line(writer) == "written\n"
    for heard, word in (("cancelled", "send"), ("received", "put"), ("read", "close")):
        assert read_line(waiter) == f"{heard}\n"
        say(writer, word)
    assert world.finish(waiter).check().output == "left\n"
    world.finish(writer).check()


TEAM = """
import asyncio
import couplet

async def count(eta):
    assert (await eta.read_async(at_least=2, timeout=0.05)).status == "not yet"
    print("tried", flush=True)
    steps = []
    async for batch in eta:
        steps += batch.steps.tolist()
    return steps

with couplet.join("waiter") as universe:
    with universe.open_series("eta") as eta:
        print(asyncio.run(count(eta)))
"""


@pytest.mark.parametrize("far", [False, True], ids=["mapped", "relayed"])
def test_coroutines_of_several_ranks_read_together(make_world: MakeWorld, far: bool) -> None:
    world = make_world("writer:1,waiter:2")
    writer = python(world, WRITER)
    nodes = {"COUPLET_NODE": "far"} if far else {}
    waiters = [python(world, TEAM, COUPLET_RANK=str(rank), COUPLET_SIZE="2", **nodes) for rank in range(2)]
    assert read_line(writer) == "written\n"
    for waiter in waiters:
        assert read_line(waiter) == "tried\n"
    for word in ("put", "close"):
        say(writer, word)
    for waiter in waiters:
        assert world.finish(waiter).check().output == "[1, 2]\n"
    world.finish(writer).check()


THREADS = """
import asyncio, threading
import couplet

def receive(universe, got):
    got.append(universe.group.recv(0, 5))

async def read(eta):
    return (await eta.read_async()).steps.tolist()

with couplet.join("waiter", multiple_threads=True) as universe:
    eta = universe.open_series("eta")
    got = []
    receiver = threading.Thread(target=receive, args=(universe, got))
    receiver.start()
    assert couplet.wait_any([eta]) is eta and eta.read().steps.tolist() == [1]
    print("waits", flush=True)
    assert asyncio.run(read(eta)) == [2]
    assert receiver.is_alive()
    print("read", flush=True)
    receiver.join()
    print(got, flush=True)
    eta.close()
"""


def test_one_thread_waits_in_a_loop_while_another_one_receives(make_world: MakeWorld) -> None:
    world = make_world("writer:1,waiter:1")
    writer = python(world, WRITER)
    waiter = python(world, THREADS)
    for heard, word in (("waits", "put"), ("read", "send")):
        assert read_line(waiter) == f"{heard}\n"
        say(writer, word)
    assert world.finish(waiter).check().output == "[{'to': 'waiter'}]\n"
    world.finish(writer).check()


INTERRUPTED = """
import couplet

with couplet.join("waiter") as universe:
    eta = universe.open_series("eta")
    eta.read()
    try:
        print("waits", flush=True)
        couplet.wait_any([eta, universe.group.Arrival()])
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    assert couplet.wait_any([eta]) is eta
    print(eta.read(timeout=0).steps.tolist())
    eta.close()
"""


def test_control_c_ends_a_wait_and_loses_nothing(make_world: MakeWorld) -> None:
    world = make_world("writer:1,waiter:1")
    writer = python(world, WRITER)
    waiter = python(world, INTERRUPTED)
    assert read_line(waiter) == "waits\n"
    waiter.send_signal(signal.SIGINT)
    assert read_line(waiter) == "interrupted\n"
    say(writer, "put")
    assert world.finish(waiter).check().output == "[2]\n"
    world.finish(writer).check()


def test_another_call_makes_the_armed_descriptor_readable(make_world: MakeWorld) -> None:
    """It may take in what the descriptor was armed for, and nothing else would make the descriptor readable again."""
    world = make_world("team:1")
    program = """
import select, couplet
with couplet.join("team") as universe:
    readable = lambda: bool(select.select([universe_descriptor], [], [], 0)[0])
    universe_descriptor = universe.descriptor
    arrival = universe.group.Arrival()
    for call in (universe.progress, lambda: universe.group.isend("to myself", 0).wait()):
        assert couplet.arm_any([arrival]) is None
        while readable():
            assert couplet.arm_any([arrival]) is None
        call()
        assert readable()
    assert universe.group.recv() == "to myself"
    print("done")
"""
    assert world.finish(world.start([sys.executable, "-c", program])).check().output == "done\n"


def test_two_universes_are_not_waited_for_at_once(make_world: MakeWorld) -> None:
    first, second = make_world("team:1"), make_world("team:1")
    program = """
import os, couplet
hubs = [os.environ["COUPLET_HUB"], os.environ["SECOND_HUB"]]
secrets = [os.environ["COUPLET_SECRET_FILE"], os.environ["SECOND_SECRET"]]
a, b = (couplet.join("team", hub=hub, secret_file=secret) for hub, secret in zip(hubs, secrets, strict=True))
try:
    couplet.wait_any([a.group.Arrival(), b.group.Arrival()])
except couplet.ArgumentError as error:
    print(error)
a.leave()
b.leave()
"""
    others = {
        "SECOND_HUB": second.environment["COUPLET_HUB"],
        "SECOND_SECRET": second.environment["COUPLET_SECRET_FILE"],
    }
    told = first.finish(first.start([sys.executable, "-c", program], **others)).check().output
    assert "entry 1 of 2 belongs to another universe than entry 0" in told


# Fault: only reads heard of it, so that this wait did not end before the writer's next step.
def test_the_death_of_a_rank_of_a_reader_makes_it_ready_while_the_writer_is_silent(make_world: MakeWorld) -> None:
    world = make_world("writer:1,reader:3")
    writer = Guest(world, "writer", 0, 1)
    readers = [Guest(world, "reader", rank, 3) for rank in range(3)]
    for guest in (writer, *readers):
        guest.ready()
    writer.get("eta = universe.create_series('eta', (4,), slots=4)")
    for reader in readers:
        reader.say("eta = universe.open_series('eta', timeout=20)")
    for reader in readers:
        assert reader.hear().startswith("is ")
    for reader in readers:
        reader.say("couplet.wait_any([eta, universe.group.Arrival(tag=99)], timeout=100) is eta")
    readers[1].process.kill()
    for reader in (readers[0], readers[2]):
        assert reader.hear() == "is True"
    for reader in (readers[0], readers[2]):
        reader.say("eta.read(timeout=0)")
    for reader in (readers[0], readers[2]):
        answer = reader.hear()
        assert answer.startswith("error COUPLET_ERROR_PEER_LOST") and "program 'reader' rank 1" in answer, answer
    # Fault: the agreement was over then, and a second read waited until the writer's next step.
    for reader in (readers[0], readers[2]):
        reader.say("eta.read(timeout=100)")
    for reader in (readers[0], readers[2]):
        answer = reader.hear()
        assert answer.startswith("error COUPLET_ERROR_PEER_LOST") and "program 'reader' rank 1" in answer, answer
    # Fault: once the rank was there again, a read at times waited for it, beyond its timeout.
    readers[1] = Guest(world, "reader", 1, 3).ready()
    for line in ("eta.read(timeout=20)", "eta.read_at([0.5], timeout=20)"):
        for reader in (readers[0], readers[2]):
            reader.say(line)
        for reader in (readers[0], readers[2]):
            answer = reader.hear()
            assert answer.startswith("error COUPLET_ERROR_PEER_LOST") and "program 'reader' rank 1" in answer, answer
    for reader in (readers[0], readers[2]):
        reader.get("eta.close()")
    for reader in readers:
        reader.say("eta = universe.open_series('eta', timeout=20)")
    for reader in readers:
        assert reader.hear().startswith("is ")
    writer.get("eta.put(np.ones(4), 7, time=1.0)")
    for reader in readers:
        reader.say("list(map(int, eta.read_at([1.0], timeout=20).ordinals))")
    for reader in readers:
        assert reader.hear() == "is [0]"
    for guest in (writer, *readers):
        guest.leave()
