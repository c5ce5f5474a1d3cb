"""The evaluation over ADIOS2's SST engine, written as its users write it. It needs an environment with adios2.

usage: sst.py write|read CONTACT SLOTS N...     (start both; each prints a JSON object for each run)
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import adios2
import numpy as np

EXTENT, START, BOX = 900, 150, 600
STEPS_OF_N = 100


def open_stream(contact: str, slots: int, writes: bool) -> tuple[adios2.IO, adios2.Engine]:
    """Blocks until the other side is there. If the queue is full, the writer waits, and nothing is lost."""
    io = adios2.Adios().declare_io("paper")
    io.set_engine("SST")
    io.set_parameters(
        {"QueueLimit": str(slots), "QueueFullPolicy": "Block", "RendezvousReaderCount": "1", "OpenTimeoutSecs": "60"}
    )
    return io, io.open(contact, adios2.bindings.Mode.Write if writes else adios2.bindings.Mode.Read)


def write(contact: str, slots: int, sizes: list[int]) -> None:
    """Fills the array and hands it over. The runs follow each other without a pause."""
    io, engine = open_stream(contact, slots, True)
    field = np.zeros((EXTENT, EXTENT), np.int32)
    index = np.arange(EXTENT * EXTENT, dtype=np.int32).reshape(EXTENT, EXTENT)
    variable = io.define_variable("eta", field, [EXTENT, EXTENT], [0, 0], [EXTENT, EXTENT], True)
    step = 0
    for n in sizes:
        fill = added = 0.0
        start = time.perf_counter()
        for _ in range(n * STEPS_OF_N):
            before = time.perf_counter()
            np.add(index, np.int32(step), out=field)
            filled = time.perf_counter()
            engine.begin_step()
            engine.put(variable, field, adios2.bindings.Mode.Sync)
            engine.end_step()
            added += time.perf_counter() - filled
            fill += filled - before
            step += 1
        scale = 1e3 / (n * STEPS_OF_N)
        print(json.dumps({"n": n, "fill": fill * scale, "added": added * scale, "start": start}), flush=True)
    engine.close()


def read(contact: str, slots: int, sizes: list[int]) -> None:
    """Takes the box of each step."""
    io, engine = open_stream(contact, slots, False)
    boxes = np.zeros((64, BOX, BOX), np.int32)
    step = 0
    for n in sizes:
        reading = 0.0
        for _ in range(n * STEPS_OF_N):
            if engine.begin_step() != adios2.bindings.StepStatus.OK:
                raise SystemExit(f"the stream ended before step {step}")
            box = boxes[step % len(boxes)]
            before = time.perf_counter()
            variable = io.inquire_variable("eta")
            variable.set_selection([[START, START], [BOX, BOX]])
            engine.get(variable, box, adios2.bindings.Mode.Sync)
            engine.end_step()
            reading += time.perf_counter() - before
            if box[7, 11] != step + (START + 7) * EXTENT + START + 11:
                raise SystemExit(f"wrong content at step {step}")
            step += 1
        end = time.perf_counter()
        print(json.dumps({"n": n, "read": reading * 1e3 / (n * STEPS_OF_N), "end": end}), flush=True)
    engine.close()


if __name__ == "__main__":
    role, contact, slots, *sizes = sys.argv[1:]
    Path(contact).parent.mkdir(parents=True, exist_ok=True)
    {"write": write, "read": read}[role](contact, int(slots), [int(n) for n in sizes])
