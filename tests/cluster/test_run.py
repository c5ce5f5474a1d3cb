"""``couplet run`` with programs on Slurm: on their own jobs, inside a job, and what happens if something fails."""

from __future__ import annotations

import re
import sys
import time

import pytest
from cluster import WATCHDOG_S
from coupled import COUPLET, STEPS, Site, check_coupled, entry, on_slurm


@pytest.mark.cluster
def test_programs_under_two_mpis_on_different_nodes(site: Site) -> None:
    """Each program has its own job; series go through the relay of a node, and messages over tcp."""
    site.ocean_and_nowcast("--exclusive")
    status, output = site.couplet("run")
    assert status == 0, output
    ocean, nowcast = check_coupled(output)
    assert len(ocean | nowcast) == 4 and all(name.startswith("node") for name in ocean | nowcast), output
    assert "all programs ended well" in output


@pytest.mark.cluster
def test_inside_a_job_each_program_has_nodes_of_its_own(site: Site) -> None:
    site.ocean_and_nowcast()
    status, output = site.run("salloc", "--nodes=5", "--ntasks=5", COUPLET, "run")
    assert status == 0, output
    ocean, nowcast = check_coupled(output)
    assert len(ocean | nowcast) == 4, output


@pytest.mark.cluster
def test_inside_a_job_programs_share_nodes_if_there_are_too_few(site: Site) -> None:
    site.ocean_and_nowcast()
    text = (site.folder / "coupled.toml").read_text().replace("nodes = 2\n", "")
    site.write("coupled.toml", text)
    status, output = site.run("salloc", "--nodes=2", "--ntasks-per-node=4", COUPLET, "run")
    assert status == 0, output
    assert re.search(rf"nowcast on .* steps {STEPS} lost 0 by ", output), output


@pytest.mark.cluster
def test_inside_a_heterogeneous_job_each_program_has_a_component(site: Site) -> None:
    site.ocean_and_nowcast()
    status, output = site.run("salloc", "-N2", "-n2", ":", "-N2", "-n2", COUPLET, "run")
    assert status == 0, output
    ocean, nowcast = check_coupled(output)
    assert len(ocean | nowcast) == 4, output
    status, output = site.run("salloc", "-n1", ":", "-n1", ":", "-n1", COUPLET, "run")
    assert status == 1, output
    assert 'this heterogeneous job has 3 components, and 2 programs have launcher = "slurm"' in output


SECRET = """\
import os, pathlib, couplet
secret = pathlib.Path(os.environ["COUPLET_SECRET_FILE"])
word = secret.read_text().strip()
with couplet.join("ocean") as universe:
    shown = [path.read_bytes() for path in pathlib.Path("/proc").glob("[0-9]*/cmdline")]
    print("mode", oct(secret.stat().st_mode & 0o777), "in", secret.parent.parent.name)
    print("shown", any(word.encode() in text for text in shown), "among", len(shown) > 10)
    print("in environment", any(word in value for value in os.environ.values()))
    print("hub", os.environ["COUPLET_HUB"].split(":")[0], "threads", os.environ["OMP_NUM_THREADS"],
          os.environ["SLURM_CPUS_PER_TASK"], "of", os.environ["SLURM_NTASKS"])
"""


@pytest.mark.cluster
def test_the_secret_is_in_a_file_that_nodes_share_and_on_no_command_line(site: Site) -> None:
    site.write("ocean.py", SECRET)
    site.describe(on_slurm("ocean", "ocean.py", 1, threads=3))
    status, output = site.couplet("run")
    assert status == 0, output
    assert f"ocean | mode 0o600 in {site.folder.name}\n" in output
    assert "ocean | shown False among True\n" in output
    assert "ocean | in environment False\n" in output
    assert "ocean | hub 10.78.0.254 threads 3 3 of 1\n" in output


@pytest.mark.cluster
def test_one_program_on_slurm_and_one_on_this_host(site: Site) -> None:
    writer = """\
import couplet, numpy
with couplet.join("ocean") as universe:
    with universe.create_series("eta", (4, 6), "float64", required_readers="nowcast", slots=4) as series:
        for step in range(50):
            series.put(numpy.full((4, 6), float(step)), step)
"""
    reader = """\
import couplet, socket
with couplet.join("nowcast") as universe:
    batches = list(universe.open_series("eta").batches(up_to=8))
print("steps", sum(map(len, batches)), "lost", sum(batch.lost for batch in batches), "on", socket.gethostname())
"""
    for far, near in (("ocean", "nowcast"), ("nowcast", "ocean")):
        site.write("ocean.py", writer)
        site.write("nowcast.py", reader)
        site.describe(on_slurm(far, f"{far}.py", 1), entry(near, [sys.executable, f"{near}.py"]))
        status, output = site.couplet("run")
        assert status == 0, output
        where = "node" if far == "nowcast" else "login"
        assert f"steps 50 lost 0 on {where}" in output, output


FAILING = 'import couplet\ncouplet.join("ocean")\nprint("about to fail", flush=True)\nraise SystemExit(7)\n'
WAITING = """\
import couplet, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
universe = couplet.join("nowcast")
print("waits", flush=True)
time.sleep(1000)
"""


@pytest.mark.cluster
@pytest.mark.parametrize("prefix", [(), ("salloc", "-N3", "-n3")], ids=["own jobs", "in a job"])
def test_a_program_that_fails_ends_the_others_and_gives_the_nodes_back(site: Site, prefix: tuple[str, ...]) -> None:
    site.write("ocean.py", FAILING)
    site.write("nowcast.py", WAITING)
    site.describe(on_slurm("ocean", "ocean.py", 1, nodes=1), on_slurm("nowcast", "nowcast.py", 2, nodes=2))
    status, output = site.run(*prefix, COUPLET, "run")
    assert status == 7, output
    assert 'program "ocean" ended with exit status 7; its last lines:' in output
    assert "    about to fail" in output


@pytest.mark.cluster
@pytest.mark.parametrize("number", ["INT", "KILL"])
def test_ending_couplet_run_ends_the_jobs(site: Site, number: str) -> None:
    """Ctrl-C ends a run. If it is killed itself, its jobs end, because their salloc reads the end of a pipe."""
    site.write("nowcast.py", WAITING)
    site.describe(on_slurm("nowcast", "nowcast.py", 2, nodes=2))
    # Without job control, a shell starts what is in the background with SIGINT ignored, and couplet run respects that.
    script = f"set -m; {COUPLET} run --plain >log 2>&1 & "
    script += "until grep -q 'nowcast.*waits' log || ! kill -0 $!; do sleep 0.05; done; "
    script += f"kill -{number} $!; wait $!; echo ended $?; cat log; rm -rf .couplet-run-*; "
    # The end of this shell is that of its process namespace, with salloc in it.
    script += 'while [ -n "$(squeue --noheader)" ]; do sleep 0.05; done'
    status, output = site.run("bash", "-c", script)
    assert status == 0 and f"ended {130 if number == 'INT' else 137}" in output, output
    if number == "KILL":  # everything of the run was killed, so its files are left for the next run on the node
        site.cluster.check("srun", "--nodes=8", COUPLET, "clean")


@pytest.mark.cluster
def test_ctrl_c_while_a_job_is_in_the_queue(site: Site) -> None:
    site.write("nowcast.py", WAITING)
    site.describe(on_slurm("nowcast", "nowcast.py", 8, nodes=8))
    with site.cluster.start("srun", "--exclusive", "-N1", "sh", "-c", "echo runs; sleep 1000") as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "runs\n"
        script = f"set -m; {COUPLET} run --plain >log 2>&1 & "
        script += "until grep -q 'Pending job' log || ! kill -0 $!; do sleep 0.05; done; "
        script += "kill -INT $!; wait $!; echo ended $?; cat log"
        status, output = site.run("bash", "-c", script)
        assert "ended 130" in output and "interrupted before all programs had their nodes" in output, output
        site.cluster.check("scancel", "--name=sh")
        other.communicate(timeout=WATCHDOG_S)
    deadline = time.monotonic() + WATCHDOG_S
    while site.cluster.check("squeue", "--noheader") and time.monotonic() < deadline:
        time.sleep(0.05)


@pytest.mark.cluster
def test_what_slurm_refuses_is_told_in_its_words(site: Site) -> None:
    site.write("nowcast.py", "")
    site.describe(on_slurm("nowcast", "nowcast.py", 99, nodes=99))
    status, output = site.couplet("run")
    assert status == 1, output
    assert 'no nodes for program "nowcast": salloc: error:' in output
    assert "requested" in output.lower(), output
    site.describe(on_slurm("nowcast", "nowcast.py", 1, None, "--partition=nowhere"))
    status, output = site.couplet("run")
    assert status == 1 and "invalid partition specified: nowhere" in output, output
    site.describe(on_slurm("nowcast", "nowcast.py", 1, None, "--mpi=nothing"))
    status, output = site.couplet("run")
    assert status != 0 and 'program "nowcast" ended with exit status' in output and "srun: error" in output, output
