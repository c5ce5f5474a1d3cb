// What the functions of waitio.h and waitio_mpi.h have in common: checked arguments, and the start of sends and
// receives.
// Tests: tests/compat/waitio/test_mistakes.py.
#pragma once

#include <cstddef>
#include <cstdint>

#include "session.hpp"

namespace waitio {

// Throws Error if the pointer is NULL.
void require_pointer(const void* pointer, const char* name);
// Throws Error unless `rank` is one of the group's and the tag is allowed.
void require_peer(const waitio_group_& group, int rank, int tag);
// Start to send and to receive bytes, and write the request.
void start_send(waitio_group_t handle, const void* data, std::uint64_t bytes, int dest, int tag, waitio_req_t* into);
void start_receive(waitio_group_t handle, void* data, std::uint64_t bytes, int source, int tag, waitio_req_t* into);

}  // namespace waitio
