"""The nowcast: reads every step of the ocean, and records the wave's height and arrival, and the tide gauges.

It is a required reader and holds: the ocean waits before it overwrites what was not yet read. It is started by
``couplet run coupled.toml``, under another MPI than the ocean. Usage: nowcast.py FOLDER (with the scenario, and for the
results).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import checksums
import geography
import numpy as np
from mpi4py import MPI
from prepare import read_scenario
from wave_record import WaveRecord

import couplet


def open_record(folder: Path, interval: float) -> WaveRecord:
    """Returns a record of the box, with the gauges at sea inside it."""
    bottom = read_scenario(folder / "sea.bin")[0]
    (south, north), (west, east) = geography.BOX
    cells = [geography.nearest_wet_cell(bottom, place) for place in geography.GAUGES.values()]
    rest = np.maximum(0.0, bottom[south:north, west:east]).astype(np.float32)
    return WaveRecord(rest, [(row - south, column - west) for row, column in cells], interval)


def main(folder: Path) -> None:
    with couplet.join("nowcast", MPI.COMM_WORLD) as universe:
        settings = np.empty(3)  # seconds between steps, metres between columns and between rows
        universe.group.Recv(settings, source=universe.find_rank("ocean", 0), tag=1)
        record = open_record(folder, interval=settings[0])
        (south, north), (west, east) = geography.BOX
        checksum = checksums.Checksum(north - south, east - west)
        steps: list[int] = []
        sums: list[int] = []
        with universe.open_series("eta", box=geography.BOX) as eta:
            for batch in eta.batches(at_least=16, up_to=64, reuse=True):
                record.add(batch.steps, batch.data)
                steps.extend(batch.steps)
                sums.extend(checksum(surface) for surface in batch.data)
            counts = eta.statistics
    record.save(str(folder / "nowcast.npz"))
    checksums.write(folder / "checksums_nowcast.bin", steps, sums)
    mpi = " ".join(MPI.Get_library_version().splitlines()[0].split())
    report = {"name": "nowcast", "ranks": MPI.COMM_WORLD.size, "mpi": mpi}
    keys = ("published", "first", "delivered", "lost", "lost_torn", "skipped", "pending")
    report |= {key: getattr(counts, key) for key in keys} | {"steps_per_call": counts.largest_batch}
    (folder / "nowcast.json").write_text(json.dumps(report))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
