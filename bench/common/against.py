"""Measures two builds of the project against each other: samples in the order A B B A, and the median of their
ratios.
"""

from __future__ import annotations

import importlib
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common.arena import Arena
from common.contender import Contender
from common.measure import calibrate, significant

BENCH = Path(__file__).resolve().parents[1]
CONFIDENCE = 0.95
# The suites whose programs are kept alive between samples. In the others each sample is a run of its own.
PAIRED_SUITES = ("message", "steps", "task")
MIN_PAIRS = 6  # fewer pairs allow no statement with this confidence


@dataclass(frozen=True)
class Sample:
    """The result of one build, and whether a smaller one is better."""

    value: float
    less_is_better: bool

    def slower_than(self, other: Sample) -> float:
        """Returns the time of this sample over that of the other."""
        return self.value / other.value if self.less_is_better else other.value / self.value


@dataclass(frozen=True)
class Verdict:
    """The median of the paired ratios (above 1: slower than the base), and the interval in which it is."""

    ratio: float
    low: float
    high: float
    pairs: int

    def slower(self, limit: float) -> bool:
        """Says whether it is slower than the limit by more than the noise."""
        return self.low > limit


class OursOnly(Arena):
    """An arena without the contenders with which a suite compares."""

    def openmpi(self, links: str, pairs: int = 1) -> Contender | None:
        return None

    def mpich(self, links: str, pairs: int = 1) -> Contender | None:
        return None

    def openmpi_connect(self) -> Contender | None:
        return None

    def zeromq(self, links: str) -> Contender | None:
        return None

    def raw(self, mode: str) -> Contender | None:
        return None


def order(pairs: int) -> list[tuple[str, str]]:
    """Says which build is measured first in each pair. A drift in one direction then affects both alike."""
    return [("ours", "base") if index % 2 == 0 else ("base", "ours") for index in range(pairs)]


def verdict(ratios: list[float]) -> Verdict:
    """Returns the median with an interval of order statistics, which makes no assumption about the noise."""
    ordered, count = sorted(ratios), len(ratios)
    # This many values on each side may be left out.
    outside = 0
    chance = 0.5**count
    total = chance
    while count - 2 * (outside + 1) > 0:
        chance = chance * (count - outside) / (outside + 1)
        if total + chance > (1 - CONFIDENCE) / 2:
            break
        total += chance
        outside += 1
    return Verdict(statistics.median(ordered), ordered[outside], ordered[-1 - outside], count)


class LiveSampler:
    """One case of a suite whose programs are kept alive. Those of one build sleep while those of the other are
    measured.
    """

    def __init__(self, suite: str, case: str, builds: dict[str, Path], directory: Path, sample_s: float) -> None:
        module = importlib.import_module(f"suite_{suite}")
        self.arenas: list[Arena] = []
        self.cases = {}
        self.counts = {}
        for name, build in builds.items():
            (directory / name).mkdir(exist_ok=True)
            self.arenas.append(OursOnly(build, directory / name))
            self.cases[name] = made = module.make_case(self.arenas[-1], case)
            self.counts[name] = calibrate(made, made.ours, sample_s)

    def sample(self, name: str) -> Sample:
        case = self.cases[name]
        seconds = case.ours.sample(case.command, case.size, self.counts[name])
        return Sample(case.value(seconds, self.counts[name]), case.unit != "GB/s")

    def stop(self) -> None:
        for arena in self.arenas:
            arena.stop()


class RunSampler:
    """One case of any suite: a sample is a run of the suite's own command, whose median counts."""

    def __init__(self, suite: str, case: str, builds: dict[str, Path], options: list[str]) -> None:
        self.command = [str(BENCH / "run"), suite, "--case", case, *options]
        self.builds = builds

    def sample(self, name: str) -> Sample:
        command = [*self.command, "--build", str(self.builds[name])]
        done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        if done.returncode != 0 or not lines:
            raise SystemExit(f"bench-against: {' '.join(command)} failed:\n{done.stderr[-2000:]}")
        return Sample(float(lines[0]["ours"]["median"]), lines[0]["unit"] != "GB/s")

    def stop(self) -> None:
        pass


def cases_of(suite: str) -> list[str]:
    return list(importlib.import_module("suite_" + suite.replace("-", "_")).CASES)


def compare(sampler: LiveSampler | RunSampler, pairs: int) -> tuple[dict[str, list[Sample]], list[float]]:
    """Returns the samples of both builds, and the ratios of the pairs."""
    samples: dict[str, list[Sample]] = {"ours": [], "base": []}
    for first, second in order(pairs):
        for name in (first, second):
            samples[name].append(sampler.sample(name))
    ratios = [own.slower_than(other) for own, other in zip(samples["ours"], samples["base"], strict=True)]
    return samples, ratios


def compare_restarted(
    suite: str, case: str, builds: dict[str, Path], pairs: int, restarts: int, sample_s: float
) -> tuple[dict[str, list[Sample]], list[float]]:
    """Compares programs that are started anew `restarts` times, in turn in the other order. Returns one ratio for each
    start: the speed of memory depends on the pages that a process got, so that two starts of one build may differ, by
    a third in what they copy and by 3 % in a short message, however often they are compared.
    """
    samples: dict[str, list[Sample]] = {"ours": [], "base": []}
    ratios = []
    for start in range(restarts):
        chosen = dict(builds.items() if start % 2 == 0 else reversed(builds.items()))
        with tempfile.TemporaryDirectory(prefix="couplet-bench-") as directory:
            sampler = LiveSampler(suite, case, chosen, Path(directory), sample_s)
            try:
                taken, of_pairs = compare(sampler, max(2, pairs // restarts))
            finally:
                sampler.stop()
        for name, values in taken.items():
            samples[name] += values
        ratios.append(statistics.median(of_pairs))
    return samples, ratios


def line_of(suite: str, case: str, samples: dict[str, list[Sample]], found: Verdict, limit: float) -> dict[str, Any]:
    best: Callable[[list[float]], float] = min if samples["ours"][0].less_is_better else max
    both = {
        name: {
            "best": significant(best([each.value for each in taken])),
            "median": significant(statistics.median(each.value for each in taken)),
        }
        for name, taken in samples.items()
    }
    return {
        "bench": "against",
        "suite": suite,
        "case": case,
        **both,
        "ratio": significant(found.ratio),
        "low": significant(found.low),
        "high": significant(found.high),
        "pairs": found.pairs,
        "slower": found.slower(limit),
    }


def compare_once(
    suite: str, case: str, builds: dict[str, Path], pairs: int, sample_s: float, options: list[str]
) -> tuple[dict[str, list[Sample]], list[float]]:
    with tempfile.TemporaryDirectory(prefix="couplet-bench-") as directory:
        sampler: LiveSampler | RunSampler
        if suite in PAIRED_SUITES:
            sampler = LiveSampler(suite, case, builds, Path(directory), sample_s)
        else:
            sampler = RunSampler(suite, case, builds, options)
        try:
            return compare(sampler, pairs)
        finally:
            sampler.stop()


def run_suite(
    suite: str, cases: list[str], builds: dict[str, Path], pairs: int, sample_s: float, limit: float, options: list[str]
) -> Iterator[dict[str, Any]]:
    module = importlib.import_module("suite_" + suite.replace("-", "_"))
    missing = getattr(module, "missing", lambda build, case: None)
    for case in cases:
        if lacking := [str(path) for build in builds.values() if (path := missing(build, case))]:
            print(f"bench-against: {suite} {case} left out: {' and '.join(lacking)} is missing", file=sys.stderr)
            continue
        restarts = min(int(module.restarts(case)), pairs) if hasattr(module, "restarts") else 1
        if restarts > 1:
            samples, ratios = compare_restarted(suite, case, builds, pairs, restarts, sample_s)
        else:
            samples, ratios = compare_once(suite, case, builds, pairs, sample_s, options)
        yield line_of(suite, case, samples, verdict(ratios), limit)
