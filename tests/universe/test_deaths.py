"""Processes die: the others are told the name within 5 seconds or go on, and nothing is left."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from best_of import best_of
from launching import BUILD, WATCHDOG_S, World
from members import Member
from quartet import Guest

MakeWorld = Callable[..., World]
TOLD_WITHIN_S = 5.0  # the promise; the measured times are milliseconds
CLEAN = BUILD / "libexec" / "couplet" / "couplet-clean"


def clean(world: World, *options: str) -> list[str]:
    ended = subprocess.run(
        [str(CLEAN), *options], env=world.environment, capture_output=True, text=True, check=True, timeout=WATCHDOG_S
    )
    return ended.stdout.splitlines()


def start(world: World, **sizes: int) -> list[Member]:
    members = [Member(world, name, rank, size) for name, size in sizes.items() for rank in range(size)]
    for member in members:
        member.joined()
    return members


def test_a_killed_member_is_reported_by_name_to_those_who_wait(make_world: MakeWorld) -> None:
    told_after_s = best_of(lambda: seconds_until_a_death_is_told(make_world), lambda seconds: seconds < TOLD_WITHIN_S)
    assert told_after_s < TOLD_WITHIN_S


def seconds_until_a_death_is_told(make_world: MakeWorld) -> float:
    world = make_world("ocean:2,nowcast:1")
    ocean0, ocean1, nowcast = start(world, ocean=2, nowcast=1)
    ocean0.say("lost")
    nowcast.say("lost")
    began = time.monotonic()
    ocean1.kill()
    for member in (ocean0, nowcast):
        assert member.hear().startswith("lost 1 program 'ocean' rank 1 (universe rank 1) on host ")
    told_after_s = time.monotonic() - began
    assert "rank 1" in ocean0.ask("alive 1") and "is lost" in nowcast.ask("alive 1")
    assert ocean0.ask("alive 2") == "alive ok"
    for member in (ocean0, nowcast):
        member.leave()
    return told_after_s


def test_a_member_that_ends_without_leaving_is_lost(make_world: MakeWorld) -> None:
    world = make_world("ocean:1,nowcast:1")
    ocean, nowcast = start(world, ocean=1, nowcast=1)
    assert ocean.process.stdin is not None
    ocean.process.stdin.close()
    assert nowcast.ask("lost").startswith("lost 0 program 'ocean' rank 0 (universe rank 0)")
    nowcast.leave()


def test_a_stopped_member_is_not_dead(make_world: MakeWorld) -> None:
    world = make_world("ocean:1,nowcast:1")
    ocean, nowcast = start(world, ocean=1, nowcast=1)
    ocean.process.send_signal(signal.SIGSTOP)
    assert nowcast.ask("find eta 6.5") == "COUPLET_NOT_YET COUPLET_NOT_YET"  # longer than a loss may take
    assert nowcast.ask("alive 0") == "alive ok"
    ocean.process.send_signal(signal.SIGCONT)
    for member in (ocean, nowcast):
        member.leave()


def test_a_death_before_the_start_is_named_as_missing(make_world: MakeWorld) -> None:
    world = make_world("ocean:2,nowcast:1")
    ocean0 = Member(world, "ocean", 0, 2, "--timeout", 6)
    ocean1 = Member(world, "ocean", 1, 2)
    page = world.run_directory
    deadline = time.monotonic() + WATCHDOG_S
    while not list(page.glob("*/bell-00000001")):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    ocean1.kill()
    answer = ocean0.hear()
    assert answer.startswith("error COUPLET_ERROR_TIMEOUT"), answer
    assert "of 'ocean'" in answer and "program 'nowcast' (0 of 1 rank)" in answer


def test_a_restart_is_the_next_incarnation(make_world: MakeWorld) -> None:
    world = make_world("ocean:1,nowcast:1")
    ocean, nowcast = start(world, ocean=1, nowcast=1)
    for incarnation in (1, 2):
        assert ocean.ask("announce eta") == f"announced {incarnation - 1}"
        assert nowcast.ask("opened eta") == "opened ok"
        ocean.kill()
        assert nowcast.ask("lost").startswith("lost 0 program 'ocean' rank 0")
        nowcast.ask_until("find eta 0", "found eta of ocean closed")  # it may have seen the death before the hub did
        ocean = Member(world, "ocean", 0, 1)
        assert ocean.joined().incarnation == incarnation
        nowcast.ask_until("alive 0", "alive ok")
    assert ocean.ask("announce eta") == "announced 2"
    assert nowcast.ask("news eta 2") == "news ok"
    for member in (ocean, nowcast):
        member.leave()


def test_members_go_on_when_the_hub_is_killed(make_world: MakeWorld) -> None:
    told_after_s = best_of(lambda: seconds_until_the_loss_is_told(make_world), lambda seconds: seconds < TOLD_WITHIN_S)
    assert told_after_s < TOLD_WITHIN_S


def seconds_until_the_loss_is_told(make_world: MakeWorld) -> float:
    """The members go on afterwards. They wait for another hub for one second."""
    world = make_world("ocean:1,nowcast:1")
    world.environment["COUPLET_HUB_RETURN_PATIENCE_S"] = "1"
    ocean, nowcast = start(world, ocean=1, nowcast=1)
    assert ocean.ask("alive 1") == "alive ok"
    hub = world.environment["COUPLET_HUB"]
    ocean.say("hub")
    nowcast.say("find eta 100")
    began = time.monotonic()
    world.processes[0].kill()
    assert ocean.hear().startswith(f"hub COUPLET_ERROR_HUB_LOST the hub at {hub} is lost:")
    assert nowcast.hear().startswith(f"COUPLET_ERROR_HUB_LOST looking for series 'eta': the hub at {hub} is lost:")
    told_after_s = time.monotonic() - began
    assert len(ocean.notes) == 1 and ocean.notes[0].endswith("this process goes on without it")
    assert ocean.ask("alive 1") == "alive ok"
    nowcast.kill()
    assert "has ended without leaving" in ocean.ask("alive 1")  # its lock shows it, without a hub
    assert ocean.ask("lost").startswith("lost 1 program 'nowcast' rank 0")
    ocean.leave()  # and removes the directory as the last one
    return told_after_s


def test_the_hub_ends_tidily_when_it_is_told(make_world: MakeWorld) -> None:
    world = make_world("ocean:1,nowcast:1")
    ocean, nowcast = start(world, ocean=1, nowcast=1)
    world.processes[0].terminate()
    assert world.processes[0].wait(WATCHDOG_S) == 0
    for member in (ocean, nowcast):
        assert member.ask("hub").endswith("has ended: the hub was told to end")
        assert not member.notes
        member.leave()


def test_nothing_stays_after_a_crash_of_everything_and_clean(make_world: MakeWorld) -> None:
    world = make_world("ocean:1,nowcast:1")
    members = start(world, ocean=1, nowcast=1)
    (run,) = [path for path in world.run_directory.iterdir() if path.is_dir()]
    (run / "series-eta-0").write_text("data")
    assert clean(world) == [f"kept {run}: in use"]
    for process in [world.processes[0], *(member.process for member in members)]:
        process.kill()
        process.wait(WATCHDOG_S)
    assert run.exists()
    assert clean(world, "--dry-run") == [f"would remove {run}: its processes have ended"]
    assert clean(world) == [f"removed {run}: its processes have ended"]
    assert not list(world.run_directory.iterdir())


def test_the_next_join_removes_what_a_crash_has_left(make_world: MakeWorld) -> None:
    world = make_world("ocean:1")
    (ocean,) = start(world, ocean=1)
    (run,) = [path for path in world.run_directory.iterdir() if path.is_dir()]
    for process in (world.processes[0], ocean.process):
        process.kill()
        process.wait(WATCHDOG_S)
    world.start_hub("ocean:1")
    assert not run.exists()


def test_clean_has_an_option_and_no_more(make_world: MakeWorld) -> None:
    world = make_world("ocean:1")
    ended = subprocess.run(
        [str(CLEAN), "--force"], env=world.environment, capture_output=True, text=True, timeout=WATCHDOG_S
    )
    assert ended.returncode == 2 and "--force" in ended.stderr


def test_hub_options_are_checked(make_world: MakeWorld, tmp_path: Path) -> None:
    world = make_world("ocean:1")
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    mistakes = {
        "the universe has no programs: name them": [],
        "'ocean:x' has no number of ranks": ["--programs", "ocean:x"],
        "no option --frobnicate": ["--programs", "ocean:1", "--frobnicate", "1"],
        "option --listen needs a value": ["--programs", "ocean:1", "--listen"],
        "expected a number of seconds": ["--programs", "ocean:1", "--linger", "soon"],
        "does not contain a JSON object": ["--programs", "ocean:1", "--config", str(broken)],
        "cannot read": ["--programs", "ocean:1", "--config", str(tmp_path / "none.json")],
    }
    hub = str(BUILD / "libexec" / "couplet" / "couplet-hub")
    for sentence, options in mistakes.items():
        ended = subprocess.run(
            [hub, *options], env=world.environment, capture_output=True, text=True, timeout=WATCHDOG_S
        )
        assert ended.returncode == 2 and sentence in ended.stderr, ended.stderr
    taken = subprocess.run(
        [hub, "--programs", "ocean:1", "--listen", world.environment["COUPLET_HUB"]],
        env=world.environment,
        capture_output=True,
        text=True,
        timeout=WATCHDOG_S,
    )
    assert taken.returncode == 1 and world.environment["COUPLET_HUB"] in taken.stderr, taken.stderr


def test_a_name_is_free_if_the_first_rank_dies_after_it_has_announced_the_series(make_world: MakeWorld) -> None:
    """The other ranks failed, and the name stayed taken for as long as they lived. The first mend helped only once."""
    world = make_world("ocean:3,sky:1")
    assert world.hub is not None
    oceans = [Guest(world, "ocean", rank, 3) for rank in range(3)]
    sky = Guest(world, "sky", 0, 1)
    for guest in (*oceans, sky):
        guest.ready()
    for _ in range(3):
        world.hub.send_signal(signal.SIGSTOP)  # the announcement stays in its connection
        try:
            for rank, ocean in enumerate(oceans):
                ocean.say(f"series = universe.create_series('eta', (6,), box=[({2 * rank}, {2 * rank + 2})], slots=4)")
            time.sleep(0.7)
            oceans[0].process.kill()
            oceans[0].process.wait(WATCHDOG_S)
        finally:
            world.hub.send_signal(signal.SIGCONT)
        for ocean in oceans[1:]:
            assert ocean.hear().startswith("error COUPLET_ERROR_PEER_LOST ")
        sky.refused("universe.open_series('eta', timeout=0)", "TIMEOUT", "does not exist")
        oceans[0] = Guest(world, "ocean", 0, 3).ready()
    sky.get("series = universe.create_series('eta', (4,), slots=4)")
    for guest in (*oceans, sky):
        guest.begin_to_leave()
    for guest in (*oceans, sky):
        guest.leave()
    assert world.hub.wait(WATCHDOG_S) == 0, "it ends with the universe"


def test_a_process_creates_no_series_that_it_writes(make_world: MakeWorld, tmp_path: Path) -> None:
    """The hub is not asked, and not told that the creation has failed, since nobody can have announced it."""
    events = tmp_path / "events"
    world = make_world("ocean:2", "--events", str(events))
    assert world.hub is not None
    oceans = [Guest(world, "ocean", rank, 2) for rank in range(2)]
    for ocean in oceans:
        ocean.ready()

    def both(code: str) -> list[str]:
        for rank, ocean in enumerate(oceans):
            ocean.say(code.format(box=f"[({2 * rank}, {2 * rank + 2})]"))
        return [ocean.hear() for ocean in oceans]

    create = "series = universe.create_series('eta', (4,), box={box}, slots=4)"
    for _ in range(2):
        assert all(answer.startswith("is ") for answer in both(create))
        for answer in both(create):
            assert answer.startswith("error COUPLET_ERROR_EXISTS ") and "is being written by this process" in answer
        both("series.close()")
    for ocean in oceans:
        ocean.begin_to_leave()
    for ocean in oceans:
        ocean.leave()
    assert world.hub.wait(WATCHDOG_S) == 0, "it ends with the universe"
    assert '"withdrawn"' not in events.read_text()
