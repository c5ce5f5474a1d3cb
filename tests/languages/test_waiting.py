"""Waiting for any of two series, messages and a request: each pair of languages, in a call and in an event loop.

The source writes two series at different paces, sends ten numbers and a last one. The waiter takes what is ready, with
calls that do not wait, until it has everything. Before that, both make mistakes, which are refused with a text.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from launching import LANGUAGES, World, command_for


@pytest.mark.parametrize("how", ["waiter", "loop"])
@pytest.mark.parametrize("waiter", LANGUAGES)
@pytest.mark.parametrize("source", LANGUAGES)
def test_waiting_for_any(make_world: Callable[..., World], source: str, waiter: str, how: str) -> None:
    commands = [[*command_for("waiting", source), "source"], [*command_for("waiting", waiter), how]]
    told = make_world("source:1,waiter:1").run_together(*commands)
    assert [ended.output for ended in told] == ["", f"{waiter}: 20 fast, 5 slow, 10 numbers\n"]
