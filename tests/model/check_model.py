"""Explores every state of the models with spin, in several settings, and proves that each mutant is found to be wrong.

slots.pml is the protocol of a series, halves.pml that of an exchange with double buffers and flags.

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

FOLDER = Path(__file__).resolve().parent
JOBS = 2
MEMORY_MIB = 3500  # for each of the two
LONGEST_S = 900

ONE = "MODE1=2"  # reader; with two the states are a hundred times as many
SMALL = f"SLOTS=1 STEPS=3 {ONE}"
STRANGER = "RELEASE=1 STRANGER=1"
TWICE = "LEAVES=1 AGAIN=1"
FOLLOWER = f"{SMALL} MODE0=1"
SETTINGS = {
    "a holder, 1 slot, 3 steps": SMALL,
    "a holder, 2 slots, 4 steps, evictions": f"SLOTS=2 STEPS=4 {ONE} EVICT=1",
    "a follower, 2 slots, 4 steps": f"SLOTS=2 STEPS=4 {ONE} MODE0=1",
    "a holder that leaves early and comes again": f"SLOTS=1 STEPS=2 {ONE} {TWICE}",
    "a holder that dies": f"{SMALL} MORTAL=1",
    "a holder that dies, beside evictions": f"{SMALL} MORTAL=1 EVICT=1",
    "a holder that is released at any moment": f"{SMALL} RELEASE=1",
    "a holder whose entry is given to somebody else": f"{SMALL} {STRANGER}",
    "a holder, and a writer that dies": f"{SMALL} WRITER_MORTAL=1",
    "a holder, and a writer that gives up": f"{SMALL} GIVES_UP=1 EVICT=1",
    "a follower, and a writer that dies": f"{FOLLOWER} WRITER_MORTAL=1",
    "a required reader": f"{SMALL} REQUIRED=1",
    "a required reader whose entry is given to somebody else": f"{SMALL} REQUIRED=1 {STRANGER}",
    "a required reader, and a writer that dies": f"{SMALL} REQUIRED=1 WRITER_MORTAL=1",
    "a required reader, and a writer that gives up": f"{SMALL} REQUIRED=1 GIVES_UP=1",
    "two followers, 1 step": "SLOTS=1 STEPS=1 MODE0=1 MODE1=1",
    "a holder and a follower, 2 steps": "SLOTS=1 STEPS=2 TABLE=1",
    "two holders, 1 step": "SLOTS=1 STEPS=1 MODE1=0",
    "two holders that leave early, one entry, 1 step": "SLOTS=1 STEPS=1 MODE1=0 TABLE=1 LEAVES=1",
    "two holders, one entry, one is released, 1 step": "SLOTS=1 STEPS=1 MODE1=0 TABLE=1 RELEASE=1",
}
# Whoever runs long enough comes to an end: no cycle, with fair scheduling.
PROGRESS = {
    "progress of a holder": SMALL,
    "progress of a follower": FOLLOWER,
    "progress of a holder that leaves early": f"{SMALL} LEAVES=1",
    "progress beside a reader that dies": f"{SMALL} MORTAL=1",
    "progress beside a writer that dies": f"{SMALL} WRITER_MORTAL=1",
    "progress of a required reader": f"{SMALL} REQUIRED=1",
}
LOST = "lost"
STUCK = "invalid end state"
# What must be found, in which setting: an assertion of the model, or somebody who sleeps for ever.
MUTANTS = {
    "STAMP_CHECKED_ONCE": (FOLLOWER, "data=="),
    "STAMP_ODD_AFTER_FIRST_WRITE": (FOLLOWER, "data=="),
    "NO_FENCE_BEHIND_ODD_STAMP": (FOLLOWER, "data=="),
    "PUBLISHED_BEFORE_STAMP": (SMALL, "memory["),
    "NO_FENCE_OPENING_A_HOLD": (SMALL, LOST),
    "NO_FENCE_IN_CLAIM": (SMALL, LOST),
    "CLAIM_NOT_COMPARED": (SMALL, LOST),
    "TENTATIVE_TAKEN_FOR_DEFINITE": (f"{SMALL} REQUIRED=1", "first==0"),
    "RESERVATION_DROPPED_BEFORE_HOLD": (f"{SMALL} REQUIRED=1", "first==0"),
    "PUBLISHED_AFTER_LOOKING_FOR_SLEEPERS": (SMALL, STUCK),
    "NO_FENCE_IN_PUBLISH": (SMALL, STUCK),
    "NO_FENCE_IN_RELEASE": (SMALL, STUCK),
    "NO_FENCE_BEFORE_WRITER_SLEEPS": (SMALL, STUCK),
    "WORD_READ_AFTER_WAKE_AT": (SMALL, STUCK),
    "NOBODY_PASSES_ON": ("SLOTS=1 STEPS=2 TABLE=1", STUCK),
    "CLOSED_READ_AFTER_PUBLISHED": (SMALL, "next==memory["),
    "CONSUMED_STORED_RELAXED": (SMALL, LOST),
    "FREED_RELAXED": (f"{SMALL} LEAVES=1", LOST),
    "OWNER_STORED_BEFORE_CONSUMED": (f"{SMALL} {TWICE}", LOST),
    "LIVING_HOLDER_FREED": (SMALL, "dead[self]"),
    "GENERATION_NOT_COMPARED": (f"{SMALL} {STRANGER}", "generation"),
    "CONSUMED_NOT_COMPARED_WHEN_TAKEN": (f"{SMALL} {STRANGER}", "generation"),
}
EACH = "three ranks, each with each other"
LINE = "three ranks in a line, in both directions"
ONE_WAY = "three ranks in a line, one way"
RING = "three ranks in a ring, one way"
MIXED = "a pair, an edge one way, and an edge in every second round"
BACK = "a pair, with a message back in every second round"
GRAPHS = {EACH: 1, LINE: 2, ONE_WAY: 3, RING: 4, MIXED: 5, BACK: 6}
HALVES_SETTINGS = {name: f"GRAPH={graph} ROUNDS=6" for name, graph in GRAPHS.items()}
MISPLACED = "==(consumed[e]+1)"  # what is found is not what is due
OVERTAKING = "OVERTAKING=1"
HALVES_MUTANTS = {
    "ONE_HALF": (f"{HALVES_SETTINGS[LINE]} {OVERTAKING}", MISPLACED),
    "NO_CREDIT": (f"{HALVES_SETTINGS[ONE_WAY]} {OVERTAKING}", MISPLACED),
    "EVERY_EDGE_TAKEN_FOR_PAIRED": (HALVES_SETTINGS[MIXED], MISPLACED),
    "BOOLEAN_FLAG": (HALVES_SETTINGS[LINE], STUCK),
    "BOOLEAN_FLAG_LEFT_UP": (HALVES_SETTINGS[LINE], MISPLACED),
    "FLAG_BEFORE_DATA": (HALVES_SETTINGS[LINE], MISPLACED),
    "START_BEFORE_WAIT": (f"{HALVES_SETTINGS[LINE]} {OVERTAKING}", MISPLACED),
    "CREDIT_BEFORE_CONSUMED": (HALVES_SETTINGS[ONE_WAY], MISPLACED),
    "VIEW_KEPT": (HALVES_SETTINGS[ONE_WAY], MISPLACED),
}


@dataclass(frozen=True)
class Model:
    """A file with what is explored of it. The names of settings and mutants differ between models."""

    path: Path
    settings: dict[str, str]
    progress: dict[str, str]
    mutants: dict[str, tuple[str, str]]

    @property
    def names(self) -> list[str]:
        return [*self.settings, *self.progress, *self.mutants]


MODELS = [
    Model(FOLDER / "slots.pml", SETTINGS, PROGRESS, MUTANTS),
    Model(FOLDER / "halves.pml", HALVES_SETTINGS, {}, HALVES_MUTANTS),
]


@dataclass(frozen=True)
class Outcome:
    """What an exploration has found."""

    complete: bool  # every state was visited
    violation: str  # empty: none
    states: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.states:,} states in {self.seconds:.0f} s" + (f", {self.violation}" if self.violation else "")


def explore(path: Path, definitions: str, *, progress: bool = False) -> Outcome:
    """Builds the verifier for these definitions and runs it until it has found something or visited everything."""
    build = ["-DNP", "-DNFAIR=4"] if progress else ["-DSAFETY"]
    search = ["-l", "-f"] if progress else []
    with tempfile.TemporaryDirectory(prefix="couplet-model-") as name:
        folder = Path(name)
        words = [f"-D{word}" for word in definitions.split()]
        run(["spin", "-a", *words, str(path)], folder)
        run(["cc", "-O2", "-w", *build, "-DCOLLAPSE", f"-DMEMLIM={MEMORY_MIB}", "-o", "pan", "pan.c"], folder)
        text = run(["./pan", *search, "-m100000", "-w24"], folder)
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


def check_setting(model: Model, name: str) -> bool:
    """Says whether every state was visited and nothing is wrong in any of them."""
    progress = name in model.progress
    outcome = explore(model.path, (model.progress if progress else model.settings)[name], progress=progress)
    good = outcome.complete and not outcome.violation
    print(f"model: {'ok' if good else 'WRONG'}: {name}: {outcome}", flush=True)
    return good


def check_mutant(model: Model, name: str) -> bool:
    """Says whether the mutant is found to be wrong in the way that it is."""
    setting, expected = model.mutants[name]
    outcome = explore(model.path, f"{setting} {name}")
    good = expected in outcome.violation
    print(f"model: {'ok' if good else 'NOT FOUND'}: mutant {name}: {outcome}", flush=True)
    return good


def check(name: str) -> bool:
    model = next(model for model in MODELS if name in model.names)
    return check_mutant(model, name) if name in model.mutants else check_setting(model, name)


def main() -> int:
    """Checks what is named, or everything."""
    known = [name for model in MODELS for name in model.names]
    names = sys.argv[1:] or known
    if unknown := [name for name in names if name not in known]:
        raise SystemExit(f"model: there is no setting or mutant {unknown}")
    with ThreadPoolExecutor(JOBS) as pool:
        good = list(pool.map(check, names))
    print(f"model: {sum(good)} of {len(good)} as they should be", flush=True)
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
