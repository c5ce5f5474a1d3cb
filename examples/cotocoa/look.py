"""Worker program 2: the same in Python, over its group of two ranks."""

import numpy

from ctca4py import CTCAWorker

worker = CTCAWorker()
worker.CTCAW_init(2, 2)
heat = worker.CTCAW_regarea(CTCAWorker.AREA_REAL8)
means = worker.CTCAW_regarea(CTCAWorker.AREA_REAL8)
while True:
    rank, parameters = worker.CTCAW_pollreq(3)
    if worker.CTCAW_isfin():
        break
    step, i, j = (int(each) for each in parameters)
    rows = range(j - 3 + worker.subrank, j + 2, 2)  # every second one each
    read = [worker.CTCAW_readarea(heat, rank, 40 * row + i - 3, 5, CTCAWorker.AREA_REAL8) for row in rows]
    mean = worker.CTCA_subcomm.allreduce(sum(float(row.sum()) for row in read)) / 25
    if worker.subrank == 0:
        worker.CTCAW_writearea(means, rank, step - 1, 1, numpy.array([mean]), CTCAWorker.AREA_REAL8)
    worker.CTCAW_complete()
worker.CTCAW_finalize()
