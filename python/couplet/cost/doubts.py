"""Reasons to doubt a cost file: signs that something else used the host while it was measured."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median

# The seconds of each repetition, by curve (as couplet-probe-links names it) and size.
Times = Mapping[str, Mapping[int, list[float]]]

MAX_MEDIAN_FACTOR = 3.0  # the median over the minimum of a size, on a host that does nothing else
MAX_DROP_FACTOR = 2.0  # the time of a message over that of a longer one
MAX_LINK_FACTOR = 1.25  # the time through shared memory over that of tcp
_SAMPLES = 10
_SAMPLE_S = 0.05


def other_processes(text: str) -> int | None:
    """Returns how many processes besides this one are runnable, by a text of /proc/loadavg; None if it does not say."""
    words = text.split()
    runnable = words[3].partition("/")[0] if len(words) > 3 else ""
    return int(runnable) - 1 if runnable.isdigit() and int(runnable) > 0 else None


def runnable_processes() -> float | None:
    """Returns how many other processes of the host want a core just now; None if the system does not tell."""
    counts = []
    for _ in range(_SAMPLES):
        try:
            count = other_processes(Path("/proc/loadavg").read_text())
        except OSError:
            return None
        if count is None:
            return None
        counts.append(count)
        time.sleep(_SAMPLE_S)
    return sum(counts) / len(counts)


def doubts_of_load(runnable: float | None, ranks: int, cores: int | None = None) -> list[str]:
    """Returns a doubt if other processes want the cores on which so many ranks are to be measured."""
    cores = cores or os.cpu_count() or 1
    if runnable is None or runnable < 0.5 or runnable + ranks <= cores:
        return []
    return [
        f"before the measurement, {runnable:.1f} other processes wanted to run on the {cores} cores of this host, and "
        f"{ranks} more are measured"
    ]


def doubts_of_times(curves: Times) -> list[str]:
    """Returns a sentence for each curve that a quiet host would not give."""
    found = []
    least = {name: {size: min(times) for size, times in sorted(points.items())} for name, points in curves.items()}
    for name, points in curves.items():
        found += _unsteady(name, points)
        found += _falling(name, least[name])
    for way in ("eager", "announced"):
        found += _slow_memory(way, least)
    return found


def _unsteady(name: str, points: Mapping[int, list[float]]) -> list[str]:
    factors = {size: median(times) / min(times) for size, times in points.items() if min(times) > 0.0}
    size = max(factors, key=lambda one: factors[one], default=0)
    if not factors or factors[size] <= MAX_MEDIAN_FACTOR:
        return []
    return [f"{name}: at {size} bytes the median of its repetitions is {factors[size]:.0f} times their minimum"]


def _falling(name: str, least: Mapping[int, float]) -> list[str]:
    sizes = list(least)
    for size, longer in zip(sizes, sizes[1:], strict=False):
        if least[size] > MAX_DROP_FACTOR * least[longer]:
            return [f"{name}: {_us(least[size])} for {size} bytes, and {_us(least[longer])} for {longer} bytes"]
    return []


def _slow_memory(way: str, least: Mapping[str, Mapping[int, float]]) -> list[str]:
    memory, network = least.get(f"link:shm:{way}", {}), least.get(f"link:tcp:{way}", {})
    for size in sorted(memory.keys() & network.keys()):
        if memory[size] > MAX_LINK_FACTOR * network[size]:
            times = f"{_us(memory[size])} and {_us(network[size])}"
            return [f"link:shm:{way} is slower than link:tcp:{way} at {size} bytes ({times})"]
    return []


def _us(seconds: float) -> str:
    return f"{seconds * 1e6:.4g} us"
