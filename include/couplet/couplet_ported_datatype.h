/* Datatypes with the arguments of MPI's, for programs that `couplet convert` has made of MPI ones: what
 * couplet_ported_type_vector makes is sent and received by couplet_ported_send, couplet_ported_irecv and so on, and is
 * a datatype of <couplet/couplet_datatype.h>. <couplet/couplet_ported.h> includes this header.
 * Guide: docs/guide/converting-an-mpi-code.md. Tests: tests/convert. */
#ifndef COUPLET_COUPLET_PORTED_DATATYPE_H
#define COUPLET_COUPLET_PORTED_DATATYPE_H

#include <couplet/couplet_ported_base.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define COUPLET_NULL_TYPE (-1)
#define COUPLET_PORTED_ELEMENTS_ONLY "it takes no datatype that was made; use sendrecv and a second array"
enum { COUPLET_ORDER_C, COUPLET_ORDER_FORTRAN };

/* Tells datatypes that were made from element types and pairs. */
COUPLET_PORTED int couplet_ported_is_made(couplet_type type) {
  return type >= 2 * COUPLET_PAIRS;
}

/* Returns memory for this many numbers of 8 bytes, to be freed. */
COUPLET_PORTED void* couplet_ported_list(int count, const char* call) {
  void* list = malloc((size_t)(count > 0 ? count : 1) * 8);
  couplet_ported_refuse(count < 0, call, "the count is negative");
  couplet_ported_refuse(list == NULL, call, "there is no memory");
  return list;
}

/* Returns numbers of items as 64-bit ones, to be freed. With equal, each of them is *numbers. */
COUPLET_PORTED uint64_t* couplet_ported_items(const int* numbers, int count, int equal, const char* call) {
  uint64_t* items = (uint64_t*)couplet_ported_list(count, call);
  for (int i = 0; i < count; ++i) {
    const int number = numbers[equal ? 0 : i];
    couplet_ported_refuse(number < 0, call, "a number of items, or a start in an array, is negative");
    items[i] = (uint64_t)number;
  }
  return items;
}

/* Returns displacements, which count items, as 64-bit numbers, to be freed. */
COUPLET_PORTED int64_t* couplet_ported_places(const int* displacements, int count, const char* call) {
  int64_t* places = (int64_t*)couplet_ported_list(count, call);
  for (int i = 0; i < count; ++i) places[i] = displacements[i];
  return places;
}

/* Makes the type of blocks of `of` that begin places[i] bytes after the start. Frees both lists. */
COUPLET_PORTED int couplet_ported_blocks(int count, uint64_t* blocks, int64_t* places, couplet_type of,
                                         couplet_type* made, const char* call) {
  couplet_type* types = (couplet_type*)couplet_ported_list(count, call);
  for (int i = 0; i < count; ++i) types[i] = of;
  couplet_ported_need(couplet_type_extent(of, NULL, NULL), call);
  couplet_ported_need(couplet_type_create_struct((uint64_t)count, blocks, places, types, made), call);
  free(blocks);
  free(places);
  free(types);
  return 0;
}

COUPLET_PORTED int couplet_ported_type_contiguous(int count, couplet_type of, couplet_type* made) {
  couplet_ported_refuse(count < 0, "type_contiguous", "the count is negative");
  return couplet_ported_need(couplet_type_create_contiguous((uint64_t)count, of, made), "type_contiguous");
}

COUPLET_PORTED int couplet_ported_type_vector(int count, int block, int stride, couplet_type of, couplet_type* made) {
  couplet_ported_refuse(count < 0 || block < 0, "type_vector", "a number of items is negative");
  return couplet_ported_need(couplet_type_create_vector((uint64_t)count, (uint64_t)block, stride, of, made),
                             "type_vector");
}

/* The stride is in bytes. */
COUPLET_PORTED int couplet_ported_type_create_hvector(int count, int block, ptrdiff_t stride, couplet_type of,
                                                      couplet_type* made) {
  uint64_t* blocks = couplet_ported_items(&block, count, 1, "type_create_hvector");
  int64_t* places = (int64_t*)couplet_ported_list(count, "type_create_hvector");
  for (int i = 0; i < count; ++i) places[i] = i * (int64_t)stride;
  return couplet_ported_blocks(count, blocks, places, of, made, "type_create_hvector");
}

COUPLET_PORTED int couplet_ported_type_indexed(int count, const int* lengths, const int* displacements, couplet_type of,
                                               couplet_type* made) {
  uint64_t* blocks = couplet_ported_items(lengths, count, 0, "type_indexed");
  int64_t* places = couplet_ported_places(displacements, count, "type_indexed");
  couplet_ported_need(couplet_type_create_indexed((uint64_t)count, blocks, places, of, made), "type_indexed");
  free(blocks);
  free(places);
  return 0;
}

COUPLET_PORTED int couplet_ported_type_create_indexed_block(int count, int length, const int* displacements,
                                                            couplet_type of, couplet_type* made) {
  uint64_t* blocks = couplet_ported_items(&length, count, 1, "type_create_indexed_block");
  int64_t* places = couplet_ported_places(displacements, count, "type_create_indexed_block");
  couplet_ported_need(couplet_type_create_indexed((uint64_t)count, blocks, places, of, made),
                      "type_create_indexed_block");
  free(blocks);
  free(places);
  return 0;
}

/* The displacements are in bytes, as in the next two. */
COUPLET_PORTED int couplet_ported_type_create_hindexed(int count, const int* lengths, const ptrdiff_t* displacements,
                                                       couplet_type of, couplet_type* made) {
  uint64_t* blocks = couplet_ported_items(lengths, count, 0, "type_create_hindexed");
  int64_t* places = (int64_t*)couplet_ported_list(count, "type_create_hindexed");
  for (int i = 0; i < count; ++i) places[i] = displacements[i];
  return couplet_ported_blocks(count, blocks, places, of, made, "type_create_hindexed");
}

COUPLET_PORTED int couplet_ported_type_create_hindexed_block(int count, int length, const ptrdiff_t* displacements,
                                                             couplet_type of, couplet_type* made) {
  uint64_t* blocks = couplet_ported_items(&length, count, 1, "type_create_hindexed_block");
  int64_t* places = (int64_t*)couplet_ported_list(count, "type_create_hindexed_block");
  for (int i = 0; i < count; ++i) places[i] = displacements[i];
  return couplet_ported_blocks(count, blocks, places, of, made, "type_create_hindexed_block");
}

COUPLET_PORTED int couplet_ported_type_create_struct(int count, const int* lengths, const ptrdiff_t* displacements,
                                                     const couplet_type* types, couplet_type* made) {
  uint64_t* blocks = couplet_ported_items(lengths, count, 0, "type_create_struct");
  int64_t* places = (int64_t*)couplet_ported_list(count, "type_create_struct");
  for (int i = 0; i < count; ++i) places[i] = displacements[i];
  couplet_ported_need(couplet_type_create_struct((uint64_t)count, blocks, places, types, made), "type_create_struct");
  free(blocks);
  free(places);
  return 0;
}

COUPLET_PORTED int couplet_ported_type_create_subarray(int dimensions, const int* sizes, const int* subsizes,
                                                       const int* starts, int order, couplet_type of,
                                                       couplet_type* made) {
  uint64_t* lists[3];
  lists[0] = couplet_ported_items(sizes, dimensions, 0, "type_create_subarray");
  lists[1] = couplet_ported_items(subsizes, dimensions, 0, "type_create_subarray");
  lists[2] = couplet_ported_items(starts, dimensions, 0, "type_create_subarray");
  for (int i = 0; i < 3 && order == COUPLET_ORDER_FORTRAN; ++i) {
    for (int low = 0, high = dimensions - 1; low < high; ++low, --high) {
      const uint64_t kept = lists[i][low];
      lists[i][low] = lists[i][high];
      lists[i][high] = kept;
    }
  }
  couplet_ported_need(couplet_type_create_subarray(dimensions, lists[0], lists[1], lists[2], of, made),
                      "type_create_subarray");
  for (int i = 0; i < 3; ++i) free(lists[i]);
  return 0;
}

COUPLET_PORTED int couplet_ported_type_create_resized(couplet_type of, ptrdiff_t lower_bound, ptrdiff_t extent,
                                                      couplet_type* made) {
  couplet_ported_refuse(extent < 0, "type_create_resized", "the extent is negative");
  return couplet_ported_need(couplet_type_create_resized(of, lower_bound, (uint64_t)extent, made),
                             "type_create_resized");
}

COUPLET_PORTED int couplet_ported_type_dup(couplet_type of, couplet_type* made) {
  return couplet_ported_need(couplet_type_create_contiguous(1, of, made), "type_dup");
}

/* Checks that it is a type. A type of Couplet needs no preparation. */
COUPLET_PORTED int couplet_ported_type_commit(const couplet_type* type) {
  return couplet_ported_need(couplet_type_extent(*type, NULL, NULL), "type_commit");
}

COUPLET_PORTED int couplet_ported_type_free(couplet_type* type) {
  return couplet_ported_need(couplet_type_free(type), "type_free");
}

COUPLET_PORTED int couplet_ported_type_size(couplet_type type, int* size) {
  const uint64_t bytes = couplet_ported_bytes(1, type);
  *size = bytes > INT_MAX ? COUPLET_UNDEFINED : (int)bytes;
  return couplet_ported_need(couplet_type_extent(couplet_ported_type(type), NULL, NULL), "type_size");
}

COUPLET_PORTED int couplet_ported_type_get_extent(couplet_type type, ptrdiff_t* lower_bound, ptrdiff_t* extent) {
  int64_t lower;
  uint64_t bytes;
  couplet_ported_need(couplet_type_extent(couplet_ported_type(type), &lower, &bytes), "type_get_extent");
  *lower_bound = lower;
  *extent = (ptrdiff_t)couplet_ported_elements(1, type) * (ptrdiff_t)bytes;
  return 0;
}

/* These take the place of MPI_Get_address, MPI_Aint_add and MPI_Aint_diff in a program without MPI. */
COUPLET_PORTED int couplet_ported_get_address(const void* location, ptrdiff_t* address) {
  *address = (ptrdiff_t)location;
  return 0;
}

COUPLET_PORTED ptrdiff_t couplet_ported_aint_add(ptrdiff_t base, ptrdiff_t bytes) {
  return base + bytes;
}

COUPLET_PORTED ptrdiff_t couplet_ported_aint_diff(ptrdiff_t one, ptrdiff_t other) {
  return one - other;
}

#ifdef __cplusplus
}
#endif
#endif
