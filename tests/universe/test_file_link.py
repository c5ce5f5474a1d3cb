"""Messages through a shared directory, the link `file`."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from launching import LANGUAGES, World, command_for
from quartet import Guest

MakeWorld = Callable[..., World]


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[Path]:
    """A directory in which nothing is left after the test."""
    directory = tmp_path / "shared"
    directory.mkdir(mode=0o700)
    yield directory
    assert not list(directory.iterdir()), "left behind"


def pair(world: World, shared: Path, first: str = "self,file", second: str = "self,file") -> tuple[Guest, Guest]:
    guests = [
        Guest(world, "guest", rank, 2, COUPLET_LINKS=links, COUPLET_FILE_DIRECTORY=str(shared))
        for rank, links in enumerate((first, second))
    ]
    for guest in guests:
        guest.ready()
        guest.get("found = np.zeros(4, 'i8')")
    return guests[0], guests[1]


def exchange(first: Guest, second: Guest) -> None:
    """Each sends the other one a message."""
    for rank, (sender, receiver) in enumerate([(first, second), (second, first)]):
        receiver.say(f"universe.group.Recv(found, {rank}, timeout=20)")
        sender.get(f"universe.group.Send(np.arange(4), {1 - rank}, timeout=20)")
        answer = receiver.hear()
        assert answer.startswith("is "), answer
        assert receiver.get("found.tolist()") == "[0, 1, 2, 3]"
        receiver.get("found.fill(0)")


def peer(guest: Guest) -> dict[str, str]:
    """Returns what the guest explains about the other one."""
    (told,) = [each for each in eval(guest.get("universe.explain()['peers']")) if "guest" in each["name"]]
    return dict(told)


def test_two_processes_exchange_messages_through_files(make_world: MakeWorld, shared: Path) -> None:
    first, second = pair(make_world("guest:2"), shared)
    exchange(first, second)
    assert peer(first)["link"] == peer(second)["link"] == "file"
    assert (shared.stat().st_mode & 0o777) == 0o700
    assert all((path.stat().st_mode & 0o077) == 0 for path in shared.rglob("*"))
    first.leave(second)


def test_who_waits_over_files_sleeps(make_world: MakeWorld, shared: Path) -> None:
    """Fault (chaos, seed 12300082): the alarm for the next look at the directory stood until then, without that look.
    Who waited burnt 70 % of a processor.
    """
    first, second = pair(make_world("guest:2"), shared)
    exchange(first, second)
    time.sleep(1)  # the looks at the directory have become rare by then
    before = float(first.get("time.process_time()"))
    first.refused("universe.group.Recv(found, 1, timeout=4)", "TIMEOUT")
    used = float(first.get("time.process_time()")) - before
    assert used < 1.2, f"{used} s of 4 s"
    first.leave(second)


def test_large_messages_arrive_unchanged(make_world: MakeWorld, shared: Path) -> None:
    """They are larger than all that may be unread."""
    first, second = pair(make_world("guest:2"), shared)
    second.get("large = np.zeros(5_000_000, 'i8')")
    second.say("universe.group.Recv(large, 0, timeout=100)")
    first.get("universe.group.Send(np.arange(5_000_000), 1, timeout=100)")
    assert second.hear().startswith("is ")
    assert second.get("bool((large == np.arange(5_000_000)).all())") == "True"
    first.leave(second)


def test_the_order_of_the_setting_decides(make_world: MakeWorld, shared: Path) -> None:
    first, second = pair(make_world("guest:2"), shared, "self,file,tcp", "self,tcp,file")
    exchange(first, second)
    assert peer(first)["link"] == "file", peer(first)
    first.leave(second)


def test_who_has_switched_files_off_is_reached_by_the_next_link(make_world: MakeWorld, shared: Path) -> None:
    first, second = pair(make_world("guest:2"), shared, "self,file,tcp", "self,tcp")
    exchange(first, second)
    told = peer(first)
    assert told["link"] == "tcp"
    assert "file: " in told["not_taken"], told
    first.leave(second)


def test_a_directory_is_needed(make_world: MakeWorld) -> None:
    world = make_world("guest:1")
    guest = Guest(world, "guest", 0, 1, COUPLET_LINKS="self,file")
    answer = guest.hear()
    assert "file_directory" in answer and "COUPLET_FILE_DIRECTORY" in answer, answer


def test_a_directory_that_vanishes_is_named(make_world: MakeWorld, shared: Path) -> None:
    """The connection is tried again for as long as the patience lasts, and then the call says why there is none."""
    world = make_world("guest:2")
    world.environment["COUPLET_CONNECTION_PATIENCE_S"] = "2"
    first, second = pair(world, shared)
    exchange(first, second)
    shutil.rmtree(shared)
    second.say("universe.group.Recv(found, 0, timeout=60)")
    answer = first.ask("universe.group.Recv(found, 1, timeout=60)")
    assert answer.startswith("error ") and f"{shared}" in answer and "vanished" in answer, answer
    assert second.hear().startswith("error ")
    first.leave(second)
    shared.mkdir(mode=0o700)


def test_a_killed_peer_is_reported_by_name(make_world: MakeWorld, shared: Path) -> None:
    """Its death is told by the hub, as over every link. What it has left is removed by the last one of its run."""
    first, second = pair(make_world("guest:2"), shared)
    exchange(first, second)
    second.process.kill()
    first.refused("universe.group.Recv(found, 1, timeout=100)", "PEER_LOST", "program 'guest' rank 1")
    first.leave()


def test_a_caller_is_answered_once_there_are_descriptors(make_world: MakeWorld, shared: Path) -> None:
    """It was dialed when it could open no further file, and its peer waited for ever."""
    first, second = pair(make_world("guest:2"), shared)
    number = second.process.pid
    opened = len(list(Path(f"/proc/{number}/fd").iterdir()))
    resource.prlimit(number, resource.RLIMIT_NOFILE, (opened + 1, 4096))  # one, with which it lists the directory
    second.say("universe.group.Recv(found, 0, timeout=100)")
    first.say("universe.group.Send(np.arange(4), 1, timeout=100)")
    while not list(shared.glob("run-*/1-0/call-*")):
        time.sleep(0.01)
    time.sleep(0.2)  # it looks every 20 ms
    resource.prlimit(number, resource.RLIMIT_NOFILE, (1024, 4096))
    assert first.hear().startswith("is ") and second.hear().startswith("is ")
    first.leave(second)


def test_a_full_directory_delays_a_message_and_loses_nothing(make_world: MakeWorld, tmp_path: Path) -> None:
    """The sender failed after 5 s, and its peer was not told."""
    small = tmp_path / "small"
    small.mkdir(mode=0o700)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m,mode=0700", "none", str(small)], check=False).returncode:
        pytest.skip("only root may mount a file system")
    try:
        first, second = pair(make_world("guest:2"), small)
        exchange(first, second)
        fill = small / "fill"
        with contextlib.suppress(OSError), fill.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        second.get("large = np.zeros(50_000, 'i8')")
        second.say("universe.group.Recv(large, 0, timeout=100)")
        first.say("universe.group.Send(np.arange(50_000), 1, timeout=100)")
        time.sleep(7)  # longer than a full file system is waited for
        fill.unlink()
        assert second.hear().startswith("is ") and first.hear().startswith("is ")
        assert second.get("bool((large == np.arange(50_000)).all())") == "True"
        exchange(first, second)
        first.leave(second)
        assert not list(small.iterdir()), "left behind"
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True)


@pytest.mark.parametrize("protection", ["--encrypt", "--authenticate"])
def test_files_are_protected_as_a_connection_is(make_world: MakeWorld, shared: Path, protection: str) -> None:
    first, second = pair(make_world("guest:2", protection), shared)
    first.get("text = np.frombuffer(b'plain words in a message' * 100, 'u1')")
    second.get("heard = np.zeros(2400, 'u1')")
    exchange(first, second)
    first.get("request = universe.group.Isend(text, 1)")
    first.get("request.test()")
    if protection == "--encrypt":
        files = [path for path in shared.rglob("call-*/[ad]*") if path.is_file()]
        assert files and not any(b"plain words" in path.read_bytes() for path in files)
    second.get("universe.group.Recv(heard, 0, timeout=100)")
    first.get("request.wait(timeout=100)")
    assert second.get("heard.tobytes()[:24]") == "b'plain words in a message'"
    first.leave(second)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_story_of_each_language_goes_through_files(make_world: MakeWorld, shared: Path, language: str) -> None:
    """Two programs, of which one is in Python, with no other link between them than files."""
    world = make_world("writer:1,reader:1")
    world.environment |= {"COUPLET_LINKS": "self,file", "COUPLET_FILE_DIRECTORY": str(shared)}
    other = "python" if language != "python" else "c"
    assert os.environ.get("COUPLET_LINKS") is None
    world.run_together([*command_for("story", language), "writer"], [*command_for("story", other), "reader"])
