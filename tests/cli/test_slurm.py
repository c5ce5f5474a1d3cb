"""Programs on Slurm without a Slurm: words, places, the batch script, and what is refused. tests/cluster runs them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from couplet.cli import launch, slurm
from couplet.cli.configuration import Configuration, ConfigurationError, Program, load
from couplet.cli.submit import script, submit

COUPLET = Path(sys.executable).parent / "couplet"
OCEAN = Program("ocean", ["./ocean", "a b"], "slurm", 4, 2, 3, launcher_options=["-p", "big", "--mpi=pmix", "--time=5"])
NOWCAST = Program("nowcast", ["./nowcast"], "slurm", 2)


@pytest.fixture(autouse=True)
def outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests may themselves run in a job."""
    for name in [name for name in os.environ if name.startswith(("SLURM_", "COUPLET_RELAY"))]:
        monkeypatch.delenv(name)


def universe(*programs: Program) -> Configuration:
    return Configuration(Path("coupled.toml"), "tides", list(programs), [])


def test_options_of_the_job_and_of_the_step() -> None:
    words = ["-p", "big", "--mpi=pmix", "--time", "5", "-wnode1", "--gres=gpu:1", "--cpu-bind", "none", "--exclusive"]
    job, step = slurm.split_options(words)
    assert job == ["-p", "big", "--time", "5", "-wnode1", "--gres=gpu:1", "--exclusive"]
    assert step == ["--mpi=pmix", "--cpu-bind", "none"]


def test_tasks_of_a_node_are_told_to_the_job_and_to_the_step() -> None:
    for words in (["--ntasks-per-node=2"], ["--ntasks-per-node", "2"]):
        assert slurm.split_options([*words, "--mem=1G", "--mpi=none"]) == ([*words, "--mem=1G"], [*words, "--mpi=none"])


def test_check_shows_how_the_nodes_are_asked_for(tmp_path: Path) -> None:
    (tmp_path / "coupled.toml").write_text(
        '[universe]\nname = "tides"\n[[program]]\nname = "ocean"\ncommand = ["true"]\nlauncher = "slurm"\n'
        'ranks = 4\nnodes = 2\nlauncher_options = ["--partition=big", "--mpi=pmix"]\n'
    )
    wanted = "salloc --job-name=tides.ocean --ntasks=4 --nodes=2 --partition=big"
    assert " ".join(slurm.salloc_words(load(tmp_path / "coupled.toml").programs[0], "tides")) == wanted


def test_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "launcher_executable", lambda _: "/usr/bin/srun")
    assert launch.command_line(OCEAN) == [
        *("/usr/bin/srun", "--ntasks=4", "--nodes=2", "--cpus-per-task=3", "--export=ALL", "--kill-on-bad-exit=1"),
        *("-p", "big", "--mpi=pmix", "--time=5", "./ocean", "a b"),
    ]


def test_threads_are_told_to_openmp(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "9")
    told = {"COUPLET_HUB": "h:1", "COUPLET_SECRET_FILE": "/s/secret"}
    assert launch.environment(OCEAN, told, None)["OMP_NUM_THREADS"] == "3"
    assert launch.environment(NOWCAST, told, None)["OMP_NUM_THREADS"] == "9"
    chosen = Program("ocean", ["./ocean"], "slurm", 4, threads=3, environment={"OMP_NUM_THREADS": "1"})
    assert launch.environment(chosen, told, None)["OMP_NUM_THREADS"] == "1"


def test_places_in_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_JOB_NUM_NODES", "3")
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[1-3]")
    one = Program("nowcast", ["./nowcast"], "slurm", 2, 1)
    assert [place.words for place in slurm.places_inside([OCEAN, one])] == [
        ("--exact", "--relative=0"),
        ("--exact", "--relative=2"),
    ]
    for programs in ([OCEAN, OCEAN], [OCEAN, NOWCAST]):  # too few nodes; not known how many
        assert [place.words for place in slurm.places_inside(programs)] == [("--exact",), ("--exact",)]


def test_places_in_a_heterogeneous_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_HET_SIZE", "2")
    for component, (nodes, names) in enumerate((("2", "n[1-2]"), ("1", "n3"))):
        monkeypatch.setenv(f"SLURM_JOB_NUM_NODES_HET_GROUP_{component}", nodes)
        monkeypatch.setenv(f"SLURM_JOB_NODELIST_HET_GROUP_{component}", names)
    places = slurm.places_inside([OCEAN, NOWCAST])
    assert places == [slurm.Place(("--het-group=0",), 2, "n[1-2]"), slurm.Place(("--het-group=1",), 1, "n3")]
    with pytest.raises(slurm.SlurmError, match="has 2 components, and 1 programs have launcher"):
        slurm.places_inside([OCEAN])


def test_the_relay_that_the_user_chose_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    def relay(configuration: Configuration) -> str | None:
        site = slurm.Site(configuration, lambda *_: None)
        site._places = {"nowcast": slurm.Place(("--jobid=3",), 1, "n1")}
        return site.placed(configuration.programs[0], "ab12").environment.get("COUPLET_RELAY")

    assert relay(universe(NOWCAST)) == "external"
    chosen = universe(NOWCAST)
    chosen.settings["relay"] = "in_calls"
    assert relay(chosen) is None
    own = Program("nowcast", ["./nowcast"], "slurm", 2, environment={"COUPLET_RELAY": "auto"})
    assert relay(universe(own)) == "auto"
    monkeypatch.setenv("COUPLET_RELAY", "none")
    assert relay(universe(NOWCAST)) is None


def test_the_batch_script(tmp_path: Path) -> None:
    folder = tmp_path / "a b"
    folder.mkdir()
    configuration = universe(Program("viewer", ["./viewer"]), OCEAN, NOWCAST)
    configuration.path = folder / "coupled.toml"
    assert script(configuration, False).splitlines() == [
        "#!/bin/bash",
        f"# Written by `couplet run --submit` for {folder}/coupled.toml.",
        "#SBATCH --job-name=tides",
        f"#SBATCH '--chdir={folder}'",
        "#SBATCH --output=couplet-%j.log",
        "# ocean",
        "#SBATCH --ntasks=4",
        "#SBATCH --nodes=2",
        "#SBATCH --cpus-per-task=3",
        "#SBATCH -p big",
        "#SBATCH --time=5",
        "#SBATCH hetjob",
        "# nowcast",
        "#SBATCH --ntasks=2",
        "",
        f"exec {COUPLET} run --plain '{folder}/coupled.toml'",
    ]
    separate = script(configuration, True)
    assert "hetjob" not in separate and "#SBATCH --ntasks=1\n" in separate and "unset" in separate
    # The queue of the first program is also that of the job for couplet run itself.
    assert "#SBATCH --ntasks=1\n#SBATCH -p big\n#SBATCH --time=5\n" in separate and "pmix" not in separate
    with pytest.raises(slurm.SlurmError, match='no program has launcher = "slurm"'):
        script(universe(Program("viewer", ["./viewer"])), False)


ODD = 'it\'s "a" $(touch canary) `touch canary` #1; touch canary & \\'
BREAKING = ["x\ntouch canary\n#", "x\rtouch canary", "x\x0btouch canary", "x\x1b[2J", "\u2028x", "x\udcff"]


def ran(text: str, folder: Path) -> list[Path]:
    """Executes a batch script whose command does nothing, and returns the files that it has made."""
    subprocess.run(["bash", "-n"], input=text, text=True, check=True)
    subprocess.run(["bash"], input=text, text=True, check=True, cwd=folder, capture_output=True)
    return list(folder.rglob("canary"))


@pytest.mark.parametrize("separate", [False, True])
def test_odd_names_and_options_are_no_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, separate: bool) -> None:
    monkeypatch.setattr("couplet.cli.submit._couplet", lambda: "true")
    folder = tmp_path / ODD
    folder.mkdir()
    options = [f"--comment={ODD}", "-p", ODD]
    configuration = universe(Program("ocean", ["./ocean"], "slurm", 2, launcher_options=options))
    configuration.path, configuration.name = folder / "coupled.toml", ODD
    assert ran(script(configuration, separate), tmp_path) == []


@pytest.mark.parametrize("breaking", BREAKING)
@pytest.mark.parametrize("place", ["folder", "name", "option", "option of the step"])
def test_a_line_break_is_refused_where_it_would_begin_a_command(tmp_path: Path, place: str, breaking: str) -> None:
    options = {"option": ["--comment", breaking], "option of the step": [f"--cpu-bind={breaking}"]}.get(place, [])
    configuration = universe(Program("ocean", ["./ocean"], "slurm", 2, launcher_options=options))
    if place == "folder":
        configuration.path = tmp_path / breaking / "coupled.toml"
    if place == "name":
        configuration.name = breaking
    with pytest.raises(slurm.SlurmError, match="a line of a batch script cannot hold") as caught:
        script(configuration, False)
    assert str(caught.value).isprintable()


def test_commands_that_are_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(slurm.SlurmError, match="scontrol is not installed here"):
        slurm.ask("scontrol", "ping")
    with pytest.raises(slurm.SlurmError, match='salloc is not installed here; program "ocean" needs it'):
        slurm.Job(OCEAN, "tides", lambda *_: None)
    with pytest.raises(slurm.SlurmError, match="sbatch is not installed here; couplet run --submit --print shows"):
        submit("#!/bin/sh\n", tmp_path)


def write(folder: Path, *lines: str) -> Path:
    file = folder / "coupled.toml"
    file.write_text("\n".join(["[[program]]", 'name = "ocean"', 'command = ["true"]', *lines, ""]))
    return file


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (['launcher = "slurm"', "nodes = 0"], "line 5: nodes has to be at least 1, not 0"),
        (['launcher = "slurm"', "threads = -1"], "line 5: threads has to be at least 1, not -1"),
        (['launcher = "slurm"', "ranks = 2", "nodes = 3"], "nodes has to be at most ranks, and 3 is more than 2"),
        (["nodes = 1"], 'line 4: nodes is only for launcher = "slurm", and this program has launcher = "none"'),
        (['launcher = "mpich"', "threads = 2"], 'line 5: threads is only for launcher = "slurm", and this program'),
        (['launcher = "slurm"', 'nodes = "2"'], 'line 5: "nodes" has to be a positive number'),
        (['launcher = "slurm"', "node = 2"], 'did you mean "nodes"?'),
        (['launcher = "slurm"', 'launcher_options = ["-A", "x", "-n", "8"]'],
         "line 5: -n in launcher_options is the key ranks (ranks = N)"),
        (['launcher = "slurm"', 'launcher_options = ["-N3"]'], "-N in launcher_options is the key nodes"),
        (['launcher = "slurm"', 'launcher_options = ["--cpus-per-task=4"]'], "is the key threads (threads = N)"),
        (['launcher = "slurm"', 'launcher_options = ["--job-name=x"]'], "--job-name in launcher_options is set by"),
        (['launcher = "slurm"', 'launcher_options = ["--acc=climate"]'],
         "--acc in launcher_options is not written in full, so the job of the program would not get it (--account)"),
        (['launcher = "slurm"', 'launcher_options = ["--exclu"]'], "(--exclude or --exclusive)"),
    ],
)  # fmt: skip
def test_mistakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: list[str], says: str) -> None:
    monkeypatch.setattr(launch, "launcher_executable", lambda _: "/usr/bin/launcher")
    with pytest.raises(ConfigurationError) as caught:
        load(write(tmp_path, *lines))
    assert says in str(caught.value)


def test_a_launcher_that_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "launcher_executable", lambda _: None)
    with pytest.raises(ConfigurationError, match='launcher "slurm" is not installed here'):
        load(write(tmp_path, 'launcher = "slurm"'))


def test_good_options_are_no_mistakes() -> None:
    words = [
        "-A",
        "x",
        "-pbig",
        "--time=1:00",
        "--mem=4G",
        "--mem-bind=local",
        "--exclusive",
        "--mpi=pmix",
        "-m",
        "block",
    ]
    assert slurm.mistaken_option([*words, "--ntasks-per-node=2", "--cpu-bind", "none", "--gpu-bind=x", "--"]) is None


@pytest.mark.parametrize("printed", ["", "no number", "7;other;cluster"])
def test_the_number_of_a_submitted_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, printed: str) -> None:
    (tmp_path / "sbatch").write_text(f"#!/bin/sh\necho '{printed}'\n")
    (tmp_path / "sbatch").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    if printed.startswith("7"):
        assert submit("#!/bin/sh\n", tmp_path) == "7"
    else:
        with pytest.raises(slurm.SlurmError, match="sbatch has not said the number of the job, but '"):
            submit("#!/bin/sh\n", tmp_path)


@pytest.mark.parametrize("option", ["--print", "--separate-jobs"])
def test_options_that_need_submit(tmp_path: Path, option: str) -> None:
    done = subprocess.run([COUPLET, "run", option, write(tmp_path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, f"couplet: {option} needs --submit\n")


def test_nothing_to_submit(tmp_path: Path) -> None:
    done = subprocess.run([COUPLET, "run", "--submit", write(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert 'no program has launcher = "slurm", so there is nothing for which a job could be submitted' in done.stderr
