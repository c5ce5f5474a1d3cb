"""Clients of each published variant of the buffer, and of the older names: programs/variant_*.c, variants.f90.

Each checks the contents of every step, and after each read that all ranks of its group have got the same step.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest
from cotocoa import Client, hub_list, nothing_left, start_apart, start_job
from launching import World

MakeWorld = Callable[..., World]
WAIT, OVERWRITE = 1, 2
VARIANTS = ["a", "b", "c", "old"]
STEPS = {WAIT: 40, OVERWRITE: 400}
SLOTS = {"COUPLET_SERIES_COTOCOA_BUFFER_0_SLOTS": "4"}


class Case(NamedTuple):
    flavour: str
    language: str
    variant: str
    method: int
    group: int  # ranks of a worker group
    together: bool  # one MPI job, or separate launches


ALL = [
    Case(flavour, language, variant, method, group, together)
    for flavour in ("openmpi", "mpich")
    for language in ("c", "fortran")
    for variant in VARIANTS
    for method in (WAIT, OVERWRITE)
    for group in (1, 2)
    for together in (True, False)
]
# Each pair of two neighbouring columns is met; the whole product is the long version.
SOME = [
    Case("openmpi", "c", "a", OVERWRITE, 2, True),
    Case("mpich", "fortran", "a", WAIT, 1, False),
    Case("mpich", "c", "b", OVERWRITE, 1, True),
    Case("openmpi", "fortran", "b", WAIT, 2, True),
    Case("openmpi", "c", "c", WAIT, 2, False),
    Case("mpich", "fortran", "c", OVERWRITE, 2, True),
    Case("mpich", "c", "old", WAIT, 1, True),
    Case("openmpi", "fortran", "old", OVERWRITE, 2, False),
]


def clients(case: Case) -> list[Client]:
    in_fortran = case.language == "fortran"
    program = "variants" if in_fortran else f"variant_{case.variant}"
    words = [case.method, STEPS[case.method], case.group, *([case.variant] if in_fortran else [])]
    return [
        Client(name, ranks, program, case.language, [role, *words])
        for name, role, ranks in (("requester", "requester", 2), ("coupler", "coupler", 1), ("worker1", "worker", 2))
    ]


def check(make_world: MakeWorld, case: Case) -> None:
    programs = clients(case)
    if case.together:
        world = make_world("")
        output = world.finish(start_job(world, case.flavour, programs, **SLOTS)).check().output
        nothing_left(world)
    else:
        world = make_world(hub_list(programs))
        started = [start_apart(world, case.flavour, program, **SLOTS) for program in programs]
        output = "".join(world.finish(process).check().output for process in started)
    steps = STEPS[case.method]
    line = f"worker: {steps} steps" if case.method == WAIT else f"worker: last step {steps - 1}"
    assert output.splitlines() == [line] * 2


@pytest.mark.stress
@pytest.mark.parametrize(
    "case", ALL if os.environ.get("COUPLET_STRESS") else SOME, ids=lambda case: "-".join(map(str, case))
)
def test_variant(make_world: MakeWorld, case: Case) -> None:
    check(make_world, case)


def test_python_says_that_the_launcher_is_of_another_mpi() -> None:
    """Four processes that each believe that they are alone would wait for one another for ever."""
    program = "from ctca4py import CTCAWorker; CTCAWorker()"
    environment = os.environ | {"PMI_SIZE": "4"}
    ended = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode != 0
    assert "ctca4py: MPICH's launcher has started 4 processes, but mpi4py uses" in ended.stderr
