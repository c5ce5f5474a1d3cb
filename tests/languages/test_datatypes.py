"""Messages of items that do not lie in memory one element after the other, from each language to each.

The sender's field has 10 row + column in each element. The messages are: a column; a part; two columns; a list of
elements; structures; 100 of 300 columns, which are too many for one frame; fewer items than there is room for; more.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from launching import LANGUAGES, World, command_for


@pytest.mark.parametrize("receiver", LANGUAGES)
@pytest.mark.parametrize("sender", LANGUAGES)
def test_items(make_world: Callable[..., World], sender: str, receiver: str) -> None:
    commands = [[*command_for("datatypes", sender), "sender"], [*command_for("datatypes", receiver), "receiver"]]
    told = make_world("sender:1,receiver:1").run_together(*commands)
    assert [ended.output for ended in told] == [f"{sender} sender: all items\n", f"{receiver} receiver: all items\n"]


def test_misuse(make_world: Callable[..., World]) -> None:
    (ended,) = make_world("misuse:1").run_together([*command_for("datatypes", "c"), "misuse"])
    assert ended.output == "c misuse: all items\n"
