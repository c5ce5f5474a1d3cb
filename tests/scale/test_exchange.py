"""The methods of exchange over MPI, and the proxy of coalesced rounds, under SimGrid; make scale runs larger cases."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import exchange_cases
import simgrid
from exchange_cases import Case

IS_LONG = os.environ.get("COUPLET_SCALE") == "1"  # make scale
if (reason := simgrid.missing()) is not None:
    pytest.skip(reason, allow_module_level=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scale")


def test_coalesced_rounds_send_one_message_to_each_peer_and_wait_once(folder: Path) -> None:
    program = exchange_cases.coalesce_program(simgrid.PROGRAMS)
    found = exchange_cases.run_coalesce(folder / "coalesce", program, ranks=27, per_node=4, rounds=6, period=3)
    apart, waits, merged = found
    assert apart["messages"] == waits["messages"] > merged["messages"]
    assert apart["waits"] > waits["waits"] == merged["waits"] == 1
    # 18 to the neighbours of the kernel, and one to the parent in the tree, unless that is one of them.
    assert 18 <= merged["messages"] < 19
    assert merged["communication_s"] < apart["communication_s"]


@pytest.mark.skipif(not IS_LONG, reason="make scale runs it: the methods take half a minute to compile")
@pytest.mark.parametrize("method", exchange_cases.METHODS)
def test_a_method_carries_out_its_rounds(folder: Path, method: str) -> None:
    """The program checks the contents of each message."""
    program = exchange_cases.methods_program(simgrid.PROGRAMS)
    case = Case(method, "3d", ranks=27, per_node=4, neighbors=18, doubles="10,100", rounds=2)
    found = exchange_cases.run_case(folder / method, program, case)
    # A message of 100 doubles takes two latencies of 0.25 us at least, and all together less than a millisecond.
    assert 0.5e-6 < found["round_s"] < 1e-3
