"""Unlike nodes: processes and one domain, split so that all of them are done at the same time.

A speed is how much work one process of a node does in a second, in any unit, as measured with the application.
"""

from __future__ import annotations

import heapq
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from couplet.cost.documents import read_text
from couplet.cost.errors import CostError, DocumentError
from couplet.cost.model import exact

MAX_CELLS = 1 << 53


@dataclass(frozen=True)
class Host:
    """A node by name: how many processes it holds (or may hold), and the speed of each."""

    name: str
    processes: int
    speed: float = 1.0


_HOST = re.compile(
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)\s+(?P<count>\d{1,9})(?:\s+(?:speed=)?(?P<speed>[0-9.eE+-]+))?"
)


def read_hosts(path: Path) -> tuple[Host, ...]:
    """Reads a file with a line ``NAME PROCESSES [speed=SPEED]`` for each node; ``#`` begins a comment."""
    hosts: list[Host] = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        found = _HOST.fullmatch(text)
        if not found:
            raise DocumentError(
                f'{path}:{number}: "{text}" has to be NAME PROCESSES [speed=SPEED], as in node7 16 speed=1.5'
            )
        try:
            speed = float(found["speed"] or 1.0)
        except ValueError:
            speed = math.nan
        if not (0.0 < speed < math.inf):
            raise DocumentError(f"{path}:{number}: the speed of {found['name']} has to be a number greater than 0")
        if int(found["count"]) < 1:
            raise DocumentError(f"{path}:{number}: {found['name']} has no process; leave it out")
        if any(host.name == found["name"] for host in hosts):
            raise DocumentError(
                f"{path}:{number}: host {found['name']} is listed twice; give all its processes in one line"
            )
        hosts.append(Host(found["name"], int(found["count"]), speed))
    if not hosts:
        raise DocumentError(f"{path}: names no host; a line is NAME PROCESSES [speed=SPEED]")
    return tuple(hosts)


def spread_processes(hosts: Sequence[Host], processes: int) -> tuple[int, ...]:
    """Returns how many of ``processes`` each host gets, in proportion to the speeds, at most its own number.

    The time of a host grows with processes / speed; the greatest one is as small as it can be, since each process goes
    to the host that is then the least loaded. Every host keeps at least one process.
    """
    room = sum(host.processes for host in hosts)
    if not len(hosts) <= processes <= room:
        raise CostError(
            f"{processes} processes do not fit {len(hosts)} hosts with room for {room}: there have to be at least one "
            "process per host and at most the room of all"
        )
    counts = [1] * len(hosts)
    waiting = [(2 / exact(host.speed), index) for index, host in enumerate(hosts) if host.processes > 1]
    heapq.heapify(waiting)
    for _ in range(processes - len(hosts)):
        _, index = heapq.heappop(waiting)
        counts[index] += 1
        if counts[index] < hosts[index].processes:
            heapq.heappush(waiting, ((counts[index] + 1) / exact(hosts[index].speed), index))
    return tuple(counts)


def split_cells(cells: int, speeds: Sequence[float]) -> tuple[tuple[int, int], ...]:
    """Returns the half-open ranges into which ``cells`` are cut, one per process, in proportion to the speeds.

    Each cut is where the exact share ends, rounded half up, so that no part is off by more than one cell.
    """
    if not len(speeds) <= cells <= MAX_CELLS:
        raise CostError(f"{cells} cells cannot be split over {len(speeds)} processes: each needs at least one")
    total = sum((exact(speed) for speed in speeds), Fraction(0))
    cuts, done = [0], Fraction(0)
    for index, speed in enumerate(speeds):
        done += exact(speed)
        # Each part keeps at least one cell, also those that follow.
        cut = math.floor(cells * done / total + Fraction(1, 2))
        cuts.append(min(max(cut, cuts[-1] + 1), cells - (len(speeds) - 1 - index)))
    return tuple(zip(cuts, cuts[1:], strict=False))
