"""CoToCoA's workers in Python, over Couplet. A worker written for ctca4py runs unchanged
(docs/guide/from-cotocoa.md).
"""

from ctca4py.ctcaworker import (
    AREA_INT,
    AREA_REAL4,
    AREA_REAL8,
    DAT_INT,
    DAT_REAL4,
    DAT_REAL8,
    CTCAWorker,
)

__all__ = ["AREA_INT", "AREA_REAL4", "AREA_REAL8", "DAT_INT", "DAT_REAL4", "DAT_REAL8", "CTCAWorker"]
