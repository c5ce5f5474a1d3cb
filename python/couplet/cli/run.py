"""``couplet run``: one coupled run, from its first process to its last."""

from __future__ import annotations

import contextlib
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from couplet.cli.configuration import Configuration
from couplet.cli.display import Display, End
from couplet.cli.hub import Hub, HubError
from couplet.cli.interrupts import ENDING
from couplet.cli.observe import Universe
from couplet.cli.processes import Processes, Running
from couplet.cli.slurm import Site, SlurmError

EXIT_LOST = 1
EXIT_INTERRUPTED = 130
_HUB_LOOK_S = 0.05
_ABSENCE_GRACE_S = 1.0  # for the hub to tell that a program has joined
GRACE_S = 5.0
_BLAME_GRACE_S = 5.0  # for the launcher of a program of which a rank was lost to end
HUB_END_S = 10.0  # for the hub to end, once its own bounds have passed


class _Interrupted:
    """Notes SIGINT, SIGTERM and SIGHUP, which then do not end this process. What nohup lets it ignore stays so."""

    def __init__(self) -> None:
        self.number = 0
        noted = [number for number in ENDING if signal.getsignal(number) != signal.SIG_IGN]
        self._before = {number: signal.signal(number, self._note) for number in noted}

    def _note(self, number: int, _frame: FrameType | None) -> None:
        self.number = number

    def restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)


def exit_status(return_code: int) -> int:
    """Returns the status as a shell reports it: 128 + signal for a process that was killed."""
    return 128 - return_code if return_code < 0 else return_code


def _report(display: Display, one: Running) -> None:
    code = one.process.returncode
    how = f"was ended by signal {signal.Signals(-code).name}" if code < 0 else f"ended with exit status {code}"
    display.failure(f'program "{one.title}" {how}; {_printed(one)}', _last_lines(one))


def _printed(one: Running) -> str:
    return "its last lines:" if one.tail else "it has printed nothing"


def _last_lines(one: Running) -> list[str]:
    """Returns what is shown of its output. In Fortran, many lines of a backtrace can follow the error."""
    lines = list(one.tail)
    return lines if not one.error or one.error in lines else [one.error, "...", *lines]


class _Blame:
    """Finds the program whose failure explains the others.

    If a rank is lost, the programs that wait for it may end before its own launcher does, which has to end the other
    ranks of its program.
    """

    def __init__(self) -> None:
        self._since: float | None = None

    def find(self, processes: Processes, universe: Universe) -> Running | None:
        """Returns the failed program, once it is known which one that is."""
        failed = processes.failed()
        if not failed:
            return None
        self._since = self._since or time.monotonic()

        def is_consequence(one: Running) -> bool:
            return one.tells_of_loss and one.program.name != universe.first_lost()

        culprit = min(failed, key=is_consequence)
        waited_s = time.monotonic() - self._since
        is_found = not is_consequence(culprit) or processes.ended() or waited_s >= _BLAME_GRACE_S
        return culprit if is_found else None


class _Absence:
    """Finds a required program that has ended without joining: without it, the others would wait for their timeout."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}

    def find(self, processes: Processes, universe: Universe) -> Running | None:
        """Returns a process of such a program."""
        for name, ended in processes.ended_well().items():
            if universe.has_joined(name) or not ended[0].program.required:
                continue
            if time.monotonic() - self._since.setdefault(name, time.monotonic()) >= _ABSENCE_GRACE_S:
                return ended[0]
        return None


class _Relays:
    """The relays that are steps of their own on Slurm. If one fails, it is told once, and the run goes on."""

    def __init__(self, processes: Processes, display: Display) -> None:
        self.processes = processes
        self._display = display
        self._told: set[str] = set()

    def look(self) -> None:
        """Takes what they have printed, and tells of those that have failed."""
        if self.processes.running:
            self.processes.pump(0)
        for one in self.processes.running:
            if one.process.poll() not in (None, 0) and one.title not in self._told:
                self._told.add(one.title)
                _report(self._display, one)

    def wait(self, timeout_s: float) -> None:
        """Waits for their end, which follows from that of the universe."""
        deadline = time.monotonic() + timeout_s
        while not self.processes.ended() and time.monotonic() < deadline:
            self.processes.pump(0.05)


def _watch(
    processes: Processes,
    relays: _Relays,
    hub: Hub,
    universe: Universe,
    display: Display,
    interrupted: _Interrupted,
) -> int:
    """Runs until all programs have ended, one has failed, or the user has interrupted the run."""
    absence = _Absence()
    blame = _Blame()
    while not processes.ended():
        processes.pump(0.1)
        relays.look()
        if revived := hub.revive():
            display.failure(revived, [])
            universe.follow(hub.process.pid)
        _take_events(hub, universe, display)
        display.update(universe, processes)
        universe.look()
        if interrupted.number:
            display.failure("interrupted: ending all programs", [])
            processes.end_all(GRACE_S)
            return EXIT_INTERRUPTED
        if culprit := blame.find(processes, universe):
            processes.end_all(GRACE_S)
            _report(display, culprit)
            return exit_status(culprit.process.returncode)
        if (absent := absence.find(processes, universe)) and not processes.ended():
            processes.end_all(GRACE_S)
            why = "has ended with status 0 and has not joined the universe; required = false is for such programs"
            display.failure(f'program "{absent.program.name}" {why}; {_printed(absent)}', _last_lines(absent))
            return 1
    _take_events(hub, universe, display)
    if culprit := blame.find(processes, universe):
        _report(display, culprit)
        return exit_status(culprit.process.returncode)
    display.update(universe, processes)
    return 0


def _take_events(hub: Hub, universe: Universe, display: Display) -> None:
    for event in hub.events():
        universe.take(event)
        display.event(event)


def _judge_absence(configuration: Configuration, display: Display) -> int:
    """Returns the status of a run in which no process has joined. The hub would wait for the required programs."""
    required = [f'"{program.name}"' for program in configuration.programs if program.required]
    if required:
        what = "none of them has joined the universe; required = false is for programs that do not join"
        display.failure(f"all programs have ended, and {what}: {', '.join(required)}", [])
    return 1 if required else 0


def _conclude(configuration: Configuration, hub: Hub, universe: Universe, display: Display) -> int:
    """Waits for the end of a universe whose programs have all ended with 0, and returns the status of the run.

    The hub may learn only now that a rank was lost: a process can end with 0 and without leaving the universe.
    """
    grace_end = time.monotonic() + _ABSENCE_GRACE_S  # short programs have ended before the hub tells that they joined
    while not universe.ranks() and time.monotonic() < grace_end and not hub.wait(_HUB_LOOK_S):
        _take_events(hub, universe, display)
    _take_events(hub, universe, display)
    if not universe.ranks():
        return _judge_absence(configuration, display)
    deadline = time.monotonic() + configuration.max_linger_s() + HUB_END_S
    is_over = False
    while not is_over and time.monotonic() < deadline:
        is_over = hub.wait(_HUB_LOOK_S)
        universe.look()
        _take_events(hub, universe, display)
    if not is_over:
        display.failure("the universe is not over although all programs have ended", [hub.log()])
    return 0 if is_over and not universe.lost() else EXIT_LOST


@contextlib.contextmanager
def _scratch(site: Site) -> Iterator[Path]:
    """Makes the folder for the secret, where all programs of the run can read it, and removes it at the end."""
    parent = site.scratch_parent()
    prefix = "couplet-run-" if parent is None else ".couplet-run-"
    try:
        folder = tempfile.TemporaryDirectory(prefix=prefix, dir=parent, ignore_cleanup_errors=parent is not None)
    except OSError as error:
        if parent is None:
            raise
        raise SlurmError(
            f"cannot make a folder in {parent}: {error.strerror}; the nodes need it for the secret, so coupled.toml "
            "has to be in a folder that you may write and that all nodes share"
        ) from error
    with folder as path:
        yield Path(path)


def _couple(
    configuration: Configuration, site: Site, hub: Hub, display: Display, interrupted: _Interrupted, started: float
) -> int:
    """Starts the relays and every program. Returns the exit status of the whole run."""
    marker = f"COUPLET_SECRET_FILE={hub.environment['COUPLET_SECRET_FILE']}"
    processes = Processes(display.line, marker)
    relays = _Relays(Processes(display.line, marker), display)
    try:
        with display:
            placed = [site.placed(program, hub.environment["COUPLET_RUN"]) for program in configuration.programs]
            for relay in site.relays():
                relays.processes.start(relay, hub.environment)
            processes.spared = {one.process.pid for one in relays.processes.running}
            for program in placed:
                processes.start(program, hub.environment)
            universe = Universe(hub.process.pid)
            status = _watch(processes, relays, hub, universe, display, interrupted)
            seconds = time.monotonic() - started
            if status == 0:
                status = _conclude(configuration, hub, universe, display)
            display.done(End(status, seconds, universe.waits(), universe.lost()))
        if status in (0, EXIT_LOST):
            relays.wait(HUB_END_S)
        return status
    finally:
        processes.end_all(GRACE_S)
        processes.close()
        hub.stop()  # it tells the relays, which then remove the files of killed processes on their nodes
        relays.wait(GRACE_S)
        relays.processes.end_all(GRACE_S)
        relays.processes.close()


def run(configuration: Configuration, display: Display) -> int:
    """Gets the nodes, and starts the hub and every program. Returns the exit status of the whole run."""
    interrupted = _Interrupted()
    started = time.monotonic()
    site = Site(configuration, display.line)
    try:
        if not site.allocate(lambda: interrupted.number != 0):
            display.failure("interrupted before all programs had their nodes", [])
            return EXIT_INTERRUPTED
        with _scratch(site) as scratch:
            hub = Hub(configuration, scratch, site.listen())
            try:
                return _couple(configuration, site, hub, display, interrupted, started)
            finally:
                hub.stop()
    except (HubError, FileNotFoundError, SlurmError) as error:
        display.failure(str(error), [])
        return 1
    except OSError as error:
        display.failure(f"cannot start: {error}", [])
        return 1
    finally:
        site.end()
        interrupted.restore()
