"""The commands of docs/guide/running-on-a-cluster.md, run on the cluster as they are written there."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from coupled import COUPLET, Site
from launching import PROJECT

BLOCK = re.compile(r"<!-- (save|shell|output): (\S+) -->\n```\w+\n(.*?)```\n", re.DOTALL)
PAGE = PROJECT / "docs" / "guide" / "running-on-a-cluster.md"


@pytest.mark.cluster
def test_the_page(site: Site) -> None:
    folder = site.folder / "coupled"
    folder.mkdir()
    printed: dict[str, str] = {}
    expected: dict[str, str] = {}
    for kind, name, text in BLOCK.findall(PAGE.read_text()):
        if kind == "save":
            (folder / name).write_text(text)
        elif kind == "output":
            expected[name] = text.replace("/scratch/coupled", str(folder)).replace("/opt/couplet/bin/couplet", COUPLET)
        else:
            printed[name] = site.cluster.check("bash", "-euc", text, directory=folder)
    assert printed["print"] == expected["print"]
    assert "nowcast | 40 steps, 0 lost" in printed["run"]
    job = re.search(r"submitted job (\d+)", printed["submit"])
    assert job, printed["submit"]
    assert site.wait_for_job(job[1]) == ("COMPLETED", "0:0")
    assert "nowcast | 40 steps, 0 lost" in (folder / f"couplet-{job[1]}.log").read_text()
    placed = dict(re.findall(r"rank (\d+) on (node\d)", printed["place"]))
    hosts = (folder / "placement" / "slurm.hosts").read_text().split()
    assert [placed[str(rank)] for rank in range(16)] == hosts
    assert sorted(Counter(hosts).values(), reverse=True) == [4, 4, 2, 2, 1, 1, 1, 1]
