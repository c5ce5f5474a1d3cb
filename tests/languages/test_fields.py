"""Several fields of a step, several boxes of a rank, arrays with gaps, times: each pair of languages.

The writer puts 6 steps of a density (two boxes) and a level, half of them in place, and half of them from an array with
ghost cells. The reader reads a box of each field, half of the batches into an array of another order, and then the
first retained step of each interval of time. Both make mistakes on purpose, which must be named.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from launching import LANGUAGES, World, command_for


@pytest.mark.parametrize("reader", LANGUAGES)
@pytest.mark.parametrize("writer", LANGUAGES)
def test_fields(make_world: Callable[..., World], writer: str, reader: str) -> None:
    commands = [[*command_for("fields", writer), "writer"], [*command_for("fields", reader), "reader"]]
    told = make_world("writer:1,reader:1").run_together(*commands)
    assert [ended.output for ended in told] == [f"{writer} writer: 6 steps\n", f"{reader} reader: 6 steps\n"]
