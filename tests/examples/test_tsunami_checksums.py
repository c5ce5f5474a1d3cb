"""Check sums of a box: they agree with their definition, and detect what must not happen."""

from __future__ import annotations

from pathlib import Path

import checksums
import numpy as np
import pytest

ROWS, COLUMNS = 6, 9


@pytest.fixture
def box() -> np.ndarray:
    return np.random.default_rng(1).normal(size=(ROWS, COLUMNS)).astype(np.float32)


def test_it_is_the_weighted_sum_of_the_bits(box: np.ndarray) -> None:
    bits = box.view(np.uint32).ravel().tolist()
    expected = sum((p + 1) * value for p, value in enumerate(bits)) % (2**53 - 111)
    assert checksums.Checksum(ROWS, COLUMNS)(box) == expected


def test_nothing_overflows_in_a_large_box_of_ones() -> None:
    """All bits set in 600 x 600 elements give the largest possible sum."""
    box = np.full((600, 600), 0xFFFFFFFF, np.uint32).view(np.float32)
    elements = box.size
    expected = (elements * (elements + 1) // 2 * 0xFFFFFFFF) % (2**53 - 111)
    assert checksums.Checksum(600, 600)(box) == expected


def test_it_finds_exchanged_rows_elements_and_signs(box: np.ndarray) -> None:
    checksum = checksums.Checksum(ROWS, COLUMNS)
    right = checksum(box)
    exchanged = box.copy()
    exchanged[0, 0], exchanged[4, 7] = box[4, 7], box[0, 0]
    negated = box.copy()
    negated[3, 3] *= -1
    wrong = [
        box[::-1],
        np.roll(box, 1, axis=1),
        exchanged,
        negated,
        np.asfortranarray(box).T.copy().reshape(ROWS, COLUMNS),
    ]
    assert all(checksum(np.ascontiguousarray(other)) != right for other in wrong)


def test_pairs_read_as_they_were_written(tmp_path: Path) -> None:
    checksums.write(tmp_path / "sums.bin", [3, 5, 9], [7, 2**53 - 112, 0])
    assert checksums.read(tmp_path / "sums.bin") == {3: 7, 5: 2**53 - 112, 9: 0}
