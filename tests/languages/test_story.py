"""The same story in each language, each pair of languages as separate launches.

The writer puts 20 steps of a 3-D array of unequal extents, half of them in place. The reader reads a box of each and
checks every value. Then they exchange messages: any source and tag, sizes 0 to 100,000, requests in another order.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from launching import LANGUAGES, World, command_for


@pytest.mark.parametrize("reader", LANGUAGES)
@pytest.mark.parametrize("writer", LANGUAGES)
def test_story(make_world: Callable[..., World], writer: str, reader: str) -> None:
    commands = [[*command_for("story", writer), "writer"], [*command_for("story", reader), "reader"]]
    told = make_world("writer:1,reader:1").run_together(*commands)
    assert [ended.output for ended in told] == [
        f"{writer} writer: the story is told\n",
        f"{reader} reader: the story is told\n",
    ]
