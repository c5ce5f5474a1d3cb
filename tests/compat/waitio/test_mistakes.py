"""Every mistake is answered by a value that is not 0 and by one sentence, which says which process, what and where. The
others go on, and no process hangs.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from launching import World
from waitio import file_variables, finish, free_port, nothing_left, silent_port, start_block, start_blocks, variables

MakeWorld = Callable[..., World]
PB1 = "WaitIO PB 1, rank 0: "
# The mistake of PB 1, what the call returns, and the sentence.
MISTAKES = [
    ("rank", 1, "waitio_isend: the group has no rank 9; it has 0 to 1"),
    ("negative rank", 1, "waitio_irecv: the group has no rank -1; it has 0 to 1"),
    ("tag", 1, "waitio_mpi_send: tag -5 is negative; tags are 0 to 2147483647"),
    ("type", 1, "waitio_mpi_send: 77 is no datatype; there are WAITIO_MPI_INT"),
    ("count", 1, "waitio_mpi_recv: count is -4; it has to be at least 0"),
    ("null group", 1, "waitio_isend: the group is NULL"),
    ("junk group", 1, "waitio_group_rank: the group is none that this process has made"),
    ("null request", 1, "waitio_isend: req is NULL"),
    ("no PB", 1, "waitio_create_pbgroup: there is no PB 5; there are 0 to 1"),
    ("no such rank in a list", 1, "waitio_create_group_wranks: PB 0 has no rank 2; it has 0 to 0"),
    ("no filters", 1, "waitio_create_group: f is NULL"),
    ("nobody in a group", 1, "waitio_create_group: no rank is chosen"),
    ("junk request", 1, "waitio_wait: this is no request"),
    ("stale request", 1, "waitio_wait: this request is complete: a copy of it was waited for"),
    ("waitall with junk", 1, "waitio_mpi_waitall: this is no request"),
    ("truncation", 102, "waitio_mpi_recv: .*16 bytes"),
    ("zeroed request", 4711, ""),
    ("init twice", 4711, ""),
    ("nothing", 0, ""),
]
# Mistakes in collective calls: what all ranks print.
TOGETHER = [
    ("operation", r"9 is no operation; there are WAITIO_MPI_SUM, _MAX and _MIN"),
    ("root", r"has no rank 9 for a root; it has 0 to 1"),
    ("counts", r"calls allreduce of [01] double by sum .* allreduce of [01] double by sum"),
]
# A wrong environment: the variables that differ from right ones, and the sentence.
WRONG = [
    ({"WAITIO_PBID": ""}, "WAITIO_PBID is not set; it has to be the id of this parallel block"),
    ({"WAITIO_NPB": ""}, "WAITIO_NPB is not set; it has to be the number of parallel blocks, a whole number from 1"),
    ({"WAITIO_MASTER_HOST": ""}, "WAITIO_MASTER_HOST is not set; it has to be the host of rank 0 of parallel block 0"),
    ({"WAITIO_PBID": "1"}, "WAITIO_PBID is '1'; it has to be the id of this parallel block, less than WAITIO_NPB"),
    ({"WAITIO_PBID": "one"}, "WAITIO_PBID is 'one'; it has to be"),
    ({"WAITIO_NPB": "0"}, "WAITIO_NPB is '0'; it has to be the number of parallel blocks"),
    ({"WAITIO_NPB": "300"}, "WAITIO_NPB is '300'; it has to be the number of parallel blocks"),
    ({"WAITIO_MASTER_PORT": "70000"}, "WAITIO_MASTER_PORT is '70000'; it has to be the port"),
    ({"WAITIO_COMM_TYPE": "sockets"}, "WAITIO_COMM_TYPE is 'sockets'; it has to be socket, file, hybrid or verbs"),
    ({"WAITIO_COMM_TYPE": "file"}, "WAITIO_SCRATCH_DIR is not set; it has to be the absolute path of a directory"),
    ({"WAITIO_COMM_TYPE": "hybrid", "WAITIO_SCRATCH_DIR": "/tmp"}, "COUPLER_JOB_ID is not set; it has to be a name"),
    (
        {"WAITIO_COMM_TYPE": "file", "WAITIO_SCRATCH_DIR": "tmp", "COUPLER_JOB_ID": "1"},
        "WAITIO_SCRATCH_DIR is 'tmp'; it has to be an absolute path",
    ),
    (
        {"WAITIO_COMM_TYPE": "file", "COUPLER_JOB_ID": "1", "WAITIO_SCRATCH_DIR": "/absent/scratch"},
        "WAITIO_SCRATCH_DIR is '/absent/scratch': No such file or directory; it has to be the absolute path of a dir",
    ),
    (
        {"WAITIO_COMM_TYPE": "hybrid", "COUPLER_JOB_ID": "1", "WAITIO_SCRATCH_DIR": "/etc/passwd"},
        "WAITIO_SCRATCH_DIR is '/etc/passwd': Not a directory; it has to be the absolute path of a directory",
    ),
    ({"WAITIO_HYBRID_THRESHOULD": "1 KiB"}, "WAITIO_HYBRID_THRESHOULD is '1 KiB'; it has to be the length"),
    ({"WAITIO_MAXFILE_SIZE_PER_PROC": "-1"}, "WAITIO_MAXFILE_SIZE_PER_PROC is '-1'; it has to be a number of bytes"),
    ({"COUPLET_JOIN_TIMEOUT": "soon"}, "COUPLET_JOIN_TIMEOUT is 'soon'; it has to be a number of seconds"),
]


def test_mistakes(make_world: MakeWorld, tmp_path: Path) -> None:
    """PB 1 makes all of them, one after the other. Each is answered by a value and a sentence, and all go on."""
    world = make_world("")
    errors = tmp_path / "errors"
    words = [what for what, _, _ in MISTAKES]
    right, wrong = (
        each.check().output for each in finish(world, start_blocks(world, (1, 1), ["mistake"], words, errors=errors))
    )
    assert right == "sum right\n"
    assert wrong.splitlines() == [f"{what}: {returned}" for what, returned, _ in MISTAKES] + ["sum right"]
    said = errors.read_text().splitlines()
    sentences = [sentence for _, _, sentence in MISTAKES if sentence]
    assert len(said) == len(sentences), said
    for line, sentence in zip(said, sentences, strict=True):
        assert re.match(PB1 + sentence, line), line
    nothing_left(world)


@pytest.mark.parametrize(("what", "sentence"), TOGETHER, ids=[each[0] for each in TOGETHER])
def test_a_collective_mistake_fails_at_all(make_world: MakeWorld, tmp_path: Path, what: str, sentence: str) -> None:
    world = make_world("")
    errors = tmp_path / "errors"
    for ended in finish(world, start_blocks(world, (1, 1), ["mistake"], [what], errors=errors)):
        assert re.fullmatch(r"returned [1-9]\d*\nsum right\n", ended.check().output), ended.output
    said = errors.read_text().splitlines()
    assert sorted(line[:13] for line in said) == ["WaitIO PB 0, ", "WaitIO PB 1, "], said
    assert all(re.search(sentence, line) for line in said), said
    nothing_left(world)


@pytest.mark.parametrize(
    ("what", "output", "sentence"),
    [
        ("before init", "returned 1\nsum right\n", "WaitIO: waitio_pb_size: waitio_init has to be called before"),
        ("finalize before init", "returned 1\nsum right\n", "WaitIO: waitio_finalize: waitio_init has to be called"),
        ("before MPI_Init", "returned 1\n", "WaitIO: waitio_init: MPI is not initialised"),
        ("double finalize", "sum right\nreturned 0 then 1\n", r"waitio_finalize: waitio_finalize was called before"),
        ("init again", "sum right\nreturned 1\n", "waitio_init: waitio_finalize was called before"),
        ("finalize with requests", "sum right\nreturned 0\nthen 1\n", "waitio_wait: waitio_finalize was called before"),
    ],
)
def test_order(make_world: MakeWorld, tmp_path: Path, what: str, output: str, sentence: str) -> None:
    world = make_world("")
    errors = tmp_path / "errors"
    (ended,) = finish(world, start_blocks(world, (1,), ["mistake"], [what], errors=errors))
    assert ended.check().output == output
    (said,) = errors.read_text().splitlines()
    assert sentence in said
    nothing_left(world)


def test_not_a_member(make_world: MakeWorld, tmp_path: Path) -> None:
    world = make_world("")
    errors = tmp_path / "errors"
    (ended,) = finish(world, start_blocks(world, (2,), ["mistake"], ["not a member"], errors=errors))
    assert sorted(ended.check().output.splitlines()) == ["returned 1", "sum right", "sum right"]
    assert re.match(r"WaitIO PB 0, rank 1: waitio_mpi_allreduce: .*member", errors.read_text())
    nothing_left(world)


@pytest.mark.parametrize(
    ("wrong", "sentence"), WRONG, ids=[f"{[*each[0]][-1]}={[*each[0].values()][-1]}" for each in WRONG]
)
def test_wrong_environment(make_world: MakeWorld, tmp_path: Path, wrong: dict[str, str], sentence: str) -> None:
    """A process without a launcher is rank 0 of 1."""
    world = make_world("")
    errors = tmp_path / "errors"
    own = variables(0, 1, free_port()) | wrong
    ended = world.finish(start_block(world, "mpich", 0, "mistake", errors=errors, **own))
    assert ended.output == "init failed\n"
    (said,) = errors.read_text().splitlines()
    assert said.startswith("WaitIO, rank 0 of its launch: waitio_create_universe: " + sentence), said
    nothing_left(world)


@pytest.mark.parametrize(
    ("own", "others", "sentences"),
    [
        (
            {"WAITIO_NPB": "2"},
            {"WAITIO_NPB": "3"},
            ["WAITIO_NPB is 2 here, and 3 in PB 1", "WAITIO_NPB is 3 here, and 2 in PB 0"],
        ),
        (
            {"WAITIO_COMM_TYPE": "socket"},
            {"WAITIO_COMM_TYPE": "verbs"},
            ["WAITIO_COMM_TYPE is 'socket' here, and 'verbs' in PB 1", "is 'verbs' here, and 'socket' in PB 0"],
        ),
    ],
    ids=["NPB", "COMM_TYPE"],
)
def test_the_others_have_other_settings(
    make_world: MakeWorld, tmp_path: Path, own: dict[str, str], others: dict[str, str], sentences: list[str]
) -> None:
    world = make_world("")
    port = free_port()
    errors = [tmp_path / "errors0", tmp_path / "errors1"]
    started = [
        start_block(world, "openmpi", 2, "mistake", errors=errors[0], **(variables(0, 2, port) | own)),
        start_block(world, "mpich", 2, "mistake", errors=errors[1], **(variables(1, 2, port) | others)),
    ]
    for ended in finish(world, started):
        assert ended.output.count("init failed") == 2
    for file, sentence in zip(errors, sentences, strict=True):
        said = [line for line in file.read_text().splitlines() if "no link yet" not in line]
        assert len(said) == 1, said
        assert sentence in said[0]
    nothing_left(world)


def test_one_rank_says_what_is_wrong(make_world: MakeWorld, tmp_path: Path) -> None:
    world = make_world("")
    errors = tmp_path / "errors"
    ended = world.finish(start_block(world, "openmpi", 2, "mistake", errors=errors, WAITIO_NPB="2"))
    assert ended.output.count("init failed") == 2
    (said,) = errors.read_text().splitlines()
    assert "WAITIO_PBID is not set" in said
    nothing_left(world)


def test_two_blocks_have_the_same_id(make_world: MakeWorld, tmp_path: Path) -> None:
    """One of the two launches is told, and the other one goes on when the right block comes."""
    world = make_world("")
    port = free_port()
    errors = [tmp_path / "errors0", tmp_path / "errors1"]
    first = [start_block(world, "openmpi", 1, "mistake", errors=each, **variables(0, 2, port)) for each in errors]
    outputs = []
    while not (done := [process for process in first if process.poll() is not None]):
        time.sleep(0.02)
    outputs.append(world.finish(done[0]).output)
    missing = start_block(world, "mpich", 1, "mistake", **variables(1, 2, port))
    outputs += [world.finish(process).check().output for process in first if process not in done]
    assert world.finish(missing).check().output == "sum right\n"
    assert outputs == ["init failed\n", "sum right\n"]
    said = "".join(file.read_text() for file in errors)
    assert re.fullmatch(r"WaitIO PB 0, rank 0: waitio_create_universe: .*rank 0 of program 'pb0'.*\n", said), said
    nothing_left(world)


def test_a_block_never_comes(make_world: MakeWorld, tmp_path: Path) -> None:
    world = make_world("")
    errors = tmp_path / "errors"
    own = variables(0, 2, free_port(), COUPLET_JOIN_TIMEOUT="1")
    ended = world.finish(start_block(world, "openmpi", 1, "mistake", errors=errors, **own))
    assert ended.output == "init failed\n"
    (said,) = errors.read_text().splitlines()
    assert said.endswith("waiting for program 'pb1' (0 of ? ranks)"), said
    assert said.startswith("WaitIO PB 0, rank 0: waitio_create_universe: "), said
    nothing_left(world)


def test_there_is_no_block_0(make_world: MakeWorld, tmp_path: Path) -> None:
    world = make_world("")
    errors = tmp_path / "errors"
    with silent_port() as port:
        own = variables(1, 2, port, COUPLET_JOIN_TIMEOUT="1")
        ended = world.finish(start_block(world, "mpich", 2, "mistake", errors=errors, **own))
    assert ended.output.count("init failed") == 2
    (said,) = errors.read_text().splitlines()
    assert re.match(rf"WaitIO PB 1, rank 0: waitio_create_universe: no hub at 127.0.0.1:{port}", said), said
    assert said.endswith("; PB 0 has to run there (WAITIO_MASTER_HOST, WAITIO_MASTER_PORT)"), said
    nothing_left(world)


def test_there_is_no_block_0_in_the_directory(make_world: MakeWorld, tmp_path: Path) -> None:
    world = make_world("")
    errors = tmp_path / "errors"
    own = variables(1, 2, free_port(), COUPLET_JOIN_TIMEOUT="1") | file_variables(world)
    ended = world.finish(start_block(world, "mpich", 1, "mistake", errors=errors, **own))
    assert ended.output == "init failed\n"
    (said,) = errors.read_text().splitlines()
    assert re.match(r"WaitIO PB 1, rank 0: waitio_create_universe: no hub at file:/", said), said
    assert said.endswith("; PB 0 has to run with the same directory and run (WAITIO_SCRATCH_DIR, COUPLER_JOB_ID)"), said
    nothing_left(world)


@pytest.mark.parametrize("kind", ["socket", "file"])
def test_a_block_dies(make_world: MakeWorld, tmp_path: Path, kind: str) -> None:
    """PB 0 waits for PB 1, which ends without a word."""
    world = make_world("")
    errors = tmp_path / "errors"
    extra = file_variables(world) if kind == "file" else {}
    first, second = finish(world, start_blocks(world, (1, 1), ["mistake"], ["dies"], errors=errors, **extra))
    assert first.check().output == "returned 201\n"
    assert second.status != 0
    said = [line for line in errors.read_text().splitlines() if line.startswith("WaitIO")]
    assert len(said) == 1, said
    assert re.match(r"WaitIO PB 0, rank 0: waitio_mpi_recv: program 'pb1' rank 0 .*is lost", said[0])


def test_the_master_host_is_unknown(make_world: MakeWorld, tmp_path: Path) -> None:
    world = make_world("")
    errors = tmp_path / "errors"
    own = variables(1, 2, free_port(), WAITIO_MASTER_HOST="no-such-host.invalid", COUPLET_JOIN_TIMEOUT="5")
    ended = world.finish(start_block(world, "openmpi", 1, "mistake", errors=errors, **own))
    assert ended.output == "init failed\n"
    (said,) = errors.read_text().splitlines()
    assert "host 'no-such-host.invalid' is unknown: " in said
    assert said.endswith(" (from WAITIO_MASTER_HOST, WAITIO_MASTER_PORT and WAITIO_PBID)"), said
    nothing_left(world)


def test_the_master_host_is_another_one(make_world: MakeWorld, tmp_path: Path) -> None:
    """PB 0 cannot start the hub, and nothing answers there."""
    world = make_world("")
    errors = tmp_path / "errors"
    own = variables(0, 1, free_port(), WAITIO_MASTER_HOST="192.0.2.1", COUPLET_JOIN_TIMEOUT="0.5")
    ended = world.finish(start_block(world, "openmpi", 1, "mistake", errors=errors, **own))
    assert ended.output == "init failed\n"
    (said,) = errors.read_text().splitlines()
    assert re.search(r"cannot start a hub at 192.0.2.1:\d+ \(WAITIO_MASTER_HOST, WAITIO_MASTER_PORT\): .*", said), said
