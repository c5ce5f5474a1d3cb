"""The key of a hub: what a hub may do to it, what becomes of it, and how a run is kept for a hub that comes back."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from launching import BUILD, WATCHDOG_S, World, read_line
from members import Member

MakeWorld = Callable[..., World]
PATIENT = {"COUPLET_HUB_RETURN_PATIENCE_S": "100"}
ELSEWHERE = {"COUPLET_NODE": "elsewhere", **PATIENT}


def resuming(world: World, *more: str) -> list[str]:
    command = list(world.hub_command)
    command[command.index("--listen") + 1] = world.environment["COUPLET_HUB"]
    return [*command, "--resume", world.run, *more]


def refused(world: World, command: Sequence[str]) -> str:
    """Starts a hub that must not serve. Returns what it says."""
    ended = world.finish(world.start(command))
    assert ended.status == 1 and not ended.output, ended.output
    return ended.errors


def files_of(directory: Path) -> dict[str, bytes | None]:
    names = (path for path in directory.rglob("*") if not path.is_dir())
    return {str(path): path.read_bytes() if path.is_file() else None for path in names}


def alone_on_its_node(make_world: MakeWorld) -> tuple[World, Member, Path]:
    """Returns a world whose hub has died, a member of it on another node, and the home of the hub."""
    world = make_world("ocean:1")
    ocean = Member(world, "ocean", 0, 1, **ELSEWHERE)
    ocean.joined()
    world.kill_hub()
    home = world.run_directory / world.run
    assert (home / "hub-key").exists()
    return world, ocean, home


def is_taken_back(world: World, ocean: Member) -> None:
    world.resume_hub()
    assert ocean.ask("announce eta").startswith("announced ")
    ocean.leave()
    assert world.hub is not None and world.hub.wait(WATCHDOG_S) == 0


def test_a_hub_that_fails_to_take_over_leaves_the_run_as_it_was(make_world: MakeWorld, tmp_path: Path) -> None:
    """Fault: it left the node directory like a hub whose universe has ended, and the key of the run was gone."""
    world, ocean, home = alone_on_its_node(make_world)
    key = home / "hub-key"
    before = files_of(home)
    assert "name the file that has it" in refused(world, resuming(world, "--key-file", str(tmp_path / "nothing")))
    assert "cannot open" in refused(world, resuming(world, "--events", str(tmp_path / "no" / "events")))
    other = [("other:1" if word == "ocean:1" else word) for word in resuming(world)]
    assert f"the hub of run {world.run} had the programs ocean:1, not other:1" in refused(world, other)
    key.chmod(0o644)
    said = refused(world, resuming(world))
    assert f"the key file {key} has mode 0644" in said and "secret" not in said
    key.chmod(0o600)
    assert files_of(home) == before
    assert "/no/such" in refused(world, resuming(world, "--file-directory", "/no/such"))
    assert key.read_bytes() == before[str(key)] and (home / "roster").exists()
    is_taken_back(world, ocean)


@pytest.mark.parametrize("what", ["is told to end", "is told to end, and has a key file", "gives up on another host"])
def test_a_hub_that_nobody_has_found_keeps_the_key(make_world: MakeWorld, tmp_path: Path, what: str) -> None:
    """Fault: it took its own end for that of the universe, and removed the key. It listened at another address."""
    key = tmp_path / "key"
    world = make_world("ocean:1", *(["--key-file", str(key)] if what != "is told to end" else []))
    ocean = Member(world, "ocean", 0, 1, **ELSEWHERE)
    ocean.joined()
    world.kill_hub()
    gives_up = what.startswith("gives up")
    command = resuming(world, *(["--rejoin-patience", "1"] if gives_up else []))
    command[command.index("--listen") + 1] = "127.0.0.1:0"
    other_host = {"COUPLET_RUN_DIR": str(make_world("").run_directory)} if gives_up else {}
    misplaced = world.start(command, **other_host)
    assert read_line(misplaced).startswith("COUPLET_HUB=")
    if not gives_up:
        misplaced.terminate()
    ended = world.finish(misplaced)
    assert ended.status == 0 and f"--resume {world.run} starts a hub that takes them back" in ended.errors
    is_taken_back(world, ocean)
    assert not key.exists() and not (world.run_directory / world.run).exists()


def test_a_wrong_number_touches_no_run(make_world: MakeWorld) -> None:
    world, ocean, home = alone_on_its_node(make_world)
    before = files_of(world.run_directory)
    command = resuming(world)
    command[command.index("--resume") + 1] = "1234567890abcdef"
    said = refused(world, command)
    assert "there is no run 1234567890abcdef in " in said and f"there are the hubs of {world.run}" in said
    assert files_of(world.run_directory) == before
    is_taken_back(world, ocean)


def test_another_universe_leaves_the_key_of_a_hub_that_has_died(make_world: MakeWorld) -> None:
    """Its members are on another host, as far as the directories know."""
    world = make_world("ocean:1,nowcast:1")
    apart = {"COUPLET_RUN_DIR": str(make_world("").run_directory), **PATIENT}
    ocean = Member(world, "ocean", 0, 1, **apart)
    nowcast = Member(world, "nowcast", 0, 1, **PATIENT)
    for member in (ocean, nowcast):
        member.joined()
    world.kill_hub()
    home = world.run_directory / world.run
    nowcast.leave()  # the last process on the hub's node
    assert (home / "hub-key").exists() and (home / "roster").exists()
    (home / "series-eta-0").write_text("memory")
    other = make_world("other:1", run_directory=world.run_directory)
    member = Member(other, "other", 0, 1)
    member.joined()
    assert (home / "hub-key").exists() and (home / "roster").exists()
    assert not (home / "series-eta-0").exists(), "memory is given back"
    world.resume_hub()
    assert not list(home.glob("died-*"))
    assert ocean.ask("announce eta").startswith("announced ")
    ocean.leave()
    assert world.hub is not None and world.hub.wait(WATCHDOG_S) == 0
    assert not home.exists()
    member.leave()
    assert other.hub is not None and other.hub.wait(WATCHDOG_S) == 0  # it is in the same run directory


def test_clean_removes_the_key_of_a_hub_that_has_died(make_world: MakeWorld) -> None:
    world, ocean, home = alone_on_its_node(make_world)
    ocean.kill()
    clean = [str(BUILD / "libexec" / "couplet" / "couplet-clean")]
    said = subprocess.run(clean, env=world.environment, check=True, capture_output=True, text=True).stdout
    assert f"removed {home}: its processes have ended, and its hub" in said, said
    assert not home.exists()


@pytest.mark.parametrize("what", ["directory", "data", "link", "secret"])
def test_a_key_file_that_is_there_is_not_replaced(make_world: MakeWorld, tmp_path: Path, what: str) -> None:
    """Fault: whatever was there was removed, and the hub served although it could not store its key."""
    world = make_world("")
    path = tmp_path / "there"
    if what == "directory":
        path.mkdir()
    elif what == "link":
        (tmp_path / "target").write_text("precious")
        path.symlink_to(tmp_path / "target")
    elif what == "data":
        path.write_text("precious")
    else:
        path = Path(world.environment["COUPLET_SECRET_FILE"])
    before = files_of(tmp_path)
    hub = [str(BUILD / "libexec" / "couplet" / "couplet-hub"), "--programs", "ocean:1", "--listen", "127.0.0.1:0"]
    said = refused(world, [*hub, "--key-file", str(path)])
    assert str(path) in said and ("which is the secret file" if what == "secret" else "It is not replaced") in said
    assert files_of(tmp_path) == before
    assert path.is_dir() == (what == "directory") and path.is_symlink() == (what == "link")
    assert not [each for each in world.run_directory.iterdir() if each.is_dir()]


def test_the_key_of_a_run_is_kept_for_its_hub(make_world: MakeWorld, tmp_path: Path) -> None:
    """Faults: a hub that was started again without --resume, and a second one with the same file, took the key away."""
    key = tmp_path / "key"
    world = make_world("ocean:1", "--key-file", str(key))
    ocean = Member(world, "ocean", 0, 1, **PATIENT)
    ocean.joined()
    said = refused(world, world.hub_command)
    assert f"{key} has the key of the hub of run {world.run}, which lives: process" in said
    world.kill_hub()
    said = refused(world, world.hub_command)
    assert f"start the hub with --resume {world.run}; if that run has ended, remove the file" in said
    world.resume_hub()
    assert ocean.ask("announce eta").startswith("announced ")
    ocean.leave()
    assert world.hub is not None and world.hub.wait(WATCHDOG_S) == 0
    assert not key.exists(), "the universe has ended"


def test_a_second_hub_of_a_run_is_refused_while_the_first_one_lives(make_world: MakeWorld) -> None:
    """Fault: it took over the roster and the socket of the first one, and both signed tickets."""
    world = make_world("ocean:1")
    ocean = Member(world, "ocean", 0, 1, **PATIENT)
    ocean.joined()
    home = world.run_directory / world.run
    before = files_of(home)
    command = resuming(world)
    command[command.index("--listen") + 1] = "127.0.0.1:0"
    said = refused(world, command)
    assert world.hub is not None
    assert f"the hub of run {world.run} lives" in said and f"process {world.hub.pid} on host" in said
    assert f"listens at {world.environment['COUPLET_HUB']}" in said
    assert files_of(home) == before
    ocean.leave()
    assert world.hub.wait(WATCHDOG_S) == 0


@pytest.mark.parametrize(("wrong", "had"), [("ocean:2", "ocean:2"), ("other:1", "other:1")])
def test_a_hub_with_wrong_programs_does_not_drive_members_away(make_world: MakeWorld, wrong: str, had: str) -> None:
    """Fault: a member that it refused never dialed again. The wrong hub does not find the roster, or it would end."""
    world, ocean, home = alone_on_its_node(make_world)
    (home / "roster").unlink()
    hub = world.start([(wrong if word == "ocean:1" else word) for word in resuming(world)])
    assert read_line(hub).startswith("COUPLET_HUB=")
    why = f"with other programs than before: it has {had}, not ocean:1"
    deadline = time.monotonic() + WATCHDOG_S
    while why not in (told := ocean.ask("hub")):
        assert time.monotonic() < deadline, told
        ocean.ask("find nothing 0")
    hub.kill()
    hub.wait(WATCHDOG_S)
    (home / "roster").unlink()
    is_taken_back(world, ocean)
    assert len([note for note in ocean.notes if why in note]) == 1, ocean.notes
