"""``couplet run``: one coupled run, from its first process to its last."""

from __future__ import annotations

import signal
import tempfile
import time
from pathlib import Path
from types import FrameType

from couplet.cli.configuration import Configuration
from couplet.cli.display import Display
from couplet.cli.hub import Hub, HubError
from couplet.cli.observe import Universe
from couplet.cli.processes import Processes, Running

EXIT_INTERRUPTED = 130
GRACE_S = 5.0
HUB_END_S = 10.0  # for the hub to end, once its own bounds have passed


class _Interrupted:
    """Notes SIGINT and SIGTERM, which then do not end this process."""

    def __init__(self) -> None:
        self.number = 0
        self._before = {n: signal.signal(n, self._note) for n in (signal.SIGINT, signal.SIGTERM)}

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
    display.failure(f'program "{one.title}" {how}; its last lines:', list(one.tail))


def _watch(processes: Processes, hub: Hub, universe: Universe, display: Display, interrupted: _Interrupted) -> int:
    """Runs until all programs have ended, one has failed, or the user has interrupted the run."""
    while not processes.ended():
        processes.pump(0.1)
        if revived := hub.revive():
            display.failure(revived, [])
            universe.follow(hub.process.pid)
        for event in hub.events():
            universe.take(event)
            display.event(event)
        display.update(universe, processes)
        universe.look()
        if interrupted.number:
            display.failure("interrupted: ending all programs", [])
            processes.end_all(GRACE_S)
            return EXIT_INTERRUPTED
        if culprit := processes.culprit():
            processes.pump(0.1)
            processes.end_all(GRACE_S)
            _report(display, culprit)
            return exit_status(culprit.process.returncode)
    if culprit := processes.culprit():
        processes.pump(0.1)
        _report(display, culprit)
        return exit_status(culprit.process.returncode)
    for event in hub.events():
        universe.take(event)
        display.event(event)
    display.update(universe, processes)
    return 0


def _judge_absence(configuration: Configuration, display: Display) -> int:
    """Returns the status of a run in which no process has joined. The hub would wait for the required programs."""
    required = [f'"{program.name}"' for program in configuration.programs if program.required]
    if required:
        what = "none of them has joined the universe; required = false is for programs that do not join"
        display.failure(f"all programs have ended, and {what}: {', '.join(required)}", [])
    return 1 if required else 0


def run(configuration: Configuration, display: Display) -> int:
    """Starts the hub and every program. Returns the exit status of the whole run."""
    interrupted = _Interrupted()
    started = time.monotonic()
    try:
        with tempfile.TemporaryDirectory(prefix="couplet-run-") as scratch:
            try:
                hub = Hub(configuration, Path(scratch))
            except (HubError, FileNotFoundError) as error:
                display.failure(str(error), [])
                return 1
            processes = Processes(display.line, f"COUPLET_SECRET_FILE={hub.environment['COUPLET_SECRET_FILE']}")
            try:
                with display:
                    for program in configuration.programs:
                        processes.start(program, hub.environment)
                    universe = Universe(hub.process.pid)
                    status = _watch(processes, hub, universe, display, interrupted)
                    display.done(status, time.monotonic() - started, universe.waits())
                if status == 0 and not universe.ranks():
                    return _judge_absence(configuration, display)
                if status == 0 and not hub.wait(configuration.max_linger_s() + HUB_END_S):
                    display.failure("the universe is not over although all programs have ended", [hub.log()])
                    status = 1
                return status
            except OSError as error:
                display.failure(f"cannot start: {error}", [])
                return 1
            finally:
                processes.end_all(GRACE_S)
                processes.close()
                hub.stop()
    finally:
        interrupted.restore()
