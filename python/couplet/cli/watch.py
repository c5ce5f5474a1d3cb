"""``couplet watch``: a table of everything that runs on this node."""

from __future__ import annotations

import time
from pathlib import Path

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from couplet.cli.observe import Node, SeriesView, nodes, run_directory

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def bytes_text(count: float) -> str:
    """Returns, for example, ``12.3 MiB``."""
    for unit in _UNITS:
        if count < 1024 or unit == _UNITS[-1]:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    raise AssertionError


def _state(series: SeriesView) -> str:
    if series.closed:
        return "closed"
    if not series.waits:
        return "writing"
    slowest = max(series.readers, key=lambda reader: reader.behind, default=None)
    return f"waits for {slowest.program}" if slowest else "waits"


def _series_table(views: list[SeriesView]) -> Table:
    table = Table(
        "series", "written by", "steps", "steps/s", "retained", "occupancy", "behind", "waited", "longest", "state",
        box=None,
    )  # fmt: skip
    for series in views:
        readers = ", ".join(
            f"{r.program} {r.behind}" if r.rank < 0 else f"{r.program}.{r.rank} {r.behind}" for r in series.readers
        )
        table.add_row(
            series.name, series.program, str(series.published), f"{series.rate:.1f}", bytes_text(series.bytes_retained),
            f"{series.occupancy:.0%}", readers or "-", f"{series.held_s:.1f} s" if series.wait_count else "-",
            f"{series.longest_s:.1f} s for {series.longest_for}" if series.wait_count else "-", _state(series),
        )  # fmt: skip
    return table


def _program_table(node: Node) -> Table:
    table = Table(
        "program", "ranks here", "host", "messages out", "in", "bytes out", "in", "waited", "asleep", box=None
    )
    programs: dict[str, list[int]] = {}
    hosts: dict[str, str] = {}
    for page in node.pages():
        name = f"relay of {page.host}" if page.is_relay else page.program
        row = programs.setdefault(name, [0] * 7)
        figures = (1, *page.messages(), page.waited_ns(), page.sleeping)
        programs[name] = [before + now for before, now in zip(row, figures, strict=True)]
        hosts[name] = page.host
    for name, (ranks, sent, received, sent_bytes, received_bytes, waited_ns, asleep) in programs.items():
        table.add_row(
            name, str(ranks), hosts[name], str(sent), str(received), bytes_text(sent_bytes),
            bytes_text(received_bytes), f"{waited_ns / 1e9:.1f} s", str(asleep),
        )  # fmt: skip
    return table


def view(all_nodes: list[Node], base: Path) -> Group:
    """Returns the tables of this node."""
    if not all_nodes:
        return Group(Text(f"no universe has a directory in {base}"))
    parts: list[Text | Table] = []
    for node in all_nodes:
        parts += [Text(f"run {node.run}", style="bold"), _program_table(node), Text(""), _series_table(node.series())]
    return Group(*parts)


def watch(console: Console, run_dir: Path | None, once: bool, interval: float) -> int:
    """Prints one table, or one after the other until Ctrl-C."""
    base = run_directory(run_dir)
    known: dict[str, Node] = {}

    def current() -> Group:
        present = {node.run: known.get(node.run, node) for node in nodes(run_dir)}
        known.clear()
        known.update(present)
        return view(list(known.values()), base)

    if once:
        current()
        time.sleep(0.6)  # two measurements give a rate
        console.print(current())
        return 0
    try:
        with Live(current(), console=console, refresh_per_second=4) as live:
            while True:
                time.sleep(interval)
                live.update(current())
    except KeyboardInterrupt:
        return 0
