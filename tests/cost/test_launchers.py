"""What ``couplet place`` writes is read by real launchers and by ROMIO."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest
from needs import compiler, launcher

from couplet.cost.launch_files import write_all

HINTS = """\
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_File file;
  MPI_Info info;
  MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_File_get_info(file, &info);
  const char* keys[] = {"cb_nodes", "cb_config_list", "cb_buffer_size", "romio_cb_write"};
  char value[MPI_MAX_INFO_VAL + 1];
  for (int key = 0; key < 4; key++) {
    int found = 0;
    MPI_Info_get(info, (char*)keys[key], MPI_MAX_INFO_VAL, value, &found);
    printf("%s %s\\n", keys[key], found ? value : "-");
  }
  MPI_Info_free(&info);
  MPI_File_close(&file);
  MPI_Finalize();
}
"""


def run(command: list[str], folder: Path, **extra: str) -> str:
    # Without the settings that let the tests of this project start more processes than there are cores.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OMPI_MCA_", "PRTE_MCA_"))}
    environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", **extra}
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,  # MPICH's launcher dies of SIGPIPE if it forwards input to a program that has ended
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout


def test_open_mpi_reads_host_file_and_rank_file(tmp_path: Path) -> None:
    write_all(tmp_path, ["localhost"], [1], None)
    for option in ("hostfile", "rankfile"):
        name = f"openmpi.{option}"
        assert run([launcher("openmpi"), f"--{option}", name, "-n", "1", "echo", "there"], tmp_path) == "there\n"


def test_open_mpi_refuses_more_processes_than_the_host_file_has(tmp_path: Path) -> None:
    write_all(tmp_path, ["localhost"], [1], None)
    with pytest.raises(AssertionError, match="slots"):
        run([launcher("openmpi"), "--hostfile", "openmpi.hostfile", "-n", "2", "true"], tmp_path)


def test_mpich_reads_the_host_list(tmp_path: Path) -> None:
    write_all(tmp_path, ["localhost"], [3], None)
    assert run([launcher("mpich"), "-f", "mpich.hosts", "echo", "there"], tmp_path) == "there\n" * 3


def test_romio_takes_the_hints(tmp_path: Path) -> None:
    write_all(tmp_path, [socket.gethostname()], [1], [0], 1 << 20)
    (tmp_path / "hints.c").write_text(HINTS)
    run([compiler("c", "mpich"), "hints.c", "-o", "hints"], tmp_path)
    command = [launcher("mpich"), "-n", "1", "./hints", "data"]
    assert run(command, tmp_path, ROMIO_HINTS=str(tmp_path / "romio.hints")).splitlines() == [
        "cb_nodes 1",
        f"cb_config_list {socket.gethostname()}:1",
        "cb_buffer_size 1048576",
        "romio_cb_write enable",
    ]
