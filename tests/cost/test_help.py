"""``--help`` shows the commands on costs as their options say it: no word is taken for a mark of the terminal."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import typer.main

from couplet.cli import app


@pytest.mark.parametrize("command", ["probe", "fit", "predict", "place"])
def test_every_word_of_the_help_is_shown(
    couplet: Callable[..., Any], command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    shown = re.sub(r"\s+", " ", couplet(command, "--help").stdout)
    group: Any = typer.main.get_command(app)
    for option in group.commands[command].params:
        text = re.sub(r"\s+", " ", option.help or "")
        assert text and text in shown, option.name
