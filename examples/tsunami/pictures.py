"""The pictures: turns the nowcast's record of the wave into map.png and gauges.png."""

from __future__ import annotations

from pathlib import Path

import geography
import matplotlib as mpl
import numpy as np
from geography import Floats
from matplotlib.axes import Axes
from matplotlib.colors import LightSource, LinearSegmentedColormap
from matplotlib.figure import Figure
from prepare import read_scenario

WAVE = LinearSegmentedColormap.from_list("wave", ["#eef5f9", "#a9d3e6", "#4a9cc7", "#1f5f9e", "#5b2a86", "#c2185b"])
LAND = LinearSegmentedColormap.from_list("land", ["#d9dccf", "#c9c3ab", "#a99c85", "#f4f2ee"])
INK = "#22303c"


def draw(folder: Path) -> None:
    """Writes both pictures from ``sea.bin`` and ``nowcast.npz`` in ``folder``."""
    mpl.use("Agg")
    bottom = read_scenario(folder / "sea.bin")[0]
    record = np.load(folder / "nowcast.npz")
    draw_map(bottom, record["height"], record["arrival"]).savefig(folder / "map.png", dpi=150)
    draw_gauges(record["times"], record["levels"]).savefig(folder / "gauges.png", dpi=150)


def draw_map(bottom: Floats, height: Floats, arrival: Floats) -> Figure:
    """Draws the largest height inside the box, minutes until arrival, the coastline and the gauges."""
    figure = Figure(figsize=(10.5, 8.2), layout="constrained")
    axes = figure.subplots()
    longitude, latitude = geography.longitudes(), geography.latitudes()
    edges = (geography.WEST, geography.EAST, geography.SOUTH, geography.NORTH)
    shaded = LightSource(azdeg=315, altdeg=45).shade(
        np.maximum(bottom, 0),
        LAND,
        vert_exag=0.6,
        dx=geography.DX,
        dy=geography.DY,
        blend_mode="soft",
        vmin=0,
        vmax=2000,
    )
    axes.imshow(shaded, extent=edges, origin="lower", interpolation="bilinear")
    sea = np.where(bottom < 0, 1.0, np.nan)
    axes.imshow(sea, extent=edges, origin="lower", cmap=LinearSegmentedColormap.from_list("", ["#e3e8eb"] * 2))

    (south, north), (west, east) = geography.BOX
    inside = np.s_[south:north, west:east]
    box_edges = (*edges_of(west, east, 0), *edges_of(south, north, 1))
    wave = np.where((bottom[inside] < 0) | (height > 0.01), height, np.nan)
    image = axes.imshow(wave, extent=box_edges, origin="lower", cmap=WAVE, vmin=0, vmax=2.0, interpolation="nearest")
    figure.colorbar(image, ax=axes, label="largest height above rest (m)", extend="max", shrink=0.82, pad=0.02)
    deep = np.where(bottom[inside] < -20, arrival / 60, np.nan)  # close to the shore the wave is slow
    lines = axes.contour(
        longitude[west:east],
        latitude[south:north],
        np.ma.masked_invalid(deep),
        [5, 10, 15, 20, 30],
        colors="white",
        linewidths=1,
    )
    axes.clabel(lines, fmt="%d min", fontsize=7)
    axes.contour(longitude, latitude, bottom, levels=[0], colors=INK, linewidths=0.6)
    outline(axes, box_edges)
    mark_gauges(axes, bottom)
    axes.set(xlim=edges[:2], ylim=edges[2:], aspect=1 / np.cos(np.radians(geography.MIDDLE)))
    axes.xaxis.set_major_formatter(lambda value, _: f"{-value:g}° W")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}° N")
    axes.set_title("A wave in the Strait of Georgia: how high it was, and when it came", loc="left", color=INK)
    return figure


def edges_of(first: int, stop: int, axis: int) -> tuple[float, float]:
    """Returns the outer edges of the cells [first, stop): longitudes for axis 0, latitudes for axis 1."""
    low, high = ((geography.WEST, geography.EAST), (geography.SOUTH, geography.NORTH))[axis]
    return (low + (high - low) * first / geography.CELLS, low + (high - low) * stop / geography.CELLS)


def outline(axes: Axes, box: tuple[float, float, float, float]) -> None:
    west, east, south, north = box
    axes.plot([west, east, east, west, west], [south, south, north, north, south], color=INK, lw=0.9, ls=(0, (5, 3)))
    axes.annotate(
        "box that the readers see", (west, south), (4, 4), textcoords="offset points", fontsize=7.5, color=INK
    )


def mark_gauges(axes: Axes, bottom: Floats) -> None:
    halo = {"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": "none", "alpha": 0.8}
    for name, place in geography.GAUGES.items():
        row, column = geography.nearest_wet_cell(bottom, place)
        at = (geography.longitudes()[column], geography.latitudes()[row])
        axes.plot(*at, marker="v", ms=8, mfc="#ffc107", mec=INK)
        axes.annotate(name, at, (7, 6), textcoords="offset points", fontsize=8.5, color=INK, bbox=halo)


def draw_gauges(times: Floats, levels: Floats) -> Figure:
    """Draws the surface at each gauge over time."""
    figure = Figure(figsize=(9, 1.6 * len(geography.GAUGES) + 0.8), layout="constrained")
    panels = figure.subplots(len(geography.GAUGES), 1, sharex=True, sharey=True)
    minutes = times / 60
    for axes, name, level in zip(panels, geography.GAUGES, levels.T, strict=True):
        axes.axhline(0, color="#9aa7b0", lw=0.8)
        axes.fill_between(minutes, level, 0, color="#4a9cc7", alpha=0.35, lw=0)
        axes.plot(minutes, level, color="#1f5f9e", lw=1.2)
        axes.text(0.995, 0.95, name, transform=axes.transAxes, weight="bold", color=INK, va="top", ha="right")
        highest = int(level.argmax())
        axes.plot(minutes[highest], level[highest], "o", ms=4, color="#c2185b")
        note = f"{level[highest]:.2f} m after {minutes[highest]:.0f} min"
        axes.annotate(note, (minutes[highest], level[highest]), (6, 2), textcoords="offset points", fontsize=8)
        axes.spines[["top", "right"]].set_visible(False)
        axes.margins(x=0, y=0.15)
    panels[len(panels) // 2].set_ylabel("surface above mean sea level (m)")
    panels[-1].set_xlabel("time after the uplift (minutes)")
    panels[0].set_title("Tide gauges", loc="left", color=INK)
    return figure
