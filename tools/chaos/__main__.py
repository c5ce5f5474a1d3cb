"""usage: tools/chaos/run [--seconds 600] [--seed N] [--runs N] [--tree DIRECTORY] [--plan FILE] [--shrink-seconds 300]

Runs one plan after the other, beginning with the seed, until the time has passed, and checks the results of each. A
finding is printed with its shrunk plan and the command that repeats it. Its files are copied to build/chaos/. The exit
status is 1 if there was a finding.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from chaos.check import check
from chaos.generate import generate, seed_of_the_day
from chaos.histories import Finding
from chaos.perform import perform
from chaos.plan import Plan
from chaos.shrink import shrink
from chaos.tree import PROJECT, BuiltTree

CLOCK = "SKIPPED jumps of the time of day: that clock is the host's, and not for a test to set"


def kinds(findings: list[Finding]) -> str:
    return ", ".join(sorted({finding.kind for finding in findings}))


def report(plan: Plan, findings: list[Finding], kept: Path) -> None:
    print(f"chaos: seed {plan.seed}: {len(findings)} findings ({kinds(findings)}); histories in {kept}", flush=True)
    for finding in findings[:12]:
        print(f"  {str(finding)[:400]}", flush=True)


def shrink_and_print(tree: BuiltTree, plan: Plan, findings: list[Finding], seconds: float, kept: Path) -> None:
    wanted = {finding.kind for finding in findings}

    def still_fails(candidate: Plan) -> bool:
        return bool(wanted & {finding.kind for finding in check(perform(tree, candidate))})

    smaller = shrink(plan, still_fails, seconds) if seconds > 0 else plan
    script = kept / "shrunk.json"
    script.write_text(smaller.to_json() + "\n")
    print(f"chaos: the plan, shrunk as far as {seconds:.0f} s allow:\n{smaller.describe()}")
    print(f"chaos: again: tools/chaos/run --plan {script}")
    print(f"chaos: or all of it: tools/chaos/run --seed {plan.seed} --runs 1", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="tools/chaos/run", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=None, help="of the first run; default: from the date")
    parser.add_argument("--runs", type=int, help="at most so many (default: of a plan 1)")
    parser.add_argument("--tree", type=Path, default=PROJECT, help="the checkout whose build is tried")
    parser.add_argument("--plan", type=Path, help="a plan from a file instead of a seed")
    parser.add_argument("--show", action="store_true", help="print the plan of the seed and end")
    parser.add_argument("--shrink-seconds", type=float, default=300)
    parser.add_argument("--go-on", action="store_true", help="after a finding too, without shrinking")
    parser.add_argument("--keep", type=Path, default=PROJECT / "build" / "chaos")
    options = parser.parse_args()
    first = options.seed if options.seed is not None else seed_of_the_day()
    if options.show:
        print(generate(first).describe())
        return 0
    most = options.runs or (1 if options.plan else 1_000_000)
    tree = BuiltTree(options.tree.resolve())
    tree.compile_actor()
    print(CLOCK)
    end, failed, runs = time.monotonic() + options.seconds, 0, 0
    notes: set[str] = set()
    while runs < most and (runs == 0 or time.monotonic() < end):
        plan = Plan.from_json(options.plan.read_text()) if options.plan else generate(first + runs)
        runs += 1
        kept = options.keep / str(plan.seed)
        missing = [why for mpi in plan.mpis() if (why := tree.lacks_mpi(mpi))]
        if missing:
            print(f"chaos: SKIPPED seed {plan.seed}: {', '.join(missing)}", flush=True)
            continue
        for mpi in plan.mpis():
            tree.compile_actor(mpi)
        begun = time.monotonic()
        run = perform(tree, plan, kept)
        for note in set(run.notes) - notes:
            print(f"chaos: {note}", flush=True)
        notes |= set(run.notes)
        findings = check(run)
        print(f"chaos: seed {plan.seed}: {time.monotonic() - begun:.1f} s, {kinds(findings) or 'ok'}", flush=True)
        if findings:
            failed += 1
            report(plan, findings, kept)
            if not options.go_on:
                shrink_and_print(tree, plan, findings, options.shrink_seconds, kept)
                break
    print(f"chaos: {runs} runs, {failed} with findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
