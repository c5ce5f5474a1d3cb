// libctca_f: the functions of ctca.h as the Fortran module and the Python package call them. Communicators are
// integers, and there is one function for all element types and roles if Fortran has a procedure of its own for each.
#include <mpi.h>

#include "ctca.h"

namespace {

enum Type : int { type_int = 0, type_real4 = 1, type_real8 = 2 };

// Calls the function of the type: function_int, function_real4 or function_real8.
template <typename Int, typename Real4, typename Real8>
int choose(int type, Int&& of_int, Real4&& of_real4, Real8&& of_real8) {
  return type == type_int ? of_int() : type == type_real4 ? of_real4() : of_real8();
}

int* ints(void* data) {
  return static_cast<int*>(data);
}

float* floats(void* data) {
  return static_cast<float*>(data);
}

double* doubles(void* data) {
  return static_cast<double*>(data);
}

}  // namespace

#define CTCA_EXPORT_ extern "C" CTCA_API_
#define CTCA_CHOOSE_(type, function, ...)    \
  choose(                                    \
      type,                                  \
      [&] {                                  \
        const auto as = ints;                \
        static_cast<void>(as);               \
        return function##_int __VA_ARGS__;   \
      },                                     \
      [&] {                                  \
        const auto as = floats;              \
        static_cast<void>(as);               \
        return function##_real4 __VA_ARGS__; \
      },                                     \
      [&] {                                  \
        const auto as = doubles;             \
        static_cast<void>(as);               \
        return function##_real8 __VA_ARGS__; \
      })

CTCA_EXPORT_ int ctca_f_subcomm(void) {
  return static_cast<int>(MPI_Comm_c2f(CTCA_subcomm));
}

CTCA_EXPORT_ void ctca_f_regarea(int role, int type, void* base, size_t size, int* areaid) {
  if (role == CTCA_ROLE_REQ) {
    CTCA_CHOOSE_(type, CTCAR_regarea, (as(base), size, areaid));
  } else if (role == CTCA_ROLE_CPL) {
    CTCA_CHOOSE_(type, CTCAC_regarea, (areaid));
  } else {
    CTCA_CHOOSE_(type, CTCAW_regarea, (areaid));
  }
}

CTCA_EXPORT_ void ctca_f_readarea(int role, int type, int areaid, int reqrank, size_t offset, size_t size, void* dest) {
  if (role == CTCA_ROLE_CPL) {
    CTCA_CHOOSE_(type, CTCAC_readarea, (areaid, reqrank, offset, size, as(dest)));
  } else {
    CTCA_CHOOSE_(type, CTCAW_readarea, (areaid, reqrank, offset, size, as(dest)));
  }
}

CTCA_EXPORT_ void ctca_f_writearea(int role, int type, int areaid, int reqrank, size_t offset, size_t size, void* src) {
  if (role == CTCA_ROLE_CPL) {
    CTCA_CHOOSE_(type, CTCAC_writearea, (areaid, reqrank, offset, size, as(src)));
  } else {
    CTCA_CHOOSE_(type, CTCAW_writearea, (areaid, reqrank, offset, size, as(src)));
  }
}

// Sends a request. `handle` is NULL if the caller wants none.
CTCA_EXPORT_ void ctca_f_sendreq(int type, int* parameters, int count, void* data, size_t size, int64_t* handle) {
  if (handle == nullptr) {
    choose(
        type, [&] { return CTCAR_sendreq_withint(parameters, count, ints(data), size); },
        [&] { return CTCAR_sendreq_withreal4(parameters, count, floats(data), size); },
        [&] { return CTCAR_sendreq_withreal8(parameters, count, doubles(data), size); });
  } else {
    choose(
        type, [&] { return CTCAR_sendreq_withint_hdl(parameters, count, ints(data), size, handle); },
        [&] { return CTCAR_sendreq_withreal4_hdl(parameters, count, floats(data), size, handle); },
        [&] { return CTCAR_sendreq_withreal8_hdl(parameters, count, doubles(data), size, handle); });
  }
}

CTCA_EXPORT_ void ctca_f_pollreq_coupler(int type, int* info, int* source, int* parameters, int count, void* data,
                                         size_t size) {
  choose(
      type, [&] { return CTCAC_pollreq_withint(info, source, parameters, count, ints(data), size); },
      [&] { return CTCAC_pollreq_withreal4(info, source, parameters, count, floats(data), size); },
      [&] { return CTCAC_pollreq_withreal8(info, source, parameters, count, doubles(data), size); });
}

CTCA_EXPORT_ void ctca_f_enqreq(int type, int* info, int worker, int* parameters, int count, void* data, size_t size) {
  choose(
      type, [&] { return CTCAC_enqreq_withint(info, worker, parameters, count, ints(data), size); },
      [&] { return CTCAC_enqreq_withreal4(info, worker, parameters, count, floats(data), size); },
      [&] { return CTCAC_enqreq_withreal8(info, worker, parameters, count, doubles(data), size); });
}

CTCA_EXPORT_ void ctca_f_pollreq_worker(int type, int* source, int* parameters, int count, void* data, size_t size) {
  choose(
      type, [&] { return CTCAW_pollreq_withint(source, parameters, count, ints(data), size); },
      [&] { return CTCAW_pollreq_withreal4(source, parameters, count, floats(data), size); },
      [&] { return CTCAW_pollreq_withreal8(source, parameters, count, doubles(data), size); });
}

CTCA_EXPORT_ void ctca_f_buffer_requester(int type, int gigabytes, int dimensions, int* start, int* end) {
  CTCA_CHOOSE_(type, CTCAR_buffer_init_boxes, (gigabytes, dimensions, start, end));
}

// policy 0: the program has named none.
CTCA_EXPORT_ void ctca_f_buffer_requester_grid(int type, int gigabytes, int dimensions, void* array, int* grid,
                                               int* total, int policy) {
  if (policy == 0) {
    CTCA_CHOOSE_(type, CTCAR_buffer_init_grid, (gigabytes, dimensions, array, grid, total));
  } else {
    CTCA_CHOOSE_(type, CTCAR_buffer_init_policy, (gigabytes, dimensions, array, grid, total, policy));
  }
}

CTCA_EXPORT_ void ctca_f_buffer_coupler(int type) {
  CTCA_CHOOSE_(type, CTCAC_buffer_init, ());
}

CTCA_EXPORT_ void ctca_f_buffer_worker(int type, int steps, int* start, int* end, int method) {
  CTCA_CHOOSE_(type, CTCAW_buffer_init_boxes, (steps, start, end, method));
}

CTCA_EXPORT_ void ctca_f_buffer_worker_grid(int type, int* grid, int* total) {
  CTCA_CHOOSE_(type, CTCAW_buffer_init_grid, (grid, total));
}

CTCA_EXPORT_ void ctca_f_buffer_load(int type, void* data) {
  CTCA_CHOOSE_(type, CTCAR_buffer_load_data, (as(data)));
}

CTCA_EXPORT_ int ctca_f_buffer_read(int type, void* data) {
  return CTCA_CHOOSE_(type, CTCAW_buffer_read_data, (as(data)));
}
