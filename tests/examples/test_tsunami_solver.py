"""The solver of examples/tsunami, without coupling: known properties of shallow water."""

from __future__ import annotations

import math
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import geography
import numpy as np
import numpy.typing as npt
import prepare
import pytest

ROOT = Path(__file__).resolve().parents[2]
Floats = npt.NDArray[np.float64]
BUILD = Path(os.environ.get("COUPLET_BUILD_DIR", ROOT / "build" / "release")) / "examples" / "tsunami"
GRAVITY = 9.81
RUNNERS = {
    "openmpi": ["mpiexec.openmpi", "--oversubscribe", "--bind-to", "none"],
    "mpich": ["mpiexec.mpich"],
}


@dataclass(frozen=True)
class Result:
    """The sea at the end of a run: depth in cells (rows, columns), u and v on the faces."""

    depth: Floats
    u: Floats
    v: Floats


def solve(
    folder: Path,
    bottom: Floats,
    surface: Floats,
    spacing: tuple[float, float],
    *,
    steps: int,
    interval: float,
    ranks: int = 1,
    flavour: str = "openmpi",
    **physics: float | bool,
) -> Result:
    """Runs the Fortran program and collects what its ranks have written."""
    rows, columns = bottom.shape
    prepare.write_scenario(folder / "sea.bin", bottom, surface, *spacing)
    settings = {name: f".{value}.".lower() if isinstance(value, bool) else value for name, value in physics.items()}
    settings |= {
        "scenario_file": f"'{folder}/sea.bin'",
        "output": f"'{folder}/end'",
        "steps": steps,
        "interval": interval,
    }
    lines = "\n".join(f"  {name} = {value}" for name, value in settings.items())
    (folder / "sea.nml").write_text(f"&ocean\n{lines}\n/\n")
    program = BUILD / f"solve.{flavour}"
    assert program.exists(), f"{program} is not built (make build)"
    environment = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    command = [*RUNNERS[flavour], "-n", str(ranks), str(program), str(folder / "sea.nml")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=250, env=environment, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    parts = [read_part(folder / f"end.{rank}", columns, share(rows, rank, ranks)) for rank in range(ranks)]
    v = [part.v[:-1] for part in parts] + [parts[-1].v[-1:]]
    return Result(np.vstack([part.depth for part in parts]), np.vstack([part.u for part in parts]), np.vstack(v))


def share(rows: int, rank: int, ranks: int) -> int:
    return rows // ranks + (rank < rows % ranks)


def read_part(path: Path, columns: int, rows: int) -> Result:
    values = np.fromfile(path, "<f8")
    shapes = [(rows, columns), (rows, columns + 1), (rows + 1, columns)]
    ends = np.cumsum([math.prod(shape) for shape in shapes])
    assert values.size == ends[-1]
    return Result(*(part.reshape(shape) for part, shape in zip(np.split(values, ends[:-1]), shapes, strict=True)))


@pytest.fixture(scope="module")
def salish_sea() -> tuple[Floats, Floats, tuple[float, float]]:
    return prepare.bottom(), prepare.displaced_surface(), (geography.DX, geography.DY)


@pytest.mark.parametrize(("level", "tolerance"), [(0.0, 0.0), (0.37, 1e-14)])
def test_a_lake_at_rest_stays_at_rest(tmp_path: Path, salish_sea, level: float, tolerance: float) -> None:
    """At mean sea level: to the last bit. At another level, where depths are rounded: to 1e-14 of the largest depth."""
    bottom, _, spacing = salish_sea
    surface = np.full_like(bottom, level)
    end = solve(tmp_path, bottom, surface, spacing, steps=150, interval=1.25, drag=0.0025, coriolis=1.1e-4)
    wet = bottom < level
    assert 0.35 < wet.mean() < 0.45
    assert np.abs(end.depth + bottom - level)[wet].max() <= tolerance * end.depth.max()
    assert end.depth[~wet].max() == 0.0
    assert max(np.abs(end.u).max(), np.abs(end.v).max()) <= 100 * tolerance


def test_a_closed_basin_keeps_its_water(tmp_path: Path, salish_sea) -> None:
    bottom, surface, spacing = salish_sea
    part = (slice(400, 701), slice(300, 620))  # the source and its shores
    bottom, surface = bottom[part], 6.0 * surface[part]  # a wave that floods land
    end = solve(tmp_path, bottom, surface, spacing, steps=250, interval=1.25, ranks=2, drag=0.0025)
    before = math.fsum(np.maximum(0.0, surface - bottom).ravel())
    after = math.fsum(end.depth.ravel())
    assert abs(after - before) <= 1e-12 * before
    assert end.depth.min() >= 0.0
    assert np.abs(end.depth - np.maximum(0.0, surface - bottom)).max() > 1.0, "nothing has moved"
    assert ((bottom > 0.01) & (end.depth > 0.01)).sum() > 20, "no land was flooded"


def test_water_leaves_through_a_radiating_edge_only(tmp_path: Path) -> None:
    """A wave of 1 cm leaves a flat sea. Behind walls it stays inside."""
    cells = 120
    bottom = np.full((cells, cells), -100.0)
    distance = np.hypot(*np.meshgrid(np.arange(cells) - 59.5, np.arange(cells) - 59.5))
    surface = 0.01 * np.exp(-((distance / 8) ** 2))
    crossing = cells * 1000.0 / math.sqrt(GRAVITY * 100.0)
    heights = {}
    for radiating in (False, True):
        end = solve(tmp_path, bottom, surface, (1e3, 1e3), steps=1, interval=2 * crossing, radiating=radiating)
        heights[radiating] = float(np.abs(end.depth + bottom).max())
    assert heights[True] < 0.15 * heights[False]


@pytest.mark.parametrize("shore", [False, True])
def test_a_symmetric_dam_break_stays_symmetric(tmp_path: Path, shore: bool) -> None:
    """It holds to the last bit, under mirroring and transposition, on a flat bottom and over hills that are flooded."""
    cells = 101
    x, y = np.meshgrid(np.arange(cells) - 50.0, np.arange(cells) - 50.0)
    distance = np.hypot(x, y)
    bottom = 0.3 * np.cos(x / 4) * np.cos(y / 4) if shore else np.zeros_like(x)
    bottom = 0.25 * (bottom + bottom[::-1] + bottom[:, ::-1] + bottom[::-1, ::-1])
    bottom = 0.5 * (bottom + bottom.T)
    surface = np.where(distance < 15, 2.0, -1.0 if shore else 0.5)
    depth = solve(tmp_path, bottom, surface, (1.0, 1.0), steps=100, interval=0.1, ranks=2).depth
    assert np.array_equal(depth, depth[::-1])
    assert np.array_equal(depth, depth[:, ::-1])
    assert np.array_equal(depth, depth.T)
    assert depth.min() >= 0.0
    assert depth[50, 50] < 1.2, "the dam has not broken"


@pytest.mark.parametrize("flavour", ["openmpi", "mpich"])
def test_the_number_of_ranks_changes_no_bit(tmp_path: Path, salish_sea, flavour: str) -> None:
    bottom, surface, spacing = salish_sea
    part = (slice(400, 701), slice(300, 620))  # the source and its shores, with rows that do not divide evenly
    results = [
        solve(
            tmp_path, bottom[part], surface[part], spacing, steps=150, interval=2.0, ranks=ranks, flavour=flavour,
            drag=0.0025, coriolis=1.1e-4, radiating=True,
        )
        for ranks in (1, 2, 3)
    ]  # fmt: skip
    for other in results[1:]:
        assert np.array_equal(results[0].depth, other.depth)
        assert np.array_equal(results[0].u, other.u)
        assert np.array_equal(results[0].v, other.v)
    assert np.abs(results[0].u).max() > 0.05


@pytest.mark.parametrize("along", ["x", "y"])
def test_a_dam_break_moves_as_theory_has_it(tmp_path: Path, along: str) -> None:
    """Stoker (1957), Water Waves, section 10.8: a dam between two depths, far from the walls."""
    cells, high, low, time = 1000, 2.0, 0.5, 40.0
    x = np.arange(cells) - (cells - 1) / 2
    profile = np.where(x < 0, high, low)
    surface = np.tile(profile, (4, 1)) if along == "x" else np.tile(profile[:, None], (1, 4))
    end = solve(tmp_path, np.zeros_like(surface), surface, (1.0, 1.0), steps=1, interval=time)
    depth = end.depth[1] if along == "x" else end.depth[:, 1]
    exact = stoker(x / time, high, low)
    assert np.abs(depth - exact).mean() < 0.01 * (high - low)
    middle = 0.5 * (low + exact[np.searchsorted(x, 0.0)])
    front, exact_front = (float(x[values > middle][-1]) for values in (depth, exact))
    assert abs(front - exact_front) <= 3.0  # cells, of about 200


def stoker(speed: Floats, high: float, low: float) -> Floats:
    """Depth at x / t = ``speed``: rarefaction, plateau, shock."""
    c_high = math.sqrt(GRAVITY * high)

    def mismatch(plateau: float) -> float:
        behind_shock = (plateau - low) * math.sqrt(0.5 * GRAVITY * (plateau + low) / (plateau * low))
        return 2 * (c_high - math.sqrt(GRAVITY * plateau)) - behind_shock

    below, above = low, high
    for _ in range(100):
        plateau = 0.5 * (below + above)
        below, above = (plateau, above) if mismatch(plateau) > 0 else (below, plateau)
    c_plateau = math.sqrt(GRAVITY * plateau)
    velocity = 2 * (c_high - c_plateau)
    shock = plateau * velocity / (plateau - low)
    rarefaction = (2 * c_high - speed) ** 2 / (9 * GRAVITY)
    return np.select([speed < -c_high, speed < velocity - c_plateau, speed < shock], [high, rarefaction, plateau], low)


@pytest.mark.parametrize("periods", [0.25, 0.5, 1.0])
def test_water_in_a_bowl_swings_as_theory_has_it(tmp_path: Path, periods: float) -> None:
    """Thacker (1981), J. Fluid Mech. 107, 499-508: a plane surface in a paraboloid, its shore moving freely."""
    cells, radius, middle_depth, amplitude = 200, 3000.0, 10.0, 500.0
    spacing = 8000.0 / cells
    x, y = np.meshgrid(*(2 * [(np.arange(cells) - (cells - 1) / 2) * spacing]))
    bottom = middle_depth * ((x**2 + y**2) / radius**2 - 1)
    period = 2 * math.pi * radius / math.sqrt(2 * GRAVITY * middle_depth)

    def depth(phase: float) -> Floats:
        swing = amplitude * math.cos(phase)
        return np.maximum(0.0, middle_depth / radius**2 * swing * (2 * x - swing) - bottom)

    start = depth(0.0)
    end = solve(tmp_path, bottom, start + bottom, (spacing, spacing), steps=1, interval=periods * period)
    exact = depth(2 * math.pi * periods)
    assert np.abs(end.depth - exact).sum() < 0.02 * exact.sum()
    assert abs(math.fsum(end.depth.ravel()) / math.fsum(start.ravel()) - 1) <= 1e-12
