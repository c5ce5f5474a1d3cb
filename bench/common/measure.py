"""Takes samples of several contenders in rounds, side by side, and summarises them."""

from __future__ import annotations

import statistics
import sys
from dataclasses import dataclass, field

from common.contender import Contender, ContenderError


@dataclass
class Case:
    """One line of the output."""

    name: str
    unit: str  # us: half round trip; GB/s
    command: str  # P or S, see control.h
    size: int
    ours: Contender
    baselines: dict[str, Contender] = field(default_factory=dict)
    limit: Contender | None = None
    pairs: int = 1  # that are measured at the same time; GB/s is the sum of all of them

    def value(self, seconds: float, count: int) -> float:
        messages = count * (2 if self.command == "P" else 1)
        if self.unit == "us":
            return seconds / messages * 1e6
        return self.size * messages * self.pairs / seconds / 1e9

    @property
    def contenders(self) -> dict[str, Contender]:
        all_of_them = {"ours": self.ours, **self.baselines}
        return {**all_of_them, "limit": self.limit} if self.limit else all_of_them


def calibrate(case: Case, contender: Contender, sample_s: float) -> int:
    """Returns how many operations take about sample_s."""
    count = 1
    while True:
        seconds = min(contender.sample(case.command, case.size, count) for _ in range(3))
        if seconds > sample_s / 4 or count >= 1_000_000:
            return max(1, round(count * sample_s / max(seconds, 1e-9)))
        count *= 4


def measure(case: Case, rounds: int, sample_s: float) -> dict[str, object]:
    """Takes the samples of a case and summarises them."""
    counts: dict[str, int] = {}
    samples: dict[str, list[float]] = {}
    alive = dict(case.contenders)

    def attempt(name: str, action: object) -> None:
        try:
            action()  # type: ignore[operator]
        except ContenderError as problem:
            if name == "ours":
                raise
            print(f"bench: {case.name}: left out: {problem}", file=sys.stderr)
            alive.pop(name, None)
            samples.pop(name, None)

    for name, contender in list(alive.items()):
        attempt(name, lambda name=name, one=contender: counts.__setitem__(name, calibrate(case, one, sample_s)))
    for _ in range(rounds):
        for name, contender in list(alive.items()):
            attempt(
                name,
                lambda name=name, one=contender: samples.setdefault(name, []).append(
                    case.value(one.sample(case.command, case.size, counts[name]), counts[name])
                ),
            )
    return summary(case, samples)


def summary(case: Case, samples: dict[str, list[float]]) -> dict[str, object]:
    """Returns best and median, and the medians of the ratios of ours to the others in the same round."""
    best = min if case.unit == "us" else max

    def both(name: str) -> dict[str, float]:
        return {"best": significant(best(samples[name])), "median": significant(statistics.median(samples[name]))}

    others = [name for name in samples if name != "ours"]
    pairs = {name: [own / other for own, other in zip(samples["ours"], samples[name], strict=True)] for name in others}
    return {
        "case": case.name,
        "unit": case.unit,
        "ours": both("ours"),
        "baselines": {name: both(name) for name in others if name != "limit"},
        "limit": both("limit") if "limit" in samples else None,
        "ratio": {name: significant(statistics.median(ratios)) for name, ratios in pairs.items()},
        "samples": len(samples["ours"]),
    }


def significant(value: float) -> float:
    return float(f"{value:.4g}")
