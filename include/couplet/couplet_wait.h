/* Waiting for any of several series, messages, requests and tasks, in a call or in an event loop.
 *
 * couplet_wait_any says which of several things is ready; it takes nothing away. The call that takes it follows: it
 * is couplet_series_read, couplet_recv, couplet_wait or couplet_task_wait. What is not taken is ready again in the next
 * call, and so is a series that has ended. If several things are ready, each has its turn: the search begins behind the
 * one that the last call with the same array has named. couplet_waitany, in contrast, waits for requests only, and
 * completes one of them.
 * An event loop waits for the descriptor of the universe, which couplet_arm_any arms. */
#ifndef COUPLET_COUPLET_WAIT_H
#define COUPLET_COUPLET_WAIT_H

#include <couplet/couplet_message.h>
#include <couplet/couplet_series.h>
#include <couplet/couplet_task.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One thing that is waited for. Exactly one of the four handles is set, and all other members are 0 unless they belong
 * to it. */
typedef struct couplet_awaited {
  couplet_series* series;   /* a series that is read: a read gives steps, an answer other than NOT_YET, or an error */
  couplet_group* group;     /* a message: one from `source` with `tag` can be received, or can no longer come */
  couplet_request* request; /* a send or a receive: it is complete */
  couplet_task* task;       /* a submitted task: it is done */
  uint64_t at_least;        /* with series: the number of steps for which the read will ask; 0 is the same as 1 */
  int32_t source;           /* with group: a rank of the group or COUPLET_ANY_SOURCE */
  int32_t tag;              /* with group: a tag or COUPLET_ANY_TAG */
  uint64_t reserved;
} couplet_awaited;

/* Waits until one of `count` things is ready, and gives its place in the array. `message` may be NULL; if a message is
 * ready, it gets source, tag and size, and `count` is its number of bytes. All handles belong to one universe.
 * Blocking: until one is ready, at most timeout_s.
 * Local: what it says holds for this rank only. A series that is read collectively is ready when this rank has its
 * steps; the read then still waits for the other ranks, and its answer can be COUPLET_NOT_YET if they have not. Ranks
 * that wait for several such series may be told different ones; let one rank choose and tell the others.
 * A loss is ready, too: if the writer, the sender or the peer of a request has died, the following call says so.
 * COUPLET_NOT_YET: the timeout has passed, and nothing was ready.
 * COUPLET_ERROR_ARGUMENT: an entry has no handle or several, is the same as another entry, is a series that this rank
 * writes, or has a handle that is closed or of another universe; or `count` is less than 1.
 * COUPLET_INTERRUPTED: the interrupt check ended the wait. */
COUPLET_API couplet_status couplet_wait_any(const couplet_awaited* awaited, int32_t awaited_count, double timeout_s,
                                            int32_t* index, couplet_message* message);

/* Gives a file descriptor for poll, select, epoll or an event loop. Wait only until it is readable: do not read from
 * it, write to it or close it.
 * Ownership: it belongs to the universe and is valid until leave. */
COUPLET_API couplet_status couplet_universe_descriptor(couplet_universe* universe, int32_t* descriptor);

/* Does the same as couplet_wait_any with a timeout of 0. If nothing is ready, it also arms the descriptor of the
 * universe: from now on this becomes readable as soon as one of these things may be ready. Then call this function
 * again. couplet_universe_descriptor must have been called before. The descriptor also becomes readable when another
 * call is made on the universe, since that call may have taken in what was waited for, and 10 times a second, so that
 * deaths are noticed. A loop is:
 *     while ((status = couplet_arm_any(awaited, count, &index, NULL)) >= 0) {
 *       if (status == COUPLET_OK) take(index);
 *       else poll(descriptors, descriptor_count, -1);
 *     }
 * Never blocks.
 * COUPLET_NOT_YET: nothing was ready, and the descriptor is armed.
 * COUPLET_ERROR_STATE: couplet_universe_descriptor was not called. The other results are those of couplet_wait_any. */
COUPLET_API couplet_status couplet_arm_any(const couplet_awaited* awaited, int32_t awaited_count, int32_t* index,
                                           couplet_message* message);

#ifdef __cplusplus
}
#endif
#endif
