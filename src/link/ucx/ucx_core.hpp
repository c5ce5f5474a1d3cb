// A worker, as this folder sees it, and what UCX calls back. Only files of this folder include this one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "link/ucx/ucp_library.hpp"
#include "link/ucx/ucx_worker.hpp"
#include "os/fork.hpp"
#include "wire/ucx.hpp"

namespace couplet::link {

class UcxEndpoint;
class UcxInbox;
using UcxBytes = std::unique_ptr<std::byte[]>;

[[nodiscard]] inline bool is_failure(ucs_status_ptr_t request) noexcept {
  return reinterpret_cast<std::uintptr_t>(request) >= static_cast<std::uintptr_t>(std::int64_t{UCS_ERR_LAST});
}
[[nodiscard]] inline ucs_status_t failure_of(ucs_status_ptr_t request) noexcept {
  return static_cast<ucs_status_t>(reinterpret_cast<std::intptr_t>(request));
}

// A message that is sent. UCX may read it until it says that it no longer needs it.
struct UcxBlock {
  wire::UcxHeadImage head{};
  UcxBytes memory;
  std::size_t capacity = 0;
  UcxEndpoint* endpoint = nullptr;
};

struct UcxCore {
  UcpLibrary ucp;
  UcxOptions options;
  ucp_context_h context = nullptr;
  ucp_worker_h worker = nullptr;
  std::string address;
  std::uint64_t fork_generation = os::fork_generation();  // that of the opening process
  int descriptor = -1;
  std::uint64_t progress_count = 0;
  bool progresses = false;
  bool wants_sweep = false;                              // an endpoint may have something to do
  std::unordered_map<std::uint64_t, UcxInbox*> inboxes;  // by token
  std::vector<std::unique_ptr<UcxEndpoint>> endpoints;
  std::vector<std::shared_ptr<void>> kept;                            // what UCX may still use
  std::vector<ucp_mem_h> buried_memory;                               // peers may still put into it
  std::array<std::vector<std::unique_ptr<UcxBlock>>, 2> free_blocks;  // short and long ones

  // Returns a block with room for so many bytes. Throws std::bad_alloc.
  std::unique_ptr<UcxBlock> take_block(std::size_t bytes);
  void give_back(std::unique_ptr<UcxBlock> block) noexcept;
  // Returns the endpoint to that worker, which belongs to the core and gets one user more. Returns unsupported if UCX
  // has no way to that worker; system.
  Result<UcxEndpoint*> connect(const wire::UcxIntroduction& peer);
  // Returns how this worker is introduced, with that token.
  [[nodiscard]] wire::UcxIntroduction introduction(std::uint64_t token) const;
  // Goes on with endpoints that are being closed, and forgets those that are.
  void sweep() noexcept;
};

}  // namespace couplet::link
