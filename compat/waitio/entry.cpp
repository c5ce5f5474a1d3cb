#include "entry.hpp"

#include <fmt/format.h>

namespace waitio {

void require_pointer(const void* pointer, const char* name) {
  if (pointer == nullptr) {
    throw Error(fmt::format("{} is NULL", name));
  }
}

void require_peer(const waitio_group_& group, int rank, int tag) {
  if (rank < 0 || rank >= group.size) {
    throw Error(fmt::format("the group has no rank {}; it has 0 to {}", rank, group.size - 1));
  }
  if (tag < 0) {
    throw Error(fmt::format("tag {} is negative; tags are 0 to 2147483647", tag));
  }
}

void start_send(waitio_group_t handle, const void* data, std::uint64_t bytes, int dest, int tag, waitio_req_t* into) {
  require_pointer(into, "req");
  *into = {};  // so that it is complete if this fails
  Session& session = require_session();
  const waitio_group_& group = session.group(handle);
  require_peer(group, dest, tag);
  couplet_request* request = nullptr;
  check(couplet_isend(group.group, data, bytes, COUPLET_BYTE, dest, tag, &request));
  session.keep(request, false, into);
}

void start_receive(waitio_group_t handle, void* data, std::uint64_t bytes, int source, int tag, waitio_req_t* into) {
  require_pointer(into, "req");
  *into = {};  // so that it is complete if this fails
  Session& session = require_session();
  const waitio_group_& group = session.group(handle);
  require_peer(group, source, tag);
  couplet_request* request = nullptr;
  check(couplet_irecv(group.group, data, bytes, COUPLET_BYTE, source, tag, &request));
  session.keep(request, true, into);
}

}  // namespace waitio
