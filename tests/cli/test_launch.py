"""The environment that ``couplet run`` gives a program."""

from __future__ import annotations

import pytest

from couplet.cli.configuration import Program
from couplet.cli.launch import environment

UNIVERSE = {"COUPLET_HUB": "127.0.0.1:1", "COUPLET_SECRET_FILE": "/run/scratch/secret"}
NAMES = tuple(f"OMPI_MCA_orte_{where}tmpdir_base" for where in ("", "local_", "remote_"))


def test_launchers_of_open_mpi_have_directories_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    programs = [Program(name, ["./model"], launcher="openmpi") for name in ("ocean", "nowcast")]
    assert [environment(each, UNIVERSE, None)[NAMES[0]] for each in programs] == [
        "/run/scratch/ocean",
        "/run/scratch/nowcast",
    ]
    assert NAMES[0] not in environment(Program("ice", ["./model"]), UNIVERSE, 0)


@pytest.mark.parametrize("name", NAMES)
def test_a_directory_of_the_user_stays(name: str) -> None:
    program = Program("ocean", ["./model"], launcher="openmpi", environment={name: "/scratch/mine"})
    given = environment(program, UNIVERSE, None)
    assert {key: value for key, value in given.items() if key in NAMES} == {name: "/scratch/mine"}
