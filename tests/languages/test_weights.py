"""Weights in Python: from files of ESMF and SCRIP that the test writes, from SciPy and from entries."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
import scipy.sparse

from couplet import weights
from couplet.errors import ArgumentError, NotFoundError

ROWS, COLUMNS = 5, 8


def matrix() -> scipy.sparse.csr_array:
    """5 x 8, with rows of unlike length; row 3 is empty."""
    dense = np.zeros((ROWS, COLUMNS))
    dense[0, [0, 1]] = 0.25, 0.75
    dense[1, [7]] = 1.0
    dense[2, [2, 3, 4]] = 0.5, 0.25, 0.25
    dense[4, [5, 6]] = 0.3, 0.2
    return scipy.sparse.csr_array(dense)


def product(of: weights.Weights, field: np.ndarray) -> np.ndarray:
    used = scipy.sparse.csr_array((of.weights, of.sources, of.row_offsets), shape=(len(of), of.source_points))
    return used @ field


def write(path: Path, scrip: bool = False, **other: np.ndarray) -> Path:
    """A weight file with its entries in reverse order."""
    entries = matrix().tocoo()
    names = ("src_address", "dst_address", "remap_matrix") if scrip else ("col", "row", "S")
    values = np.stack([entries.data, 9 * entries.data], axis=1) if scrip else entries.data
    with h5py.File(path, "w") as file:
        file[names[0]] = (entries.col[::-1] + 1).astype(np.int32)
        file[names[1]] = (entries.row[::-1] + 1).astype(np.int32)
        file[names[2]] = values[::-1]
        for name, extent in zip(
            ("src_grid_size", "dst_grid_size") if scrip else ("n_a", "n_b"), (COLUMNS, ROWS), strict=True
        ):
            file[name] = np.zeros(extent, np.float32)  # how netCDF 4 stores a dimension
        for name, data in other.items():
            file[name] = data
    return path


@pytest.mark.parametrize("scrip", [False, True], ids=["esmf", "scrip"])
def test_a_file_has_the_matrix(tmp_path: Path, scrip: bool) -> None:
    made = weights.from_file(write(tmp_path / "w.nc", scrip))
    field = np.random.default_rng(1).random(COLUMNS)
    assert (made.source_points, len(made)) == (COLUMNS, ROWS)
    np.testing.assert_allclose(product(made, field), matrix() @ field, rtol=1e-15)
    assert made.source_mask is None
    assert np.isnan(made.fill)


def test_masks_of_a_file(tmp_path: Path) -> None:
    mask_a = np.array([1, 1, 1, 0, 1, 1, 1, 1], np.int32)
    mask_b = np.array([1, 0, 1, 1, 1], np.int32)
    made = weights.from_file(write(tmp_path / "w.nc", mask_a=mask_a, mask_b=mask_b), fill=-1)
    assert made.source_mask is not None
    np.testing.assert_array_equal(made.source_mask, mask_a != 0)
    assert np.diff(made.row_offsets).tolist() == [2, 0, 3, 0, 2]
    assert made.fill == -1


def test_rows_are_normalised_by_the_covered_fraction(tmp_path: Path) -> None:
    fraction = np.array([1, 1, 1, 0, 0.5])
    path = write(tmp_path / "w.nc", frac_b=fraction)
    sums = product(weights.from_file(path, normalise="fraction"), np.ones(COLUMNS))
    np.testing.assert_allclose(sums, [1, 1, 1, 0, 1])
    assert weights.from_file(path).target_fraction.tolist() == fraction.tolist()  # type: ignore[union-attr]
    with pytest.raises(NotFoundError, match="no frac_b"):
        weights.from_file(write(tmp_path / "v.nc"), normalise="fraction")


def test_files_that_are_none_are_named(tmp_path: Path) -> None:
    (tmp_path / "text.nc").write_text("CDF, an older format")
    with pytest.raises(ArgumentError, match="is not a NetCDF 4"):
        weights.from_file(tmp_path / "text.nc")
    with pytest.raises(FileNotFoundError):
        weights.from_file(tmp_path / "none.nc")
    with h5py.File(tmp_path / "other.nc", "w") as file:
        file["S"] = np.ones(3)
    with pytest.raises(NotFoundError, match="neither col nor src_address"):
        weights.from_file(tmp_path / "other.nc")
    entries = write(tmp_path / "w.nc")
    with h5py.File(entries, "a") as file:
        file["col"][2] = COLUMNS + 1
    with pytest.raises(ArgumentError, match="sources from 1 to 9, of 8"):
        weights.from_file(entries)


def test_scipy_and_rows_of_one_rank() -> None:
    field = np.random.default_rng(2).random(COLUMNS)
    made = weights.from_matrix(matrix())
    np.testing.assert_allclose(product(made, field), matrix() @ field, rtol=1e-15)
    np.testing.assert_allclose(product(made.rows_of(2, 5), field), (matrix() @ field)[2:], rtol=1e-15)
    assert len(made.rows_of(3, 3)) == 0
    with pytest.raises(ArgumentError, match=r"rows \[2, 6\) are asked for, but there are 5 rows"):
        made.rows_of(2, 6)


def test_mistakes_are_named() -> None:
    with pytest.raises(ArgumentError, match=r"targets from 0 to 3 are outside \[0, 3\)"):
        weights.from_entries(8, 3, [0, 3], [1, 2], [1.0, 1.0])
    with pytest.raises(ArgumentError, match="2 targets, 1 sources and 2 weights; each entry must have one of each"):
        weights.from_entries(8, 3, [0, 1], [1], [1.0, 1.0])
    with pytest.raises(ArgumentError, match="sources must be whole numbers, not float64"):
        weights.from_entries(8, 3, [0], [1.5], [1.0])
    good = weights.from_entries(8, 3, [0, 1], [1, 2], [1.0, 1.0])
    with pytest.raises(ArgumentError, match="row_offsets must end with the number of sources"):
        weights.Weights(8, good.row_offsets, good.sources[:1], good.weights).arrays()
