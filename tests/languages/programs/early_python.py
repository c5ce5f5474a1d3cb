"""Joins with a communicator before MPI is initialized, and prints the error; see test_mpi.py."""

import mpi4py

mpi4py.rc.initialize = False
from mpi4py import MPI  # noqa: E402

import couplet  # noqa: E402

try:
    couplet.join("team", MPI.COMM_WORLD)
except couplet.MpiError as error:
    print(error.code, error)
