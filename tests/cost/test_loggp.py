"""Latency, overhead and gap: invented times give the parameters that they were made of; what is missing is named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from couplet.cost import CostError, Measurement, load_measurement
from couplet.cost.measurement import Cell
from couplet.cost.probe import Setting, collect
from couplet.cost.report import report
from couplet.cost.tables import faster_order

HEAD = ["couplet-probe 1", "mpi Some MPI 1.0", "process 0 0 here -1", "process 1 1 there -1", "half_star 2", "cells 8"]
SHORT, LONG = 8, 1 << 20


def loggp_lines(name: str, latency: float, send: float, receive: float, gap: float, per_byte: float) -> list[str]:
    """What a probe measures of a way with these parameters, each time twice and once disturbed."""
    half = latency + send + receive
    short = 2 * half + 255 * gap
    long = 2 * half + 7 * gap + 8 * (LONG - SHORT) * per_byte
    kinds = [("half_round_trip", SHORT, 1, half), ("send_overhead", SHORT, 1, send)]
    kinds += [("receive_overhead", SHORT, 1, receive), ("burst", SHORT, 256, short), ("burst", LONG, 8, long)]
    return [f"loggp {name} {kind} {size} {count} {time!r} {time!r} {10 * time!r}" for kind, size, count, time in kinds]


def cell_lines(inter_first: float) -> list[str]:
    """Cells of up to one pair of each kind; with both, inter first takes ``inter_first`` times as long."""
    lines = []
    for pa in (0, 1):
        for pe in (0, 1):
            seconds = 1e-3 * (1 + pa + 2 * pe)
            factor = inter_first if pa and pe else 2.0  # cells with one kind have one order only
            lines.append(f"cell intra_first 1000 {pa} {pa} {pe} {pe} {seconds!r}")
            lines.append(f"cell inter_first 1000 {pa} {pa} {pe} {pe} {seconds * factor!r}")
    return lines


def measured(*lines: str, inter_first: float = 0.9) -> Measurement:
    document = collect([*HEAD, *cell_lines(inter_first), *lines, "done"], Setting())
    return Measurement.from_json(document, "invented")


def test_the_parameters_are_found_again() -> None:
    intra = (3e-7, 1e-7, 1.5e-7, 2e-7, 5e-11)
    inter = (2e-6, 4e-7, 6e-7, 9e-7, 1e-9)
    found = measured(*loggp_lines("intra", *intra), *loggp_lines("inter", *inter)).loggp
    assert [one.name for one in found] == ["intra", "inter"]
    for one, truth in zip(found, (intra, inter), strict=True):
        values = (one.latency_s, one.send_overhead_s, one.receive_overhead_s, one.gap_s, one.gap_per_byte_s)
        assert values == pytest.approx(truth, rel=1e-6)
        assert one.overhead_s == pytest.approx((truth[1] + truth[2]) / 2)


def test_overlapping_work_is_a_latency_below_zero_and_no_gap_is_negative() -> None:
    (one,) = measured(*loggp_lines("intra", -1e-7, 2e-7, 2e-7, -1e-9, 0.0)).loggp
    assert one.latency_s == pytest.approx(-1e-7)
    assert (one.gap_s, one.gap_per_byte_s >= 0.0) == (0.0, True)


def test_they_are_stored_printed_and_shown(couplet: Callable[..., Any], tmp_path: Path) -> None:
    lines = [*HEAD, *cell_lines(0.9), *loggp_lines("intra", 3e-7, 1e-7, 1.5e-7, 2e-7, 5e-11), "done"]
    (tmp_path / "lines").write_text("\n".join(lines))
    result = couplet("probe", "--lines", tmp_path / "lines", "-o", tmp_path / "m.json")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines()[1:] == [
        "Messages of 1000 bytes: intra first was faster in 0 and inter first in 1 of 1 cells with both kinds; in the "
        "median cell inter first took 10.0 % less time.",
        "  way   L us   o us  o of sender us  o of receiver us   g us  G ns/byte  1/G GB/s",
        "intra  0.300  0.125           0.100             0.150  0.200     0.0500    20.000",
    ]
    page = report(load_measurement(tmp_path / "m.json"))
    for shown in ("Latency, overhead and gap", "<th>o of sender us</th>", "<td>0.100</td>", "inter first took 10.0 %"):
        assert shown in page


@pytest.mark.parametrize(
    ("left_out", "says"),
    [("send_overhead", "loggp intra: send_overhead is missing"), ("burst 8 ", "bursts of short and of long messages")],
)
def test_a_time_that_is_missing_is_named(left_out: str, says: str) -> None:
    lines = [line for line in loggp_lines("intra", 3e-7, 1e-7, 1e-7, 2e-7, 5e-11) if left_out not in line]
    with pytest.raises(CostError, match=says):
        measured(*lines)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("loggp intra weather 8 1 1e-6", "makes no sense"),
        ("loggp intra burst 8", "makes no sense"),
        ("loggp intra send_overhead 8 1 -1e-6", "makes no sense"),
        ("loggp intra send_overhead 8 1", "makes no sense"),
        ("loggp intra burst 8 0 1e-6", "makes no sense"),
        ("loggp intra burst 8 -8 1e-6", "makes no sense"),
        ("loggp intra burst 8 1" + 300 * "0" + " 1e-6", "makes no sense"),
        ("loggp intra burst 9" + 300 * "0" + " 8 1e-6", "makes no sense"),
    ],
)
def test_a_line_that_makes_no_sense_is_quoted(line: str, says: str) -> None:
    with pytest.raises(CostError, match=says):
        measured(line)


@pytest.mark.parametrize(
    ("factor", "end"),
    [
        (1.0, "in the median cell both took the same time."),
        (2.0, "in the median cell intra first took 50.0 % less time."),
    ],
)
def test_the_faster_posting_order_is_said(factor: float, end: str) -> None:
    text = faster_order(measured(inter_first=factor), 1000)
    assert text.endswith(end)


def test_no_posting_order_is_faster_if_the_cells_differ_by_more_than_their_median_does() -> None:
    factors = (0.8, 1.3, 1.02, 1.05, 0.9, 1.2)
    pairs = [(name, factor, pa) for pa, factor in enumerate(factors, 1) for name in ("intra_first", "inter_first")]
    cells = [
        Cell(name, 1000, pa, pa, 1, 1, *(2 * [1e-3 * (factor if name == "inter_first" else 1.0)]))
        for name, factor, pa in pairs
    ]
    found = replace(measured(), cells=tuple(cells))
    assert faster_order(found, 1000).endswith(
        "the median difference of 3.4 % is less than its spread of 20.7 % over the cells, so that neither is known to "
        "be faster."
    )
    near = [replace(cell, median_s=1.1e-3) if cell.order == "inter_first" else cell for cell in cells]
    outlier = [*near[:-1], replace(near[-1], median_s=1.0)]  # a sum would say that this decides
    assert faster_order(replace(found, cells=tuple(outlier)), 1000).endswith(
        "in the median cell intra first took 9.1 % less time."
    )
