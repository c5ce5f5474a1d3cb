"""Makes an operation of a function of this script, uses it, and ends: normally, or (argument `fails`) with an error.

usage: operation_python.py [fails]. The function holds the names of the script, and so all that the script has made.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import couplet

with couplet.join("solo") as universe:

    def add(left: Any, right: Any) -> Any:
        return left + right

    series = universe.create_series("eta", (3,))
    summed = universe.group.allreduce(np.ones(3), op=universe.create_operation("add", add))
    made = universe.group.allreduce(np.ones(3), op=universe.create_operation("product", lambda a, b: a * b))
    print(summed.tolist(), made.tolist(), flush=True)
    if sys.argv[1:] == ["fails"]:
        raise RuntimeError("the last line")
