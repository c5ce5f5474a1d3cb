"""Weights that turn the points of a series into points of another grid while it is read.

weights = couplet.weights.from_file("ocean-to-air.nc")          # SCRIP or ESMF
air = universe.open_series("sst", weights=weights.rows_of(first, last))
for batch in air.batches():
    batch.data                                                  # (steps, last - first)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from os import PathLike, fspath
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from couplet._arguments import count, counted, real_number, refuse, shown, whole_number, word
from couplet._arguments import path as path_of
from couplet.errors import ArgumentError, NotFoundError, ShapeError


@dataclass(frozen=True)
class Weights:
    """A sparse matrix in compressed rows, one row for each target point.

    Row r has the entries row_offsets[r] to row_offsets[r + 1] - 1; `sources` are flat indices in the series' whole
    array in C order, from 0 on (`numpy.ravel_multi_index`). A row without entries, or with a masked source, gets
    `fill`.
    """

    source_points: int
    """Elements of the whole array."""
    row_offsets: NDArray[np.int64]
    sources: NDArray[np.int64]
    weights: NDArray[np.float64]
    source_mask: NDArray[np.bool_] | None = None
    """For each source point, False if it is masked; None: no point is."""
    fill: float = math.nan
    target_fraction: NDArray[np.float64] | None = field(default=None, compare=False)
    """For each row, the part of the target cell that the source grid covers (frac_b of a file); None: not known."""

    def __len__(self) -> int:
        """Returns the number of rows."""
        return len(self.row_offsets) - 1

    def rows_of(self, first: int, last: int) -> Weights:
        """Returns the rows [first, last), such as those of one rank."""
        first = whole_number(first, "first", "rows_of")
        last = whole_number(last, "last", "rows_of")
        if not 0 <= first <= last <= len(self):
            verb = "is" if len(self) == 1 else "are"
            raise ArgumentError(
                f"weights: rows [{first}, {last}) are asked for, but there {verb} {counted(len(self), 'row')}"
            )
        begin, end = int(self.row_offsets[first]), int(self.row_offsets[last])
        fraction = self.target_fraction
        return Weights(
            self.source_points,
            self.row_offsets[first : last + 1] - begin,
            self.sources[begin:end],
            self.weights[begin:end],
            self.source_mask,
            self.fill,
            None if fraction is None else fraction[first:last],
        )

    def arrays(
        self,
    ) -> tuple[int, NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.uint8], float]:
        """Returns the arrays that the extension takes."""
        offsets = _line(self.row_offsets, "row_offsets", np.int64)
        sources = _line(self.sources, "sources", np.int64)
        weights = _line(self.weights, "weights", np.float64)
        if len(offsets) == 0 or offsets[-1] != len(sources) or len(sources) != len(weights):
            raise ArgumentError(
                f"weights: row_offsets must end with the number of sources ({len(sources)}) and of weights "
                f"({len(weights)})"
            )
        mask = np.empty(0, np.uint8)
        if self.source_mask is not None:
            mask = _line(np.asarray(self.source_mask, np.bool_), "source_mask", np.uint8)
            if len(mask) != self.source_points:
                raise ArgumentError(
                    f"weights: source_mask has {counted(len(mask), 'mark')} for {counted(self.source_points, 'point')}"
                )
        points = whole_number(self.source_points, "source_points", "weights")
        return points, offsets, sources, weights, mask, _fill(self.fill, "weights")


def _line(values: ArrayLike, name: str, dtype: Any) -> Any:
    """Returns the values in one dimension, in C order, with this dtype. No value is changed by the conversion."""
    given = _array(values, name)
    if given.ndim != 1:
        raise ShapeError(f"weights: {name} is {shown(values)}, with {given.ndim} dimensions; it must have 1")
    integers = np.issubdtype(dtype, np.integer)
    if len(given) > 0 and integers and not (np.issubdtype(given.dtype, np.integer) or given.dtype == np.bool_):
        raise ArgumentError(f"weights: {name} must be whole numbers, not {given.dtype}")
    return np.ascontiguousarray(given, dtype)


def _array(values: ArrayLike, name: str) -> NDArray[Any]:
    """Returns an array of numbers or marks."""
    try:
        given = np.asarray(values)
    except (TypeError, ValueError):
        refuse(values, name, "weights", "a list of numbers")
    if given.dtype.kind not in "biuf":
        refuse(values, name, "weights", "a list of numbers")
    return given


def _mask(marks: ArrayLike | None) -> NDArray[np.bool_] | None:
    return None if marks is None else np.asarray(_array(marks, "source_mask"), np.bool_)


def _fill(value: Any, call: str) -> float:
    """Returns the value of rows without entries, which may be NaN."""
    return math.nan if isinstance(value, float) and math.isnan(value) else real_number(value, "fill", call)


def from_entries(
    source_points: int,
    rows: int,
    targets: ArrayLike,
    sources: ArrayLike,
    weights: ArrayLike,
    *,
    source_mask: ArrayLike | None = None,
    fill: float = math.nan,
) -> Weights:
    """Makes weights from entries in any order: row `targets[k]` takes source `sources[k]` with weight `weights[k]`."""
    source_points = count(source_points, "source_points", "from_entries")
    rows = count(rows, "rows", "from_entries")
    fill = _fill(fill, "from_entries")
    target = _line(targets, "targets", np.int64)
    source = _line(sources, "sources", np.int64)
    value = _line(weights, "weights", np.float64)
    if not len(target) == len(source) == len(value):
        raise ArgumentError(
            f"weights: {len(target)} targets, {len(source)} sources and {len(value)} weights; "
            "each entry must have one of each"
        )
    if len(target) > 0 and (target.min() < 0 or target.max() >= rows):
        raise ArgumentError(f"weights: targets from {target.min()} to {target.max()} are outside [0, {rows})")
    order = np.argsort(target, kind="stable")
    offsets = np.zeros(rows + 1, np.int64)
    np.cumsum(np.bincount(target, minlength=rows), out=offsets[1:])
    return Weights(source_points, offsets, source[order], value[order], _mask(source_mask), fill)


def from_matrix(matrix: Any, *, source_mask: ArrayLike | None = None, fill: float = math.nan) -> Weights:
    """Makes weights from a sparse matrix of SciPy: a row for each target point, a column for each source point."""
    if not hasattr(matrix, "tocsr"):
        refuse(matrix, "matrix", "from_matrix", "a sparse matrix of SciPy")
    rows = matrix.tocsr()
    return Weights(
        int(rows.shape[1]),
        np.asarray(rows.indptr, np.int64),
        np.asarray(rows.indices, np.int64),
        np.asarray(rows.data, np.float64),
        _mask(source_mask),
        _fill(fill, "from_matrix"),
    )


def from_file(
    path: str | PathLike[str], *, normalise: Literal["none", "fraction"] = "none", fill: float = math.nan
) -> Weights:
    """Reads the weights of a SCRIP or ESMF file of NetCDF 4 (HDF5): all rows, in the order of the target grid's points.

    The names are those of ESMF (col, row, S; mask_a, mask_b, frac_b; dimensions n_a, n_b) or of SCRIP (src_address,
    dst_address, remap_matrix of which the first column is taken; src_grid_imask, dst_grid_imask, dst_grid_frac).
    Indices are 1-based in the file and 0-based here. Rows whose target is masked have no entries. normalise "fraction":
    rows are divided by the covered part of the target cell (frac_b), as conservative weights with destination area
    need it.
    """
    word(normalise, "normalise", "from_file", {"none": 0, "fraction": 1})
    fill = _fill(fill, "from_file")
    path = path_of(path, "path", "from_file")
    try:
        import h5py
    except ImportError as missing:
        raise ImportError("couplet.weights.from_file needs h5py: pip install couplet[weights]") from missing
    with _opened(h5py, path) as file:
        columns = _variable(file, path, "col", "src_address")
        rows = _variable(file, path, "row", "dst_address")
        values = _variable(file, path, "S", "remap_matrix")
        mask_a = _optional(file, "mask_a", "src_grid_imask")
        mask_b = _optional(file, "mask_b", "dst_grid_imask")
        fraction = _optional(file, "frac_b", "dst_grid_frac")
        source_points = _extent(file, path, "n_a", "src_grid_size", mask_a, "area_a", "src_grid_area")
        target_points = _extent(file, path, "n_b", "dst_grid_size", mask_b, "area_b", "dst_grid_area")
    if values.ndim == 2:
        values = values[:, 0]
    targets = np.asarray(rows, np.int64) - 1
    sources = np.asarray(columns, np.int64) - 1
    values = np.asarray(values, np.float64)
    for name, numbers, points in (("sources", sources, source_points), ("targets", targets, target_points)):
        if len(numbers) > 0 and (numbers.min() < 0 or numbers.max() >= points):
            raise ArgumentError(f"{fspath(path)}: {name} from {numbers.min() + 1} to {numbers.max() + 1}, of {points}")
    if mask_b is not None:
        kept = np.asarray(mask_b)[targets] != 0
        targets, sources, values = targets[kept], sources[kept], values[kept]
    if normalise == "fraction":
        if fraction is None:
            raise NotFoundError(f"{fspath(path)}: there is no frac_b to normalise with")
        covered = np.asarray(fraction, np.float64)[targets]
        values = np.divide(values, covered, out=np.zeros_like(values), where=covered > 0)
    mask = None if mask_a is None else np.asarray(mask_a) != 0
    made = from_entries(source_points, target_points, targets, sources, values, source_mask=mask, fill=fill)
    covered_part = None if fraction is None else np.asarray(fraction, np.float64)
    return Weights(
        made.source_points, made.row_offsets, made.sources, made.weights, made.source_mask, fill, covered_part
    )


def _opened(h5py: Any, path: str | PathLike[str]) -> Any:
    try:
        return h5py.File(fspath(path), "r")
    except FileNotFoundError:
        raise
    except OSError as wrong:
        text = f"{fspath(path)} is not a NetCDF 4 (HDF5) file; `nccopy -k nc4 OLD NEW` makes one of an older format"
        raise ArgumentError(text) from wrong


def _optional(file: Any, *names: str) -> NDArray[Any] | None:
    for name in names:
        if name in file:
            return np.asarray(file[name][...])
    return None


def _variable(file: Any, path: str | PathLike[str], *names: str) -> NDArray[Any]:
    found = _optional(file, *names)
    if found is None:
        raise NotFoundError(f"{fspath(path)}: there is neither {' nor '.join(names)}; is it a weight file?")
    return found


def _extent(file: Any, path: str | PathLike[str], esmf: str, scrip: str, mask: NDArray[Any] | None, *areas: str) -> int:
    """Returns the length of a dimension, from its own dataset or from a variable that has it."""
    for name in (esmf, scrip):
        if name in file and len(file[name].shape) == 1:
            return int(file[name].shape[0])
    if mask is not None:
        return len(mask)
    found = _optional(file, *areas)
    if found is None:
        raise NotFoundError(f"{fspath(path)}: there is no dimension {esmf} nor {scrip}")
    return len(found)
