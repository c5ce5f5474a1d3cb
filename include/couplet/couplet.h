/* Couplet: the C interface, and the only binary interface. C++, Fortran and Python go through it.
 *
 * This header includes one header for each concept. A program needs to include only this one, and
 * <couplet/couplet_mpi.h> if it wants to join with an MPI communicator.
 * What holds for every function is said in couplet_status.h: returned codes, outputs, times, boxes and threads. */
#ifndef COUPLET_COUPLET_H
#define COUPLET_COUPLET_H

#include <couplet/couplet_area.h>
#include <couplet/couplet_coalesce.h>
#include <couplet/couplet_collective.h>
#include <couplet/couplet_datatype.h>
#include <couplet/couplet_exchange.h>
#include <couplet/couplet_halo.h>
#include <couplet/couplet_message.h>
#include <couplet/couplet_series.h>
#include <couplet/couplet_status.h>
#include <couplet/couplet_task.h>
#include <couplet/couplet_types.h>
#include <couplet/couplet_universe.h>
#include <couplet/couplet_wait.h>

#endif
