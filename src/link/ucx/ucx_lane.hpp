// A lane over UCX. Frames travel in records, each of which is one message of UCX; the socket over which both processes
// have met stays open, so that the end of a process is noticed at once, and says how many records a direction had.
// Invariants: at most options.max_unread_* of a direction are under way or not consumed; records are copied, because
// the layer above may move the memory of a payload at any time; with keys, each record is one sealed record of
// wire/seal. Only files of this folder include this one.
#pragma once

#include <memory>
#include <optional>

#include "link/link.hpp"
#include "link/session_keys.hpp"
#include "link/ucx/ucx_endpoint.hpp"
#include "link/ucx/ucx_inbox.hpp"
#include "os/descriptor.hpp"

namespace couplet::link {

// What two processes have when they have met.
struct UcxConnection {
  std::shared_ptr<UcxWorker> worker;
  std::unique_ptr<UcxInbox> inbox;
  UcxEndpoint* endpoint = nullptr;  // the worker owns it, and the lane releases it
  std::uint64_t peer_token = 0;
  os::Descriptor socket;
};

// Returns unsupported if this build does not have the cipher of `keys`.
Result<std::unique_ptr<Lane>> make_ucx_lane(UcxConnection connection, const std::optional<SessionKeys>& keys);

}  // namespace couplet::link
