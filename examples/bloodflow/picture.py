"""Colours for the frames of the solver. The meaning of their numbers is in picture.hpp."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import matplotlib
import numpy as np
from numpy.typing import NDArray

matplotlib.use("Agg")
from matplotlib import colormaps
from matplotlib import image as files

WEIGHT_BITS, FACING_BITS, SHEAR_BITS = 24, 12, 28
SPEED_UNIT, SHEAR_UNIT = 1.0 / 2**20, 1.0 / 2**32
SPEED_MAP, SHEAR_MAP = "inferno", "turbo"
MAX_SPEED, MAX_SHEAR = 0.1, 2.5e-3  # what has the brightest colours
BACKGROUND = np.array([0.04, 0.05, 0.09])


class Frame(NamedTuple):
    """One frame, as it came from the solver."""

    round: int
    angle: float
    speed: NDArray[np.int64]
    wall: NDArray[np.int64]


def read(words: NDArray[np.int64], shape: tuple[int, int]) -> Frame:
    """Takes a message of the solver apart."""
    pixels = words[2:].reshape(2, *shape)
    return Frame(int(words[0]), float(words[1]) / 1000, pixels[0].copy(), pixels[1].copy())


def mean_speed(frame: Frame) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns the mean speed along the lines of sight, and how much blood there is on them, from 0 to 1."""
    weight = (frame.speed & ((1 << WEIGHT_BITS) - 1)).astype(float)
    total = (frame.speed >> WEIGHT_BITS).astype(float) * SPEED_UNIT
    speed = np.divide(total, weight, out=np.zeros_like(total), where=weight > 0)
    return speed, 1 - np.exp(-weight / 250)


def wall_shear(frame: Frame) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns the shear of the nearest wall, and how much it faces the viewer; 0: there is none."""
    shear = ((frame.wall >> FACING_BITS) & ((1 << SHEAR_BITS) - 1)).astype(float) * SHEAR_UNIT
    facing = (frame.wall & ((1 << FACING_BITS) - 1)).astype(float) / ((1 << FACING_BITS) - 1)
    return shear, facing


def paint(frame: Frame) -> NDArray[np.uint8]:
    """Returns the two pictures of a frame, one above the other."""
    speed, cover = mean_speed(frame)
    colours = colormaps[SPEED_MAP](0.12 + 0.88 * np.clip(speed / MAX_SPEED, 0, 1))[..., :3]
    above = BACKGROUND + cover[..., None] * (colours - BACKGROUND)
    shear, facing = wall_shear(frame)
    colours = colormaps[SHEAR_MAP](np.clip(shear / MAX_SHEAR, 0, 1))[..., :3]
    light = (0.25 + 0.75 * facing)[..., None]
    shine = (0.35 * facing**24)[..., None]
    below = np.where(frame.wall[..., None] > 0, np.clip(light * colours + shine * (1 - colours), 0, 1), BACKGROUND)
    return np.round(255 * np.vstack((above, below))).astype(np.uint8)


def write(path: Path, image: NDArray[np.uint8]) -> None:
    """Writes a PNG. A program that looks at it meanwhile sees the old one or the new one."""
    new = path.with_name(path.name + ".new")
    files.imsave(new, image, format="png")
    new.replace(path)
