/* Halos: the cells around the block of this rank, or the points of an unstructured mesh that this rank needs of others,
 * brought up to date from the ranks that own them.
 *
 * A grid of 1 to 4 dimensions is divided into one block for each rank. Each rank has arrays that hold its block and
 * some cells around it. A halo has any number of such arrays, the fields, and moves what is needed of all of them as
 * one message for each neighbour. It is frozen once, collectively. Each round is then couplet_halo_begin and
 * couplet_halo_end (docs/guide/halo.md). In place of a grid, each rank may give lists of indices.
 *
 * Dimension 0 is the slowest one in C order. Ranks are numbered with the last dimension fastest. In each dimension in
 * which a field is staggered, its points lie between cells: point i is at the lower side of cell i, and belongs to the
 * block of that cell. The uppermost point belongs to the last block, or, if the dimension is periodic, is point 0. */
#ifndef COUPLET_COUPLET_HALO_H
#define COUPLET_COUPLET_HALO_H

#include <couplet/couplet_universe.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The largest number of dimensions of a grid. */
#define COUPLET_GRID_MAX_DIMENSIONS 4

/* How error texts number dimensions and cells. */
enum {
  COUPLET_NUMBERING_C = 0,      /* from 0, the slowest dimension first */
  COUPLET_NUMBERING_FORTRAN = 1 /* from 1, the fastest dimension first */
};

/* A grid of cells, divided into blocks. All ranks give the same. */
typedef struct couplet_grid {
  size_t struct_bytes;
  int32_t dimensions; /* 1 to 4 */
  int32_t numbering;  /* how error texts number dimensions and cells: COUPLET_NUMBERING_C (default), or _FORTRAN */
  int64_t cells[COUPLET_GRID_MAX_DIMENSIONS];    /* the extents of the whole grid */
  int32_t blocks[COUPLET_GRID_MAX_DIMENSIONS];   /* their number in each dimension; 0 (default): chosen */
  int32_t periodic[COUPLET_GRID_MAX_DIMENSIONS]; /* 1: what is beyond one end is at the other; default 0 */
  const int64_t* block_cells; /* the cells of each block, dimension by dimension; NULL (default): as even as possible */
} couplet_grid;

/* Sets all to the defaults: no dimensions. */
COUPLET_API void couplet_grid_init(couplet_grid* grid);

/* Checks the grid, and sets those numbers of blocks that are 0, so that the blocks have few cells at their faces.
 * COUPLET_ERROR_ARGUMENT: the grid cannot be divided into `rank_count` blocks of at least one cell, or is wrong. */
COUPLET_API couplet_status couplet_grid_divide(couplet_grid* grid, int32_t rank_count);

/* Gives the cells of a block: `start` to `stop` (not included) in each dimension. The numbers of blocks must be set.
 * COUPLET_ERROR_ARGUMENT: there is no such block, or the grid is wrong. */
COUPLET_API couplet_status couplet_grid_box(const couplet_grid* grid, int32_t rank, int64_t* start, int64_t* stop);

/* Gives the rank whose block is so many blocks away from the one of `rank` in each dimension, or -1 if that is beyond
 * the grid.
 * COUPLET_ERROR_ARGUMENT: as in couplet_grid_box. */
COUPLET_API couplet_status couplet_grid_neighbor(const couplet_grid* grid, int32_t rank, const int32_t* offset,
                                                 int32_t* neighbor);

typedef struct couplet_halo couplet_halo;

typedef struct couplet_halo_options {
  size_t struct_bytes;
  const char* method; /* "auto" (default), or the name of a method of exchanges */
  double timeout_s;   /* limits a freeze or a close; default 60; negative: no limit */
  int32_t has_widths; /* 1: couplet_halo_begin may be given a width; default 0 */
  int32_t reserved;
} couplet_halo_options;

/* Sets the options to their defaults. */
COUPLET_API void couplet_halo_options_init(couplet_halo_options* options);

/* A field: an array that holds the block of this rank and some points around it. A block of n cells has n points in a
 * dimension, and n + 1 if the field is staggered there. What all ranks give alike: name, type, components, widths,
 * where it is staggered, corners, and the order of the dimensions in memory. */
typedef struct couplet_halo_field {
  size_t struct_bytes;
  const char* name; /* what error texts call it; NULL (default): its number */
  void* data;       /* the first element of the array */
  couplet_type type;
  int32_t corners; /* 1: also from blocks that share only an edge or a corner with this one; default 0 */
  int64_t shape[COUPLET_GRID_MAX_DIMENSIONS];        /* the extents of the array, in points */
  int64_t stride_bytes[COUPLET_GRID_MAX_DIMENSIONS]; /* distances of points; all 0 (default): dense, in C order */
  int64_t first[COUPLET_GRID_MAX_DIMENSIONS];        /* where the block begins in the array; -1 (default): at `below` */
  int64_t below[COUPLET_GRID_MAX_DIMENSIONS];        /* how many points come from below, in each dimension; default 0 */
  int64_t above[COUPLET_GRID_MAX_DIMENSIONS];        /* and from above, besides the one that a staggered field shares */
  int32_t staggered[COUPLET_GRID_MAX_DIMENSIONS];    /* 1: points lie between cells; default 0 */
  int64_t components;                                /* the elements of a point; default 1 */
  int64_t component_stride_bytes;                    /* their distance; 0 (default): they are next to each other */
} couplet_halo_field;

/* Sets all to the defaults. */
COUPLET_API void couplet_halo_field_init(couplet_halo_field* field);

/* Creates a halo for a grid with one block for each rank of the group. Its name is the same at all of them, and
 * different from those of other open halos and exchanges in the group. No message is sent. `options` may be NULL.
 * Numbers of blocks that are 0 are chosen as by couplet_grid_divide.
 * Ownership: close it with couplet_halo_close; leave closes what is open.
 * COUPLET_ERROR_ARGUMENT: the grid cannot be divided in this way.
 * COUPLET_ERROR_EXISTS: this rank has an open halo or exchange of that name in the group.
 * COUPLET_ERROR_STATE: this rank is no member of the group. */
COUPLET_API couplet_status couplet_halo_create(couplet_group* group, const char* name, const couplet_grid* grid,
                                               const couplet_halo_options* options, couplet_halo** halo);

/* The points of this rank, by numbers that are the same at all ranks: those of a mesh, or of the rows of a sparse
 * matrix. */
typedef struct couplet_halo_indices {
  size_t struct_bytes;
  const int64_t* owned;  /* the points that this rank owns, each once; NULL if there are none */
  const int64_t* ghosts; /* the points that it needs of other ranks; NULL if there are none */
  const int32_t* owners; /* the rank that owns each ghost; NULL (default): the owners are found */
  const int64_t* places; /* where in arrays each owned point is, and then each ghost; NULL (default): in that order */
  uint64_t owned_count;
  uint64_t ghost_count;
  int64_t base; /* the smallest index and place, 0 (default) or 1; ranks may give different ones */
} couplet_halo_indices;

/* Sets all to the defaults: no points. */
COUPLET_API void couplet_halo_indices_init(couplet_halo_indices* indices);

/* Creates a halo of lists of indices. The lists are copied; they are compared with those of the other ranks by
 * couplet_halo_freeze. Fields of the halo have one dimension, besides that of components: shape[0] points, at least as
 * many as the lists need. They have no widths, and are not staggered. If all ranks give the owners, these are checked
 * by the owners only, and two ranks may own the same point. The rest is as in couplet_halo_create.
 * COUPLET_ERROR_ARGUMENT: a pointer is NULL, base is not 0 or 1, or has_widths is 1.
 * COUPLET_ERROR_EXISTS: this rank has an open halo or exchange of that name in the group.
 * COUPLET_ERROR_STATE: this rank is no member of the group. */
COUPLET_API couplet_status couplet_halo_create_list(couplet_group* group, const char* name,
                                                    const couplet_halo_indices* indices,
                                                    const couplet_halo_options* options, couplet_halo** halo);

/* Adds a field. After an error, couplet_halo_freeze fails at all ranks, with the same text.
 * Ownership: the array belongs to the caller, must not move, and outlives the halo.
 * COUPLET_ERROR_ARGUMENT: a width is negative, or larger than the smallest block; all are 0, and the field is not
 * staggered; or an argument is wrong.
 * COUPLET_ERROR_SHAPE: the array does not hold the block with its widths, or the points of the lists.
 * COUPLET_ERROR_STATE: the halo is frozen.
 * COUPLET_ERROR_TYPE: there is no such element type. */
COUPLET_API couplet_status couplet_halo_add(couplet_halo* halo, const couplet_halo_field* field);

/* Agrees with the other ranks on the fields and on the method. After an error, the halo can only be closed.
 * Collective over the group.
 * Blocking: until all ranks have called it, at most the timeout of the options.
 * COUPLET_ERROR_ARGUMENT: points that are received overlap; an index is negative, is owned by nobody, or is owned
 * twice; or as couplet_halo_add has returned at any rank.
 * COUPLET_ERROR_SHAPE: as couplet_halo_add has returned at any rank.
 * COUPLET_ERROR_MISMATCH: two ranks disagree on the grid or on a field; the text names both terms.
 * COUPLET_ERROR_UNSUPPORTED: no method can be used, or not the one that was asked for.
 * COUPLET_ERROR_TIMEOUT, COUPLET_ERROR_PEER_LOST: a rank has not come; the text names it. */
COUPLET_API couplet_status couplet_halo_freeze(couplet_halo* halo);

/* Begins a round: what other ranks need of this block is on its way, or goes soon after. Do not write to the block, and
 * do not read or write what is around it, until the round is over. `width`: how far halos reach in this round, the same
 * at all ranks; -1: as far as the fields say. Never blocks.
 * COUPLET_ERROR_ARGUMENT: `width` is larger than the widest of any field, or below -1.
 * COUPLET_ERROR_STATE: a round is under way, the halo is not frozen, or it has no widths. */
COUPLET_API couplet_status couplet_halo_begin(couplet_halo* halo, int64_t width);

/* Does what can be done, and says whether the round is over: `done` gets 1 or 0. Never blocks. Errors: as
 * couplet_halo_end. */
COUPLET_API couplet_status couplet_halo_test(couplet_halo* halo, int32_t* done);

/* Waits until the round is over.
 * Blocking: at most timeout_s.
 * COUPLET_ERROR_TIMEOUT, COUPLET_INTERRUPTED: the round is still under way; call it again.
 * COUPLET_ERROR_MISMATCH: a neighbour has begun the round with another width. The round is over.
 * COUPLET_ERROR_STATE: no round is under way, or a neighbour has closed the halo.
 * COUPLET_ERROR_PEER_LOST: a rank is lost; or another error that a rank has met. The halo has failed for all. */
COUPLET_API couplet_status couplet_halo_end(couplet_halo* halo, double timeout_s);

/* Gives the name of the method, or "" before the halo is frozen.
 * Ownership: the text is valid until the halo is closed. */
COUPLET_API couplet_status couplet_halo_method(couplet_halo* halo, const char** method);

/* Gives a table of the methods: the time of each in the trials, and why others were left out. Writes at most
 * `bytes` bytes to `text`, with the final 0. `needed`, which may be NULL, gets the size of the whole text.
 * COUPLET_ERROR_LIMIT: `bytes` is too small. */
COUPLET_API couplet_status couplet_halo_explain(couplet_halo* halo, char* text, size_t bytes, size_t* needed);

/* Closes the halo. Neighbours that wait for a round which this rank has not begun get COUPLET_ERROR_STATE.
 * Ownership: the handle is invalid afterwards, whatever is returned.
 * Blocking: until methods that need it have ended at all neighbours, at most the timeout of the options.
 * COUPLET_ERROR_STATE: a round was under way. */
COUPLET_API couplet_status couplet_halo_close(couplet_halo* halo);

#ifdef __cplusplus
}
#endif
#endif
