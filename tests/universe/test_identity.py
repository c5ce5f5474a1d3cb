"""A process proves which one it is: a member has the secret of the universe, and can present itself only as itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from launching import WATCHDOG_S, World, read_line
from members import Member
from quartet import NAMES, PROGRAMS, quartet

MakeWorld = Callable[..., World]
PATIENT = {"COUPLET_HUB_RETURN_PATIENCE_S": "100"}


def test_a_member_that_presents_itself_as_another_rank_is_refused_by_a_rank(make_world: MakeWorld) -> None:
    world = make_world(f"{PROGRAMS},guest:1?")
    with quartet(world) as four:
        guest = Member(world, "guest", 0, 1)
        own = guest.joined().peer
        assert own == len(NAMES)
        for rank in range(1, len(NAMES)):
            told = guest.ask(f"pose 0 {rank}")
            assert told.startswith("pose COUPLET_ERROR_AUTHENTICATION "), told
            assert told.endswith(
                f"the connection was refused: it presents itself as rank {rank} (incarnation 0), "
                f"but its ticket is that of rank {own} (incarnation 0)"
            ), told
        assert guest.ask(f"pose 0 {own}") == "pose ok", "as itself it is let in"
        four.go_on()
        guest.leave()
        four.go_on()


def test_no_two_processes_have_tickets_of_one_rank_and_incarnation(make_world: MakeWorld) -> None:
    """Fault: a process that ended between its ticket and its arrival left a key with which it posed as the rank."""
    world = make_world("ocean:1,victim:1,guest:1?")

    def vanish(program: str) -> str:
        thief = Member(world, program, 0, 1, "--vanish")
        said = thief.hear()
        assert thief.process.wait(WATCHDOG_S) == 1
        return said

    assert vanish("ocean").endswith("the ticket of universe rank 0 (incarnation 0)")
    ocean = Member(world, "ocean", 0, 1, **PATIENT)
    victim = Member(world, "victim", 0, 1, **PATIENT)
    assert ocean.joined().incarnation == 64, "no lower number, which others would take for that of a process before it"
    assert victim.joined().incarnation == 0
    assert victim.ask("alive 0") == "alive ok"
    ocean.kill()
    assert victim.ask("lost").startswith("lost 0 ")
    assert vanish("ocean").endswith("(incarnation 65)")
    assert vanish("guest").endswith("the ticket of universe rank 2 (incarnation 0)")
    world.kill_hub()
    world.resume_hub()
    ocean = Member(world, "ocean", 0, 1, **PATIENT)
    guest = Member(world, "guest", 0, 1, **PATIENT)
    victim.ask_until("find nothing 0", "COUPLET_NOT_YET COUPLET_NOT_YET")
    assert ocean.joined().incarnation == 66
    assert guest.joined().incarnation == 64
    for member in (ocean, victim, guest):
        member.leave()


def test_a_member_does_not_return_to_an_impostor_of_the_hub(make_world: MakeWorld) -> None:
    """A process that has the secret listens where the hub was."""
    world = make_world("ocean:1")
    ocean = Member(world, "ocean", 0, 1, **PATIENT)
    ocean.joined()
    first = world.run
    world.kill_hub()
    command = list(world.hub_command)
    command[command.index("--listen") + 1] = world.environment["COUPLET_HUB"]
    impostor = world.start(command)
    assert read_line(impostor).startswith("COUPLET_HUB=")
    second = read_line(impostor).strip().removeprefix("COUPLET_RUN=")
    assert second != first
    why = f"it is the hub of run {second}, but this process belongs to run {first}"
    deadline = time.monotonic() + WATCHDOG_S
    while why not in (told := ocean.ask("hub")):
        assert time.monotonic() < deadline, told
        ocean.ask("find nothing 0")
    impostor.kill()
    impostor.wait(WATCHDOG_S)
    world.resume_hub()
    assert ocean.ask("announce eta").startswith("announced ")
    ocean.leave()


def test_a_hub_is_not_started_again_without_its_key(make_world: MakeWorld, tmp_path: Path) -> None:
    key = tmp_path / "key-of-the-hub"
    world = make_world("ocean:1", "--key-file", str(key))
    assert key.stat().st_mode & 0o777 == 0o600
    ocean = Member(world, "ocean", 0, 1, **PATIENT)
    ocean.joined()
    world.kill_hub()
    seed = key.read_text()
    key.unlink()
    command = list(world.hub_command)
    command[command.index("--listen") + 1] = world.environment["COUPLET_HUB"]
    refused = world.finish(world.start([*command, "--resume", world.run]))
    assert refused.status == 1
    assert f"the members of run {world.run} take back only a hub with the key of the first one" in refused.errors
    assert "--key-file" in refused.errors
    key.touch(mode=0o600)
    key.write_text("00" * 32)
    refused = world.finish(world.start([*command, "--resume", world.run]))
    assert refused.status == 1
    assert f"not of run {world.run}" in refused.errors
    key.write_text(seed)
    world.resume_hub()
    assert ocean.ask("announce eta").startswith("announced ")
    ocean.leave()
