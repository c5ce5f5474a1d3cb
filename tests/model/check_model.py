"""Explores every state of slots.pml with spin, in several settings, and proves that each mutant is found to be wrong.

usage: check_model.py [NAME ...]     without names: all settings and all mutants
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

MODEL = Path(__file__).resolve().parent / "slots.pml"
JOBS = 2
MEMORY_MIB = 3500  # of each of the two
LONGEST_S = 900

HOLD_BESIDE_HOLD = "MODE1=0"
SMALL = "SLOTS=1 STEPS=3"
SETTINGS = {
    "a holder and a follower, 2 slots, 4 steps": "",
    "two holders, 2 slots, 3 steps": f"STEPS=3 {HOLD_BESIDE_HOLD}",
    "two followers, 2 slots, 4 steps": "MODE0=1",
    "a holder and a follower, evictions, 2 slots, 4 steps": "EVICT=1",
    "a holder and a follower, deaths and evictions": f"{SMALL} EVICT=1 MORTAL=1",
    "two holders, deaths and evictions": f"{SMALL} EVICT=1 MORTAL=1 {HOLD_BESIDE_HOLD}",
    "a required reader and a follower, 2 slots, 3 steps": "STEPS=3 REQUIRED=1",
    "a required reader and a holder": f"{SMALL} REQUIRED=1 {HOLD_BESIDE_HOLD}",
    "two holders that leave early": f"{SMALL} LEAVES=1 {HOLD_BESIDE_HOLD}",
}
# What must be found, in which setting: an assertion of the model, or somebody who sleeps for ever.
MUTANTS = {
    "STAMP_CHECKED_ONCE": (SMALL, "data=="),
    "STAMP_ODD_AFTER_FIRST_WRITE": (SMALL, "data=="),
    "NO_FENCE_OPENING_A_HOLD": (SMALL, "whole"),
    "NO_FENCE_IN_CLAIM": (SMALL, "whole"),
    "CLAIM_ANNOUNCED_LATE": (SMALL, "whole"),
    "PUBLISHED_AFTER_LOOKING_FOR_SLEEPERS": (SMALL, "invalid end state"),
    "PUBLISHED_BEFORE_STAMP": (SMALL, "memory["),
    "NO_FENCE_IN_PUBLISH": (SMALL, "invalid end state"),
    "NO_FENCE_IN_RELEASE": (SMALL, "invalid end state"),
    "NO_FENCE_BEFORE_WRITER_SLEEPS": (SMALL, "invalid end state"),
    "NO_FENCE_BEHIND_ODD_STAMP": (SMALL, "data=="),
    "WORD_READ_AFTER_WAKE_AT": (SMALL, "invalid end state"),
    "RESERVATION_DROPPED_BEFORE_HOLD": (f"{SMALL} REQUIRED=1", "first==0"),
}


@dataclass(frozen=True)
class Outcome:
    """What an exploration has found."""

    complete: bool  # every state was visited
    violation: str  # empty: none
    states: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.states:,} states in {self.seconds:.0f} s" + (f", {self.violation}" if self.violation else "")


def explore(definitions: str) -> Outcome:
    """Builds the verifier for these definitions and runs it until it has found something or visited everything."""
    with tempfile.TemporaryDirectory(prefix="couplet-model-") as name:
        folder = Path(name)
        words = [f"-D{word}" for word in definitions.split()]
        run(["spin", "-a", *words, str(MODEL)], folder)
        run(["cc", "-O2", "-w", "-DSAFETY", "-DCOLLAPSE", f"-DMEMLIM={MEMORY_MIB}", "-o", "pan", "pan.c"], folder)
        text = run(["./pan", "-m100000", "-w24"], folder)
    found = re.search(r"pan:1: (.*?) \(at depth", text)
    states = re.search(r"(\d+) states, stored", text)
    seconds = re.search(r"elapsed time ([\d.]+)", text)
    errors = re.search(r"errors: (\d+)", text)
    if states is None or errors is None:
        raise SystemExit(f"model: the verifier said nothing of use:\n{text[-2000:]}")
    stopped = "Search not completed" in text or "max search depth too small" in text
    return Outcome(
        complete=not stopped and errors[1] == "0",
        violation=found[1] if found else "",
        states=int(states[1]),
        seconds=float(seconds[1]) if seconds else 0.0,
    )


def run(command: list[str], folder: Path) -> str:
    """Standard output of a command that has to succeed."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=LONGEST_S, check=False)
    if done.returncode != 0:
        raise SystemExit(f"model: {command[0]} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def check_setting(name: str) -> bool:
    """True where every state was visited and nothing is wrong in any of them."""
    outcome = explore(SETTINGS[name])
    good = outcome.complete and not outcome.violation
    print(f"model: {'ok' if good else 'WRONG'}: {name}: {outcome}", flush=True)
    return good


def check_mutant(name: str) -> bool:
    """True where the mutant is found to be wrong in the way that it is."""
    setting, expected = MUTANTS[name]
    outcome = explore(f"{setting} {name}")
    good = expected in outcome.violation
    print(f"model: {'ok' if good else 'NOT FOUND'}: mutant {name}: {outcome}", flush=True)
    return good


def main() -> int:
    """Checks what is named, or everything."""
    names = sys.argv[1:] or [*SETTINGS, *MUTANTS]
    unknown = [name for name in names if name not in SETTINGS and name not in MUTANTS]
    if unknown:
        raise SystemExit(f"model: there is no setting or mutant {unknown}")
    with ThreadPoolExecutor(JOBS) as pool:
        good = list(pool.map(lambda name: check_setting(name) if name in SETTINGS else check_mutant(name), names))
    print(f"model: {sum(good)} of {len(good)} as they should be", flush=True)
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
