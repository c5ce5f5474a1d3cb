"""The command line of a suite whose cases are measured by pairs of programs, and its lines of JSON."""

from __future__ import annotations

import argparse
import contextlib
import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from common.arena import Arena
from common.measure import Case, measure

BUILD = Path(__file__).resolve().parents[2] / "build" / "release"


def run_suite(
    name: str, text: str | None, cases: Sequence[str], make_case: Callable[[Arena, str], Case], arguments: list[str]
) -> int:
    parser = argparse.ArgumentParser(
        prog=f"bench/run {name}", description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=Path, default=BUILD, help="build tree (default: build/release)")
    parser.add_argument("--case", action="append", choices=cases, help="only this one; may be given several times")
    parser.add_argument("--rounds", type=int, default=40, help="samples of each contender (default: 40)")
    parser.add_argument("--sample-ms", type=float, default=10, help="length of a sample (default: 10)")
    parser.add_argument("--output", type=Path, help="also append the lines to this file")
    options = parser.parse_args(arguments)
    with contextlib.ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="couplet-bench-")))
        arena = Arena(options.build.resolve(), directory)
        stack.callback(arena.stop)
        for case in options.case or cases:
            result = {"bench": name, **measure(make_case(arena, case), options.rounds, options.sample_ms / 1000)}
            line = json.dumps(result)
            print(line, flush=True)
            if options.output:
                with options.output.open("a") as stream:
                    stream.write(line + "\n")
    return 0
