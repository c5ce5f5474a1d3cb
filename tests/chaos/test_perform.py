"""Every fault of a chaos run ends with its actors, so that what is left behind is left by the library."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from chaos.perform import Performance
from chaos.plan import Fault, Plan


def state_of(process: subprocess.Popen[bytes]) -> str:
    return Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_process_that_is_slowed_down_is_not_left_stopped() -> None:
    """Chaos seed 30200020: the actors ended in the middle of the fault, and the relay was stopped for good."""
    with subprocess.Popen(["sleep", "100"]) as slowed:
        stage = SimpleNamespace(plan=Plan(1, (), ()), network=None, pids_of=lambda target: [slowed.pid])
        performance = Performance(cast(Any, stage))
        performance.begun_s = time.monotonic()
        performance.happen(Fault("slow", "relay:a", 0.0, 100.0))
        deadline = time.monotonic() + 3
        while state_of(slowed) != "T" and time.monotonic() < deadline:
            time.sleep(0.001)
        stopped = state_of(slowed)
        performance.end_faults()
        while state_of(slowed) == "T" and time.monotonic() < deadline:
            time.sleep(0.001)
        left = state_of(slowed)
        slowed.kill()
    assert stopped == "T" and left != "T"
