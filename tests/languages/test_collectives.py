"""Every collective call in each language, over two programs."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from launching import LANGUAGES, World, command_for


@pytest.mark.parametrize("language", LANGUAGES)
def test_collective_calls(make_world: Callable[..., World], language: str) -> None:
    commands = [[*command_for("collectives", language), program] for program in ("left", "right")]
    for ended in make_world("left:1,right:1").run_together(*commands):
        assert ended.output == f"{language}: all collective calls are right\n"


@pytest.mark.parametrize("ending", ["", "fails"])
def test_an_operation_of_the_script_is_released_at_the_end(make_world: Callable[..., World], ending: str) -> None:
    """Fault: nanobind printed 18 lines on leaked objects after the last line of the script."""
    world = make_world("solo:1")
    ended = world.finish(world.start([*command_for("operation", "python"), *([ending] if ending else [])]))
    assert ended.output == "[1.0, 1.0, 1.0] [1.0, 1.0, 1.0]\n"
    assert ended.status == (1 if ending else 0)
    assert ended.errors.rstrip("\n").rpartition("\n")[2] == ("RuntimeError: the last line" if ending else "")
