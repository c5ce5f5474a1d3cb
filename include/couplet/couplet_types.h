/* Version, limits and element types of the C interface.
 *
 * A couplet_type is the type of one element as the calling program sees it. If two programs run on machines of
 * different byte order, elements are converted on the way; COUPLET_BYTE is opaque and is never converted. */
#ifndef COUPLET_COUPLET_TYPES_H
#define COUPLET_COUPLET_TYPES_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#error "Couplet needs a POSIX system"
#endif
#define COUPLET_API __attribute__((visibility("default")))

#define COUPLET_VERSION_MAJOR 0
#define COUPLET_VERSION_MINOR 1
#define COUPLET_VERSION_PATCH 0
/* The largest number of dimensions of an array, a box or an area. */
#define COUPLET_MAX_DIMENSIONS 8

#ifdef __cplusplus
extern "C" {
#endif

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

/* Returns the number of bytes of one element, or 0 for a type that does not exist. */
COUPLET_API size_t couplet_type_bytes(couplet_type type);

/* Returns the version of the library as text, for example "0.1.0". */
COUPLET_API const char* couplet_version(void);

#ifdef __cplusplus
}
#endif
#endif
