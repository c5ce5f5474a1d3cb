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
