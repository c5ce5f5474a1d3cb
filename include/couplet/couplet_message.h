/* Messages between ranks of a group, by MPI's rules.
 *
 * Messages from one sender with one tag in one group arrive in the order in which they were sent. Any size is
 * allowed; tags are 0 to 2^31 - 1. The buffer of a non-blocking call belongs to the library until wait or test says
 * that the request is complete. A completed request is freed and its handle becomes NULL, also if it ended with an
 * error. Every function that completes a receive can return COUPLET_ERROR_TRUNCATED (the message is longer than the
 * buffer, whose content is then undefined), COUPLET_ERROR_TYPE (sizes of the elements do not fit) and
 * COUPLET_ERROR_PEER_LOST. */
#ifndef COUPLET_COUPLET_MESSAGE_H
#define COUPLET_COUPLET_MESSAGE_H

#include <couplet/couplet_universe.h>

#ifdef __cplusplus
extern "C" {
#endif

#define COUPLET_ANY_SOURCE (-1)
#define COUPLET_ANY_TAG (-1)

typedef struct couplet_request couplet_request;

/* What is known of a message that has arrived. */
typedef struct couplet_message {
  int32_t source; /* rank in the group */
  int32_t tag;
  uint64_t bytes; /* received, in the receiver's representation */
  uint64_t count; /* elements of the receive call's type */
} couplet_message;

/* Sends `count` elements to rank `target` of the group.
 * Blocking: until `data` may be changed again.
 * COUPLET_ERROR_PEER_LOST: the target has died or left. */
COUPLET_API couplet_status couplet_send(couplet_group* group, const void* data, uint64_t count, couplet_type type,
                                        int32_t target, int32_t tag);

/* Receives a message of at most `count` elements from rank `source` (or COUPLET_ANY_SOURCE) with the tag `tag` (or
 * COUPLET_ANY_TAG). `message` may be NULL.
 * Blocking: until the message has arrived.
 * COUPLET_INTERRUPTED: the interrupt check ended the call, and nothing was received. */
COUPLET_API couplet_status couplet_recv(couplet_group* group, void* data, uint64_t count, couplet_type type,
                                        int32_t source, int32_t tag, couplet_message* message);

/* Starts a send, as couplet_send, without waiting. */
COUPLET_API couplet_status couplet_isend(couplet_group* group, const void* data, uint64_t count, couplet_type type,
                                         int32_t target, int32_t tag, couplet_request** request);

/* Starts a receive, as couplet_recv, without waiting. */
COUPLET_API couplet_status couplet_irecv(couplet_group* group, void* data, uint64_t count, couplet_type type,
                                         int32_t source, int32_t tag, couplet_request** request);

/* Waits until the request is complete. `message` may be NULL. A NULL request is complete.
 * COUPLET_ERROR_TIMEOUT, COUPLET_INTERRUPTED: the request is still pending. */
COUPLET_API couplet_status couplet_wait(couplet_request** request, double timeout_s, couplet_message* message);

/* Says whether the request is complete: `done` gets 1 or 0. Never blocks. */
COUPLET_API couplet_status couplet_test(couplet_request** request, int32_t* done, couplet_message* message);

/* Waits until all `count` requests are complete. `statuses` and `messages` may be NULL, or have one entry per request.
 * Returns the first error in the order of the array; `statuses` gets that of each request.
 * COUPLET_ERROR_TIMEOUT, COUPLET_INTERRUPTED: requests that are NULL now are complete, the others are pending. */
COUPLET_API couplet_status couplet_waitall(int32_t count, couplet_request** requests, double timeout_s,
                                           couplet_status* statuses, couplet_message* messages);

/* Waits until one of the requests is complete. `index` gets its place in the array, or -1 if all are NULL.
 * COUPLET_ERROR_TIMEOUT, COUPLET_INTERRUPTED: all requests are still pending. */
COUPLET_API couplet_status couplet_waitany(int32_t count, couplet_request** requests, double timeout_s, int32_t* index,
                                           couplet_message* message);

#ifdef __cplusplus
}
#endif
#endif
