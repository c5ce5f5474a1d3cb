"""The record of a wave: turns batches of the surface into maximum height, arrival time and gauge records."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

Surface = npt.NDArray[np.float32]

ARRIVED: Final = 0.05  # metres away from rest


class WaveRecord:
    """The wave inside one box.

    ``rest`` is the surface without a wave, (rows, columns), m: 0 at sea, the ground on land. ``gauges`` are
    rows and columns inside the box; ``interval`` is the time between two steps, s.
    """

    def __init__(self, rest: Surface, gauges: list[tuple[int, int]], interval: float) -> None:
        self.rest = rest
        self.gauges = gauges
        self.interval = interval
        self.highest = rest.copy()
        self.arrival = np.full(rest.shape, np.nan, np.float32)
        self.times: list[float] = []
        self.levels: list[Surface] = []
        self._away = np.empty_like(rest)
        self._calm = np.ones(rest.shape, bool)

    def add(self, steps: npt.NDArray[np.int64], batch: Surface) -> None:
        """Adds the surface at ``steps``, (steps, rows, columns)."""
        rows, columns = zip(*self.gauges, strict=True)
        self.levels.extend(batch[:, rows, columns])
        self.times.extend(self.interval * float(step) for step in steps)
        for time, surface in zip(self.times[-len(batch) :], batch, strict=True):
            np.maximum(self.highest, surface, out=self.highest)
            np.subtract(surface, self.rest, out=self._away)
            np.abs(self._away, out=self._away)
            arrived = (self._away > ARRIVED) & self._calm
            self.arrival[arrived] = time
            self._calm[arrived] = False

    def save(self, path: str) -> None:
        """Writes an ``npz`` file: ``height`` (m, largest rise above rest), ``arrival`` (s), ``times``, ``levels``."""
        height = self.highest - self.rest
        np.savez(path, height=height, arrival=self.arrival, times=np.array(self.times), levels=np.array(self.levels))
