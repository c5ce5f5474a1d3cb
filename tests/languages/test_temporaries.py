"""Fortran: a non-blocking call must not take an expression, whose memory is gone before the call is complete."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from launching import BUILD
from needs import compiler

PROGRAM = """
program temporaries
  use couplet
  implicit none
  type(couplet_group) :: group
  type(couplet_exchange) :: exchange
  type(couplet_step_manager) :: manager
  type(couplet_request) :: request
  real, asynchronous :: u(10), v(10)
  u = 1
  v = 0
  {call}
end program
"""
CALLS = [
    "call group%isend({u}, 1, 0, request)",
    "call group%ibroadcast({u}, 0, request)",
    "call group%iallreduce({u}, v, couplet_operation_sum, request)",
    "call exchange%send({u}, 1)",
    "call exchange%send_list({u}, [1, 2], 1)",
    "call manager%send(0, {u}, 1)",
    "call manager%send_list(0, {u}, [1, 2], 1)",
]


def compiles(directory: Path, call: str) -> subprocess.CompletedProcess[str]:
    source = directory / "temporaries.f90"
    source.write_text(PROGRAM.format(call=call))
    command = [compiler("fortran"), "-fsyntax-only", "-I", str(BUILD / "fortran" / "modules"), str(source)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("call", CALLS)
def test_a_temporary_is_refused_by_the_compiler(tmp_path: Path, call: str) -> None:
    variable = compiles(tmp_path, call.format(u="u"))
    assert variable.returncode == 0, variable.stderr
    temporary = compiles(tmp_path, call.format(u="2*u"))
    assert temporary.returncode != 0, f"{call} takes an expression"
