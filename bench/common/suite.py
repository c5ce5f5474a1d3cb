"""The command line of a suite whose cases are measured by pairs of programs, and its lines of JSON."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from common.arena import Arena
from common.left_out import LeftOutError
from common.measure import Case, measure


class Variants(Protocol):
    """Cases that are measured only if they are named, or by options of the suite."""

    cases: Sequence[str]

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Adds the options."""

    def expand(self, options: argparse.Namespace, cases: Sequence[str]) -> Sequence[str]:
        """Returns the cases that these options make of the chosen ones."""


BUILD = Path(__file__).resolve().parents[2] / "build" / "release"


def run_suite(
    name: str,
    text: str | None,
    cases: Sequence[str],
    make_case: Callable[[Arena, str], Case],
    arguments: list[str],
    variants: Variants | None = None,
) -> int:
    parser = argparse.ArgumentParser(
        prog=f"bench/run {name}", description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=Path, default=BUILD, help="build tree (default: build/release)")
    parser.add_argument(
        "--case",
        action="append",
        choices=[*cases, *(variants.cases if variants else [])],
        help="only this one; may be given several times",
    )
    parser.add_argument("--rounds", type=int, default=40, help="samples of each contender (default: 40)")
    parser.add_argument("--sample-ms", type=float, default=10, help="length of a sample (default: 10)")
    parser.add_argument("--output", type=Path, help="also append the lines to this file")
    if variants:
        variants.add_options(parser)
    options = parser.parse_args(arguments)
    chosen = variants.expand(options, options.case or cases) if variants else options.case or cases
    with contextlib.ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="couplet-bench-")))
        arena = Arena(options.build.resolve(), directory)
        stack.callback(arena.stop)
        for case in chosen:
            try:
                made = make_case(arena, case)
            except LeftOutError as reason:
                print(f"bench: {case}: left out: {reason}", file=sys.stderr)
                continue
            result = {"bench": name, **measure(made, options.rounds, options.sample_ms / 1000)}
            line = json.dumps(result)
            print(line, flush=True)
            if options.output:
                with options.output.open("a") as stream:
                    stream.write(line + "\n")
    return 0
