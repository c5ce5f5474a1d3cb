// The functions of waitio.h: PBs, groups, and messages in bytes.
// Tests: tests/compat/waitio.
#include "waitio.h"

#include <fmt/format.h>

#include <algorithm>

#include "entry.hpp"
#include "session.hpp"

namespace waitio {
namespace {

// Returns how many entries of the arrays of a group's PBs are read.
int entries(int given, const Session& session) {
  if (given < 1) {
    throw Error(fmt::format("n is {}; it has to be the number of the filters or lists, at least 1", given));
  }
  return std::min(given, session.block_count());
}

waitio_group_t chosen_group(Session& session, const std::vector<std::int32_t>& ranks) {
  if (ranks.empty()) {
    throw Error("no rank is chosen, and a group has at least one");
  }
  return session.make_group(ranks);
}

waitio_group_t filtered_group(int n, waitio_filter_func_t filters[]) {
  Session& session = require_session();
  require_pointer(filters, "f");
  std::vector<std::int32_t> ranks;
  for (int block = 0; block < entries(n, session); ++block) {
    const Block& each = session.meeting().blocks()[static_cast<std::size_t>(block)];
    for (int rank = 0; filters[block] != nullptr && rank < each.size; ++rank) {
      if (filters[block](block, rank) != 0) {
        ranks.push_back(each.first_rank + rank);
      }
    }
  }
  return chosen_group(session, ranks);
}

waitio_group_t listed_group(int n, int* lists[], const int counts[]) {
  Session& session = require_session();
  require_pointer(lists, "ranks");
  require_pointer(counts, "nranks");
  std::vector<std::int32_t> ranks;
  for (int block = 0; block < entries(n, session); ++block) {
    const Block& each = session.meeting().blocks()[static_cast<std::size_t>(block)];
    for (int index = 0; lists[block] != nullptr && index < counts[block]; ++index) {
      const int rank = lists[block][index];
      if (rank < 0 || rank >= each.size) {
        throw Error(fmt::format("PB {} has no rank {}; it has 0 to {}", block, rank, each.size - 1));
      }
      ranks.push_back(each.first_rank + rank);
    }
  }
  return chosen_group(session, ranks);
}

}  // namespace
}  // namespace waitio

using waitio::enter;
using waitio::require_pointer;
using waitio::require_session;

extern "C" {

__attribute__((weak)) int truef(int /*pbid*/, int /*rank*/) {
  return 1;
}

int waitio_init(int /*n*/) {
  return enter("waitio_init", [] { waitio::start_session(); });
}

int waitio_finalize(void) {
  return enter("waitio_finalize", [] { waitio::end_session("waitio_finalize"); });
}

int waitio_pb_size(int* num_pb) {
  return enter("waitio_pb_size", [&] {
    require_pointer(num_pb, "num_pb");
    *num_pb = require_session().block_count();
  });
}

int waitio_pb_rank(int* pb_id) {
  return enter("waitio_pb_rank", [&] {
    require_pointer(pb_id, "pb_id");
    *pb_id = require_session().meeting().block();
  });
}

int waitio_get_nprocs(int* nprocs) {
  return enter("waitio_get_nprocs", [&] {
    require_pointer(nprocs, "nprocs");
    for (const auto& block : require_session().meeting().blocks()) {
      *nprocs++ = block.size;
    }
  });
}

waitio_group_t waitio_create_group(int n, waitio_filter_func_t f[], int /*a*/[]) {
  waitio_group_t group = nullptr;
  enter("waitio_create_group", [&] { group = waitio::filtered_group(n, f); });
  return group;
}

waitio_group_t waitio_create_group_wranks(int n, int* ranks[], int nranks[]) {
  waitio_group_t group = nullptr;
  enter("waitio_create_group_wranks", [&] { group = waitio::listed_group(n, ranks, nranks); });
  return group;
}

int waitio_group_rank(waitio_group_t group, int* rank) {
  return enter("waitio_group_rank", [&] {
    require_pointer(rank, "rank");
    *rank = require_session().group(group).rank;
  });
}

int waitio_group_size(waitio_group_t group, int* size) {
  return enter("waitio_group_size", [&] {
    require_pointer(size, "size");
    *size = require_session().group(group).size;
  });
}

int waitio_isend(waitio_group_t group, int dest, char* buf, size_t nbytes, int tag, waitio_req_t* req) {
  return enter("waitio_isend", [&] { waitio::start_send(group, buf, nbytes, dest, tag, req); });
}

int waitio_irecv(waitio_group_t group, int source, char* buf, size_t nbytes, int tag, waitio_req_t* req) {
  return enter("waitio_irecv", [&] { waitio::start_receive(group, buf, nbytes, source, tag, req); });
}

int waitio_wait(waitio_req_t* req) {
  return enter("waitio_wait", [&] {
    require_pointer(req, "req");
    require_session().wait(*req);
  });
}

}  // extern "C"
