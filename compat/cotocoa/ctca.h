/* CoToCoA's C interface, over Couplet: a program written for CoToCoA compiles and links against this header unchanged.
 * Every function returns 0, except those that give an answer. An error prints a sentence on standard error and ends the
 * program with a status that is not 0. T stands for int, real4 (float) and real8 (double).
 * Guide: docs/guide/from-cotocoa.md. */
#ifndef CTCA_H
#define CTCA_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CTCA_API_ __attribute__((visibility("default")))

#define CTCA_ROLE_REQ 0
#define CTCA_ROLE_CPL 1
#define CTCA_ROLE_WRK 2
#define CTCAC_REQINFOITEMS 4

/* Replaces MPI_COMM_WORLD, from init to finalize: all ranks of the requester, the coupler, or the worker's group. */
extern CTCA_API_ MPI_Comm CTCA_subcomm;

/* ---- requester ---- */

CTCA_API_ int CTCAR_init(void);
CTCA_API_ int CTCAR_init_detail(int numareas, int numreqs, int intparams);
CTCA_API_ int CTCAR_sendreq(int* intparams, int numintparams);
CTCA_API_ int CTCAR_sendreq_hdl(int* intparams, int numintparams, int64_t* hdl);
CTCA_API_ int CTCAR_wait(int64_t hdl);
CTCA_API_ int CTCAR_test(int64_t hdl); /* 1: done, 0: not yet */
CTCA_API_ int CTCAR_prof_start(void);
CTCA_API_ int CTCAR_prof_stop(void);
CTCA_API_ int CTCAR_prof_start_total(void);
CTCA_API_ int CTCAR_prof_stop_total(void);
CTCA_API_ int CTCAR_prof_start_calc(void);
CTCA_API_ int CTCAR_prof_stop_calc(void);
CTCA_API_ int CTCAR_finalize(void);

/* ---- coupler ---- */

CTCA_API_ int CTCAC_init(void);
CTCA_API_ int CTCAC_init_detail(int numareas, int numreqs, int intparams, size_t bufslotsz, int bufslotnum);
CTCA_API_ int CTCAC_isfin(void); /* 1: nothing more will come, 0: a request has come; right after a poll */
CTCA_API_ int CTCAC_pollreq(int* reqinfo, int* fromrank, int* intparams, int numintparams);
CTCA_API_ int CTCAC_enqreq(int* reqinfo, int progid, int* intparams, int numintparams);
CTCA_API_ int CTCAC_prof_start(void);
CTCA_API_ int CTCAC_prof_stop(void);
CTCA_API_ int CTCAC_prof_start_calc(void);
CTCA_API_ int CTCAC_prof_stop_calc(void);
CTCA_API_ int CTCAC_finalize(void);

/* ---- worker ---- */

CTCA_API_ int CTCAW_init(int progid, int procspercomm);
CTCA_API_ int CTCAW_init_detail(int progid, int procspercomm, int numareas, int intparams);
CTCA_API_ int CTCAW_isfin(void);
CTCA_API_ int CTCAW_pollreq(int* fromrank, int* intparams, int numintparams);
CTCA_API_ int CTCAW_complete(void);
CTCA_API_ int CTCAW_prof_start(void);
CTCA_API_ int CTCAW_prof_stop(void);
CTCA_API_ int CTCAW_prof_start_calc(void);
CTCA_API_ int CTCAW_prof_stop_calc(void);
CTCA_API_ int CTCAW_finalize(void);

/* ---- areas and data, for each T ----
 * Counts and offsets are elements; areaid is 0, 1, ... in the order of registration. */

#define CTCA_OF_TYPE_(T, type)                                                                                   \
  CTCA_API_ int CTCAR_regarea_##T(type* base, size_t size, int* areaid);                                         \
  CTCA_API_ int CTCAC_regarea_##T(int* areaid);                                                                  \
  CTCA_API_ int CTCAW_regarea_##T(int* areaid);                                                                  \
  CTCA_API_ int CTCAC_readarea_##T(int areaid, int reqrank, size_t offset, size_t size, type* dest);             \
  CTCA_API_ int CTCAC_writearea_##T(int areaid, int reqrank, size_t offset, size_t size, type* src);             \
  CTCA_API_ int CTCAW_readarea_##T(int areaid, int reqrank, size_t offset, size_t size, type* dest);             \
  CTCA_API_ int CTCAW_writearea_##T(int areaid, int reqrank, size_t offset, size_t size, type* src);             \
  CTCA_API_ int CTCAR_sendreq_with##T(int* intparams, int numintparams, type* data, size_t datanum);             \
  CTCA_API_ int CTCAR_sendreq_with##T##_hdl(int* intparams, int numintparams, type* data, size_t datanum,        \
                                            int64_t* hdl);                                                       \
  CTCA_API_ int CTCAC_pollreq_with##T(int* reqinfo, int* fromrank, int* intparams, int numintparams, type* data, \
                                      size_t datanum);                                                           \
  CTCA_API_ int CTCAC_enqreq_with##T(int* reqinfo, int progid, int* intparams, int numintparams, type* data,     \
                                     size_t datanum);                                                            \
  CTCA_API_ int CTCAW_pollreq_with##T(int* fromrank, int* intparams, int numintparams, type* data, size_t datanum);

CTCA_OF_TYPE_(int, int)
CTCA_OF_TYPE_(real4, float)
CTCA_OF_TYPE_(real8, double)
#undef CTCA_OF_TYPE_

/* ---- the time-series buffer, for each T ----
 * Three variants of its interface were published, and an older set of names. All of them are here. Functions of one
 * name that differ in their arguments are told apart by the number of arguments.
 * Its init is collective over all ranks of all roles. A read is collective over the worker's group (CTCA_subcomm): all
 * its ranks get the same step with the same call. Boxes [start, end) are 0-based in each dimension, and the last
 * dimension is contiguous. method and policy: 1 means that the requester waits for the workers, and nothing is lost; 2
 * means that it goes on. Steps may then be lost, and a step that was replaced while it was copied is marked. */

#define CTCA_BUFFER_WAIT_ 1
#define CTCA_BUFFER_OVERWRITE_ 2

/* Variant A: every rank gives its box. The workers choose the method, and end after `nsteps` steps.
 * Variants B and C: `grid` is the number of processes, and `total_size` the number of elements, in each dimension. The
 * requester chooses the policy, and waits if it names none. In variant C a worker also names the array that each read
 * fills. */
#define CTCA_BUFFER_OF_TYPE_(T, type)                                                                           \
  CTCA_API_ int CTCAR_buffer_init_boxes_##T(int bufsize_GB, int ndim, int* start, int* end);                    \
  CTCA_API_ int CTCAR_buffer_init_grid_##T(int bufsize_GB, int ndim, void* array, int* grid, int* total_size);  \
  CTCA_API_ int CTCAR_buffer_init_policy_##T(int bufsize_GB, int ndim, void* array, int* grid, int* total_size, \
                                             int policy);                                                       \
  CTCA_API_ int CTCAC_buffer_init_##T(void);                                                                    \
  CTCA_API_ int CTCAW_buffer_init_boxes_##T(int nsteps, int* start, int* end, int method);                      \
  CTCA_API_ int CTCAW_buffer_init_grid_##T(int* grid, int* total_size);                                         \
  CTCA_API_ int CTCAW_buffer_init_array_##T(int* grid, int* total_size, void* array);                           \
  CTCA_API_ int CTCAR_buffer_load_data_##T(type* data);                                                         \
  CTCA_API_ int CTCAW_buffer_read_data_##T(type* data); /* 1: a step, 2: the end; so do the two names below */  \
  CTCA_API_ int CTCAW_buffer_get_data_##T(type* data);                                                          \
  CTCA_API_ int CTCAW_get_data_##T(type* data);

CTCA_BUFFER_OF_TYPE_(int, int)
CTCA_BUFFER_OF_TYPE_(real4, float)
CTCA_BUFFER_OF_TYPE_(real8, double)
#undef CTCA_BUFFER_OF_TYPE_

CTCA_API_ int CTCAC_buffer_init(void);
CTCA_API_ int CTCAW_buffer_init_grid(int* grid, int* total_size);
CTCA_API_ int CTCAW_buffer_init_array(int* grid, int* total_size, void* array);
CTCA_API_ int CTCAR_buffer_load_from(const void* data); /* NULL: the array that was given to init */
CTCA_API_ int CTCAW_buffer_read_to(void* data); /* NULL: the array that was given to init, else memory of the library */
CTCA_API_ void* CTCAW_buffer_step_address(void);       /* address of the last read step, until the next read */
CTCA_API_ int CTCAW_buffer_get_timestep(void);         /* number of the last read step: 0, 1, ... as loaded */
CTCA_API_ int CTCAW_buffer_get_overwriting_flag(void); /* 1: that step was replaced while it was copied */
CTCA_API_ int CTCAW_get_timestep(void);
CTCA_API_ int CTCAW_get_overwrite_flag(void);
CTCA_API_ int CTCAR_buffer_over(void);
CTCA_API_ int CTCAR_buffer_free(void);
CTCA_API_ int CTCAC_buffer_free(void);
CTCA_API_ int CTCAW_buffer_free(void);

/* CTCA_PICK_(arguments..., of_six, of_five, of_four, of_three, of_two, 0): chooses by the number of arguments. */
#define CTCA_PICK_(a, b, c, d, e, f, picked, ...) picked
#define CTCA_REQUESTER_INIT_(T, ...)                                                                                   \
  CTCA_PICK_(__VA_ARGS__, CTCAR_buffer_init_policy_##T, CTCAR_buffer_init_grid_##T, CTCAR_buffer_init_boxes_##T, 0, 0, \
             0, 0)                                                                                                     \
  (__VA_ARGS__)
#define CTCA_WORKER_INIT_(T, ...)                                                                                     \
  CTCA_PICK_(__VA_ARGS__, 0, 0, CTCAW_buffer_init_boxes_##T, CTCAW_buffer_init_array_##T, CTCAW_buffer_init_grid_##T, \
             0, 0)                                                                                                    \
  (__VA_ARGS__)
#define CTCAR_buffer_init_int(...) CTCA_REQUESTER_INIT_(int, __VA_ARGS__)
#define CTCAR_buffer_init_real4(...) CTCA_REQUESTER_INIT_(real4, __VA_ARGS__)
#define CTCAR_buffer_init_real8(...) CTCA_REQUESTER_INIT_(real8, __VA_ARGS__)
#define CTCAW_buffer_init_int(...) CTCA_WORKER_INIT_(int, __VA_ARGS__)
#define CTCAW_buffer_init_real4(...) CTCA_WORKER_INIT_(real4, __VA_ARGS__)
#define CTCAW_buffer_init_real8(...) CTCA_WORKER_INIT_(real8, __VA_ARGS__)
#define CTCAW_buffer_init(...) \
  CTCA_PICK_(__VA_ARGS__, 0, 0, 0, CTCAW_buffer_init_array, CTCAW_buffer_init_grid, 0, 0)(__VA_ARGS__)

#ifdef __cplusplus
}

/* With an array, and without one. */
inline int CTCAR_buffer_load_data(const void* data = nullptr) {
  return CTCAR_buffer_load_from(data);
}
inline int CTCAW_buffer_read_data(void* data = nullptr) {
  return CTCAW_buffer_read_to(data);
}
inline void* CTCAW_buffer_get_address() {
  return CTCAW_buffer_step_address();
}
inline int* CTCAW_buffer_get_address(void* /*array*/) {
  return static_cast<int*>(CTCAW_buffer_step_address());
}
inline int* CTCAW_get_address(void* /*array*/) {
  return static_cast<int*>(CTCAW_buffer_step_address());
}
#else
/* With an array, and without one: the second element is NULL if no argument is given. */
#define CTCAR_buffer_load_data(...) CTCAR_buffer_load_from(((const void* [2]){NULL, __VA_ARGS__})[1])
#define CTCAW_buffer_read_data(...) CTCAW_buffer_read_to(((void* [2]){NULL, __VA_ARGS__})[1])
#define CTCAW_buffer_get_address(...) ((void)((const void* [2]){NULL, __VA_ARGS__}), CTCAW_buffer_step_address())
#define CTCAW_get_address(array) ((void)(array), CTCAW_buffer_step_address())
#endif
#endif
