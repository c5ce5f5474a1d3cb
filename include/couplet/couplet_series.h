/* Series: a named, time-indexed, distributed array with one or more fields, written by one program and read by others.
 *
 * A step is the caller's own number of a time step; steps increase strictly and may be sparse (10, 20, 30). Ordinals
 * 0, 1, 2, ... count the published steps. Each writer rank keeps the last `slots` steps in mapped memory, from which
 * readers copy. A reader that holds makes the writer wait before it overwrites what the reader has not read; a
 * reader that follows never does, and is told how many steps it has lost. A delivered step is whole, over all writer
 * ranks. Options and fields are described by structs whose first member is the size of the struct: set them with the
 * _init function, or set struct_bytes if the comment says so. An option that has its default is taken from the
 * setting series.<name>.<option>, for example the variable COUPLET_SERIES_ETA_SLOTS for the slots of "eta". */
#ifndef COUPLET_COUPLET_SERIES_H
#define COUPLET_COUPLET_SERIES_H

#include <couplet/couplet_universe.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct couplet_series couplet_series;

/* ---- writing ---- */

typedef struct couplet_series_create_options {
  size_t struct_bytes;
  uint64_t slots;               /* steps that are kept; 0 (default): as many as fit into memory_bytes, at least 2 */
  uint64_t memory_bytes;        /* size for each writer rank, if slots is 0; 0 (default): 256 MiB, at most 4096 slots */
  const char* required_readers; /* program names, comma separated; NULL: the setting of the series, else none */
  double required_timeout_s;    /* how long required readers may take to open; < 0 (default): for ever */
  double wait_timeout_s;        /* how long put and claim wait for holders; < 0 (default): for ever; 0: FULL at once */
  double evict_after_held_s; /* release a holder that has kept this writer waiting for so long; < 0 (default): never */
  couplet_group* group;      /* the writers; NULL (default): all ranks of the program */
  uint64_t holders;          /* readers that can hold at the same time, on each writer rank; 0 (default): 64 */
  int32_t collective;        /* 1: put and claim are collective: all writer ranks get the slot, or none; 0 (default) */
  int32_t reserved;
} couplet_series_create_options;

/* Sets the options to their defaults. */
COUPLET_API void couplet_series_create_options_init(couplet_series_create_options* options);

/* Creates the series `name`: an array of `dimensions` dimensions with the extents `shape`, of which this rank
 * writes the box [start, stop). The box may be empty. start and stop may both be NULL if there is one writer rank:
 * the whole array.
 * Collective over the writers. options may be NULL.
 * COUPLET_ERROR_EXISTS: another live program writes a series of this name, or this process writes or creates it.
 * COUPLET_ERROR_SHAPE: a box is outside the array, or overlaps with that of another rank.
 * COUPLET_ERROR_MISMATCH: the ranks do not agree on the array or the options.
 * COUPLET_ERROR_LIMIT: too many dimensions, fields, boxes or required readers.
 * COUPLET_ERROR_NO_SPACE: the slots do not fit into the shared memory of the node. */
COUPLET_API couplet_status couplet_series_create(couplet_universe* universe, const char* name, couplet_type type,
                                                 int32_t dimensions, const int64_t* shape, const int64_t* start,
                                                 const int64_t* stop, const couplet_series_create_options* options,
                                                 couplet_series** series);

/* Copies this rank's box of step `step` into the next slot and publishes it. It involves no other rank, unless the
 * series was created with options.collective.
 * Blocking: up to wait_timeout_s, if a holding reader still needs the oldest slot; if the writers agree on each step,
 * up to 60 s more for ranks that have not made the call.
 * COUPLET_ERROR_STEP: `step` is not greater than the previous one.
 * COUPLET_FULL: wait_timeout_s is 0, and a holding reader still needs the oldest slot.
 * COUPLET_ERROR_TIMEOUT: as before, after wait_timeout_s; the text names the reader.
 * COUPLET_INTERRUPTED: the interrupt check ended the wait, and nothing was put. */
COUPLET_API couplet_status couplet_series_put(couplet_series* series, const void* data, int64_t step);

/* Gives the memory of the next slot, for computation in place. Its old contents are undefined. The step exists for
 * readers only after couplet_series_publish. Blocking and results: as couplet_series_put. */
COUPLET_API couplet_status couplet_series_claim(couplet_series* series, int64_t step, void** data);

/* Publishes the claimed slot.
 * COUPLET_ERROR_STATE: no slot is claimed. */
COUPLET_API couplet_status couplet_series_publish(couplet_series* series);

/* Gives the claim of this rank back. Nothing is published, and the same step or another one may be written next. The
 * old contents of the slot are lost.
 * COUPLET_ERROR_STATE: no slot is claimed. */
COUPLET_API couplet_status couplet_series_abandon(couplet_series* series);

/* One of several arrays that belong to one step, and the part of it that this rank writes. */
typedef struct couplet_series_field {
  size_t struct_bytes; /* sizeof(couplet_series_field): also the distance between the fields of a list */
  const char* name;    /* 1 to 63 bytes; may be "" if it is the only field */
  couplet_type type;
  int32_t dimensions; /* of shape and of each box */
  const int64_t* shape;
  const int64_t* start; /* the boxes, one after the other; start and stop NULL: the whole array, if one rank writes */
  const int64_t* stop;
  int32_t box_count; /* default 1; 0: this rank writes nothing of the field */
  int32_t reserved;
} couplet_series_field;

/* Sets the field to its defaults. */
COUPLET_API void couplet_series_field_init(couplet_series_field* field);

/* Creates a series of several fields (at most 64), each with any number of boxes (at most 4096 of all fields
 * together). The boxes of a field must not overlap, neither on one rank nor on several. Otherwise it is as
 * couplet_series_create.
 * COUPLET_ERROR_ARGUMENT: a field has no name, or the name of another one. */
COUPLET_API couplet_status couplet_series_create_fields(couplet_universe* universe, const char* name,
                                                        const couplet_series_field* fields, int32_t field_count,
                                                        const couplet_series_create_options* options,
                                                        couplet_series** series);

/* Where a box is in the caller's memory: its first element, and the distance in bytes from one element to the next
 * in each dimension, which may be negative. strides NULL means an array without gaps in C order. A part of a larger
 * array, such as an array without its ghost cells, is the address of its first element and the strides of the
 * larger array. */
typedef struct couplet_series_array {
  void* data;             /* put only reads it */
  const int64_t* strides; /* read: the distance of the steps first, then one for each dimension; put: the latter only */
  uint64_t bytes;         /* read: size of the memory; with strides: from its lowest to its highest byte, or 0 */
} couplet_series_array;

/* Puts one array for each box of each field, in the order of creation. Each is copied once, whatever its strides are.
 * Blocking and results: as couplet_series_put. */
COUPLET_API couplet_status couplet_series_put_arrays(couplet_series* series, const couplet_series_array* arrays,
                                                     int32_t array_count, int64_t step);

/* Claims as couplet_series_claim. `data` gets the memory of each box of each field, in the order of creation; each is
 * without gaps, in C order. */
COUPLET_API couplet_status couplet_series_claim_arrays(couplet_series* series, int64_t step, void** data,
                                                       int32_t array_count);

/* Sets the physical time of the next step that is published; every writer rank gives the same time. A step without
 * one has the time NaN.
 * COUPLET_ERROR_ARGUMENT: the time is not finite.
 * COUPLET_ERROR_STEP: the time is before that of an earlier step. */
COUPLET_API couplet_status couplet_series_set_time(couplet_series* series, double time);

/* ---- reading ---- */

enum { COUPLET_SERIES_HOLD = 0, COUPLET_SERIES_FOLLOW = 1 };
enum {
  COUPLET_SERIES_FROM_OLDEST = 0,
  COUPLET_SERIES_FROM_NEWEST = 1,
  COUPLET_SERIES_FROM_NEXT = 2,
  COUPLET_SERIES_FROM_STEP = 3
};

/* A field that a reader chooses, with the box that it reads. */
typedef struct couplet_series_choice {
  size_t struct_bytes; /* sizeof(couplet_series_choice): also the distance between the choices of a list */
  const char* name;
  const int64_t* start; /* this rank's box; start and stop NULL: the whole array */
  const int64_t* stop;
  int32_t dimensions; /* length of start and stop */
  couplet_type type;  /* the expected type; -1 (default): any */
} couplet_series_choice;

/* Sets the choice to its defaults. */
COUPLET_API void couplet_series_choice_init(couplet_series_choice* choice);

/* A sparse matrix of weights in compressed rows. While a step is read, it turns points of the series' whole array into
 * the target points of this rank. Row r is element r of an array of one dimension, which is what the read delivers. */
typedef struct couplet_series_weights {
  size_t struct_bytes;
  int64_t rows;               /* target points of this rank; 0 is possible */
  int64_t source_points;      /* elements of the whole array */
  const int64_t* row_offsets; /* rows + 1, from 0 on: row r has the entries [row_offsets[r], row_offsets[r + 1]) */
  const int64_t* sources; /* for each entry the flat index of an element in the whole array, in C order, from 0 on */
  const double* weights;  /* for each entry its weight, which is finite */
  const uint8_t* source_mask; /* source_points marks, 0: the point is masked; NULL (default): no point is */
  double fill;                /* value of a row that has no entries or a masked source; default NaN */
} couplet_series_weights;

/* Sets the weights to their defaults. */
COUPLET_API void couplet_series_weights_init(couplet_series_weights* weights);

/* What a read at physical times does about a time past the newest step: it waits for a later step, or is an error. */
enum { COUPLET_SERIES_BEYOND_WAIT = 0, COUPLET_SERIES_BEYOND_ERROR = 1 };

typedef struct couplet_series_open_options {
  size_t struct_bytes;
  const int64_t* start; /* this rank's box, for fields without one; start and stop NULL: the whole array */
  const int64_t* stop;
  int32_t dimensions; /* length of start and stop; 0: not checked */
  int32_t
      mode; /* COUPLET_SERIES_HOLD (default): the writer waits for this reader; COUPLET_SERIES_FOLLOW: it never does */
  int32_t from;  /* the first step: COUPLET_SERIES_FROM_OLDEST (default) retained one, ..._NEWEST, ..._NEXT, ..._STEP */
  int32_t local; /* 0 (default): reads are collective over the group; 1: every rank reads for itself */
  int64_t from_step; /* with COUPLET_SERIES_FROM_STEP: begin with the first step that is at least this */
  couplet_type type; /* the expected element type; -1 (default): any */
  int32_t reserved;
  couplet_group* group;  /* the readers; NULL (default): all ranks of the program */
  double timeout_s;      /* how long the series may take to exist; default 60; 0: it has to exist */
  uint64_t buffer_bytes; /* size of the local slots for a series of another node; 0 (default): 256 MiB */
  uint64_t every;        /* n: the first step and then every n-th is delivered, the others are skipped; default 1 */
  int32_t latest; /* 1: a read gives the at_least newest steps, skips older ones; only with COUPLET_SERIES_FOLLOW */
  int32_t torn;   /* 1: torn steps are delivered with a mark; 0 (default): they are withheld and count as lost */
  const couplet_series_choice* fields; /* the fields to read, in this order; NULL (default): all */
  int32_t field_count;
  int32_t reserved2;
  double interval; /* of physical time: the first step of each is delivered, the others are skipped; 0 (default): all */
  const couplet_series_weights* weights; /* used instead of boxes, for float and double; copied; NULL (default): none */
  int32_t beyond_newest; /* of couplet_series_read_at: COUPLET_SERIES_BEYOND_WAIT (default), ..._BEYOND_ERROR */
  int32_t reserved3;
  uint64_t up_to_bytes; /* size of a batch, all fields together, but at least one step; 0 (default): any size */
} couplet_series_open_options;

/* Sets the options to their defaults. */
COUPLET_API void couplet_series_open_options_init(couplet_series_open_options* options);

/* Opens the series `name` for reading.
 * Blocking: until the series exists, at most timeout_s; even if that is 0, it waits for one answer of the hub, at most
 * 5 s. Then it waits until the steps can be reached: until the same deadline, but at least 4 s, since relays of
 * other nodes have to answer. Collective over the group, unless `local`. options may be NULL.
 * COUPLET_ERROR_TIMEOUT: the series was not created in time, or the hub has not answered in time; the text says which.
 * COUPLET_ERROR_HUB_LOST: the connection to the hub is lost, and no hub has come back.
 * COUPLET_ERROR_SHAPE: the box is outside the array, has another number of dimensions, or has an element that no
 * rank writes.
 * COUPLET_ERROR_TYPE: the series or a field is not of the expected type.
 * COUPLET_ERROR_NOT_FOUND: a chosen field does not exist; the text names those that do.
 * COUPLET_ERROR_LIMIT: the writer has as many holders as it has entries for.
 * COUPLET_ERROR_MISMATCH: the ranks of a collective open do not agree on the options.
 * COUPLET_INTERRUPTED: the interrupt check ended the wait. */
COUPLET_API couplet_status couplet_series_open(couplet_universe* universe, const char* name,
                                               const couplet_series_open_options* options, couplet_series** series);

/* The steps of one field. */
typedef struct couplet_series_field_data {
  const void* data;    /* count x box in C order: the caller's array, else the library's until the next read or close */
  uint64_t step_bytes; /* size of one step's box */
} couplet_series_field_data;

/* What one read has delivered. The arrays are the library's, until the next read or close. */
typedef struct couplet_series_batch {
  size_t struct_bytes;                     /* set by the caller: sizeof(couplet_series_batch) */
  uint64_t count;                          /* number of steps */
  const void* data;                        /* the steps of the first field, as in couplet_series_field_data */
  uint64_t step_bytes;                     /* size of one step's box of the first field */
  const int64_t* steps;                    /* count step numbers */
  const uint64_t* ordinals;                /* count ordinals */
  uint64_t lost;                           /* steps that were lost since the last read */
  uint64_t incarnation;                    /* grows each time the series was created again */
  const uint8_t* torn;                     /* count marks, 1: the step was replaced while it was copied */
  const double* times;                     /* count physical times, NaN if the writer gave none */
  const couplet_series_field_data* fields; /* the steps of each field that is read */
  uint64_t field_count;
} couplet_series_batch;

/* Reads this rank's box of at least `at_least` and at most `up_to` steps, in order. If the series ends during the
 * wait, it gives what is left.
 * Blocking: until at_least steps are there, at most timeout_s. With 0 it takes what is there; from time to time such a
 * call also checks whether the writer has died or was started again. If the timeout is too short to go over to a new
 * incarnation, the answer is COUPLET_NOT_YET, and the next call continues.
 * Collective over the group, unless opened with `local`: a rank that computes or is stopped makes the others wait, at
 * most 60 s beyond their timeout_s. If one rank fails, or has closed the series, the call of the others fails, too.
 * Ownership: `out` is NULL, or the caller's memory of out_bytes >= up_to * step_bytes.
 * COUPLET_NOT_YET: the timeout has passed; nothing is delivered, and nothing is lost by it.
 * COUPLET_END: the writer has closed the series, and everything was read.
 * COUPLET_RESTARTED: the writer is a new incarnation; the next read begins with its first retained step. What the
 *   options of couplet_series_open do not ask for (box, type, fields) may be another now: ask couplet_series_describe
 *   before the next read.
 * COUPLET_ERROR_TIMEOUT: another rank has not made its call 60 s after the timeout has passed; nothing is delivered.
 * COUPLET_ERROR_LIMIT: more steps will come, and at_least is greater than the number of slots, or of the steps that
 *   fit into up_to_bytes.
 * COUPLET_ERROR_EVICTED: the writer has released this reader's hold.
 * COUPLET_ERROR_PEER_LOST: the writer died before it closed the series, and everything that it published was read.
 * COUPLET_ERROR_MISMATCH: the ranks of the writer have given an ordinal different steps or times, or have closed the
 *   series after different numbers of steps. What is not whole is lost; the next read continues after it.
 * COUPLET_INTERRUPTED: the interrupt check ended the wait. */
COUPLET_API couplet_status couplet_series_read(couplet_series* series, uint64_t at_least, uint64_t up_to,
                                               double timeout_s, void* out, uint64_t out_bytes,
                                               couplet_series_batch* batch);

/* Reads as couplet_series_read, into one array for each field that is read, in the order of the choice. An array
 * whose data is NULL is replaced by the library's own memory. */
COUPLET_API couplet_status couplet_series_read_arrays(couplet_series* series, uint64_t at_least, uint64_t up_to,
                                                      double timeout_s, const couplet_series_array* outs,
                                                      int32_t out_count, couplet_series_batch* batch);

/* Delivers values at `time_count` physical times, which do not descend: linear between the steps around each time,
 * for elements of type float or double. The batch has one array for each time; its times are the given ones, its
 * steps and ordinals are those of the step at or before each time. `outs` is as for couplet_series_read_arrays,
 * without strides and with room for time_count boxes, or NULL for the library's memory. If something prevents later
 * times, the earlier ones are delivered, and the next call says what it was.
 * Blocking: until the step after each time is there, at most timeout_s.
 * Collective over the group, unless opened with `local`; all ranks give the same times.
 * COUPLET_ERROR_ARGUMENT: a time is before the oldest retained step, or past the newest one with
 * COUPLET_SERIES_BEYOND_ERROR, or a step has no time. Otherwise it is as couplet_series_read. */
COUPLET_API couplet_status couplet_series_read_at(couplet_series* series, const double* times, int32_t time_count,
                                                  double timeout_s, const couplet_series_array* outs, int32_t out_count,
                                                  couplet_series_batch* batch);

/* ---- both sides ---- */

/* What a series is. Type, start, stop and step_bytes are those of the first field, and of this rank's first box. */
typedef struct couplet_series_info {
  size_t struct_bytes; /* set by the caller */
  const char* name;
  const char* program; /* the writer's */
  const char* route;   /* "writer", "mapped", "relay" or "window" */
  couplet_type type;
  int32_t dimensions;
  int64_t shape[COUPLET_MAX_DIMENSIONS];
  int64_t start[COUPLET_MAX_DIMENSIONS];
  int64_t stop[COUPLET_MAX_DIMENSIONS];
  uint64_t step_bytes; /* size of all boxes of this rank */
  uint64_t slots;
  int32_t writers;     /* number of writer ranks */
  int32_t field_count; /* for a reader: of the fields that it has chosen */
} couplet_series_info;

/* Describes the series. Ownership: texts are the library's and are valid until close. */
COUPLET_API couplet_status couplet_series_describe(const couplet_series* series, couplet_series_info* info);

/* What a field is. Texts and arrays are the library's and are valid until close. */
typedef struct couplet_series_field_info {
  size_t struct_bytes; /* set by the caller */
  const char* name;    /* "" in a series that was created without fields */
  couplet_type type;
  int32_t dimensions;
  const int64_t* shape;
  const int64_t* start; /* this rank's boxes, one after the other; a reader has one */
  const int64_t* stop;
  int32_t box_count;
  int32_t reserved;
  uint64_t step_bytes; /* size of all boxes of this rank */
} couplet_series_field_info;

/* Describes field number `field`, counted from 0 in the order of creation or of the reader's choice.
 * COUPLET_ERROR_NOT_FOUND: the series has fewer fields. */
COUPLET_API couplet_status couplet_series_describe_field(const couplet_series* series, int32_t field,
                                                         couplet_series_field_info* info);

/* The accounting of one rank. For a reader: published - first = delivered + lost + skipped + pending. */
typedef struct couplet_series_statistics {
  size_t struct_bytes; /* set by the caller */
  uint64_t published;  /* ordinals 0 to published - 1 exist or existed */
  uint64_t first;      /* the ordinal with which this reader began */
  uint64_t delivered;  /* includes delivered_torn */
  uint64_t lost;       /* includes lost_torn */
  uint64_t lost_torn;
  uint64_t skipped;
  uint64_t pending;
  uint64_t delivered_torn;
  uint64_t calls; /* reads that delivered, or puts and publishes */
  uint64_t largest_batch;
  uint64_t bytes;      /* copied */
  uint64_t copy_ns;    /* time in copies */
  uint64_t held_ns;    /* a writer's time of waiting for holders, a reader's of waiting for steps */
  uint64_t library_ns; /* time in calls of this series, without held_ns */
} couplet_series_statistics;

/* Gives the accounting of this rank. */
COUPLET_API couplet_status couplet_series_get_statistics(couplet_series* series, couplet_series_statistics* statistics);

/* How long a writer rank has waited for holders in put and claim, and for which of them. */
typedef struct couplet_series_waits {
  size_t struct_bytes; /* set by the caller */
  uint64_t count;      /* number of waits */
  uint64_t total_ns;
  uint64_t last_ns;
  uint64_t longest_ns;
  const char* last_for;    /* "program 'nowcast' rank 3 on host n02", "" before the first wait; until the next call */
  const char* longest_for; /* a required program that has not opened: "required reader program 'nowcast'" */
  int32_t last_rank;       /* the reader's universe rank; -1: a program that has not opened, or no wait */
  int32_t longest_rank;
} couplet_series_waits;

/* Gives the waits of this writer rank.
 * COUPLET_ERROR_STATE: the series was opened for reading. */
COUPLET_API couplet_status couplet_series_get_waits(couplet_series* series, couplet_series_waits* waits);

/* Gives the ordinals [first, end) that are still there, and the newest step.
 * COUPLET_NOT_YET: there is no step yet. */
COUPLET_API couplet_status couplet_series_retained(couplet_series* series, uint64_t* first, uint64_t* end,
                                                   int64_t* newest_step);

/* Ends writing (readers get what is left, then COUPLET_END) or reading.
 * Ownership: the handle is invalid afterwards, also after an error.
 * COUPLET_ERROR_HUB_LOST: there is no hub that could be told; all else was done. */
COUPLET_API couplet_status couplet_series_close(couplet_series* series);

#ifdef __cplusplus
}
#endif
#endif
