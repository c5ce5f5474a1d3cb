"""Memory, shared memory, open files and threads run out beside two pairs at work.

An error says what and where, the pairs lose nothing, and afterwards everything works again.
"""

from __future__ import annotations

import os
import resource
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from launching import BUILD, WATCHDOG_S, World
from members import Member
from quartet import PROGRAMS, Guest, quartet, start_guests
from strangers import listening_ports, open_connections

MakeWorld = Callable[..., World]
MEGABYTE = 1 << 20
SMALL_MEMORY_BYTES = 24 * MEGABYTE


@pytest.fixture
def small_memory(tmp_path: Path) -> Iterator[Path]:
    """Makes a directory in a small file system of its own, in memory, as /dev/shm of a container may be."""
    path = tmp_path / "shm"
    path.mkdir()
    options = ["-t", "tmpfs", "-o", f"size={SMALL_MEMORY_BYTES},mode=0700", "tmpfs"]
    mounted = subprocess.run(["mount", *options, str(path)], capture_output=True, text=True)
    if mounted.returncode != 0:
        pytest.skip(f"a file system may not be mounted here: {mounted.stderr.strip()}")
    yield path
    subprocess.run(["umount", str(path)], check=True)


def leave_free(directory: Path, free_bytes: int) -> None:
    """Fills the file system up to so many bytes."""
    filler = directory / "filler"
    filler.unlink(missing_ok=True)
    facts = os.statvfs(directory)
    with filler.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, facts.f_bavail * facts.f_frsize - free_bytes)


def test_a_full_shared_memory(small_memory: Path, make_world: MakeWorld) -> None:
    world = make_world(f"{PROGRAMS},guest:2?", run_directory=small_memory)
    page = os.sysconf("SC_PAGESIZE")
    with quartet(world) as four:
        leave_free(small_memory, 0)
        four.go_on()
        for rank in range(2):
            refused = Guest(world, "guest", rank, 2).hear()
            assert refused.startswith("error COUPLET_ERROR_NO_SPACE ") and str(small_memory) in refused, refused
        leave_free(small_memory, 4 * MEGABYTE)
        guests = [Guest(world, "guest", rank, 2) for rank in range(2)]
        first, second = (guest.ready() for guest in guests)
        leave_free(small_memory, 16 * page)
        alone = "group=universe.create_group('alone', [universe.rank])"
        create = f"universe.create_series('big', (1000, 1000), 'f8', slots=1, {alone})"
        first.refused(create, "NO_SPACE", "'big'", str(small_memory), "bytes")
        first.say("universe.group.Send(np.arange(100000), universe.rank + 1)")
        second.get("found = np.zeros(100000, 'i8')")
        second.get("universe.group.Recv(found, universe.rank - 1, timeout=100)")
        assert first.hear() == "is None"
        assert second.get("bool((found == np.arange(100000)).all())") == "True"
        (link,) = {peer["link"] for peer in eval(first.get("universe.explain()['peers']"))}
        assert link == "tcp", "a ring did not fit"
        four.go_on()
        (small_memory / "filler").unlink()
        first.get(f"big = {create}")
        first.get("big.put(np.ones((1000, 1000)), 1)")
        first.get("big.close()")
        first.leave(second)


def limit_files(pid: int, most: int) -> tuple[int, int]:
    """Sets the limit of open files from here on, and returns the former one."""
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (most, before[1]))
    return before


def files(pid: int) -> int:
    """Returns the first free number: a limit of this refuses all above."""
    used = {int(path.name) for path in Path(f"/proc/{pid}/fd").iterdir()}
    return next(number for number in range(len(used) + 1) if number not in used)


@pytest.mark.parametrize("links", ["self,shm,tcp", "self,tcp"])
def test_no_file_is_left_for_a_guest(make_world: MakeWorld, links: str) -> None:
    world = make_world(f"{PROGRAMS},guest:1?")
    with quartet(world, COUPLET_LINKS=links) as four:
        guest = Guest(world, "guest", 0, 1, COUPLET_LINKS=links).ready()
        pid = guest.process.pid
        before = limit_files(pid, files(pid))
        guest.refused("universe.open_series('eta', start='next')", "LIMIT", "'eta'", "Too many open files")
        guest.refused("universe.create_series('own', (4,), 'i8')", "LIMIT", "'own'", "Too many open files")
        guest.refused("universe.group.Send(np.zeros(4), 3, timeout=100)", "LIMIT", "'pong'", "Too many open files")
        four.go_on()
        limit_files(pid, before[0])
        guest.get("eta = universe.open_series('eta', start='next')")
        assert int(guest.get("len(eta.read(timeout=100))")) > 0
        guest.get("own = universe.create_series('own', (4,), 'i8')")
        guest.get("[each.close() for each in (eta, own)]")
        guest.leave()


@pytest.mark.parametrize(
    "call",
    ["universe.create_series('own', (4,), 'i8', box=mine, group=both)", "both.barrier(timeout=20)"],
    ids=["create", "barrier"],
)
def test_a_collective_call_waits_for_a_file_for_its_connection(make_world: MakeWorld, call: str) -> None:
    """Chaos seed 2100054: the first message of a rank was dropped for lack of one, and both waited for 60 s."""
    world = make_world("guest:2")
    guests = [Guest(world, "guest", rank, 2, COUPLET_LINKS="self,tcp") for rank in range(2)]
    first, second = (guest.ready() for guest in guests)
    for guest in (first, second):
        guest.get("both = universe.program_group")
        guest.get("mine = [(2 * universe.rank, 2 * universe.rank + 2)]")
    pid = second.process.pid
    before = limit_files(pid, files(pid))
    began = time.monotonic()
    for guest in (first, second):
        guest.say(f"made = {call}")
    time.sleep(1)
    limit_files(pid, before[0])
    for guest in (first, second):
        answer = guest.hear()
        assert answer.startswith("is ") or "Too many open files" in answer, answer
    assert time.monotonic() - began < 20, "it goes on as soon as there is a file"
    for guest in (first, second):  # and they are in step
        guest.say("again = universe.create_series('again', (4,), 'i8', box=mine, group=both)")
    for guest in (first, second):
        assert guest.hear().startswith("is ")
        guest.get("again.close()")
        guest.get("made.close() if made else None")
    first.leave(second)


def test_few_files_to_join_with(make_world: MakeWorld) -> None:
    world = make_world(f"{PROGRAMS},guest:1?")
    with quartet(world) as four:
        answers = []
        for most in range(3, 24):
            member = Member(world, "guest", 0, 1, launcher=["prlimit", f"--nofile={most}:{most}"])
            answers.append(member.hear())
            if answers[-1].startswith("joined "):
                member.leave()
                break
            member.process.wait(WATCHDOG_S)
        four.go_on()
    program_ran = [answer for answer in answers if answer]  # otherwise not even its libraries could be loaded
    assert program_ran[-1].startswith("joined "), answers
    for answer in program_ran[:-1]:
        assert answer.startswith("error COUPLET_ERROR_LIMIT ") and "Too many open files" in answer, answers
    assert len(program_ran) > 3, answers


def test_no_file_is_left_for_callers_of_a_member(make_world: MakeWorld) -> None:
    world = make_world(f"{PROGRAMS},guest:1?")
    with quartet(world) as four:
        pid = four.pid("ping")
        (port,) = listening_ports(pid)
        before = limit_files(pid, files(pid))
        with open_connections(port, 20):
            four.go_on()
        limit_files(pid, before[0])
        guest = Member(world, "guest", 0, 1)
        guest.joined()
        assert guest.ask("nonsense 2 garbage") == "nonsense ended"  # it was let in to send it
        guest.leave()


def test_no_file_is_left_for_callers_of_the_hub(make_world: MakeWorld) -> None:
    world = make_world(f"{PROGRAMS},guest:1?")
    hub = world.processes[0]
    with quartet(world) as four:
        before = limit_files(hub.pid, files(hub.pid))
        answer = Member(world, "guest", 0, 1, "--timeout", 1).hear()
        assert answer.startswith("error COUPLET_ERROR_TIMEOUT "), answer
        assert f"the hub at {world.environment['COUPLET_HUB']}" in answer
        four.go_on()
        limit_files(hub.pid, before[0])
        guest = Member(world, "guest", 0, 1)
        guest.joined()
        guest.leave()
    assert hub.stderr is not None
    assert hub.stderr.read().startswith("couplet-hub: cannot accept a connection: Too many open files")


def test_memory_is_refused(make_world: MakeWorld) -> None:
    world = make_world(f"{PROGRAMS},guest:1?")
    with quartet(world) as four:
        guest = Guest(world, "guest", 0, 1).ready()
        create = "universe.create_series('{}', (1 << 20,), 'f8', slots=4)"
        guest.get(f"own = {create.format('own')}")
        guest.get("[own.put(np.full(1 << 20, float(step)), step) for step in range(4)]")
        guest.get("reader = universe.open_series('own')")
        guest.get("allow_more_memory(24 << 20)")
        guest.refused("reader.read(at_least=4)", "MEMORY", "read: series 'own': there is no memory for up_to = 64")
        guest.refused(create.format("another"), "MEMORY", "'another'", "bytes")
        four.go_on()
        guest.get("allow_more_memory(-1)")
        assert guest.get("reader.read(at_least=4).data[:, -1].tolist()") == "[0.0, 1.0, 2.0, 3.0]"
        guest.get(f"another = {create.format('another')}")
        guest.get("[each.close() for each in (reader, own, another)]")
        guest.leave()
        four.go_on()


def test_no_memory_for_a_request_is_told_to_its_requester(make_world: MakeWorld) -> None:
    """Fault: a request for which its coupler had no memory was dropped, and its requester waited for ever."""
    world = make_world("coupler:1,worker:1,requester:1")
    coupler, worker, requester = start_guests(world, "coupler", "worker", "requester")
    coupler.get("c = universe.coupler('t', requesters='requester', workers='worker')")
    worker.get("w = universe.worker('t')")
    requester.get("r = universe.requester('t')")
    coupler.get("allow_more_memory(16 << 20)")
    coupler.say("c.run(timeout=5)")
    why = ("program 'coupler' rank 0", "gave up the connection", "no memory for a task message of 6")
    failed = "the connection to the coupler of task 0 failed"
    requester.refused("r.submit(-1, [1], np.zeros(8 << 20), timeout=60)", "PEER_LOST", failed, *why)
    requester.refused("r.submit(-1, [1], timeout=60)", "PROTOCOL", *why)
    coupler.hear()
    coupler.get("allow_more_memory(-1)")
    requester.refused("r.close()", "PROTOCOL", "will wait until this rank leaves the universe")
    requester.leave()
    # Fault: the coupler had been told of a loss, and was not told that the requester has left.
    assert coupler.get("c.run(timeout=60)") == "True"
    assert worker.get("w.next(timeout=60)") == "None"
    coupler.leave(worker)


@pytest.mark.parametrize("limit", [20000, 300000, MEGABYTE, 4 * MEGABYTE])
def test_messages_over_files_that_may_not_grow(make_world: MakeWorld, tmp_path: Path, limit: int) -> None:
    """Fault: a record beyond RLIMIT_FSIZE broke the connection, which was made again and again, for ever."""
    world = make_world("guest:2")
    extra = {"COUPLET_LINKS": "self,file", "COUPLET_FILE_DIRECTORY": str(tmp_path / "shared")}
    Path(extra["COUPLET_FILE_DIRECTORY"]).mkdir(mode=0o700)
    sender, receiver = (Guest(world, "guest", rank, 2, **extra) for rank in range(2))
    for each in (sender, receiver):
        each.ready()
        each.get("data = np.arange(1_000_000.0)")
    before = resource.prlimit(sender.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(sender.process.pid, resource.RLIMIT_FSIZE, (limit, before[1]))
    sender.say("[universe.group.Send(data + number, 1) for number in range(3)]")
    for number in range(3):
        receiver.get("universe.group.Recv(data, 0, timeout=60)")
        assert receiver.get(f"bool((data == np.arange(1_000_000.0) + {number}).all())") == "True"
    assert sender.hear().startswith("is")
    sender.leave(receiver)


def test_a_limit_of_the_size_of_the_files_of_the_hub(make_world: MakeWorld) -> None:
    """Fault: a roster beyond RLIMIT_FSIZE ended the hub with SIGXFSZ. It goes on, and writes it as soon as it can."""
    world = make_world(f"{PROGRAMS},guest:1?")
    hub = world.processes[0]
    with quartet(world) as four:
        (roster,) = world.run_directory.rglob("roster")
        before = resource.prlimit(hub.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(hub.pid, resource.RLIMIT_FSIZE, (1, before[1]))
        guest = Guest(world, "guest", 0, 1).ready()
        four.go_on()
        assert not roster.exists()  # one that lacks something would mislead the next hub
        resource.prlimit(hub.pid, resource.RLIMIT_FSIZE, before)
        guest.leave()
        end = time.monotonic() + WATCHDOG_S
        while not roster.exists() and time.monotonic() < end:
            four.go_on()
        assert "guest" in roster.read_text()


def test_a_limit_of_the_size_of_files(make_world: MakeWorld) -> None:
    """Fault: a series beyond RLIMIT_FSIZE (ulimit -f) ended the program with SIGXFSZ, which Python alone ignores."""
    world = make_world(f"{PROGRAMS},guest:1?")
    with quartet(world) as four:
        guest = Guest(world, "guest", 0, 1).ready()
        guest.get("signal = __import__('signal')")
        guest.get("signal.signal(signal.SIGXFSZ, signal.SIG_DFL)")
        pid = guest.process.pid
        before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (MEGABYTE // 16, before[1]))
        named = (f"at most {MEGABYTE // 16} ", "RLIMIT_FSIZE")
        guest.refused("universe.create_series('own', (100000,), 'f8')", "NO_SPACE", "'own'", *named)
        guest.refused("universe.create_area('own', (100000,), 'f8')", "NO_SPACE", "'own'", *named)
        guest.get("universe.group.Send(np.zeros(4), universe.rank)")
        guest.say("universe.group.Send(np.zeros(4), 3, 7, timeout=100)")  # the ring does not fit
        four.go_on()
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
        guest.get("own = universe.create_series('own', (100000,), 'f8', slots=2)")
        guest.get("own.close()")
        guest.leave()


def test_the_relay_needs_no_thread_for_a_writer_that_it_serves(make_world: MakeWorld) -> None:
    """It has one thread for all, so a reader is served that comes when no memory is left for another stack."""
    world = make_world(f"{PROGRAMS},guest:1?")
    world.environment["COUPLET_RELAY"] = "external"
    relay = world.start([str(BUILD / "libexec" / "couplet" / "couplet-relay")], COUPLET_NODE="a")
    with quartet(world, COUPLET_NODE="a") as four:
        guest = Guest(world, "guest", 0, 1, COUPLET_NODE="b").ready()
        deadline = time.monotonic() + WATCHDOG_S
        while not list(world.run_directory.glob("*-a/bell-80000000")):
            assert time.monotonic() < deadline, "the relay joins"
            time.sleep(0.01)
        pages = int(Path(f"/proc/{relay.pid}/statm").read_text().split()[0])
        before = resource.prlimit(relay.pid, resource.RLIMIT_AS)
        room = pages * resource.getpagesize() + 2 * MEGABYTE  # for the slots, not for another stack
        resource.prlimit(relay.pid, resource.RLIMIT_AS, (room, before[1]))
        guest.get("eta = universe.open_series('eta', mode='follow', start='next')")
        four.go_on()
        resource.prlimit(relay.pid, resource.RLIMIT_AS, before)
        assert int(guest.get("len(eta.read(timeout=100))")) > 0
        guest.get("eta.close()")
        guest.leave()
    assert relay.wait(WATCHDOG_S) == 0


def test_a_relay_is_started_once_there_are_descriptors_again(make_world: MakeWorld) -> None:
    """Fault: if no pipe could be made for the first relay, the process never started one."""
    world = make_world("ocean:1,nowcast:1")
    ocean, nowcast = (Guest(world, name, 0, 1, COUPLET_NODE=node) for name, node in (("ocean", "a"), ("nowcast", "b")))
    ocean.ready()
    nowcast.ready()
    for module in ("os", "resource"):
        ocean.get(f"{module} = __import__('{module}')")
    ocean.get("most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]")
    ocean.ask("resource.setrlimit(resource.RLIMIT_NOFILE, (256, most))")
    ocean.get("held = [os.dup(0) for _ in range(256 - len(os.listdir('/proc/self/fd')))]")  # all but one
    ocean.get("series = universe.create_series('eta', (4,), 'f8')")
    assert not world.relays()
    ocean.ask("[os.close(each) for each in held]")
    ocean.get("series.put(np.zeros(4), 0)")
    nowcast.say("reader = universe.open_series('eta', mode='hold', timeout=100)")
    step = 0
    while not world.relays():  # each put lets the process look again
        step += 1
        ocean.get(f"series.put(np.zeros(4), {step})")
        time.sleep(0.05)
    nowcast.hear()
    nowcast.get("len(reader.read(1, 1))")
    nowcast.get("reader.close()")
    ocean.get("series.close()")
    nowcast.leave()
    ocean.leave()
