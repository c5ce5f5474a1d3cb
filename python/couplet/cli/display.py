"""The output of ``couplet run``: a live view on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self

from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.progress_bar import ProgressBar
from rich.table import Table

from couplet.cli.configuration import Configuration
from couplet.cli.observe import SeriesView, Universe
from couplet.cli.processes import Processes

_COLOURS = ("cyan", "green", "magenta", "yellow", "blue", "red")
_PLAIN_INTERVAL_S = 10.0
MAX_LOST_NAMED = 8


@dataclass(frozen=True)
class End:
    """What is said in the last lines of a run."""

    status: int
    seconds: float
    waits: list[SeriesView]
    lost: list[tuple[str, int]]
    """Program and rank of each member that was lost."""


class Display(Protocol):
    """The events and lines that a run passes to its output."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
    def line(self, title: str, line: str) -> None: ...
    def event(self, event: dict[str, Any]) -> None: ...
    def update(self, universe: Universe, processes: Processes) -> None: ...
    def failure(self, text: str, tail: list[str]) -> None: ...
    def done(self, end: End) -> None: ...


def describe(event: dict[str, Any]) -> str | None:
    """Returns a sentence for an event, or None if the event is not worth one."""
    who = f"{event.get('program')} rank {event.get('rank')}"
    match event.get("event"):
        case "complete":
            return "all programs are there"
        case "lost":
            return f"{who} is lost: {event.get('text', 'its connection ended')}"
        case "series":
            return f"series '{event.get('series')}' is written by {event.get('program')}"
        case "opened":
            return f"{who} reads series '{event.get('series')}'"
        case "over":
            return "the universe is over"
    return None


def progress_text(series: SeriesView) -> str:
    """Returns, for example, ``eta: 1200/2000 steps, 35.1 steps/s, nowcast.0 3 behind``."""
    total = f"/{series.expected}" if series.expected else ""
    names = [r.program if r.rank < 0 else f"{r.program}.{r.rank}" for r in series.readers]
    readers = "".join(f", {name} {r.behind} behind" for name, r in zip(names, series.readers, strict=True))
    waited = f", {waits_text(series)}" if series.wait_count else ""
    return f"{series.name}: {series.published}{total} steps, {series.rate:.1f} steps/s{readers}{waited}"


def waits_text(series: SeriesView) -> str:
    """Says how long the writer has waited, and for which reader."""
    waits = "1 wait" if series.wait_count == 1 else f"{series.wait_count} waits"
    return f"waited {series.held_s:.1f} s in {waits}, {series.longest_s:.1f} s for {series.longest_for}"


def end_text(end: End) -> str:
    """Returns the last line of a run: how it has ended, and after how long."""
    outcome = "all programs ended well" if end.status == 0 else f"failed with exit status {end.status}"
    if end.lost:
        ranks = [f"{program} rank {rank}" for program, rank in end.lost[:MAX_LOST_NAMED]]
        others = len(end.lost) - len(ranks)
        named = ", ".join(ranks) + (f" and {others} more" if others else "")
        outcome += f", and {named} {'was' if len(end.lost) == 1 else 'were'} lost,"
    return f"{outcome} after {end.seconds:.1f} s"


class PlainDisplay:
    """Lines with a prefix, for files and pipes."""

    def __init__(self, console: Console, configuration: Configuration) -> None:
        self._console = console
        self._width = max(len(program.name) for program in configuration.programs)
        self._expected = {one.name: one.steps for one in configuration.series}
        self._said = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def _say(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def line(self, title: str, line: str) -> None:
        self._say(f"{title:<{self._width}} | {line}")

    def event(self, event: dict[str, Any]) -> None:
        if text := describe(event):
            self._say(f"{'couplet':<{self._width}} | {text}")

    def update(self, universe: Universe, processes: Processes) -> None:
        if time.monotonic() - self._said < _PLAIN_INTERVAL_S:
            return
        self._said = time.monotonic()
        for series in universe.series(self._expected):
            self._say(f"{'couplet':<{self._width}} | {progress_text(series)}")

    def failure(self, text: str, tail: list[str]) -> None:
        self._say(f"couplet: {text}")
        for line in tail:
            self._say(f"    {line}")

    def done(self, end: End) -> None:
        for series in end.waits:
            self._say(f"{'couplet':<{self._width}} | series '{series.name}': {series.program} {waits_text(series)}")
        self._say(f"{'couplet':<{self._width}} | {end_text(end)}")


class LiveDisplay:
    """A table with a bar for each program and each series, under the scrolling log."""

    def __init__(self, console: Console, configuration: Configuration) -> None:
        self._console = console
        self._configuration = configuration
        self._colour = {p.name: _COLOURS[i % len(_COLOURS)] for i, p in enumerate(configuration.programs)}
        self._width = max(len(program.name) for program in configuration.programs)
        self._expected = {one.name: one.steps for one in configuration.series}
        self._live = Live(console=console, refresh_per_second=5, transient=True)
        self._started = time.monotonic()

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def _prefix(self, title: str, text: str) -> None:
        colour = self._colour.get(title.split(".")[0], "white")
        self._console.print(f"[{colour}]{title:<{self._width}}[/] │ {escape(text)}", highlight=False, soft_wrap=True)

    def line(self, title: str, line: str) -> None:
        self._prefix(title, line)

    def event(self, event: dict[str, Any]) -> None:
        if text := describe(event):
            self._prefix("couplet", text)

    def update(self, universe: Universe, processes: Processes) -> None:
        table = Table.grid(padding=(0, 2))
        ranks = universe.ranks()
        for program in self._configuration.programs:
            running = sum(1 for r in processes.running if r.program is program and r.process.poll() is None)
            joined = ranks.get(program.name, 0)
            state = "running" if running else "ended"
            bar = ProgressBar(total=program.ranks, completed=joined, width=24)
            table.add_row(
                f"[{self._colour[program.name]}]{program.name}[/]", bar, f"{joined}/{program.ranks} ranks", state
            )
        views = universe.series(self._expected)
        for series in views:
            bar = ProgressBar(total=series.expected, completed=series.published, width=24, pulse=not series.expected)
            table.add_row(f"[bold]{series.name}[/]", bar, progress_text(series).split(": ", 1)[1], "")
        furthest = max((s.published / s.expected for s in views if s.expected), default=0.0)
        elapsed = time.monotonic() - self._started
        left = f", about {elapsed * (1 - furthest) / furthest:.0f} s left" if furthest > 0.02 else ""
        table.add_row("", "", f"{elapsed:.0f} s{left}", "")
        self._live.update(table)

    def failure(self, text: str, tail: list[str]) -> None:
        self._console.print(f"[bold red]couplet: {escape(text)}[/]", highlight=False, soft_wrap=True)
        for line in tail:
            self._console.print(f"    {escape(line)}", highlight=False, soft_wrap=True)

    def done(self, end: End) -> None:
        for series in end.waits:
            self._prefix("couplet", f"series '{series.name}': {series.program} {waits_text(series)}")
        self._prefix("couplet", end_text(end))


def display_for(console: Console, configuration: Configuration) -> Display:
    """Returns the live view on a terminal, and plain lines elsewhere."""
    return (LiveDisplay if console.is_terminal else PlainDisplay)(console, configuration)
