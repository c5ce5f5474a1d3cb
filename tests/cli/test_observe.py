"""What ``couplet run`` and ``couplet watch`` see of a universe that is just being removed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from couplet.cli import observe


@pytest.mark.parametrize("look", [observe.Node.pages, observe.Node.series], ids=["pages", "series"])
def test_a_directory_that_is_removed_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, look) -> None:
    """couplet run said "cannot start", and ended with 1, if the last process removed it at the wrong moment."""
    directory = tmp_path / "0123456789abcdef"
    directory.mkdir()
    scan = os.scandir

    def remove_and_scan(path: str | Path) -> object:
        if directory.exists():
            directory.rmdir()
        return scan(path)

    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", remove_and_scan)
        assert not look(observe.Node(directory))
    assert not directory.exists()
