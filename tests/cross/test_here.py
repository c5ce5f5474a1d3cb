"""The programs of `make test-cross`, on this machine alone."""

from __future__ import annotations

import sys
from collections.abc import Callable

from launching import BUILD, World
from needs import built


def test_values_of_all_types(make_world: Callable[..., World]) -> None:
    """Messages, collective calls, series and areas of every element type, between all ranks."""
    order = sys.byteorder
    program = built(BUILD / "tests" / "programs" / "mixed", "c")
    names = ("left", "middle", "right")
    told = make_world("left:1,middle:1,right:1").run_together(*[[program, name] for name in names])
    assert [ended.output for ended in told] == [f"{name}: {order}-endian: all values are right\n" for name in names]
