/* Coalesced communication: many clients of one communication pattern, one message for each neighbour, one wait.
 *
 * The parts of a simulation that communicate (a kernel, a renderer, a monitor, a coupling to another program) register
 * as clients and declare once what they send and receive. After a collective freeze, couplet_coalesce_round runs a
 * round: in each phase it calls `fill` of all clients, sends, calls `overlap`, waits once, and calls `use`. All that
 * two ranks have for each other in a phase travels as one message. Callbacks may call Couplet, but not run, amend or
 * close the rounds that they belong to. */
#ifndef COUPLET_COUPLET_COALESCE_H
#define COUPLET_COUPLET_COALESCE_H

#include <couplet/couplet_collective.h>
#include <couplet/couplet_universe.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct couplet_coalesce couplet_coalesce;

typedef struct couplet_coalesce_options {
  size_t struct_bytes;
  const char* method;     /* "auto" (default), or the name of a method of exchange */
  double timeout_s;       /* limits a freeze, an amendment or a close; default 60; negative: no limit */
  int32_t phase_count;    /* phases of a round, 1 to 64; default 1 */
  int32_t merge_waits;    /* 1 (default): one wait for each phase; 0: one for each client in it */
  int32_t merge_messages; /* 1 (default): one message for each neighbour; 0, or if waits are not merged: one for each
                             client and neighbour */
  uint64_t max_events;    /* the timeline ends after as many; default 0: there is none */
} couplet_coalesce_options;

/* Sets the options to their defaults. */
COUPLET_API void couplet_coalesce_options_init(couplet_coalesce_options* options);

/* When and for what a client is called. */
typedef struct couplet_coalesce_moment {
  size_t struct_bytes;
  uint64_t round;
  int32_t phase;
  int32_t peer; /* for `arrived`: the rank from which everything for this client is here; else -1 */
} couplet_coalesce_moment;

/* A stage of a client. It returns COUPLET_OK. Anything else ends the rounds of all ranks with an error that names the
 * client, the stage, the round and the rank; its text is that of the last error of Couplet in this thread. */
typedef couplet_status (*couplet_coalesce_callback)(const couplet_coalesce_moment* moment, void* context);

/* Remembers the text of an error with which a callback ends, and returns `error`: COUPLET_ERROR_*. NULL is an empty
 * text. */
COUPLET_API couplet_status couplet_coalesce_fail(couplet_status error, const char* text);

/* A client. A stage that is NULL does nothing. */
typedef struct couplet_coalesce_client {
  size_t struct_bytes;
  const char* name;                    /* the same on all ranks that have the client */
  couplet_coalesce_callback fill;      /* what is sent in this phase is written, and lengths are set */
  couplet_coalesce_callback overlap;   /* everything is under way: what needs nothing of it is computed */
  couplet_coalesce_callback arrived;   /* everything from one peer is here */
  couplet_coalesce_callback use;       /* everything is here */
  couplet_coalesce_callback end_round; /* the last phase is over */
  void* context;
} couplet_coalesce_client;

/* Sets all members to NULL. */
COUPLET_API void couplet_coalesce_client_init(couplet_coalesce_client* client);

/* The terms of a request. Client, phase, peer, direction and tag name it; the sender and the receiver give the same
 * terms. */
typedef struct couplet_coalesce_request {
  size_t struct_bytes;
  const char* title;   /* what error texts call it; NULL (default): nothing */
  int64_t tag;         /* the client's own, -2147483647 to 2147483647; default 0 */
  uint64_t every;      /* it takes part in the rounds offset, offset + every, ...; default 1 */
  uint64_t offset;     /* default 0 */
  int32_t peer;        /* the other rank, in the group; it may be this rank */
  int32_t phase;       /* default 0 */
  int32_t is_variable; /* 1: the sender gives a length for each round, up to the size; default 0 */
  int32_t is_optional; /* 1: nothing is sent in a round in which the sender gives no length; default 0 */
} couplet_coalesce_request;

/* Sets the terms to their defaults, with peer -1. */
COUPLET_API void couplet_coalesce_request_init(couplet_coalesce_request* request);

/* Creates a manager of rounds among the ranks of the group, which may belong to several programs. Its name is the same
 * at all of them. No message is sent. `options` may be NULL; all ranks give the same phases and merges.
 * Ownership: close it with couplet_coalesce_close; leave closes what is open.
 * COUPLET_ERROR_ARGUMENT: the name or an option is wrong.
 * COUPLET_ERROR_EXISTS: this rank has open rounds of that name in the group.
 * COUPLET_ERROR_STATE: this rank is no member of the group. */
COUPLET_API couplet_status couplet_coalesce_create(couplet_group* group, const char* name,
                                                   const couplet_coalesce_options* options,
                                                   couplet_coalesce** coalesce);

/* Registers a client. Clients are called in the order of registration, which must be the same on all ranks that have
 * them. `number` gets the number of the client on this rank: 0, 1, 2, ...
 * After the freeze, the client takes part from the next amendment on.
 * Ownership: `context` belongs to the caller, and outlives the rounds.
 * COUPLET_ERROR_ARGUMENT: the name is empty or too long.
 * COUPLET_ERROR_EXISTS: there is a client of that name.
 * COUPLET_ERROR_LIMIT: there are 256 clients. */
COUPLET_API couplet_status couplet_coalesce_register(couplet_coalesce* coalesce, const couplet_coalesce_client* client,
                                                     int32_t* number);

/* The client takes part until the next amendment, and no longer.
 * COUPLET_ERROR_NOT_FOUND: there is no client of that number. */
COUPLET_API couplet_status couplet_coalesce_remove(couplet_coalesce* coalesce, int32_t client);

/* Declares that a client sends a box of an array: elements start to stop (not included) in each dimension.
 * `stride_bytes` has the distance of neighbouring elements in each dimension; NULL: the array is dense, in C order.
 * `request` gets the number of the request on this rank, and may be NULL.
 * Ownership: the array belongs to the caller, must not move, and outlives the rounds.
 * COUPLET_ERROR_ARGUMENT: the client, the phase, the peer, the tag, `every` or an address is wrong.
 * COUPLET_ERROR_SHAPE: the box leaves the array.
 * COUPLET_ERROR_EXISTS: the client has declared the same phase, peer, direction and tag. */
COUPLET_API couplet_status couplet_coalesce_send_box(couplet_coalesce* coalesce, int32_t client,
                                                     const couplet_coalesce_request* terms, const void* data,
                                                     couplet_type type, int32_t dimensions, const int64_t* shape,
                                                     const int64_t* stride_bytes, const int64_t* start,
                                                     const int64_t* stop, uint32_t* request);

/* Does the same for what a client receives. It must overlap nothing that a client receives or sends in that phase. */
COUPLET_API couplet_status couplet_coalesce_receive_box(couplet_coalesce* coalesce, int32_t client,
                                                        const couplet_coalesce_request* terms, void* data,
                                                        couplet_type type, int32_t dimensions, const int64_t* shape,
                                                        const int64_t* stride_bytes, const int64_t* start,
                                                        const int64_t* stop, uint32_t* request);

/* Declares that a client sends elements of a list: for each of `index_count` indices, `block` elements from
 * data + index * block on. The indices are copied. The rest is as in couplet_coalesce_send_box. */
COUPLET_API couplet_status couplet_coalesce_send_list(couplet_coalesce* coalesce, int32_t client,
                                                      const couplet_coalesce_request* terms, const void* data,
                                                      couplet_type type, uint64_t block, const int64_t* indices,
                                                      uint64_t index_count, uint32_t* request);

/* Does the same for what a client receives. */
COUPLET_API couplet_status couplet_coalesce_receive_list(couplet_coalesce* coalesce, int32_t client,
                                                         const couplet_coalesce_request* terms, void* data,
                                                         couplet_type type, uint64_t block, const int64_t* indices,
                                                         uint64_t index_count, uint32_t* request);

/* Gives the value of a phased broadcast or reduction: called in a round in which one may begin. `data` has room for the
 * value; `bytes` has its size, and may be made smaller by a broadcast. `given`: set it to 1 if there is a value. */
typedef couplet_status (*couplet_coalesce_give)(uint64_t round, void* data, uint64_t* bytes, int32_t* given,
                                                void* context);
/* Takes the result, in the round in which all ranks that get it have it. began: the round in which it was given.
 * givers: how many ranks have given a value. */
typedef couplet_status (*couplet_coalesce_take)(uint64_t began, uint64_t givers, const void* data, uint64_t bytes,
                                                void* context);

/* A broadcast or reduction that moves one level of a tree in each round, within the messages of the rounds. All
 * members of the group register it, with the same terms. */
typedef struct couplet_coalesce_phased {
  size_t struct_bytes;
  const char* name;           /* the same on all ranks */
  couplet_coalesce_give give; /* a broadcast calls it at the root only */
  couplet_coalesce_take take; /* NULL: the result is not taken here */
  void* context;
  uint64_t every; /* one may begin in the rounds 0, every, 2 x every, ...; default 1 */
  int32_t phase;  /* default 0 */
  int32_t root;   /* default 0 */
  int32_t arity;  /* how many children a rank of the tree has, at least 1; default 2 */
} couplet_coalesce_phased;

/* Sets the terms to their defaults, with name, callbacks and context NULL. */
COUPLET_API void couplet_coalesce_phased_init(couplet_coalesce_phased* phased);

/* Registers a broadcast from the root to all ranks of values of at most capacity_bytes. With a tree of the height h,
 * all ranks take a value at the end of the round began + h - 1. `client` gets the number of its client, and may be
 * NULL.
 * COUPLET_ERROR_ARGUMENT: a term is wrong, or the root has no `give`.
 * COUPLET_ERROR_EXISTS: there is a client of that name. */
COUPLET_API couplet_status couplet_coalesce_add_broadcast(couplet_coalesce* coalesce,
                                                          const couplet_coalesce_phased* phased,
                                                          uint64_t capacity_bytes, int32_t* client);

/* Registers a reduction of arrays of `count` elements by an operation of the library. Ranks that give nothing are left
 * out. The root takes the result at the end of the round began + h - 1; with to_all = 1, all ranks take it in the
 * round began + 2 h - 1. The operands are combined in the same order in any run.
 * COUPLET_ERROR_ARGUMENT: a term is wrong, or there is no `give`.
 * COUPLET_ERROR_TYPE: the operation is not defined for the type.
 * COUPLET_ERROR_EXISTS: there is a client of that name. */
COUPLET_API couplet_status couplet_coalesce_add_reduction(couplet_coalesce* coalesce,
                                                          const couplet_coalesce_phased* phased,
                                                          couplet_operation operation, couplet_type type,
                                                          uint64_t count, int32_t to_all, int32_t* client);

/* Agrees with the other ranks on clients and requests, and makes the exchanges. After an error, the rounds can only be
 * closed.
 * Collective over the group.
 * Blocking: until all ranks have called it, at most the timeout of the options.
 * COUPLET_ERROR_ARGUMENT: two requests receive into the same memory.
 * COUPLET_ERROR_MISMATCH: two ranks disagree; the text names clients, ranks and what differs.
 * COUPLET_ERROR_TIMEOUT, COUPLET_ERROR_PEER_LOST: a rank has not come; the text names it. */
COUPLET_API couplet_status couplet_coalesce_freeze(couplet_coalesce* coalesce);

/* Does the same for what was registered, declared and removed since the freeze; it takes effect when the round
 * `from_round` begins. Messages of the rounds are not held up, but the ranks wait for each other in this call. After an
 * error, the rounds go on as they were.
 * Collective over the group: all ranks call it between the same two rounds, and give the same round.
 * Blocking: as couplet_coalesce_freeze.
 * COUPLET_ERROR_ARGUMENT: the round has begun, or as in couplet_coalesce_freeze.
 * COUPLET_ERROR_STATE: an earlier amendment has not taken effect. Otherwise as couplet_coalesce_freeze. */
COUPLET_API couplet_status couplet_coalesce_amend(couplet_coalesce* coalesce, uint64_t from_round);

/* Runs a round, or goes on with one that a timeout has interrupted.
 * Blocking: at most timeout_s, and as long as the callbacks take.
 * COUPLET_ERROR_TIMEOUT, COUPLET_INTERRUPTED: the round is still under way; call it again.
 * COUPLET_ERROR_STATE: not frozen; called by a callback; a rank has closed the rounds.
 * COUPLET_ERROR_PEER_LOST: a rank is lost; or another error that a rank or one of its clients has met. The rounds have
 * failed for all. */
COUPLET_API couplet_status couplet_coalesce_round(couplet_coalesce* coalesce, double timeout_s);

/* Gives the number of the round that is under way, or comes next. */
COUPLET_API couplet_status couplet_coalesce_round_number(couplet_coalesce* coalesce, uint64_t* round);

/* Sets how many bytes of a request are sent in this round, within the `fill` of its phase. If it is not called, a
 * variable request sends all its bytes, and an optional one nothing.
 * COUPLET_ERROR_LIMIT: more than the request has.
 * COUPLET_ERROR_ARGUMENT: this rank gives the request no length; or it is not variable, and gets another one than 0 or
 * all.
 * COUPLET_ERROR_STATE: called elsewhere. */
COUPLET_API couplet_status couplet_coalesce_set_length(couplet_coalesce* coalesce, uint32_t request, uint64_t bytes);

/* Gives the bytes that a request moves in this round: as set, or as arrived; 0: nothing. */
COUPLET_API couplet_status couplet_coalesce_length(couplet_coalesce* coalesce, uint32_t request, uint64_t* bytes);

/* Forms of a report. */
enum {
  COUPLET_COALESCE_TABLE = 0,   /* messages, bytes and waits of this rank, as a table for people */
  COUPLET_COALESCE_JSON = 1,    /* the same, as one line of JSON */
  COUPLET_COALESCE_TIMELINE = 2 /* what this rank did when: JSON in the Chrome trace format */
};

/* Gives a report on the rounds of this rank. `text` gets at most `bytes` bytes with the final 0, and `needed`, which
 * may be NULL, how many it takes.
 * COUPLET_ERROR_LIMIT: `bytes` is too small. */
COUPLET_API couplet_status couplet_coalesce_report(couplet_coalesce* coalesce, int32_t form, char* text, size_t bytes,
                                                   size_t* needed);

/* Closes the rounds. Ranks that wait for a round which this rank has not begun get COUPLET_ERROR_STATE.
 * Ownership: the handle is invalid afterwards, unless a callback has called it (COUPLET_ERROR_STATE).
 * Blocking: until methods that need it have ended at all neighbours, at most the timeout of the options.
 * COUPLET_ERROR_STATE: a round was under way. */
COUPLET_API couplet_status couplet_coalesce_close(couplet_coalesce* coalesce);

#ifdef __cplusplus
}
#endif
#endif
