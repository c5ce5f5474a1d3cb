/* Areas: an n-D array in the memory of its owner, which other processes read and write.
 *
 * On the owner's node the owner takes no part: the library's memory is mapped, and the owner's own array is reached
 * in its process, if the system allows that. Otherwise the owner serves readers and writers in whatever call it
 * makes. */
#ifndef COUPLET_COUPLET_AREA_H
#define COUPLET_COUPLET_AREA_H

#include <couplet/couplet_universe.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct couplet_area couplet_area;

typedef struct couplet_area_options {
  size_t struct_bytes;
  void* memory;    /* the owner's array; NULL (default): the library's memory, set to zero, see couplet_area_info */
  int32_t stamped; /* 1: one process writes at a time, and what is read is whole; 0 (default): raw memory */
  int32_t reserved;
} couplet_area_options;

/* Sets the options to their defaults. */
COUPLET_API void couplet_area_options_init(couplet_area_options* options);

/* Creates the area `name` in this process. Local: no message is waited for. options may be NULL.
 * COUPLET_ERROR_EXISTS: this process has an area of that name. */
COUPLET_API couplet_status couplet_area_create(couplet_universe* universe, const char* name, couplet_type type,
                                               int32_t dimensions, const int64_t* shape,
                                               const couplet_area_options* options, couplet_area** area);

/* Opens the area `name` of universe rank `owner`.
 * Blocking: until the owner has created it, at most timeout_s. The owner has to answer, so that 0 does not succeed.
 * COUPLET_ERROR_NOT_FOUND: the owner has not created it in time; the text names the areas that it has.
 * COUPLET_ERROR_TIMEOUT: the owner makes no call.
 * COUPLET_INTERRUPTED: the interrupt check ended the wait.
 * COUPLET_ERROR_PEER_LOST: the owner has died or left. */
COUPLET_API couplet_status couplet_area_open(couplet_universe* universe, const char* name, int32_t owner,
                                             double timeout_s, couplet_area** area);

/* Reads `count` elements, beginning with element `offset` in C order. `stamp` may be NULL; it gets how often a
 * stamped area has been written.
 * Blocking: at most timeout_s. If the route is "served", the owner has to answer, so that 0 does not succeed.
 * COUPLET_ERROR_SHAPE: the elements are not inside the area.
 * COUPLET_ERROR_NOT_FOUND: the owner has closed the area; a write that overlaps with the close may have been done.
 * COUPLET_ERROR_PEER_LOST: the owner has died or left, or a process died while it wrote the area.
 * COUPLET_ERROR_TIMEOUT: the owner makes no call, or the area was being written all the time.
 * COUPLET_INTERRUPTED: the interrupt check ended the wait. */
COUPLET_API couplet_status couplet_area_read(couplet_area* area, uint64_t offset, uint64_t count, void* data,
                                             double timeout_s, uint64_t* stamp);

/* Writes `count` elements, beginning with element `offset` in C order. Otherwise it is as couplet_area_read. */
COUPLET_API couplet_status couplet_area_write(couplet_area* area, uint64_t offset, uint64_t count, const void* data,
                                              double timeout_s, uint64_t* stamp);

/* Reads the box [start, stop) into `data`, which is contiguous in C order. Otherwise it is as couplet_area_read. */
COUPLET_API couplet_status couplet_area_read_box(couplet_area* area, const int64_t* start, const int64_t* stop,
                                                 void* data, double timeout_s, uint64_t* stamp);

/* Writes the box [start, stop) from `data`, which is contiguous in C order. Otherwise it is as couplet_area_read. */
COUPLET_API couplet_status couplet_area_write_box(couplet_area* area, const int64_t* start, const int64_t* stop,
                                                  const void* data, double timeout_s, uint64_t* stamp);

/* Begins a change of a stamped area by its owner, in its own memory. Others cannot read or write until
 * couplet_area_end.
 * COUPLET_ERROR_TIMEOUT: another process was writing all the time.
 * COUPLET_INTERRUPTED: the interrupt check ended the wait. */
COUPLET_API couplet_status couplet_area_begin(couplet_area* area, double timeout_s);

/* Ends a change that couplet_area_begin has begun. */
COUPLET_API couplet_status couplet_area_end(couplet_area* area);

typedef struct couplet_area_info {
  size_t struct_bytes; /* set by the caller */
  const char* name;    /* until close */
  const char* route;   /* "own", "mapped", "memory" (in the owner's process) or "served" */
  void* memory;        /* the elements in this process, if it is the owner or the route is "mapped"; else NULL */
  couplet_type type;
  int32_t dimensions;
  int64_t shape[COUPLET_MAX_DIMENSIONS];
  int32_t owner; /* universe rank */
  int32_t stamped;
} couplet_area_info;

/* Describes the area. */
COUPLET_API couplet_status couplet_area_describe(const couplet_area* area, couplet_area_info* info);

/* Closes the area. If the owner closes it, the calls of others return COUPLET_ERROR_NOT_FOUND, and nobody writes into
 * the owner's array any longer, so that it can be used for something else.
 * Blocking: an owner of an array (options.memory) waits for processes that are writing it, at most 5 s.
 * COUPLET_ERROR_TIMEOUT: a process, which the text names, is still writing the array after 5 s (it is stopped in the
 * middle of a copy): the array may still change. The area is closed for all others.
 * Ownership: the handle is invalid afterwards, also after an error. */
COUPLET_API couplet_status couplet_area_close(couplet_area* area);

#ifdef __cplusplus
}
#endif
#endif
