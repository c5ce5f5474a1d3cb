"""worker.py ID PROCS PHASE: the same as worker.c."""

import sys

import numpy
from mpi4py import MPI

if sys.argv[3] == "2":
    from ctca4py import CTCAWorker
else:
    from ctca4py.ctcaworker import CTCAWorker

REQUESTS, PARAMETERS, DATA, FIELD = 6, 3, 4, 5
number, procs, phase = (int(word) for word in sys.argv[1:4])
worker = CTCAWorker()
worker.CTCAW_init(number, procs)
assert worker.CTCA_subcomm.Get_size() == procs
assert worker.CTCA_subcomm.Get_rank() == worker.subrank
assert worker.world_rank == MPI.COMM_WORLD.Get_rank()
worker.CTCAW_prof_start()
field_area = worker.CTCAW_regarea(CTCAWorker.AREA_REAL8)
result_area = worker.CTCAW_regarea(CTCAWorker.AREA_INT)
note_area = worker.CTCAW_regarea(CTCAWorker.AREA_REAL4)
assert (field_area, result_area, note_area) == (0, 1, 2)
kinds = (None, CTCAWorker.DAT_INT, CTCAWorker.DAT_REAL4, CTCAWorker.DAT_REAL8)
done = 0
while True:
    data = numpy.zeros(0)
    if phase == 0:
        source, parameters = worker.CTCAW_pollreq(PARAMETERS)
    else:
        source, parameters, data = worker.CTCAW_pollreq(PARAMETERS, DATA, kinds[phase])
    if worker.CTCAW_isfin():
        break
    assert parameters[0] == phase and parameters[2] == 1000 + source, parameters
    worker.CTCAW_prof_start_calc()
    field = worker.CTCAW_readarea(field_area, source, 2 * int(parameters[1]), FIELD, CTCAWorker.AREA_REAL8)
    total = worker.CTCA_subcomm.allreduce(float(field.sum()) + float(data.sum()))
    if worker.subrank == 0:
        result = numpy.array([int(total) + number], numpy.int32)
        place = phase * REQUESTS + int(parameters[1])
        if done % 2:
            worker.CTCAW_writearea(result_area, source, place, 1, result, CTCAWorker.AREA_INT)
        else:
            worker.CTCAW_writearea(result_area, source, place, 1, CTCAWorker.AREA_INT, result)
        done += 1
    worker.CTCAW_prof_stop_calc()
    worker.CTCAW_complete()
worker.CTCAW_prof_stop()
if worker.subrank == 0:
    sys.stdout.write(f"worker {number}: {done} requests\n")  # in one piece, since the launcher mixes what ranks write
    sys.stdout.flush()
worker.CTCAW_finalize()
