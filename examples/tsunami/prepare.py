"""The sea before the wave: turns Matplotlib's sample bathymetry into the scenario file that the solver reads.

Usage: prepare.py FILE
"""

from __future__ import annotations

import sys
from pathlib import Path

import geography
import numpy as np
from geography import Floats
from matplotlib.cbook import get_sample_data
from scipy.interpolate import RegularGridInterpolator


def sample() -> tuple[Floats, Floats, Floats]:
    """Returns longitudes (degrees east, negative in the west), latitudes and heights (m, upwards) of the sample
    data.
    """
    data = np.load(get_sample_data("topobathy.npz", asfileobj=False))
    longitude, latitude, height = (data[key].astype(np.float64) for key in ("longitude", "latitude", "topo"))
    return longitude - 360.0, latitude, height


def bottom() -> Floats:
    """Returns the height of the bottom in each cell, m, bilinear between the points of the sample data."""
    longitude, latitude, height = sample()
    between = RegularGridInterpolator((latitude, longitude), height, method="linear")
    rows, columns = np.meshgrid(geography.latitudes(), geography.longitudes(), indexing="ij")
    values: Floats = between((rows, columns))
    return values


def displaced_surface() -> Floats:
    """Returns the height of the surface, m, right after the uplift. If the bottom is higher, there is land."""
    longitude, latitude = geography.SOURCE
    east = (geography.longitudes() - longitude)[None, :] * geography.METRES_PER_DEGREE_EAST
    north = (geography.latitudes() - latitude)[:, None] * geography.METRES_PER_DEGREE_NORTH
    bearing = np.radians(geography.SOURCE_BEARING)
    along = east * np.sin(bearing) + north * np.cos(bearing)
    across = east * np.cos(bearing) - north * np.sin(bearing)
    bell = np.exp(-((along / geography.SOURCE_LENGTH) ** 2) - (across / geography.SOURCE_WIDTH) ** 2)
    return geography.SOURCE_HEIGHT * np.where(bell > 1e-3, bell, 0.0)


def write_scenario(path: Path, bottom: Floats, surface: Floats, dx: float, dy: float) -> None:
    """Writes a scenario file; scenario.f90 describes the format. ``bottom`` and ``surface`` are (rows, columns), m."""
    rows, columns = bottom.shape
    with path.open("wb") as file:
        np.array([columns, rows], "<i4").tofile(file)
        np.array([dx, dy], "<f8").tofile(file)
        bottom.astype("<f8").tofile(file)
        surface.astype("<f8").tofile(file)


def read_scenario(path: Path) -> tuple[Floats, Floats, float, float]:
    """Returns the content that ``write_scenario`` wrote: bottom, surface, dx, dy."""
    with path.open("rb") as file:
        columns, rows = (int(value) for value in np.fromfile(file, "<i4", 2))
        dx, dy = (float(value) for value in np.fromfile(file, "<f8", 2))
        fields = np.fromfile(file, "<f8").reshape(2, rows, columns)
    return fields[0], fields[1], dx, dy


def main() -> None:
    write_scenario(Path(sys.argv[1]), bottom(), displaced_surface(), geography.DX, geography.DY)


if __name__ == "__main__":
    main()
