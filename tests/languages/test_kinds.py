"""Every element type, and in Fortran every rank: series and messages from a process to itself."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from launching import World, command_for


@pytest.mark.parametrize("language", ["cpp", "fortran", "python"])
def test_every_kind(make_world: Callable[..., World], language: str) -> None:
    (ended,) = make_world("solo:1").run_together(command_for("kinds", language))
    assert ended.output.startswith(f"{language}: all ")
