"""Programs that share a directory and no network: they join, exchange messages and leave through it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from launching import WATCHDOG_S, World, command_for
from namespaces import keep
from needs import installed
from quartet import Guest

MakeWorld = Callable[..., World]
SIDES = ("hub", "left", "right")


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


def test_a_killed_member_is_lost_when_its_heartbeat_has_stopped(
    make_world: MakeWorld, islands: dict[str, list[str]], tmp_path: Path
) -> None:
    """That takes 30 s, since no kernel tells the other side."""
    directory = tmp_path / "left"
    directory.mkdir(mode=0o700)
    world = make_world("guest:2", "--file-directory", str(directory), prefix=islands["hub"])
    first, second = pair(world, islands)
    exchange(first, second)
    second.process.kill()
    first.refused("universe.group.Recv(found, 1, timeout=100)", "PEER_LOST", "program 'guest' rank 1")
    first.leave()
