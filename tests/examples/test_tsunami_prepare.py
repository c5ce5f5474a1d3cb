"""The scenario of examples/tsunami: the real bathymetry, the right way up, and a wave in the right place."""

from __future__ import annotations

from pathlib import Path

import geography
import numpy as np
import prepare
import pytest


@pytest.fixture(scope="module")
def bottom() -> geography.Floats:
    return prepare.bottom()


def test_the_sample_is_the_salish_sea() -> None:
    longitude, latitude, height = prepare.sample()
    assert height.shape == (91, 120)
    assert (height.min(), height.max()) == (-1437.0, 2205.0)
    assert longitude[[0, -1]] == pytest.approx([geography.WEST, geography.EAST], abs=1e-4)
    assert latitude[[0, -1]] == pytest.approx([geography.SOUTH, geography.NORTH], abs=1e-4)


def test_the_grid_lies_between_the_outermost_points_and_is_equidistant_in_metres() -> None:
    longitude, latitude = geography.longitudes(), geography.latitudes()
    assert len(longitude) == len(latitude) == geography.CELLS == 900
    width = (geography.EAST - geography.WEST) / 900
    assert longitude[0] - geography.WEST == pytest.approx(width / 2)
    assert geography.EAST - longitude[-1] == pytest.approx(width / 2)
    assert np.ptp(np.diff(longitude)) < 1e-12
    assert np.ptp(np.diff(latitude)) < 1e-12
    # 289 km from west to east on the middle latitude of 49 degrees, 219 km from south to north.
    assert pytest.approx(289_400 / 900, rel=1e-3) == geography.DX
    assert pytest.approx(218_800 / 900, rel=1e-3) == geography.DY


def test_the_bottom_agrees_with_the_sample_at_its_points(bottom: geography.Floats) -> None:
    """It is bilinear: between four points it is never beyond them, and close to a point close to its value."""
    longitude, latitude, height = prepare.sample()
    assert bottom.shape == (900, 900)
    for row, column in [(0, 0), (300, 700), (611, 419), (899, 13), (520, 899), (899, 899)]:
        i = int(np.searchsorted(latitude, geography.latitudes()[row]))
        j = int(np.searchsorted(longitude, geography.longitudes()[column]))
        corners = height[i - 1 : i + 1, j - 1 : j + 1]
        north = (geography.latitudes()[row] - latitude[i - 1]) / (latitude[i] - latitude[i - 1])
        east = (geography.longitudes()[column] - longitude[j - 1]) / (longitude[j] - longitude[j - 1])
        expected = np.array([1 - north, north]) @ corners @ np.array([1 - east, east])
        assert bottom[row, column] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("place", "longitude", "latitude", "lowest", "highest"),
    [
        ("the shelf break in the south-west", -125.95, 48.03, -1437, -1000),
        ("the Strait of Georgia", -123.75, 49.25, -450, -300),
        ("the Strait of Juan de Fuca", -124.3, 48.36, -300, -100),
        ("Mount Arrowsmith, Vancouver Island", -124.6, 49.22, 500, 2000),
        ("the Coast Mountains in the north-east", -122.6, 49.8, 800, 2205),
    ],
)  # fmt: skip
def test_known_places_are_where_they_belong(
    bottom: geography.Floats, place: str, longitude: float, latitude: float, lowest: float, highest: float
) -> None:
    row = int(np.abs(geography.latitudes() - latitude).argmin())
    column = int(np.abs(geography.longitudes() - longitude).argmin())
    assert lowest <= bottom[row, column] <= highest, place


def test_the_wave_begins_in_deep_water_inside_the_readers_box(bottom: geography.Floats) -> None:
    surface = prepare.displaced_surface()
    assert surface.min() == 0.0
    row, column = np.unravel_index(int(surface.argmax()), surface.shape)
    assert surface[row, column] == pytest.approx(geography.SOURCE_HEIGHT, rel=1e-3)
    assert bottom[row, column] < -200
    (south, north), (west, east) = geography.BOX
    assert south < row < north
    assert west < column < east
    assert (surface > 0).mean() < 0.05


@pytest.mark.parametrize("name", geography.GAUGES)
def test_gauges_stand_in_water_inside_the_box_close_to_their_place(bottom: geography.Floats, name: str) -> None:
    longitude, latitude = geography.GAUGES[name]
    row, column = geography.nearest_wet_cell(bottom, (longitude, latitude))
    assert bottom[row, column] <= -geography.GAUGE_DEPTH
    (south, north), (west, east) = geography.BOX
    assert south <= row < north
    assert west <= column < east
    away_north = (geography.latitudes()[row] - latitude) * geography.METRES_PER_DEGREE_NORTH
    away_east = (geography.longitudes()[column] - longitude) * geography.METRES_PER_DEGREE_EAST
    assert np.hypot(away_north, away_east) < 8_000


def test_a_scenario_file_reads_as_it_was_written(tmp_path: Path) -> None:
    bottom = np.arange(12.0).reshape(3, 4)
    prepare.write_scenario(tmp_path / "sea.bin", bottom, bottom + 1, 3.0, 5.0)
    again, surface, dx, dy = prepare.read_scenario(tmp_path / "sea.bin")
    assert np.array_equal(again, bottom)
    assert np.array_equal(surface, bottom + 1)
    assert (dx, dy) == (3.0, 5.0)
    assert (tmp_path / "sea.bin").stat().st_size == 8 + 16 + 2 * 12 * 8
