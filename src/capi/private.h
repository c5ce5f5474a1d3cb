/* Functions between libcouplet and the parts that are built with it: libcouplet_mpi_* and the languages. They are not
 * installed, and not for users. */
#ifndef COUPLET_CAPI_PRIVATE_H
#define COUPLET_CAPI_PRIVATE_H

#include "couplet/couplet.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Remembers the sentence of an error for couplet_error_text, and returns its status. */
COUPLET_API couplet_status couplet_private_fail(couplet_status status, const char* text);

/* Gives the path of a helper program of this installation ("couplet-hub"), with its final 0. NOT_FOUND says where it
 * was expected. LIMIT: `bytes` is too small. */
COUPLET_API couplet_status couplet_private_find_program(const char* name, char* path, size_t bytes);

/* Withdraws a receive that no message has matched, and sets *request to NULL. Any other request stays, and completes
 * soon. If it belongs to a collective call that has not ended, the call is revoked at all members. */
COUPLET_API couplet_status couplet_private_withdraw(couplet_request** request);

/* Sets a function that the calls of this thread call before they end with OK, while no other thread can change or close
 * what their outputs point to. It is called only in universes in which several threads take turns, and must not call
 * the library. NULL: none. */
COUPLET_API void couplet_private_set_taker(void (*take)(void* context), void* context);

/* Sets *keeper to an object that keeps memory mapped in this process until couplet_private_let_go, also after the
 * handle is closed and the universe is left: an area's, as couplet_area_describe gives it, or that of a writer's slots,
 * as the claims of a series give it. NULL: there is nothing to keep, since the memory is the owner's own array, or
 * belongs to the window of the MPI job, which ends when the universe is left. Never waits. No other thread may close
 * the handle or leave meanwhile. STATE: a reader has no slots to claim. */
COUPLET_API couplet_status couplet_private_keep_area(const couplet_area* area, void** keeper);
COUPLET_API couplet_status couplet_private_keep_slots(const couplet_series* series, void** keeper);
/* Ends what they have begun. NULL: nothing. Any thread may call it at any time. */
COUPLET_API void couplet_private_let_go(void* keeper);

/* Gives the universe the MPI job's window for series, a couplet::series::Window, which the universe then owns.
 * VERSION: `build` is not the couplet::series::window_build of this library. */
COUPLET_API couplet_status couplet_private_use_window(couplet_universe* universe, const char* build, void* window);

/* Gives the universe more methods for exchanges: `makers` is a std::vector<std::unique_ptr<couplet::exchange::Maker>>,
 * whose elements the universe takes, also if it fails. They are tried after those that it has. They are destroyed when
 * the universe is left, after all exchanges have ended.
 * VERSION: `build` is not the couplet::exchange::methods_build of this library. */
COUPLET_API couplet_status couplet_private_use_methods(couplet_universe* universe, const char* build, void* makers);

/* The following functions make this rank's part of a collective call that a language has refused before it could make
 * the call itself. `error` (COUPLET_ERROR_*) and `text` say why. The other ranks are told, as if the library had
 * refused an argument of this rank. Each returns `error`. Blocking: until the others have made the call, in create and
 * open at most 60 s, in read at most 2 s, in put as long as the wait_timeout of the series, and in next for ever. They
 * return at once if this rank takes part alone. */
COUPLET_API couplet_status couplet_private_refuse_create(couplet_universe* universe, const couplet_group* group,
                                                         const char* name, couplet_status error, const char* text);
COUPLET_API couplet_status couplet_private_refuse_open(couplet_universe* universe, const couplet_group* group,
                                                       const char* name, couplet_status error, const char* text);
COUPLET_API couplet_status couplet_private_refuse_read(couplet_series* series, couplet_status error, const char* text);
COUPLET_API couplet_status couplet_private_refuse_read_at(couplet_series* series, couplet_status error,
                                                          const char* text);
COUPLET_API couplet_status couplet_private_refuse_put(couplet_series* series, couplet_status error, const char* text);
COUPLET_API couplet_status couplet_private_refuse_next(couplet_tasks* tasks, couplet_status error, const char* text);

#ifdef __cplusplus
}
#endif
#endif
