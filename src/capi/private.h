/* Between libcouplet and what is built with it, libcouplet_mpi_* and the languages: not installed, not for users. */
#ifndef COUPLET_CAPI_PRIVATE_H
#define COUPLET_CAPI_PRIVATE_H

#include "couplet/couplet.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Remembers the sentence of an error for couplet_error_text and returns its status. */
COUPLET_API couplet_status couplet_private_fail(couplet_status status, const char* text);

/* The path of a helper program of this installation ("couplet-hub"), with its final 0. NOT_FOUND says where it was looked for;
 * LIMIT: `bytes` are too few. */
COUPLET_API couplet_status couplet_private_find_program(const char* name, char* path, size_t bytes);

/* Takes back a receive that no message has met: *request is NULL then. Otherwise it stays, and ends soon. */
COUPLET_API couplet_status couplet_private_withdraw(couplet_request** request);

/* The window of the MPI job for series: a couplet::series::Window, which the universe owns from here on. VERSION: `build` is
 * not couplet::series::window_build of this library. */
COUPLET_API couplet_status couplet_private_use_window(couplet_universe* universe, const char* build, void* window);

#ifdef __cplusplus
}
#endif
#endif
