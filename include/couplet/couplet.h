/* Couplet: the C interface, and the only binary interface; C++, Fortran and Python go through it.
 *
 * Every function returns a couplet_status: 0 is success, positive values are answers ("not yet", "full", "end",
 * "restarted"), negative values are errors, grouped by what is lost. couplet_error_text() gives the sentence that belongs
 * to the last error of the calling thread. No function aborts, exits or prints. Outputs come last and are written only
 * on success (or with an answer, where the function says so). Times are seconds; a timeout < 0 waits for ever, 0 does not
 * wait. Boxes are half open, [start, stop) in each dimension, 0-based, C order (last dimension contiguous).
 * A universe and everything made from it is used by one thread at a time. */
#ifndef COUPLET_COUPLET_H
#define COUPLET_COUPLET_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#error "Couplet needs a POSIX system"
#endif
#define COUPLET_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

#define COUPLET_VERSION_MAJOR 0
#define COUPLET_VERSION_MINOR 1
#define COUPLET_VERSION_PATCH 0
#define COUPLET_MAX_DIMENSIONS 8

/* ---- status ------------------------------------------------------------------------------------------------------ */

typedef int32_t couplet_status;
enum {
  COUPLET_OK = 0,
  /* answers */
  COUPLET_NOT_YET = 1,     /* nothing to give within the timeout */
  COUPLET_FULL = 2,        /* no room within the timeout */
  COUPLET_END = 3,         /* the writer has closed the series and everything was read */
  COUPLET_RESTARTED = 4,   /* the writer is a new incarnation; the next read begins with its first retained step */
  COUPLET_INTERRUPTED = 5, /* the thread's interrupt check has ended the call: nothing has happened, call again */
  /* errors: the call is lost */
  COUPLET_ERROR_ARGUMENT = -1,    /* an argument makes no sense */
  COUPLET_ERROR_STATE = -2,       /* not now: wrong order of calls, closed or left handle */
  COUPLET_ERROR_NOT_FOUND = -3,   /* no such program, series, rank */
  COUPLET_ERROR_EXISTS = -4,      /* the name is taken */
  COUPLET_ERROR_TYPE = -5,        /* another data type than was agreed */
  COUPLET_ERROR_SHAPE = -6,       /* wrong number of dimensions, or a box outside the array */
  COUPLET_ERROR_STEP = -7,        /* a step that does not increase */
  COUPLET_ERROR_LIMIT = -8,       /* a named limit was passed */
  COUPLET_ERROR_UNSUPPORTED = -9, /* not with this build or on this system */
  COUPLET_ERROR_FORKED = -10,     /* the handle belongs to the parent process */
  COUPLET_ERROR_THREAD = -11,     /* used by two threads at a time */
  COUPLET_ERROR_MEMORY = -12,     /* no memory */
  COUPLET_ERROR_CONFIG = -13,     /* a mistake in environment or configuration */
  COUPLET_ERROR_MPI = -14,        /* an MPI call failed, or two MPI libraries are loaded */
  /* errors: the request is lost */
  COUPLET_ERROR_TIMEOUT = -101,   /* the deadline has passed */
  COUPLET_ERROR_TRUNCATED = -102, /* the message is longer than the receive buffer */
  /* this holder kept the writer waiting for longer than evict_after_held, or its hold was released */
  COUPLET_ERROR_EVICTED = -103,
  COUPLET_ERROR_MISMATCH = -104, /* the ranks of one program do not agree */
  /* errors: the peer is lost */
  COUPLET_ERROR_PEER_LOST = -201,
  COUPLET_ERROR_AUTHENTICATION = -202, /* wrong secret */
  COUPLET_ERROR_VERSION = -203,        /* versions do not fit */
  COUPLET_ERROR_PROTOCOL = -204,       /* bytes that make no sense, lost, repeated or damaged frames */
  /* errors: the host is lost */
  COUPLET_ERROR_SYSTEM = -301,   /* an operating system call failed */
  COUPLET_ERROR_NO_SPACE = -302, /* disk or shared memory full */
  COUPLET_ERROR_HUB_LOST = -303, /* the hub is gone or was never there */
  COUPLET_ERROR_INTERNAL = -304
};

/* Name of a status ("COUPLET_ERROR_SHAPE"), or "unknown". */
COUPLET_API const char* couplet_status_name(couplet_status status);
/* Sentence of the last error of this thread: what, and program, rank, host, series, step where they apply.
 * Valid until the next Couplet call of this thread; never NULL. */
COUPLET_API const char* couplet_error_text(void);
/* "0.1.0" */
COUPLET_API const char* couplet_version(void);

/* While recv, wait, waitall, waitany, put, claim or read of this thread blocks, check(context) is called every 100 ms or so
 * (not at all by a call that ends sooner). Not 0: the call answers COUPLET_INTERRUPTED; what it waited for may be waited for
 * again, and a request stays pending. A call that is at a point where it cannot stop goes on first, and asks again. A
 * collective read that is interrupted on one rank answers COUPLET_NOT_YET on the others. join, and open while it looks for the
 * series, may be interrupted as well. Other calls are not.
 * check may not call Couplet. Of this thread only; NULL: no more. For languages with interrupts of their own. */
typedef int32_t (*couplet_interrupt_check)(void* context);
COUPLET_API void couplet_set_interrupt_check(couplet_interrupt_check check, void* context);

/* ---- data types -------------------------------------------------------------------------------------------------- */

typedef int32_t couplet_type;
enum {
  COUPLET_BYTE = 0, /* opaque, never converted */
  COUPLET_INT8 = 1,
  COUPLET_INT16 = 2,
  COUPLET_INT32 = 3,
  COUPLET_INT64 = 4,
  COUPLET_UINT8 = 5,
  COUPLET_UINT16 = 6,
  COUPLET_UINT32 = 7,
  COUPLET_UINT64 = 8,
  COUPLET_FLOAT = 9,
  COUPLET_DOUBLE = 10,
  COUPLET_COMPLEX_FLOAT = 11,
  COUPLET_COMPLEX_DOUBLE = 12
};
/* Bytes of one element; 0 for a type that does not exist. */
COUPLET_API size_t couplet_type_bytes(couplet_type type);

/* ---- universe ---------------------------------------------------------------------------------------------------- */

typedef struct couplet_universe couplet_universe;
typedef struct couplet_group couplet_group;
typedef struct couplet_request couplet_request;
typedef struct couplet_series couplet_series;

typedef struct couplet_join_options {
  size_t struct_bytes;
  int32_t rank;            /* -1: from the launcher's environment (Open MPI, Hydra, Slurm), else 0 */
  int32_t size;            /* -1: likewise, else 1 */
  const char* hub;         /* "host:port"; NULL: COUPLET_HUB */
  const char* secret_file; /* NULL: COUPLET_SECRET_FILE, else the user's configuration directory */
  double timeout_s;        /* for everybody to be there; default COUPLET_JOIN_TIMEOUT, else 60 */
  int32_t threads;         /* 0: one thread at a time (default); 1: calls take turns; one that waits lets others in */
  int32_t reserved;
} couplet_join_options;
COUPLET_API void couplet_join_options_init(couplet_join_options* options);

/* Joins this process to the universe as one rank of `program` (NULL: COUPLET_PROGRAM). Collective over the ranks of the
 * program; returns when all required programs are complete. options may be NULL.
 * COUPLET_ERROR_TIMEOUT names what is missing; NOT_FOUND: the universe has no such program; AUTHENTICATION; HUB_LOST. */
COUPLET_API couplet_status couplet_join(const char* program, const couplet_join_options* options,
                                        couplet_universe** universe);
/* Leaves in good order: closes what is open, finishes what was sent. The handle is gone, also after an error. */
COUPLET_API couplet_status couplet_leave(couplet_universe* universe);

/* Rank and number of ranks in the universe (programs in order of id, then rank). */
COUPLET_API couplet_status couplet_universe_rank(const couplet_universe* universe, int32_t* rank, int32_t* size);
/* Number of programs, and this one's id and its rank and size within it. */
COUPLET_API couplet_status couplet_universe_program(const couplet_universe* universe, int32_t* program_count,
                                                    int32_t* program, int32_t* rank, int32_t* size);
/* Name (valid until leave), size and first universe rank of program id. */
COUPLET_API couplet_status couplet_program_info(const couplet_universe* universe, int32_t program, const char** name,
                                                int32_t* size, int32_t* first_rank);
/* Universe rank of rank `rank` of the program called `name`. */
COUPLET_API couplet_status couplet_find_rank(const couplet_universe* universe, const char* name, int32_t rank,
                                             int32_t* universe_rank);
/* Gives the library a chance to move things; never blocks. */
COUPLET_API couplet_status couplet_progress(couplet_universe* universe);
/* JSON text about links, limits and choices. Writes at most `bytes` with the final 0; `needed` (may be NULL) gets the
 * full length with the final 0. LIMIT when it did not fit. */
COUPLET_API couplet_status couplet_explain(couplet_universe* universe, char* text, size_t bytes, size_t* needed);

/* ---- groups ------------------------------------------------------------------------------------------------------ */

/* All ranks of the universe. Belongs to the universe; need not be freed. */
COUPLET_API couplet_status couplet_universe_group(couplet_universe* universe, couplet_group** group);
/* All ranks of the own program. Belongs to the universe. */
COUPLET_API couplet_status couplet_program_group(couplet_universe* universe, couplet_group** group);
/* Ordered set of universe ranks under a name; every member makes the same call with the same arguments, no message is
 * sent. The name and the members make the context: messages of different groups never match. */
COUPLET_API couplet_status couplet_group_create(couplet_universe* universe, const char* name, const int32_t* ranks,
                                                int32_t count, couplet_group** group);
/* rank: of the caller, -1 where it is no member. */
COUPLET_API couplet_status couplet_group_rank(const couplet_group* group, int32_t* rank, int32_t* size);
COUPLET_API couplet_status couplet_group_free(couplet_group* group);

/* ---- messages ---------------------------------------------------------------------------------------------------- */

#define COUPLET_ANY_SOURCE (-1)
#define COUPLET_ANY_TAG (-1)

typedef struct couplet_message {
  int32_t source; /* rank in the group */
  int32_t tag;
  uint64_t bytes; /* received, in the receiver's representation */
  uint64_t count; /* elements of the receive call's type */
} couplet_message;

/* MPI's rules: order per (source, tag, group), any size, tags 0 .. 2^31-1. The buffer of a non-blocking call belongs to
 * the library until wait or test says it is done. A request is gone (NULL) when wait, test, waitall or waitany has
 * completed it, also with an error. TRUNCATED: the message is longer; the buffer's content is undefined. */
COUPLET_API couplet_status couplet_send(couplet_group* group, const void* data, uint64_t count, couplet_type type,
                                        int32_t target, int32_t tag);
COUPLET_API couplet_status couplet_recv(couplet_group* group, void* data, uint64_t count, couplet_type type,
                                        int32_t source, int32_t tag, couplet_message* message);
COUPLET_API couplet_status couplet_isend(couplet_group* group, const void* data, uint64_t count, couplet_type type,
                                         int32_t target, int32_t tag, couplet_request** request);
COUPLET_API couplet_status couplet_irecv(couplet_group* group, void* data, uint64_t count, couplet_type type,
                                         int32_t source, int32_t tag, couplet_request** request);
/* message may be NULL. TIMEOUT leaves the request pending. A NULL request is complete. */
COUPLET_API couplet_status couplet_wait(couplet_request** request, double timeout_s, couplet_message* message);
/* done: 1 or 0; never blocks. */
COUPLET_API couplet_status couplet_test(couplet_request** request, int32_t* done, couplet_message* message);
/* statuses and messages may be NULL. Waits for all, then returns the first error in array order (each request's own in
 * statuses). INTERRUPTED: those that are NULL now are done, the others are pending. */
COUPLET_API couplet_status couplet_waitall(int32_t count, couplet_request** requests, double timeout_s,
                                           couplet_status* statuses, couplet_message* messages);
/* index: of a completed request, -1 where all are NULL. */
COUPLET_API couplet_status couplet_waitany(int32_t count, couplet_request** requests, double timeout_s, int32_t* index,
                                           couplet_message* message);

/* ---- series: writing --------------------------------------------------------------------------------------------- */

typedef struct couplet_series_options {
  size_t struct_bytes;
  uint64_t slots;               /* retained steps; 0: as many as fit into memory_bytes, 2 to 4096 */
  uint64_t memory_bytes;        /* per writer rank, where slots is 0; default 256 MiB */
  const char* required_readers; /* program names, comma separated; NULL: COUPLET_REQUIRED_READERS_<SERIES>, else none */
  double required_timeout_s;    /* for required readers to open; < 0 (default): for ever */
  double wait_timeout_s;        /* for holders, in put and claim; < 0 (default): for ever; 0: answer FULL at once */
  double evict_after_held_s; /* release a holder that has kept this writer waiting for so long; < 0 (default): never */
  couplet_group* group;      /* writers; NULL: all ranks of the program */
  uint64_t holders;          /* readers that can hold at once, on each writer rank; 0: 64 */
  int32_t collective;        /* not 0: put and claim are collective over the writers; all ranks get the slot, or none */
  int32_t reserved;
} couplet_series_options;
COUPLET_API void couplet_series_options_init(couplet_series_options* options);

/* Creates the series `name`, an array of `dimensions` extents `shape`, of which this rank writes the box [start, stop)
 * (may be empty; both NULL: the whole array, where there is one writer rank). Collective over the writers. EXISTS: another live program writes it; SHAPE; NO_SPACE; MISMATCH. */
COUPLET_API couplet_status couplet_series_create(couplet_universe* universe, const char* name, couplet_type type,
                                                 int32_t dimensions, const int64_t* shape, const int64_t* start,
                                                 const int64_t* stop, const couplet_series_options* options,
                                                 couplet_series** series);
/* Copies this rank's box of step `step` (strictly increasing, may be sparse) and publishes it. Local: involves no other
 * rank. FULL or TIMEOUT where holders keep it waiting; STEP where the step does not increase. */
COUPLET_API couplet_status couplet_series_put(couplet_series* series, const void* data, int64_t step);
/* The memory of the next slot, to compute in place; what it held is gone. It is published by publish, and only then. */
COUPLET_API couplet_status couplet_series_claim(couplet_series* series, int64_t step, void** data);
COUPLET_API couplet_status couplet_series_publish(couplet_series* series);
/* Gives the claim of this rank back. Nothing is published, and the same step or another one may be written next; what the slot
   held before is gone. Returns COUPLET_ERROR_STATE if nothing is claimed. */
COUPLET_API couplet_status couplet_series_abandon(couplet_series* series);

/* One of several arrays that belong to one step, and what of it this rank writes. */
typedef struct couplet_field {
  size_t struct_bytes; /* sizeof(couplet_field): also the distance of the fields in a list */
  const char* name;    /* 1 to 63 bytes; may be "" where it is the only one */
  couplet_type type;
  int32_t dimensions; /* of shape and of each box */
  const int64_t* shape;
  const int64_t* start; /* the boxes, one after the other; both NULL: the whole array, where one rank writes alone */
  const int64_t* stop;
  int32_t box_count; /* default 1; 0: this rank writes nothing of it */
  int32_t reserved;
} couplet_field;
COUPLET_API void couplet_field_init(couplet_field* field);

/* As couplet_series_create, for several fields (at most 64), and any number of boxes for each (at most 4096 of all fields).
 * Boxes of a field must not overlap, on one rank or on several. ARGUMENT: no name, or one that another field has. */
COUPLET_API couplet_status couplet_series_create_fields(couplet_universe* universe, const char* name,
                                                        const couplet_field* fields, int32_t field_count,
                                                        const couplet_series_options* options, couplet_series** series);

/* Where a box stands in the caller's memory: its first element, and the bytes from one element to the next in each
 * dimension, which may lead back. strides NULL: without gaps, in C order. A part of a larger array, such as one without its
 * ghost cells, is the address of its first element and the strides of the whole. */
typedef struct couplet_array {
  void* data;             /* only read by put */
  const int64_t* strides; /* read: of the steps first, then one for each dimension; put: one for each dimension */
  uint64_t bytes;         /* read: of the memory; with strides: from its lowest to its highest byte, 0: not stated */
} couplet_array;

/* Puts one array for each box of each field, in the order of creation; copied once, whatever the strides are. */
COUPLET_API couplet_status couplet_series_put_arrays(couplet_series* series, const couplet_array* arrays,
                                                     int32_t array_count, int64_t step);
/* As claim; data gets the memory of each box of each field, in the order of creation, each without gaps in C order. */
COUPLET_API couplet_status couplet_series_claim_arrays(couplet_series* series, int64_t step, void** data,
                                                       int32_t array_count);
/* Physical time of the next step that is published, on each writer rank the same. ARGUMENT: not finite; STEP: before that of
 * an earlier step. A step without has the time NaN. */
COUPLET_API couplet_status couplet_series_set_time(couplet_series* series, double time);

/* ---- series: reading --------------------------------------------------------------------------------------------- */

enum { COUPLET_HOLD = 0, COUPLET_FOLLOW = 1 };
enum { COUPLET_FROM_OLDEST = 0, COUPLET_FROM_NEWEST = 1, COUPLET_FROM_NEXT = 2, COUPLET_FROM_STEP = 3 };

/* A field to be read. */
typedef struct couplet_choice {
  size_t struct_bytes; /* sizeof(couplet_choice): also the distance of the choices in a list */
  const char* name;
  const int64_t* start; /* box of this rank; both NULL: the whole array */
  const int64_t* stop;
  int32_t dimensions; /* length of start and stop */
  couplet_type type;  /* expected; -1 (default): not checked */
} couplet_choice;
COUPLET_API void couplet_choice_init(couplet_choice* choice);

/* A sparse matrix of weights, in compressed rows, that turns points of the series' whole array into target points of this rank
 * while a step is read. Row r is element r of an array of one dimension, which is what the reader is given. */
typedef struct couplet_weights {
  size_t struct_bytes;
  int64_t rows;               /* target points of this rank; 0 is possible */
  int64_t source_points;      /* elements of the whole array */
  const int64_t* row_offsets; /* rows + 1, from 0 on: row r has the entries [row_offsets[r], row_offsets[r + 1]) */
  const int64_t* sources;     /* of each entry: flat index of an element in the whole array, in C order, from 0 on */
  const double* weights;      /* of each entry; finite */
  const uint8_t* source_mask; /* source_points marks, 0: that point is masked; NULL (default): none is */
  double fill;                /* value of a row without entries or with a masked source; default NaN */
} couplet_weights;
COUPLET_API void couplet_weights_init(couplet_weights* weights);

/* What a read at physical times does about a time that lies past the newest step. */
enum { COUPLET_BEYOND_WAIT = 0, COUPLET_BEYOND_ERROR = 1 };

typedef struct couplet_open_options {
  size_t struct_bytes;
  const int64_t* start; /* box of this rank, of fields with none of their own; both NULL: the whole array */
  const int64_t* stop;
  int32_t dimensions; /* length of start and stop; 0: not checked */
  int32_t mode;       /* COUPLET_HOLD (default): the writer waits for this reader; COUPLET_FOLLOW: never */
  int32_t from;       /* COUPLET_FROM_OLDEST (default): the oldest retained step, ... */
  int32_t local;      /* 0 (default): reads are collective over the group; 1: every rank reads for itself */
  int64_t from_step;  /* with COUPLET_FROM_STEP: the first step >= this */
  couplet_type type;  /* expected element type; -1 (default): not checked */
  int32_t reserved;
  couplet_group* group;  /* readers; NULL: all ranks of the program */
  double timeout_s;      /* for the series to exist; default 60 */
  uint64_t buffer_bytes; /* local slots for a series of another node; 0: 256 MiB */
  uint64_t every;        /* n: deliver the first step and then every n-th, skip the others; default 1 */
  int32_t latest; /* 1: a read gives the at_least newest steps, skips older ones; needs COUPLET_FOLLOW; default 0 */
  int32_t torn;   /* 1: deliver torn steps, marked; 0 (default): withhold them, and count them as lost */
  const couplet_choice*
      fields; /* to be read, in this order; NULL (default): all. NOT_FOUND names those that there are */
  int32_t field_count;
  int32_t reserved2;
  double interval; /* of physical time: the first step of each is delivered, the others are skipped; 0 (default): all */
  const couplet_weights* weights; /* instead of boxes; for float and double; copied; NULL (default): none */
  int32_t beyond_newest;          /* of couplet_series_read_at: COUPLET_BEYOND_WAIT (default) or COUPLET_BEYOND_ERROR */
  int32_t reserved3;
} couplet_open_options;
COUPLET_API void couplet_open_options_init(couplet_open_options* options);

/* Opens a series for reading, waiting until it exists. */
COUPLET_API couplet_status couplet_series_open(couplet_universe* universe, const char* name,
                                               const couplet_open_options* options, couplet_series** series);

/* The steps of one field. */
typedef struct couplet_field_data {
  const void* data;    /* count x box, C order; the user's array, else the library's until the next read or close */
  uint64_t step_bytes; /* of one step's box */
} couplet_field_data;

typedef struct couplet_batch {
  size_t struct_bytes;              /* set by the caller: sizeof(couplet_batch) */
  uint64_t count;                   /* steps */
  const void* data;                 /* of the first field, see couplet_field_data */
  uint64_t step_bytes;              /* of the first field */
  const int64_t* steps;             /* count step indices; until the next read */
  const uint64_t* ordinals;         /* count ordinals; until the next read */
  uint64_t lost;                    /* steps lost since the last read */
  uint64_t incarnation;             /* of the writer, 0, 1, ... */
  const uint8_t* torn;              /* count marks, 1: the step was replaced while it was copied; until the next read */
  const double* times;              /* count physical times, NaN where none was said; until the next read */
  const couplet_field_data* fields; /* each array is count x box; until the next read */
  uint64_t field_count;
} couplet_batch;

/* Reads the box of at least `at_least` (waited for) and at most `up_to` steps in order. A wait that ends with the series
 * gives what is left. out: NULL or out_bytes >= up_to * step_bytes. NOT_YET after the timeout (nothing is delivered);
 * END; RESTARTED; LIMIT where at_least exceeds the slots of a held series; EVICTED; PEER_LOST. Collective unless local. */
COUPLET_API couplet_status couplet_series_read(couplet_series* series, uint64_t at_least, uint64_t up_to,
                                               double timeout_s, void* out, uint64_t out_bytes, couplet_batch* batch);
/* The same into an array for each field that is read, in the order of the choice; data NULL: the library's. */
COUPLET_API couplet_status couplet_series_read_arrays(couplet_series* series, uint64_t at_least, uint64_t up_to,
                                                      double timeout_s, const couplet_array* outs, int32_t out_count,
                                                      couplet_batch* batch);

/* Delivers values at `time_count` physical times, which do not descend: linear between the steps around each, for elements of type
 * float or double. batch: one array for each time; times are the given ones, steps and ordinals those of the step at or before
 * each. outs: as for couplet_series_read_arrays, without strides, with room for time_count boxes; NULL: the library's memory.
 * Fewer times are delivered if something prevents the others, and the next call says what. Waits for the step after each time.
 * Collective unless local; all ranks give the same times. Answers and errors as couplet_series_read, and COUPLET_ERROR_ARGUMENT if
 * a time lies before the oldest step that is left, or past the newest with COUPLET_BEYOND_ERROR, or if a step has no time. */
COUPLET_API couplet_status couplet_series_read_at(couplet_series* series, const double* times, int32_t time_count,
                                                  double timeout_s, const couplet_array* outs, int32_t out_count,
                                                  couplet_batch* batch);

/* ---- series: both sides ------------------------------------------------------------------------------------------ */

typedef struct couplet_series_info {
  size_t struct_bytes; /* set by the caller */
  const char* name;
  const char* program; /* of the writer */
  const char* route;   /* "writer", "mapped", "relay" or "window" */
  couplet_type type;
  int32_t dimensions;
  int64_t shape[COUPLET_MAX_DIMENSIONS];
  int64_t
      start[COUPLET_MAX_DIMENSIONS]; /* of this rank's box; type to step_bytes are of the first field, its first box */
  int64_t stop[COUPLET_MAX_DIMENSIONS];
  uint64_t step_bytes; /* of this rank's boxes */
  uint64_t slots;
  int32_t writers;     /* ranks */
  int32_t field_count; /* a reader: those that it has chosen */
} couplet_series_info;
COUPLET_API couplet_status couplet_series_describe(const couplet_series* series, couplet_series_info* info);

typedef struct couplet_field_info {
  size_t struct_bytes; /* set by the caller */
  const char* name;    /* until close, as what follows; "" of a series that was created without fields */
  couplet_type type;
  int32_t dimensions;
  const int64_t* shape;
  const int64_t* start; /* of this rank's boxes, one after the other; a reader has one */
  const int64_t* stop;
  int32_t box_count;
  int32_t reserved;
  uint64_t step_bytes; /* of this rank's boxes */
} couplet_field_info;
/* Field number `field`, from 0 on, in the order of creation or of the reader's choice. NOT_FOUND: there are fewer. */
COUPLET_API couplet_status couplet_series_describe_field(const couplet_series* series, int32_t field,
                                                         couplet_field_info* info);

/* The accounting of one rank. For a reader: published - first = delivered + lost + skipped + pending. */
typedef struct couplet_series_statistics {
  size_t struct_bytes; /* set by the caller */
  uint64_t published;  /* ordinals 0 .. published-1 exist or existed */
  uint64_t first;      /* ordinal at which this reader started */
  uint64_t delivered;  /* with delivered_torn */
  uint64_t lost;       /* with lost_torn */
  uint64_t lost_torn;
  uint64_t skipped;
  uint64_t pending;
  uint64_t delivered_torn;
  uint64_t calls; /* reads that delivered, or puts and publishes */
  uint64_t largest_batch;
  uint64_t bytes;      /* copied */
  uint64_t copy_ns;    /* in copies */
  uint64_t held_ns;    /* writer: waiting for holders; reader: waiting for steps */
  uint64_t library_ns; /* in calls of this series, without held_ns */
} couplet_series_statistics;
COUPLET_API couplet_status couplet_series_count(couplet_series* series, couplet_series_statistics* statistics);
/* How long a writer rank has waited for holders in put and claim, and for whom (back-pressure). */
typedef struct couplet_series_waits {
  size_t struct_bytes; /* set by the caller */
  uint64_t count;      /* waits */
  uint64_t total_ns;
  uint64_t last_ns;
  uint64_t longest_ns;
  const char* last_for;    /* "program 'nowcast' rank 3 on host n02", "" before the first wait; until the next call */
  const char* longest_for; /* a required program that has not opened: "required reader program 'nowcast'" */
  int32_t last_rank;       /* universe rank of the reader, -1: of a program that has not opened, or no wait */
  int32_t longest_rank;
} couplet_series_waits;
COUPLET_API couplet_status couplet_series_waited(couplet_series* series, couplet_series_waits* waits);
/* Ordinals [first, end) that are still there, and the newest step; NOT_YET before the first step. */
COUPLET_API couplet_status couplet_series_retained(couplet_series* series, uint64_t* first, uint64_t* end,
                                                   int64_t* newest_step);
/* Ends writing (readers get what is left, then END) or reading. The handle is gone, also after an error. */
COUPLET_API couplet_status couplet_series_close(couplet_series* series);

/* ---- tasks ------------------------------------------------------------------------------------------------------- */

/* Requests with integer parameters and an optional payload: a requester submits them, a coupler dispatches them, groups of
 * worker ranks do them. All who take part open the tasks under one name, and name the program whose ranks are the couplers. */
typedef struct couplet_tasks couplet_tasks; /* one process's part in them */
typedef struct couplet_task couplet_task;   /* one request, for its requester */

enum { COUPLET_REQUESTER = 0, COUPLET_WORKER = 1, COUPLET_COUPLER = 2 };
enum { COUPLET_TASK_FAIL = 0, COUPLET_TASK_RETRY = 1 };
enum { COUPLET_FIRST_IDLE = 0, COUPLET_ROUND_ROBIN = 1 };
#define COUPLET_ANY_WORKER (-1)

typedef struct couplet_task_options {
  size_t struct_bytes;
  int32_t role;       /* COUPLET_REQUESTER (default), COUPLET_WORKER, COUPLET_COUPLER */
  int32_t worker_id;  /* worker: by which requests find it; -1 (default): the id of its program */
  int32_t group_size; /* worker: consecutive ranks that do a task together; 0 (default): all of the program */
  int32_t on_lost;    /* coupler: a lost worker's task is handed back (COUPLET_TASK_FAIL) or done by others (_RETRY) */
  int32_t policy;     /* coupler, for COUPLET_ANY_WORKER: COUPLET_FIRST_IDLE or COUPLET_ROUND_ROBIN over the ids */
  int32_t reserved;
  uint64_t queue_limit;   /* coupler: tasks that wait; 0 (default): as many as memory holds */
  const char* couplers;   /* the program whose ranks dispatch; default "coupler" */
  const char* requesters; /* coupler: the programs that submit, separated by commas; NULL: all that are no workers */
  const char* workers;    /* coupler: the programs that work; NULL: all that are no requesters. Not both NULL */
} couplet_task_options;
COUPLET_API void couplet_task_options_init(couplet_task_options* options);

/* No message is waited for. Workers: every rank of the program makes the same call. NOT_FOUND: no such program; EXISTS. */
COUPLET_API couplet_status couplet_task_open(couplet_universe* universe, const char* name,
                                             const couplet_task_options* options, couplet_tasks** tasks);
/* Requester: nothing more will come from here (what is under way goes on). Worker: what was not begun is given back.
 * Coupler: the end of all. The handle is gone, and tasks of it that are not done; the first error of a task that was
 * submitted without a handle is this call's. */
COUPLET_API couplet_status couplet_task_close(couplet_tasks* tasks);

/* Requester. Returns when a coupler has taken the request: parameters and payload may change. `worker` is a worker id or
 * COUPLET_ANY_WORKER (a user's coupler may choose otherwise). task may be NULL. FULL: the coupler's queue is, and stays so
 * within the timeout; TIMEOUT names the coupler that does not poll; NOT_FOUND: no workers have that id; PEER_LOST. */
COUPLET_API couplet_status couplet_task_submit(couplet_tasks* tasks, int32_t worker, const int64_t* parameters,
                                               int32_t parameter_count, const void* payload, uint64_t payload_count,
                                               couplet_type type, double timeout_s, couplet_task** task);
/* How the task ended: OK, what the worker or coupler said, or PEER_LOST. The task is gone (NULL) but after TIMEOUT. */
COUPLET_API couplet_status couplet_task_wait(couplet_task** task, double timeout_s);
/* done: 1 (then the status is the task's) or 0; never blocks. */
COUPLET_API couplet_status couplet_task_test(couplet_task** task, int32_t* done);
/* index: of a task that is done (the status is that task's), -1 where all are NULL. Tasks of one handle. */
COUPLET_API couplet_status couplet_task_waitany(int32_t count, couplet_task** tasks, double timeout_s, int32_t* index);

typedef struct couplet_task_info {
  size_t struct_bytes;       /* set by the caller */
  uint64_t id;               /* the coupler's number of the task */
  int32_t source;            /* universe rank of its requester */
  int32_t worker;            /* worker id that it is for */
  const int64_t* parameters; /* this and payload: the library's, until the task is dispatched or completed */
  const void* payload;       /* NULL where there is none */
  uint64_t payload_count;
  int32_t parameter_count;
  couplet_type type; /* of the payload */
} couplet_task_info;

/* What a worker expects of the next task; -1: anything. */
typedef struct couplet_task_expectation {
  size_t struct_bytes;
  int64_t parameter_count;
  int64_t payload_count;
  couplet_type type;
  int32_t reserved;
} couplet_task_expectation;
COUPLET_API void couplet_task_expectation_init(couplet_task_expectation* expectation);

/* Worker: collective over its group, the next task, the same on every rank. A task that is not as expected (may be NULL) is
 * handed back with the error that this call returns: ARGUMENT (number of parameters), TYPE, SHAPE (size of the payload).
 * Coupler: the next request, to be dispatched or completed; `expected` is not looked at. NOT_YET after the timeout; END:
 * all requesters have closed, everything is done. */
COUPLET_API couplet_status couplet_task_next(couplet_tasks* tasks, const couplet_task_expectation* expected,
                                             double timeout_s, couplet_task_info* info);
/* Worker: the task in hand is done, with OK or an error code and its sentence (may be NULL) for the requester; collective.
 * Coupler: task `id` ends without a worker. Workers give any id. */
COUPLET_API couplet_status couplet_task_complete(couplet_tasks* tasks, uint64_t id, couplet_status outcome,
                                                 const char* text);
/* Coupler: gives the task to workers, with these parameters and this payload (which may be those of its info).
 * NOT_FOUND: no workers have that id, the task stays in hand. */
COUPLET_API couplet_status couplet_task_dispatch(couplet_tasks* tasks, uint64_t id, int32_t worker,
                                                 const int64_t* parameters, int32_t parameter_count,
                                                 const void* payload, uint64_t payload_count, couplet_type type);
/* The built-in coupler: dispatches every request as it asks for, until END has come (OK) or the timeout (NOT_YET). */
COUPLET_API couplet_status couplet_task_run(couplet_tasks* tasks, double timeout_s);

/* ---- areas ------------------------------------------------------------------------------------------------------- */

/* Memory that its owner exposes, an n-D array, and others read and write. On the owner's node he has no part in it: the
 * library's memory is mapped, his own is reached in his process where the system allows it; else he serves, in any call. */
typedef struct couplet_area couplet_area;

typedef struct couplet_area_options {
  size_t struct_bytes;
  void* memory;    /* the owner's array; NULL (default): the library's memory, zero, see couplet_area_info */
  int32_t stamped; /* 1: one writes at a time, and what is read is whole; 0 (default): raw memory */
  int32_t reserved;
} couplet_area_options;
COUPLET_API void couplet_area_options_init(couplet_area_options* options);

/* Local. EXISTS: this process has an area of that name. */
COUPLET_API couplet_status couplet_area_create(couplet_universe* universe, const char* name, couplet_type type,
                                               int32_t dimensions, const int64_t* shape,
                                               const couplet_area_options* options, couplet_area** area);
/* Waits until universe rank `owner` has created it. NOT_FOUND names the areas he has; TIMEOUT: he makes no call. */
COUPLET_API couplet_status couplet_area_open(couplet_universe* universe, const char* name, int32_t owner,
                                             double timeout_s, couplet_area** area);

/* `count` elements from element `offset` on, C order. SHAPE: outside the area; PEER_LOST: its owner is gone, or who wrote it
 * died; TIMEOUT: it is written all the time. stamp (may be NULL): how often a stamped area has been written. */
COUPLET_API couplet_status couplet_area_read(couplet_area* area, uint64_t offset, uint64_t count, void* data,
                                             double timeout_s, uint64_t* stamp);
COUPLET_API couplet_status couplet_area_write(couplet_area* area, uint64_t offset, uint64_t count, const void* data,
                                              double timeout_s, uint64_t* stamp);
/* The box [start, stop), data contiguous in C order. */
COUPLET_API couplet_status couplet_area_read_box(couplet_area* area, const int64_t* start, const int64_t* stop,
                                                 void* data, double timeout_s, uint64_t* stamp);
COUPLET_API couplet_status couplet_area_write_box(couplet_area* area, const int64_t* start, const int64_t* stop,
                                                  const void* data, double timeout_s, uint64_t* stamp);
/* Owner of a stamped area: around his own changes of its memory. */
COUPLET_API couplet_status couplet_area_begin(couplet_area* area, double timeout_s);
COUPLET_API couplet_status couplet_area_end(couplet_area* area);

typedef struct couplet_area_info {
  size_t struct_bytes; /* set by the caller */
  const char* name;
  const char* route; /* "own", "mapped", "memory" (in the owner's process) or "served" */
  void* memory;      /* the elements in this process: owner and "mapped"; else NULL */
  couplet_type type;
  int32_t dimensions;
  int64_t shape[COUPLET_MAX_DIMENSIONS];
  int32_t owner; /* universe rank */
  int32_t stamped;
} couplet_area_info;
COUPLET_API couplet_status couplet_area_describe(const couplet_area* area, couplet_area_info* info);
COUPLET_API couplet_status couplet_area_close(couplet_area* area);

#ifdef __cplusplus
}
#endif
#endif
