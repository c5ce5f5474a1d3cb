"""Geography: turns longitudes and latitudes into cells of the grid, and back.

The grid covers exactly the Salish Sea of Matplotlib's sample data. Cells are equidistant in metres on a
plane that touches the earth along the middle latitude. Row 0 is the southernmost, column 0 the westernmost.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

CELLS: Final = 900
WEST, EAST = 234.0167 - 360.0, 237.9834 - 360.0
SOUTH, NORTH = 48.01637, 49.98418
MIDDLE: Final = 0.5 * (SOUTH + NORTH)

METRES_PER_DEGREE_NORTH: Final = 6_371_000.0 * np.pi / 180.0
METRES_PER_DEGREE_EAST: Final = METRES_PER_DEGREE_NORTH * float(np.cos(np.radians(MIDDLE)))
DX: Final = (EAST - WEST) * METRES_PER_DEGREE_EAST / CELLS
DY: Final = (NORTH - SOUTH) * METRES_PER_DEGREE_NORTH / CELLS

# The part that the readers observe, in cells: half open, rows then columns.
BOX: Final = ((150, 750), (150, 750))

# The uplift of the sea floor: an ellipse along the strait, in the deep middle of the Strait of Georgia.
SOURCE: Final = (-123.62, 49.22)
SOURCE_HEIGHT: Final = 2.0
SOURCE_LENGTH, SOURCE_WIDTH = 14_000.0, 7_000.0
SOURCE_BEARING: Final = 131.0

# Places with a shore inside the box. The gauge is in the nearest cell that is deep enough.
GAUGES: Final = {
    "Nanaimo": (-123.93, 49.18),
    "Point Atkinson": (-123.25, 49.33),
    "Qualicum Beach": (-124.43, 49.36),
    "Point Roberts": (-123.08, 48.96),
    "Hornby Island": (-124.67, 49.50),
}
GAUGE_DEPTH: Final = 5.0


def longitudes() -> Floats:
    """Returns the longitudes of the columns' middles, degrees east."""
    return WEST + (EAST - WEST) * (np.arange(CELLS) + 0.5) / CELLS


def latitudes() -> Floats:
    """Returns the latitudes of the rows' middles, degrees north."""
    return SOUTH + (NORTH - SOUTH) * (np.arange(CELLS) + 0.5) / CELLS


def nearest_wet_cell(bottom: Floats, place: tuple[float, float]) -> tuple[int, int]:
    """Returns row and column of the cell nearest to ``place`` (longitude, latitude) with enough water for a gauge."""
    east = (longitudes() - place[0]) * METRES_PER_DEGREE_EAST
    north = (latitudes() - place[1]) * METRES_PER_DEGREE_NORTH
    distance = np.where(bottom < -GAUGE_DEPTH, north[:, None] ** 2 + east[None, :] ** 2, np.inf)
    row, column = np.unravel_index(int(distance.argmin()), distance.shape)
    return int(row), int(column)
