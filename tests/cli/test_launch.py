"""The environment that ``couplet run`` gives a program."""

from __future__ import annotations

import pytest

from couplet.cli.configuration import Program
from couplet.cli.launch import environment

UNIVERSE = {"COUPLET_HUB": "127.0.0.1:1", "COUPLET_SECRET_FILE": "/run/scratch/secret"}
LOCAL, EVERYWHERE = "OMPI_MCA_orte_local_tmpdir_base", "OMPI_MCA_orte_tmpdir_base"


def test_launchers_of_open_mpi_have_directories_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (LOCAL, EVERYWHERE):
        monkeypatch.delenv(name, raising=False)
    programs = [Program(name, ["./model"], launcher="openmpi") for name in ("ocean", "nowcast")]
    assert [environment(each, UNIVERSE, None)[LOCAL] for each in programs] == [
        "/run/scratch/ocean",
        "/run/scratch/nowcast",
    ]
    assert LOCAL not in environment(Program("ice", ["./model"]), UNIVERSE, 0)


@pytest.mark.parametrize("name", [LOCAL, EVERYWHERE])
def test_a_directory_of_the_user_stays(name: str) -> None:
    program = Program("ocean", ["./model"], launcher="openmpi", environment={name: "/scratch/mine"})
    given = environment(program, UNIVERSE, None)
    assert {key: value for key, value in given.items() if key in (LOCAL, EVERYWHERE)} == {name: "/scratch/mine"}
