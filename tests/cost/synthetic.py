"""Measurements with known parameters: cells made from a fit, with noise and disturbed cells."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy

from couplet.cost.measurement import Measurement
from couplet.cost.model import ORDERS, Fit, Model, Piece, load_model

TACHYON: Model = load_model("tachyon1.json")


def hinge(at: float, alpha: float, bend: float, beta: float, gamma: float) -> Fit:
    """Two planes that meet at pa = ``at``."""
    pieces = (Piece(0, at, alpha, beta, gamma), Piece(at, 7, alpha + bend, beta, gamma - bend * at))
    return Fit("hinge", pieces)


def document(
    fit: Fit | str = "split", noise_s: float = 0.0, disturbed: int = 0, half_star: int = 8, seed: int = 1
) -> dict[str, Any]:
    """A measurement over all cells; a name is a fit of Tachyon I. ``disturbed`` cells take 50 ms longer."""
    chance = numpy.random.default_rng(seed)
    cells: list[dict[str, Any]] = []
    for order in ORDERS:
        truth = TACHYON.orders[order].fit(fit) if isinstance(fit, str) else fit
        first = len(cells)
        for pa in range(half_star):
            for pe in range(half_star):
                seconds = float(truth.cost(Fraction(pa), Fraction(pe))) + float(chance.normal()) * noise_s
                counts = {"intra_in": pa, "intra_out": pa, "inter_in": pe, "inter_out": pe}
                times = {"median_s": seconds, "minimum_s": seconds * 0.99}
                cells.append({"order": order, "message_bytes": 4194304, **counts, **times})
        for index in chance.choice(half_star**2, disturbed, replace=False):
            cells[first + int(index)]["median_s"] += 0.05
    return {
        "schema": "couplet.cost.measurement",
        "version": 1,
        "machine": {"name": "invented", "hosts": ["invented0", "invented1"]},
        "procedure": 1,
        "half_star": half_star,
        "processes": [{"rank": 0, "node": 0, "host": "invented0"}],
        "cells": cells,
    }


def measurement(*arguments: Any, **options: Any) -> Measurement:
    """The same, ready to be fitted."""
    return Measurement.from_json(document(*arguments, **options), "synthetic")
