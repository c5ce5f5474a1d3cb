/* Exchanges: the same data to the same neighbours, again and again, at the lowest cost.
 *
 * An exchange is made of edges: parts of the arrays of this rank that go to another rank, or come from one. It is
 * frozen once, collectively: neighbours then compare what they expect of each other, and a method is chosen by
 * measurement.
 * After that, each round is couplet_exchange_start and couplet_exchange_wait. All edges between two ranks travel as one
 * message. The arrays are read in start (or soon after, if a neighbour is late) and written until wait returns: leave
 * them alone in between. */
#ifndef COUPLET_COUPLET_EXCHANGE_H
#define COUPLET_COUPLET_EXCHANGE_H

#include <couplet/couplet_universe.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct couplet_exchange couplet_exchange;

typedef struct couplet_exchange_options {
  size_t struct_bytes;
  const char* method; /* "auto" (default), or the name of a method; COUPLET_EXCHANGE_METHOD overrides it */
  double timeout_s;   /* limits a freeze or a close; default 60; negative: no limit */
} couplet_exchange_options;

/* Sets the options to their defaults. */
COUPLET_API void couplet_exchange_options_init(couplet_exchange_options* options);

/* The terms of an edge. Peer, direction and tag name it; the sender and the receiver give the same terms. */
typedef struct couplet_exchange_edge {
  size_t struct_bytes;
  const char* title;   /* what error texts call it, the same at both sides; NULL (default): nothing */
  int64_t tag;         /* tells apart the edges between two ranks; default 0 */
  uint64_t every;      /* the edge takes part in the rounds offset, offset + every, ...; default 1 */
  uint64_t offset;     /* default 0 */
  int32_t peer;        /* the other rank, in the group; it may be this rank */
  int32_t is_variable; /* 1: the sender gives a length for each round, up to the size of the edge; default 0 */
} couplet_exchange_edge;

/* Sets the terms to their defaults, with peer -1. */
COUPLET_API void couplet_exchange_edge_init(couplet_exchange_edge* edge);

/* Creates an exchange among the ranks of the group. Its name is the same at all of them, and different from
 * those of other open exchanges in the group. No message is sent. `options` may be NULL.
 * Ownership: close it with couplet_exchange_close; leave closes what is open.
 * COUPLET_ERROR_EXISTS: this rank has an open exchange of that name in the group.
 * COUPLET_ERROR_STATE: this rank is no member of the group. */
COUPLET_API couplet_status couplet_exchange_create(couplet_group* group, const char* name,
                                                   const couplet_exchange_options* options,
                                                   couplet_exchange** exchange);

/* Adds a box of an array to what is sent: elements start to stop (not included) in each dimension. `stride_bytes` has
 * the distance of neighbouring elements in each dimension; NULL: the array is dense, in C order. If an edge of the same
 * peer and tag is there already, the box is appended to it. `number` gets the number of the edge, and may be NULL.
 * Ownership: the array belongs to the caller, must not move, and outlives the exchange.
 * COUPLET_ERROR_ARGUMENT: the peer, `every` or an address is wrong.
 * COUPLET_ERROR_SHAPE: the box leaves the array.
 * COUPLET_ERROR_MISMATCH: the edge was added before with other terms; the text says which.
 * COUPLET_ERROR_STATE: the exchange is frozen. */
COUPLET_API couplet_status couplet_exchange_send_box(couplet_exchange* exchange, const couplet_exchange_edge* edge,
                                                     const void* data, couplet_type type, int32_t dimensions,
                                                     const int64_t* shape, const int64_t* stride_bytes,
                                                     const int64_t* start, const int64_t* stop, uint32_t* number);

/* Does the same for what is received. It must overlap nothing else that this rank receives or sends. */
COUPLET_API couplet_status couplet_exchange_receive_box(couplet_exchange* exchange, const couplet_exchange_edge* edge,
                                                        void* data, couplet_type type, int32_t dimensions,
                                                        const int64_t* shape, const int64_t* stride_bytes,
                                                        const int64_t* start, const int64_t* stop, uint32_t* number);

/* Adds elements of a list to what is sent: for each of `index_count` indices, `block` elements from
 * data + index * block on. The indices are copied. The rest is as in couplet_exchange_send_box.
 * COUPLET_ERROR_ARGUMENT: also if an index is negative, or `block` is 0. */
COUPLET_API couplet_status couplet_exchange_send_list(couplet_exchange* exchange, const couplet_exchange_edge* edge,
                                                      const void* data, couplet_type type, uint64_t block,
                                                      const int64_t* indices, uint64_t index_count, uint32_t* number);

/* Does the same for what is received. */
COUPLET_API couplet_status couplet_exchange_receive_list(couplet_exchange* exchange, const couplet_exchange_edge* edge,
                                                         void* data, couplet_type type, uint64_t block,
                                                         const int64_t* indices, uint64_t index_count,
                                                         uint32_t* number);

/* Agrees with the other ranks on the edges and on the method. After an error, the exchange can only be closed.
 * Collective over the group.
 * Blocking: until all ranks have called it, at most the timeout of the options.
 * COUPLET_ERROR_ARGUMENT: regions overlap, of which this rank receives one.
 * COUPLET_ERROR_MISMATCH: two ranks disagree on an edge; the text names the edge, both ranks and what differs.
 * COUPLET_ERROR_UNSUPPORTED: no method can be used, or not the one that was asked for.
 * COUPLET_ERROR_TIMEOUT, COUPLET_ERROR_PEER_LOST: a rank has not come; the text names it. */
COUPLET_API couplet_status couplet_exchange_freeze(couplet_exchange* exchange);

/* Begins a round. Never blocks.
 * COUPLET_ERROR_STATE: a round is under way, or the exchange is not frozen. */
COUPLET_API couplet_status couplet_exchange_start(couplet_exchange* exchange);

/* Does what can be done, and says whether the round is over: `done` gets 1 or 0. Never blocks. The methods put_fence,
 * put_pscw, put_lock and put_flag may have to wait inside of calls of MPI (couplet_exchange_explain says so): they are
 * used only if they are asked for by name, and then make progress only in couplet_exchange_wait.
 * COUPLET_ERROR_STATE: no round is under way.
 * COUPLET_ERROR_PEER_LOST: a rank is lost; or another error that a rank has met. The exchange has then failed at all
 * ranks that could wait for it. */
COUPLET_API couplet_status couplet_exchange_test(couplet_exchange* exchange, int32_t* done);

/* Waits until the round is over.
 * Blocking: at most timeout_s; with a method that waits inside of calls of MPI, as long as these calls do.
 * COUPLET_ERROR_TIMEOUT, COUPLET_INTERRUPTED: the round is still under way; call it again.
 * COUPLET_ERROR_STATE: no round is under way, or a neighbour has closed the exchange.
 * COUPLET_ERROR_PEER_LOST: a rank is lost; or another error that a rank has met. The exchange has then failed at all
 * ranks that could wait for it. */
COUPLET_API couplet_status couplet_exchange_wait(couplet_exchange* exchange, double timeout_s);

/* Says whether what an edge receives has arrived in the round that is under way or was the last one: `arrived` gets 1
 * or 0. Then its part of the array can be read, even if the round is not over. Does what can be done without waiting,
 * and returns what couplet_exchange_test does if the exchange has failed. In a round without the edge: 0.
 * COUPLET_ERROR_ARGUMENT: this rank does not receive by the edge. */
COUPLET_API couplet_status couplet_exchange_arrived(couplet_exchange* exchange, uint32_t edge, int32_t* arrived);

/* Sets how many bytes of an edge with a variable length are sent from the next round on.
 * COUPLET_ERROR_LIMIT: more than the edge has.
 * COUPLET_ERROR_ARGUMENT: this rank gives the edge no length.
 * COUPLET_ERROR_STATE: a round is under way, or the exchange is not frozen. */
COUPLET_API couplet_status couplet_exchange_set_length(couplet_exchange* exchange, uint32_t edge, uint64_t bytes);

/* Gives the bytes that an edge moves: as set, or as arrived last. */
COUPLET_API couplet_status couplet_exchange_length(couplet_exchange* exchange, uint32_t edge, uint64_t* bytes);

/* Gives the name of the method, or "" before the exchange is frozen.
 * Ownership: the text is valid until the exchange is closed. */
COUPLET_API couplet_status couplet_exchange_method(couplet_exchange* exchange, const char** method);

/* Gives a table of the methods: the time of each in the trials, and why others were left out. `text` gets at most
 * `bytes` bytes with the final 0, and `needed`, which may be NULL, how many it takes.
 * COUPLET_ERROR_LIMIT: `bytes` is too small. */
COUPLET_API couplet_status couplet_exchange_explain(couplet_exchange* exchange, char* text, size_t bytes,
                                                    size_t* needed);

/* Closes the exchange. Neighbours that wait for a round which this rank has not begun get COUPLET_ERROR_STATE.
 * Ownership: the handle is invalid afterwards, whatever is returned.
 * Blocking: until methods that need it have ended at all neighbours, at most the timeout of the options.
 * COUPLET_ERROR_STATE: a round was under way. */
COUPLET_API couplet_status couplet_exchange_close(couplet_exchange* exchange);

#ifdef __cplusplus
}
#endif
#endif
