"""Runs the exchange cases under SimGrid and keeps what they give, for draw.py and docs/scale.md.

Usage: run.py FOLDER [--nightly] [CASES...]      FOLDER gets results.json; CASES: see SUITES below, by default all
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import exchange_cases
import simgrid

Row = dict[str, Any]
MAX_CPU_S = 120.0  # the most that a case with 128 ranks over point-to-point messages may take
PERIODS = (20, 10, 5)


def _methods(cases: Callable[[], list[exchange_cases.Case]]) -> Callable[[Path, ThreadPoolExecutor], list[Row]]:
    def run(folder: Path, pool: ThreadPoolExecutor) -> list[Row]:
        program = exchange_cases.methods_program(simgrid.PROGRAMS)

        def one(numbered: tuple[int, exchange_cases.Case]) -> Row:
            number, case = numbered
            row = exchange_cases.run_case(folder / str(number), program, case)
            shown = f"{case.pattern} {case.ranks} ranks, {case.per_node} a node, {case.neighbors} neighbours"
            print(f"  {shown}, {case.method}: {row['round_s'] * 1e6:.2f} us a round ({row['cpu_s']:.1f} s)", flush=True)
            return row

        return list(pool.map(one, enumerate(cases())))

    return run


def _coalesce(folder: Path, pool: ThreadPoolExecutor) -> list[Row]:
    program = exchange_cases.coalesce_program(simgrid.PROGRAMS)

    def one(period: int) -> list[Row]:
        return exchange_cases.run_coalesce(folder / str(period), program, 256, 4, 20, period)

    return _shown(row for rows in pool.map(one, PERIODS) for row in rows)


def _nightly(folder: Path, pool: ThreadPoolExecutor) -> list[Row]:
    program = exchange_cases.coalesce_program(simgrid.PROGRAMS)
    return _shown(iter(exchange_cases.run_coalesce(folder, program, 1024, 4, 2, 2)))


def _shown(rows: Any) -> list[Row]:
    found = list(rows)
    for row in found:
        print(
            f"  {row['ranks']} ranks, an image each {row['period']} rounds, merged {row['merged']}: "
            f"{row['messages']:.3f} messages and {row['waits']:.3f} synchronisation points a rank and round, "
            f"{row['communication_s'] * 1e6:.2f} us communication",
            flush=True,
        )
    return found


SUITES: dict[str, Callable[[Path, ThreadPoolExecutor], list[Row]]] = {
    "neighbors-1d": _methods(exchange_cases.one_dimension),
    "neighbors-3d": _methods(exchange_cases.three_dimensions_one_sided),
    "neighbors-3d-large": _methods(exchange_cases.three_dimensions),
    "per-node-1d": _methods(exchange_cases.per_node_1d),
    "per-node-3d": _methods(exchange_cases.per_node_3d),
    "coalesce": _coalesce,
    "coalesce-nightly": _nightly,
}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--nightly", action="store_true")
    parser.add_argument("cases", nargs="*", metavar="CASES")
    options = parser.parse_args(arguments)
    folder = options.folder.resolve()  # programs run in folders below it
    if (reason := simgrid.missing()) is not None:
        print(f"scale: SKIPPED: {reason}")
        return 0
    names = options.cases or [name for name in SUITES if options.nightly or not name.endswith("nightly")]
    path = folder / "results.json"
    results: dict[str, list[Row]] = json.loads(path.read_text()) if path.exists() else {}
    with ThreadPoolExecutor(2) as pool:
        for name in names:
            start = time.monotonic()
            print(f"== {name}", flush=True)
            results[name] = SUITES[name](folder / name, pool)
            path.write_text(json.dumps(results, indent=1) + "\n")
            print(f"== {name}: {time.monotonic() - start:.0f} s", flush=True)
    slow = [
        row
        for name in names
        for row in results[name]
        if row["ranks"] == 128 and row["method"] in exchange_cases.POINT_TO_POINT and row["cpu_s"] > MAX_CPU_S
    ]
    for row in slow:
        print(f"scale: took more than {MAX_CPU_S:.0f} s: {row}")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
