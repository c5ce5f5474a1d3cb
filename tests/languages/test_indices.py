"""Lists of indices in Python: what int() would cut is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from couplet import _arguments


@pytest.mark.parametrize(
    ("indices", "text"),
    [
        ([0, 0.7], r"indices\[1\] is 0.7; an index must be a whole number"),
        ([True, False], r"indices\[0\] is True: give indices, not a mask"),
        (np.array([False, True]), r"indices\[0\] is False: give indices, not a mask"),
        (["1"], r"indices\[0\] is '1'; an index must be a whole number"),
    ],
)
def test_what_is_no_index_is_refused(indices: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        _arguments.index_list(indices)


def test_whole_numbers_of_any_kind_are_indices() -> None:
    assert _arguments.index_list(np.array([3, 1], dtype=np.uint8)) == [3, 1]
    assert _arguments.index_list(range(2)) == [0, 1]
