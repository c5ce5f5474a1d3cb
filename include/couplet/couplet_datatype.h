/* Types of items that do not lie in memory one element after the other: columns, blocks, lists, structures.
 *
 * They are MPI's derived types. couplet_send, couplet_recv, couplet_isend and couplet_irecv, and no other functions,
 * take them in place of an element type: the sender's elements travel in the order of its type, and the receiver's type
 * says where they go. The library packs and unpacks them in memory of its own, as large as the message.
 * A type belongs to the process and needs no universe. Freeing it does not concern types that were made of it, nor
 * calls that have begun. In each function, `of` is an element type or a type that was made; `made` gets the new one.
 * COUPLET_ERROR_TYPE: `of` is neither an element type nor a datatype. COUPLET_ERROR_LIMIT: an item reaches over 2^62
 * bytes or more, or is made of types in more than 32 levels. */
#ifndef COUPLET_COUPLET_DATATYPE_H
#define COUPLET_COUPLET_DATATYPE_H

#include <couplet/couplet_status.h>
#include <couplet/couplet_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes the type of `count` items, one after the other. */
COUPLET_API couplet_status couplet_type_create_contiguous(uint64_t count, couplet_type of, couplet_type* made);

/* Makes the type of `count` blocks of `block` items each. The first items of two successive blocks are `stride` items
 * apart, which may be negative: a column of a matrix in C has as many blocks of one item as there are rows, and the
 * length of a row is the stride. */
COUPLET_API couplet_status couplet_type_create_vector(uint64_t count, uint64_t block, int64_t stride, couplet_type of,
                                                      couplet_type* made);

/* Makes the type of `count` blocks. Block i has blocks[i] items, and begins displacements[i] items after the start. */
COUPLET_API couplet_status couplet_type_create_indexed(uint64_t count, const uint64_t* blocks,
                                                       const int64_t* displacements, couplet_type of,
                                                       couplet_type* made);

/* Makes the type of a part of an array with sizes[d] items in each dimension d, in C order (the last dimension varies
 * fastest; Fortran: the first). The part has subsizes[d] items from starts[d] on, which count from 0. An item of the
 * type has the extent of the whole array.
 * COUPLET_ERROR_ARGUMENT: the part does not lie in the array, or there are more than COUPLET_MAX_DIMENSIONS dimensions,
 * or none. */
COUPLET_API couplet_status couplet_type_create_subarray(int32_t dimensions, const uint64_t* sizes,
                                                        const uint64_t* subsizes, const uint64_t* starts,
                                                        couplet_type of, couplet_type* made);

/* Makes the type of `count` blocks of several types. Block i has blocks[i] items of types[i], and begins
 * displacements[i] bytes after the start (offsetof). The extent is rounded up so that in an array of such items every
 * element is aligned, as a C compiler does it. If some of the types were resized, or are parts of arrays, the extent is
 * that of these members alone, even if others reach further, and nothing is rounded up, as in MPI: give the extent by
 * couplet_type_create_resized. */
COUPLET_API couplet_status couplet_type_create_struct(uint64_t count, const uint64_t* blocks,
                                                      const int64_t* displacements, const couplet_type* types,
                                                      couplet_type* made);

/* Makes a type of the same elements, whose items are `extent` bytes apart in an array. lower_bound is only reported. */
COUPLET_API couplet_status couplet_type_create_resized(couplet_type of, int64_t lower_bound, uint64_t extent,
                                                       couplet_type* made);

/* Says how far an item reaches: from `lower_bound` bytes after its start on, and over `extent` bytes. In an array, the
 * next item starts `extent` bytes later. couplet_type_bytes gives the bytes of its elements. Either may be NULL. */
COUPLET_API couplet_status couplet_type_extent(couplet_type type, int64_t* lower_bound, uint64_t* extent);

/* Frees a type that was made, and sets it to -1, which is neither an element type nor a datatype.
 * COUPLET_ERROR_TYPE: it is an element type, which is not freed, or was not made, or was freed already. */
COUPLET_API couplet_status couplet_type_free(couplet_type* type);

#ifdef __cplusplus
}
#endif
#endif
