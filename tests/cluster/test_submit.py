"""``couplet run --submit``: the batch script, and the coupled run that it starts."""

from __future__ import annotations

import re

import pytest
from coupled import Site, check_coupled, on_slurm


def submitted(output: str) -> str:
    found = re.fullmatch(r"submitted job (\d+); its output will be in (\S+)\n", output)
    assert found, output
    return found[1]


def test_a_heterogeneous_job_with_a_component_for_each_program(site: Site) -> None:
    site.ocean_and_nowcast("--exclusive")
    status, output = site.couplet("run", "--submit")
    assert status == 0, output
    job = submitted(output)
    ended = site.wait_for_job(job)
    log = (site.folder / f"couplet-{job}.log").read_text()
    assert ended == ("COMPLETED", "0:0"), log
    ocean, nowcast = check_coupled(log)
    assert len(ocean | nowcast) == 4, log
    assert "all programs ended well" in log


@pytest.mark.cluster
def test_a_job_for_each_program(site: Site) -> None:
    site.ocean_and_nowcast("--exclusive")
    status, output = site.couplet("run", "--submit", "--separate-jobs")
    assert status == 0, output
    job = submitted(output)
    ended = site.wait_for_job(job)
    log = (site.folder / f"couplet-{job}.log").read_text()
    assert ended == ("COMPLETED", "0:0"), log
    check_coupled(log)


@pytest.mark.cluster
def test_the_status_of_a_job_is_that_of_the_program_that_failed(site: Site) -> None:
    site.write("ocean.py", "raise SystemExit(7)")
    site.describe(on_slurm("ocean", "ocean.py", 1))
    status, output = site.couplet("run", "--submit")
    assert status == 0, output
    assert site.wait_for_job(submitted(output)) == ("FAILED", "7:0")


@pytest.mark.cluster
def test_what_sbatch_refuses_is_told_in_its_words(site: Site) -> None:
    tables = [on_slurm(name, "x.py", 1, None, "--partition=nowhere") for name in ("ocean", "nowcast")]
    site.describe(*tables)
    status, output = site.couplet("run", "--submit")
    assert status == 1, output
    assert "couplet: sbatch has refused the job: sbatch: error:" in output
    assert "invalid partition specified: nowhere" in output and "add --separate-jobs" in output
