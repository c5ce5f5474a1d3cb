"""The worker: calls libctca of the MPI that mpi4py uses, through ctypes.

As in C and Fortran, an error prints a sentence on standard error and ends the process, and with it the launch.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray

from couplet import _couplet
from couplet._mpi import flavour_of

try:
    from mpi4py import MPI
except (ImportError, RuntimeError) as error:
    raise ImportError(
        f"ctca4py: mpi4py has not found the MPI library ({error}). Its wheel looks for libmpi.so.40 (Open MPI) and "
        "libmpi.so.12 (MPICH). If MPICH's library has another name (Debian: libmpich.so.12), make a directory with a "
        "link libmpi.so.12 -> libmpich.so.12 and name it in LD_LIBRARY_PATH"
    ) from error

DAT_INT = AREA_INT = 0
DAT_REAL4 = AREA_REAL4 = 1
DAT_REAL8 = AREA_REAL8 = 2

_ELEMENTS = (numpy.dtype(numpy.int32), numpy.dtype(numpy.float32), numpy.dtype(numpy.float64))
_NAMES = ("int", "real4", "real8")
_INT = ctypes.c_int
_SIZE = ctypes.c_size_t
_ADDRESS = ctypes.c_void_p


def _load() -> ctypes.CDLL:
    """Loads libctca_f, which loads libctca, for the MPI that mpi4py has loaded."""
    core = Path(_couplet.library_path()).absolute()
    path = core.parent / "couplet" / flavour_of(MPI.Get_library_version()) / "libctca_f.so"
    if not path.exists():
        version = MPI.Get_library_version().splitlines()[0]
        raise ImportError(f"ctca4py: mpi4py uses {version}, but couplet was built without it: no {path}")
    return ctypes.CDLL(str(path))


def _check_launcher() -> None:
    """Raise RuntimeError if the launcher belongs to another MPI than the one that mpi4py has loaded.

    Each process then believes that it is alone, and waits for the others for ever.
    """
    launchers = {"OMPI_COMM_WORLD_SIZE": "Open MPI", "PMI_SIZE": "MPICH"}
    for variable, name in launchers.items():
        started = int(os.environ.get(variable, "1"))
        if started > 1 and MPI.COMM_WORLD.Get_size() == 1:
            version = MPI.Get_library_version().splitlines()[0]
            raise RuntimeError(
                f"ctca4py: {name}'s launcher has started {started} processes, but mpi4py uses {version}: use "
                f"the launcher of that MPI, or put {name}'s library first in LD_LIBRARY_PATH"
            )


class CTCAWorker:
    """A rank of a worker program. There is one in a process."""

    DAT_INT = AREA_INT = DAT_INT
    DAT_REAL4 = AREA_REAL4 = DAT_REAL4
    DAT_REAL8 = AREA_REAL8 = DAT_REAL8

    def __init__(self) -> None:
        _check_launcher()
        self._library = _load()
        self.CTCA_subcomm: MPI.Intracomm | Any = MPI.COMM_NULL
        self.world_rank = MPI.COMM_WORLD.Get_rank()
        self.subrank = -1

    def CTCAW_init(self, progid: int, procspercomm: int) -> None:
        """Begins as a rank of the worker program `progid`, of which `procspercomm` ranks do a request together."""
        self._library.CTCAW_init(_INT(progid), _INT(procspercomm))
        self._learn_group()

    def CTCAW_init_detail(self, progid: int, procspercomm: int, numareas: int, intparams: int) -> None:
        """Begins as CTCAW_init does. The two last numbers are the sizes of tables that grow here."""
        self._library.CTCAW_init_detail(_INT(progid), _INT(procspercomm), _INT(numareas), _INT(intparams))
        self._learn_group()

    def _learn_group(self) -> None:
        self.CTCA_subcomm = MPI.Comm.f2py(self._library.ctca_f_subcomm())
        self.subrank = self.CTCA_subcomm.Get_rank()

    def CTCAW_finalize(self) -> None:
        """Ends the session. Collective over all processes."""
        self._library.CTCAW_finalize()
        self.CTCA_subcomm = MPI.COMM_NULL

    def CTCAW_isfin(self) -> bool:
        """Says whether nothing further comes. Call it right after CTCAW_pollreq."""
        return bool(self._library.CTCAW_isfin())

    def CTCAW_pollreq(
        self, numintparams: int, datanum: int = 0, datatype: int | None = None
    ) -> tuple[int, NDArray[Any]] | tuple[int, NDArray[Any], NDArray[Any]]:
        """Waits for a request. Returns the requester's rank, the integer parameters, and the data if there is some.

        At the end (CTCAW_isfin) the rank is -1 and the arrays are zero.
        """
        parameters = numpy.zeros(numintparams, numpy.int32)
        source = _INT(-1)
        if datatype is None or datanum == 0:
            self._library.CTCAW_pollreq(ctypes.byref(source), _address(parameters), _INT(numintparams))
            return source.value, parameters
        data = numpy.zeros(datanum, _ELEMENTS[datatype])
        self._of_type("CTCAW_pollreq_with", datatype)(
            ctypes.byref(source), _address(parameters), _INT(numintparams), _address(data), _SIZE(datanum)
        )
        return source.value, parameters, data

    def CTCAW_complete(self) -> None:
        """Completes the request. All ranks of the group call it."""
        self._library.CTCAW_complete()

    def CTCAW_regarea(self, areatype: int) -> int:
        """Registers the next area and returns its id. Collective over all processes."""
        number = _INT(-1)
        self._of_type("CTCAW_regarea_", areatype)(ctypes.byref(number))
        return number.value

    def CTCAW_readarea(self, areaid: int, reqrank: int, offset: int, size: int, areatype: int) -> NDArray[Any]:
        """Reads `size` elements, beginning with element `offset`, of the area of that requester rank."""
        data = numpy.empty(size, _ELEMENTS[areatype])
        self._of_type("CTCAW_readarea_", areatype)(
            _INT(areaid), _INT(reqrank), _SIZE(offset), _SIZE(size), _address(data)
        )
        return data

    def CTCAW_writearea(self, areaid: int, reqrank: int, offset: int, size: int, *data_and_type: Any) -> None:
        """Writes `size` elements, beginning with element `offset`.

        Data and type may come in any order. Without a type it is that of the array.
        """
        source, areatype = _data_and_type(data_and_type)
        values = numpy.ascontiguousarray(source, _ELEMENTS[areatype])
        if values.size < size:
            raise ValueError(f"CTCAW_writearea: {size} elements are to be written, and the array has {values.size}")
        self._of_type("CTCAW_writearea_", areatype)(
            _INT(areaid), _INT(reqrank), _SIZE(offset), _SIZE(size), _address(values)
        )

    def CTCAW_prof_start(self) -> None:
        """Begins to measure."""
        self._library.CTCAW_prof_start()

    def CTCAW_prof_stop(self) -> None:
        """Ends measuring."""
        self._library.CTCAW_prof_stop()

    def CTCAW_prof_start_calc(self) -> None:
        """Says that the calculation begins."""
        self._library.CTCAW_prof_start_calc()

    def CTCAW_prof_stop_calc(self) -> None:
        """Says that the calculation ends."""
        self._library.CTCAW_prof_stop_calc()

    # The same functions are available without the prefix.
    prof_start = CTCAW_prof_start
    prof_stop = CTCAW_prof_stop
    prof_start_calc = CTCAW_prof_start_calc
    prof_stop_calc = CTCAW_prof_stop_calc

    def _of_type(self, name: str, number: int) -> Any:
        if not 0 <= number < len(_NAMES):
            raise ValueError(f"ctca4py: {number} is no type; there are 0 (int), 1 (real4) and 2 (real8)")
        return getattr(self._library, name + _NAMES[number])


def _address(array: NDArray[Any]) -> ctypes.c_void_p:
    return _ADDRESS(array.ctypes.data)


def _data_and_type(words: tuple[Any, ...]) -> tuple[NDArray[Any], int]:
    if len(words) == 2:
        first, second = words
        return (second, first) if numpy.ndim(first) == 0 and numpy.ndim(second) > 0 else (first, second)
    if len(words) != 1:
        raise TypeError("CTCAW_writearea: areaid, reqrank, offset, size, data and the type are needed")
    array = numpy.asarray(words[0])
    if array.dtype not in _ELEMENTS:
        raise TypeError(f"CTCAW_writearea: elements of {array.dtype} are none of int32, float32 and float64")
    return array, _ELEMENTS.index(array.dtype)
