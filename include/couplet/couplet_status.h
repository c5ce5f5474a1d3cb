/* What every function has in common: status codes, error texts and the interrupt check.
 *
 * Every function that can fail returns a couplet_status: 0 is success, positive values are answers ("not yet", "full",
 * "end", "restarted", "interrupted"), negative values are errors, grouped by what is lost. No function aborts, exits or
 * prints. Outputs are the last arguments and are written only on success, unless the function says otherwise. Times are
 * seconds. A timeout below 0 waits for ever, 0 does not wait, and NaN is refused. Boxes are half open, [start, stop) in
 * each dimension, 0-based, in C order (the last dimension is contiguous). A universe and everything made from it is
 * used by one thread at a time, unless it was joined with threads = 1; closing a handle then ends the calls of other
 * threads in it. Besides the codes named at a function, every function can return COUPLET_ERROR_ARGUMENT,
 * COUPLET_ERROR_STATE, COUPLET_ERROR_FORKED, COUPLET_ERROR_THREAD, COUPLET_ERROR_MEMORY and COUPLET_ERROR_INTERNAL. */
#ifndef COUPLET_COUPLET_STATUS_H
#define COUPLET_COUPLET_STATUS_H

#include <couplet/couplet_types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t couplet_status;
enum {
  COUPLET_OK = 0,
  /* answers */
  COUPLET_NOT_YET = 1,   /* nothing could be given within the timeout */
  COUPLET_FULL = 2,      /* there was no room within the timeout */
  COUPLET_END = 3,       /* the writer has closed the series and everything was read */
  COUPLET_RESTARTED = 4, /* the writer is a new incarnation; the next read begins with its first retained step */
  /* The thread's interrupt check ended the call: nothing has happened, call again. A collective call is revoked. */
  COUPLET_INTERRUPTED = 5,
  /* errors: the call is lost */
  COUPLET_ERROR_ARGUMENT = -1,    /* an argument is not allowed; the text says which one, and what would be */
  COUPLET_ERROR_STATE = -2,       /* the call is not allowed now: calls in the wrong order, a handle that is closed */
  COUPLET_ERROR_NOT_FOUND = -3,   /* there is no such program, series or rank */
  COUPLET_ERROR_EXISTS = -4,      /* the name is taken */
  COUPLET_ERROR_TYPE = -5,        /* the data type is not the agreed one */
  COUPLET_ERROR_SHAPE = -6,       /* the number of dimensions is wrong, or a box is outside the array */
  COUPLET_ERROR_STEP = -7,        /* the step is not greater than the one before it */
  COUPLET_ERROR_LIMIT = -8,       /* a named limit was passed */
  COUPLET_ERROR_UNSUPPORTED = -9, /* this build or this system cannot do it */
  COUPLET_ERROR_FORKED = -10,     /* the handle belongs to the parent process */
  COUPLET_ERROR_THREAD = -11,     /* two threads used the universe at the same time */
  COUPLET_ERROR_MEMORY = -12,     /* memory could not be allocated */
  COUPLET_ERROR_CONFIG = -13,     /* there is a mistake in the environment or in the configuration */
  COUPLET_ERROR_MPI = -14,        /* an MPI call failed, or two MPI libraries are loaded */
  /* errors: the request is lost */
  COUPLET_ERROR_TIMEOUT = -101,   /* the deadline has passed */
  COUPLET_ERROR_TRUNCATED = -102, /* the message is longer than the receive buffer */
  /* this holder kept the writer waiting for longer than evict_after_held, or its hold was released */
  COUPLET_ERROR_EVICTED = -103,
  COUPLET_ERROR_MISMATCH = -104, /* the ranks of one program do not agree */
  /* errors: the peer is lost */
  COUPLET_ERROR_PEER_LOST = -201,      /* the process or program that the text names has died or left */
  COUPLET_ERROR_AUTHENTICATION = -202, /* the other side has another secret */
  COUPLET_ERROR_VERSION = -203,        /* the versions of both sides do not fit together */
  COUPLET_ERROR_PROTOCOL = -204,       /* bytes arrived that are malformed, lost, repeated or damaged */
  /* errors: the host is lost */
  COUPLET_ERROR_SYSTEM = -301,   /* an operating system call failed */
  COUPLET_ERROR_NO_SPACE = -302, /* the disk or the shared memory is full */
  COUPLET_ERROR_HUB_LOST = -303, /* the hub is gone or was never there */
  COUPLET_ERROR_INTERNAL = -304  /* a mistake in Couplet itself; please report it with the text */
};

/* Returns the name of a status, for example "COUPLET_ERROR_SHAPE", or "unknown". */
COUPLET_API const char* couplet_status_name(couplet_status status);

/* Returns the sentence of this thread's last error: what happened, and program, rank, host, series and step if they
 * apply.
 * Ownership: the text is the library's and is valid until the next Couplet call of this thread. It is never NULL. */
COUPLET_API const char* couplet_error_text(void);

/* A function that a waiting call asks whether it should stop. It returns 0 to go on. It must not call Couplet. */
typedef int32_t (*couplet_interrupt_check)(void* context);

/* Sets the interrupt check of this thread; NULL removes it. It is meant for languages with interrupts of their own.
 * While a call of this thread waits in join, open, recv, wait, waitall, waitany, wait_any, put, claim or read, in a
 * call of an area, or in submit, wait, waitany, next or run of tasks, check(context) is called about every 100 ms, and
 * not at all by a call that ends sooner. If it returns another value than 0, the call returns COUPLET_INTERRUPTED:
 * what it waited for can be waited for again, and a request stays pending. A call that is at a point at which it cannot
 * stop goes on first and asks again. A collective read that is interrupted on one rank returns COUPLET_NOT_YET on the
 * others. leave, if it waits for receivers, stops waiting, and leaves. Calls that are not named here are not
 * interrupted. */
COUPLET_API void couplet_set_interrupt_check(couplet_interrupt_check check, void* context);

#ifdef __cplusplus
}
#endif
#endif
