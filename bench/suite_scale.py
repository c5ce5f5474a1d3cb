"""bench/run scale: how long a series of very many boxes takes to be created and opened.

One writer rank and one reader rank are real, and all other ranks are simulated (tests/unit/series/many_boxes_test.cpp,
which also checks what is read). `create` begins when the writer rank has the proposals of all ranks, and `open` is the
reader's; both without the time on the network. `announced_bytes` is what the hub stores and the reader fetches. The
exit status is 1 if the best total is above the limit.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("COUPLET_BUILD_DIR", PROJECT / "build" / "release"))
CASES = {
    "100 ranks, 4096 boxes each": "ManyBoxes.OfAHundredRanksWithFourThousandBoxesEach",
    "10000 ranks, 30 fields each": "ManyBoxes.OfTenThousandRanksWithThirtyFieldsEach",
}
LIMIT_MS = 2000


def sample(build: Path, test: str) -> dict[str, int]:
    """Runs the test once, and returns what it has noted."""
    with tempfile.TemporaryDirectory(prefix="couplet-bench-") as directory:
        output = Path(directory) / "result.json"
        command = [str(build / "tests" / "test_series"), f"--gtest_filter={test}", f"--gtest_output=json:{output}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        result = json.loads(output.read_text()) if output.exists() else {"tests": 0}
    if done.returncode != 0 or result["tests"] != 1:
        raise SystemExit(f"bench: {' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    noted = result["testsuites"][0]["testsuite"][0]
    return {name: int(noted[name]) for name in ("create_ms", "open_ms", "announced_bytes")}


def measure(build: Path, case: str, rounds: int) -> bool:
    """Measures one case, and says whether it is within the limit."""
    samples = [sample(build, CASES[case]) for _ in range(rounds)]
    row: dict[str, object] = {"bench": "scale", "case": case, "unit": "ms"}
    times = {
        "create": [one["create_ms"] for one in samples],
        "open": [one["open_ms"] for one in samples],
        "total": [one["create_ms"] + one["open_ms"] for one in samples],
    }
    for name, values in times.items():
        row[name] = {"best": min(values), "median": statistics.median(values)}
    fits = min(times["total"]) <= LIMIT_MS
    row |= {"limit_ms": LIMIT_MS, "fits": fits, "announced_bytes": samples[0]["announced_bytes"], "samples": rounds}
    print(json.dumps(row), flush=True)
    return fits


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="bench/run scale", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=Path, default=BUILD, help="build tree (default: build/release)")
    parser.add_argument("--rounds", type=int, default=5, help="samples of each case (default: 5)")
    chosen = parser.parse_args(arguments)
    results = [measure(chosen.build.resolve(), case, chosen.rounds) for case in CASES]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
