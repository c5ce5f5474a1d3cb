"""Unlike nodes: processes and cells in proportion to measured speeds, against every other way to spread them."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

from couplet.cost import CostError, DocumentError, Host, read_hosts, split_cells, spread_processes


@pytest.mark.parametrize("seed", range(60))
def test_no_other_spread_of_processes_ends_earlier(seed: int) -> None:
    chance = random.Random(seed)
    hosts = [Host(f"n{index}", chance.randint(1, 5), chance.choice((0.5, 1.0, 1.3, 2.0))) for index in range(4)]
    processes = chance.randint(4, sum(host.processes for host in hosts))

    def end(counts: tuple[int, ...]) -> Fraction:
        return max(Fraction(count) / Fraction(host.speed) for count, host in zip(counts, hosts, strict=True))

    found = spread_processes(hosts, processes)
    every = [one for one in product(*(range(1, host.processes + 1) for host in hosts)) if sum(one) == processes]
    assert found in every
    assert end(found) == min(end(one) for one in every)


@pytest.mark.parametrize("seed", range(40))
def test_cells_are_cut_by_speed_and_none_is_left_out(seed: int) -> None:
    chance = random.Random(seed)
    speeds = [chance.uniform(0.5, 2.0) for _ in range(chance.randint(1, 9))]
    cells = chance.randint(1000, 5000)
    parts = split_cells(cells, speeds)
    assert (parts[0][0], parts[-1][1]) == (0, cells)
    assert all(left[1] == right[0] for left, right in zip(parts, parts[1:], strict=False))
    for (start, stop), speed in zip(parts, speeds, strict=True):
        assert abs(stop - start - cells * speed / sum(speeds)) <= 1.0


def test_each_process_keeps_a_cell() -> None:
    assert split_cells(3, [1e9, 1.0, 1.0]) == ((0, 1), (1, 2), (2, 3))
    assert split_cells(4, [1.0, 1e9, 1.0]) == ((0, 1), (1, 3), (3, 4))


@pytest.mark.parametrize("processes", [0, 1, 9])
def test_processes_that_do_not_fit_are_refused(processes: int) -> None:
    with pytest.raises(CostError, match="do not fit 2 hosts with room for 8"):
        spread_processes([Host("a", 4), Host("b", 4)], processes)


def test_too_few_cells_are_refused() -> None:
    with pytest.raises(CostError, match="each needs at least one"):
        split_cells(2, [1.0, 1.0, 1.0])


def test_hosts_are_read_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("# two kinds\nnode1 16\n\nnode2.site 8 speed=1.5  # newer\nn-3 4 0.5\n")
    assert read_hosts(tmp_path / "hosts") == (Host("node1", 16), Host("node2.site", 8, 1.5), Host("n-3", 4, 0.5))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "names no host"), ("a", 'hosts:1: "a" has to be NAME PROCESSES'), ("a 4\na 4", "host a is listed"),
        ("a 0", "has no process"), ("a 4 speed=0", "greater than 0"), ("a 4 speed=1e999", "greater than 0"),
        ("a 4 speed=-1", "greater than 0"), ("a 4 speed=e", "greater than 0"), ("a four", "NAME PROCESSES"),
        ("a;rm 4", "NAME PROCESSES"), ("a 4 speed=1 x", "NAME PROCESSES"),
    ],
)  # fmt: skip
def test_a_bad_line_of_a_host_file_is_named(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "hosts").write_text(text)
    with pytest.raises(DocumentError, match=says):
        read_hosts(tmp_path / "hosts")
