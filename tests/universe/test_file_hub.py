"""Programs that share a directory and no network: they join, exchange messages and leave through it."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from launching import WATCHDOG_S, World, command_for, read_line
from namespaces import keep
from needs import installed
from quartet import Guest

MakeWorld = Callable[..., World]
SIDES = ("hub", "left", "right")
SILENCE_S = 30  # after which a heartbeat that proves nothing counts as silent


@pytest.fixture
def islands() -> Iterator[dict[str, list[str]]]:
    """Words before a command that runs in a network namespace which has nothing but a loopback of its own."""
    for program in ("ip", "unshare", "nsenter"):
        installed(program)
    keepers = {side: keep("unshare", "-n") for side in SIDES}
    prefixes = {side: ["nsenter", "-t", str(keeper.pid), "-n", "--"] for side, keeper in keepers.items()}
    for prefix in prefixes.values():
        subprocess.run([*prefix, "ip", "link", "set", "lo", "up"], check=True, timeout=WATCHDOG_S)
        shown = subprocess.run(
            [*prefix, "ip", "-o", "link"], check=True, capture_output=True, text=True, timeout=WATCHDOG_S
        )
        assert len(shown.stdout.splitlines()) == 1, shown.stdout
    yield prefixes
    for keeper in keepers.values():
        keeper.communicate()


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[Path]:
    directory = tmp_path / "shared"
    directory.mkdir(mode=0o700)
    yield directory
    assert not list(directory.iterdir()), "left behind"


def guest(world: World, islands: dict[str, list[str]], rank: int) -> Guest:
    side = SIDES[1 + rank]
    return Guest(world, "guest", rank, 2, prefix=islands[side], COUPLET_NODE=side, COUPLET_RELAY="none")


def pair(world: World, islands: dict[str, list[str]]) -> tuple[Guest, Guest]:
    guests = [guest(world, islands, rank) for rank in (0, 1)]
    for each in guests:
        each.ready()
        each.get("found = np.zeros(4, 'i8')")
    return guests[0], guests[1]


def exchange(first: Guest, second: Guest) -> None:
    for rank, (sender, receiver) in enumerate([(first, second), (second, first)]):
        receiver.say(f"universe.group.Recv(found, {rank}, timeout=60)")
        sender.get(f"universe.group.Send(np.arange(4), {1 - rank}, timeout=60)")
        answer = receiver.hear()
        assert answer.startswith("is "), answer
        assert receiver.get("found.tolist()") == "[0, 1, 2, 3]"
        receiver.get("found.fill(0)")


def test_programs_without_any_network_join_and_exchange_messages(
    make_world: MakeWorld, islands: dict[str, list[str]], shared: Path
) -> None:
    world = make_world("guest:2", "--file-directory", str(shared), prefix=islands["hub"])
    assert world.environment["COUPLET_HUB"] == f"file:{shared}"
    first, second = pair(world, islands)
    exchange(first, second)
    (peer,) = [each for each in eval(first.get("universe.explain()['peers']")) if each["link"] != "self"]
    assert peer["link"] == "file", peer
    first.leave(second)
    assert world.processes[0].wait(WATCHDOG_S) == 0, "the hub ends with the universe"


def test_another_secret_is_refused_through_the_directory(make_world: MakeWorld, shared: Path, tmp_path: Path) -> None:
    world = make_world("guest:1", "--file-directory", str(shared))
    wrong = tmp_path / "wrong"
    wrong.touch(mode=0o600)
    wrong.write_text("ab" * 32 + "\n")
    stranger = Guest(world, "guest", 0, 1, COUPLET_SECRET_FILE=str(wrong))
    answer = stranger.hear()
    assert answer.startswith("error COUPLET_ERROR_AUTHENTICATION"), answer
    one = Guest(world, "guest", 0, 1).ready()
    one.leave()
    assert world.processes[0].wait(WATCHDOG_S) == 0


def test_a_directory_without_a_hub_is_named(make_world: MakeWorld, shared: Path) -> None:
    world = make_world("")
    world.environment |= {"COUPLET_HUB": f"file:{shared}", "COUPLET_JOIN_TIMEOUT": "1"}
    answer = Guest(world, "guest", 0, 1).hear()
    assert answer.startswith("error COUPLET_ERROR_HUB_LOST") and str(shared) in answer, answer


def test_a_directory_has_one_hub(make_world: MakeWorld, shared: Path) -> None:
    world = make_world("guest:1", "--file-directory", str(shared))
    command = [*world.hub_command]
    ended = world.finish(world.start(command))
    assert ended.status == 1 and "serves the directory" in ended.errors, ended
    Guest(world, "guest", 0, 1).ready().leave()
    assert world.processes[0].wait(WATCHDOG_S) == 0


def test_a_program_in_c_and_one_in_python_without_any_network(
    make_world: MakeWorld, islands: dict[str, list[str]], shared: Path
) -> None:
    """Their messages and their series go through the directory."""
    world = make_world("writer:1,reader:1", "--file-directory", str(shared), prefix=islands["hub"])
    world.run_together(
        [*islands["left"], *command_for("story", "c"), "writer"],
        [*islands["left"], *command_for("story", "python"), "reader"],
    )


def is_present(guest: Guest, rank: int) -> bool:
    """Says whether the other one is a member, as far as this one has heard."""
    states = {each["rank"]: each["lost"] for each in eval(guest.get("universe.explain()['peers']"))}
    return not states[rank]


def test_a_killed_member_is_lost_at_once(make_world: MakeWorld, islands: dict[str, list[str]], shared: Path) -> None:
    """On one host a lock proves its death, and what it has left is removed."""
    world = make_world("guest:2", "--file-directory", str(shared), prefix=islands["hub"])
    first, second = pair(world, islands)
    exchange(first, second)
    second.process.kill()
    killed = time.monotonic()
    first.refused("universe.group.Recv(found, 1, timeout=100)", "PEER_LOST", "program 'guest' rank 1")
    assert time.monotonic() - killed < SILENCE_S - 5, "no heartbeat was waited for"
    first.leave()
    assert world.processes[0].wait(WATCHDOG_S) == 0


@pytest.mark.long  # 35 s
def test_a_stopped_member_is_not_lost(make_world: MakeWorld, islands: dict[str, list[str]], shared: Path) -> None:
    """Its lock is held, for however long its heartbeat is silent."""
    world = make_world("guest:2", "--file-directory", str(shared), prefix=islands["hub"])
    first, second = pair(world, islands)
    exchange(first, second)
    second.process.send_signal(signal.SIGSTOP)
    first.refused(f"universe.group.Recv(found, 1, timeout={SILENCE_S + 4})", "TIMEOUT")
    second.process.send_signal(signal.SIGCONT)
    exchange(first, second)
    first.leave(second)
    assert world.processes[0].wait(WATCHDOG_S) == 0


def test_members_whose_files_have_failed_come_back(
    make_world: MakeWorld, islands: dict[str, list[str]], shared: Path
) -> None:
    """The hub took the end of the connection for the end of the process."""
    world = make_world("guest:2", "--file-directory", str(shared), prefix=islands["hub"])
    first, second = pair(world, islands)
    before = set(shared.glob("run-*/hub/call-*"))
    assert len(before) == 2, before
    for call in before:
        shutil.rmtree(call)
    deadline = time.monotonic() + WATCHDOG_S
    while len(set(shared.glob("run-*/hub/call-*/a0")) - before) < 2 or any(call.exists() for call in before):
        assert time.monotonic() < deadline, list(shared.rglob("*"))
        assert world.processes[0].poll() is None, "the hub has taken all members for lost"
        for guest in (first, second):
            guest.get("universe.progress()")
    exchange(first, second)
    assert is_present(first, 1) and is_present(second, 0)
    first.leave(second)
    assert world.processes[0].wait(WATCHDOG_S) == 0


def test_a_hub_that_was_killed_comes_back(make_world: MakeWorld, islands: dict[str, list[str]], shared: Path) -> None:
    world = make_world("guest:2", "--file-directory", str(shared), prefix=islands["hub"])
    first, second = pair(world, islands)
    world.kill_hub()
    world._start_hub([*world.hub_command, "--resume", world.run])
    exchange(first, second)
    first.leave(second)
    assert world.hub is not None and world.hub.wait(WATCHDOG_S) == 0, "both have come back to it"


def test_members_come_to_a_hub_without_descriptors_and_wait(
    make_world: MakeWorld, islands: dict[str, list[str]], shared: Path
) -> None:
    """It could not connect them to itself, and they were not told."""
    world = make_world("guest:2", "--file-directory", str(shared))
    assert world.hub is not None
    number = world.hub.pid
    opened = len(list(Path(f"/proc/{number}/fd").iterdir()))
    resource.prlimit(number, resource.RLIMIT_NOFILE, (opened + 2, 4096))  # what one side of a connection takes
    guests = [guest(world, islands, rank) for rank in (0, 1)]
    while len(list(shared.glob("run-*/hub/call-*/d0"))) < len(guests):
        time.sleep(0.01)
    time.sleep(0.2)  # it looks every 20 ms
    resource.prlimit(number, resource.RLIMIT_NOFILE, (4096, 4096))
    for each in guests:
        each.ready()
    guests[0].leave(guests[1])
    assert world.hub.wait(WATCHDOG_S) == 0


def test_one_of_several_hubs_that_start_together_serves(make_world: MakeWorld, shared: Path) -> None:
    world = make_world("guest:1", "--file-directory", str(shared))
    world.kill_hub()  # and its pointer stays
    hubs = [world.start(world.hub_command) for _ in range(3)]
    lines = [read_line(hub) for hub in hubs]
    (serving,) = [hub for hub, line in zip(hubs, lines, strict=True) if line.startswith("COUPLET_HUB=")]
    for hub in hubs:
        assert hub is serving or world.finish(hub).status == 1
    Guest(world, "guest", 0, 1).ready().leave()
    assert serving.wait(WATCHDOG_S) == 0


def test_a_hub_leaves_the_pointer_of_its_successor(make_world: MakeWorld, shared: Path) -> None:
    """Another hub serves the directory by now, as after a long absence from the file server."""
    world = make_world("guest:1", "--file-directory", str(shared))
    pointer = shared / "hub"
    successor = shared / "successor"
    successor.touch(mode=0o600)
    successor.write_text("0123456789abcdef\n")
    successor.rename(pointer)
    world.processes[0].terminate()
    world.processes[0].wait(WATCHDOG_S)
    assert [path.name for path in shared.iterdir()] == ["hub"]
    assert pointer.read_text() == "0123456789abcdef\n"
    pointer.unlink()


def test_each_host_may_see_the_directory_under_a_path_of_its_own(
    make_world: MakeWorld, shared: Path, tmp_path: Path
) -> None:
    """The hub sees it at a path at which its members find another directory, which they may not use."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a directory at another path")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    elsewhere.chmod(0o755)
    mounted = f'mount --bind "{shared}" "{elsewhere}" && exec "$@"'
    world = make_world(
        "guest:2", "--file-directory", str(elsewhere), prefix=["unshare", "-m", "sh", "-c", mounted, "sh"]
    )
    world.environment |= {"COUPLET_HUB": f"file:{shared}", "COUPLET_LINKS": "self,file"}
    guests = [Guest(world, "guest", rank, 2) for rank in (0, 1)]
    for guest in guests:
        guest.ready()
        guest.get("found = np.zeros(4, 'i8')")
    exchange(*guests)
    guests[0].leave(guests[1])
    assert world.processes[0].wait(WATCHDOG_S) == 0
