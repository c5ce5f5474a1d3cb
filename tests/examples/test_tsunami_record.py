"""The nowcast's record of a wave, for waves that can be followed by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from wave_record import WaveRecord

REST = np.array([[0.0, 0.0, 5.0], [0.0, 0.0, 7.0]], np.float32)  # the last column is land


def surfaces(*waves: list[list[float]]) -> np.ndarray:
    return (REST + np.array(waves)).astype(np.float32)


def test_height_arrival_and_gauges_over_two_batches(tmp_path: Path) -> None:
    record = WaveRecord(REST, gauges=[(0, 1), (1, 0)], interval=2.0)
    record.add(np.array([1, 2]), surfaces([[0.01, 0, 0], [0, 0, 0]], [[0.5, -0.25, 0], [0, 0, 0]]))
    record.add(np.array([3]), surfaces([[0.3, 0.75, 1.0], [0.04, 0, 0]]))
    record.save(str(tmp_path / "record.npz"))
    saved = np.load(tmp_path / "record.npz")
    np.testing.assert_allclose(saved["height"], [[0.5, 0.75, 1.0], [0.04, 0, 0]], atol=1e-6)
    # A trough counts as arrived, too. 1 cm and 4 cm are not yet a wave.
    np.testing.assert_array_equal(saved["arrival"], [[4.0, 4.0, 6.0], [np.nan, np.nan, np.nan]])
    np.testing.assert_array_equal(saved["times"], [2.0, 4.0, 6.0])
    np.testing.assert_allclose(saved["levels"], [[0, 0], [-0.25, 0], [0.75, 0.04]], atol=1e-6)


def test_the_size_of_the_batches_makes_no_difference(tmp_path: Path) -> None:
    waves = np.random.default_rng(2).normal(scale=0.1, size=(12, *REST.shape)).astype(np.float32) + REST
    results = []
    for size in (1, 5, 12):
        record = WaveRecord(REST, gauges=[(1, 1)], interval=1.0)
        for first in range(0, 12, size):
            record.add(np.arange(first + 1, min(first + size, 12) + 1), waves[first : first + size])
        record.save(str(tmp_path / "record.npz"))
        results.append(dict(np.load(tmp_path / "record.npz")))
    for other in results[1:]:
        for key, value in results[0].items():
            np.testing.assert_array_equal(other[key], value)
