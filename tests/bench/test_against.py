"""bench/against: the statistics, and a short run of a build against itself, whose figures have no meaning."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from random import Random

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "release"
sys.path.insert(0, str(ROOT / "bench"))

from common.against import Sample, Verdict, order, verdict  # noqa: E402


def noisy(factor: float, pairs: int, seed: int) -> list[float]:
    random = Random(seed)
    return [factor * random.lognormvariate(0, 0.1) for _ in range(pairs)]


def test_the_order_of_pairs_changes() -> None:
    assert order(4) == [("ours", "base"), ("base", "ours"), ("ours", "base"), ("base", "ours")]


def test_more_time_and_a_smaller_rate_are_slower() -> None:
    assert Sample(2.0, True).slower_than(Sample(1.0, True)) == 2.0
    assert Sample(2.0, False).slower_than(Sample(1.0, False)) == 0.5


def test_the_interval_holds_the_true_ratio_as_often_as_it_says() -> None:
    verdicts = [verdict(noisy(1.2, 40, seed)) for seed in range(400)]
    inside = sum(one.low <= 1.2 <= one.high for one in verdicts)
    assert 0.94 * 400 <= inside < 400


def test_half_as_fast_is_slower_and_noise_is_not() -> None:
    assert all(verdict(noisy(2.0, 10, seed)).slower(1.03) for seed in range(100))
    assert sum(verdict(noisy(1.0, 40, seed)).slower(1.03) for seed in range(400)) <= 8


def test_few_pairs_take_the_whole_range() -> None:
    assert verdict([1.0, 3.0, 2.0]) == Verdict(2.0, 1.0, 3.0, 3)


def test_a_base_without_a_program_leaves_its_cases_out(tmp_path: Path) -> None:
    from suite_series import CASES, missing

    lacking = [case for case in CASES if missing(tmp_path, case)]
    assert {"relay/read", "remap", "put+followers/8B"} <= set(lacking) and "put" not in lacking
    assert missing(tmp_path, "remap") == tmp_path / "bench" / "series" / "series_remap"


def test_a_build_against_itself() -> None:
    command = [sys.executable, str(ROOT / "bench" / "against"), str(BUILD), "--suite", "message"]
    command += ["--case", "shm/128B", "--pairs", "6", "--sample-ms", "2", "--limit", "1000"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    (line,) = map(json.loads, done.stdout.splitlines())
    assert line["suite"] == "message" and line["case"] == "shm/128B" and line["pairs"] == 6
    assert line["low"] <= line["ratio"] <= line["high"] and not line["slower"]
    assert line["base"]["best"] > 0 and line["ours"]["best"] > 0
