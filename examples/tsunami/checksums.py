"""Check sums of a box of the surface. checksums.f90 says how they are computed, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

MODULUS: Final = 2**53 - 111


class Checksum:
    """Computes the check sums of boxes of one shape."""

    def __init__(self, rows: int, columns: int) -> None:
        self.weights = np.arange(1, rows * columns + 1, dtype=np.uint64).reshape(rows, columns)
        self.products = np.empty((rows, columns), np.uint64)

    def __call__(self, box: npt.NDArray[np.float32]) -> int:
        """Returns the check sum of ``box``, (rows, columns)."""
        np.multiply(self.weights, box.view(np.uint32), out=self.products)
        return int((self.products.sum(axis=1) % MODULUS).sum()) % MODULUS


def write(path: Path, steps: list[int], sums: list[int]) -> None:
    """Writes pairs of a step and its check sum, as follower.c does."""
    np.column_stack([steps, sums]).astype("<i8").tofile(path)


def read(path: Path) -> dict[int, int]:
    """Returns the check sums by step."""
    return {int(step): int(total) for step, total in np.fromfile(path, "<i8").reshape(-1, 2)}
