// ucx: lanes over UCX, and memory into which peers put. A process has one worker for all its peers: it opens a context
// of UCX, says how it is reached, and moves everything that is under way. Two processes meet over a socket that has
// passed the handshake (ucx_meeting), and get a lane (ucx_lane). The methods rdma_* of exchange use ucx_memory.
// runtime and exchange use it; below is libucp (ucp_library), which is loaded at run time.
// Invariants: nothing blocks but the destructor of the worker, which waits for at most max_ending_ns; what a peer sends
// is bounded by credit; a forked child calls nothing of UCX. Decision: docs/decisions/0038. Page: docs/formats/ucx.md.
// Tests: tests/conformance/link, tests/conformance/connecting, tests/conformance/exchange, tests/universe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace couplet::link {

struct UcxOptions {
  std::string transports;                      // those that UCX may use, as in UCX_TLS; empty: as UCX decides
  std::uint32_t largest_payload = 1U << 20U;   // for one frame
  std::uint64_t eager_bytes = 64U << 10U;      // see LaneTraits
  std::uint32_t checked_payload_bytes = 4096;  // the check sum covers payloads up to this size
  std::uint32_t record_bytes = 64U << 10U;     // the longest record, which is one message of UCX
  // What a peer may have sent of one direction of a lane that is not consumed yet.
  std::uint32_t max_unread_records = 256;
  std::uint64_t max_unread_bytes = 2U << 20U;
  // The same between two processes that share memory. UCX holds back what the receiver's queue there has no room for,
  // until its sender makes progress again; so this is less than that queue takes.
  std::uint32_t max_shared_records = 64;
  std::uint64_t max_shared_bytes = 1U << 20U;
  // How long a peer that has ended its direction may leave out what it said that it has sent.
  std::uint64_t max_silence_ns = 3'000'000'000;
  // How long the end of the worker waits for what was sent.
  std::uint64_t max_ending_ns = 200'000'000;
};

struct UcxCore;

class UcxWorker {
 public:
  // Opens a context of UCX. Returns unsupported if UCX cannot be loaded, config if it has none of options.transports,
  // limit if the options make no sense, and system.
  static Result<std::shared_ptr<UcxWorker>> open(const UcxOptions& options = {});
  ~UcxWorker();
  UcxWorker(const UcxWorker&) = delete;
  UcxWorker& operator=(const UcxWorker&) = delete;

  [[nodiscard]] const UcxOptions& options() const noexcept;
  // Returns the bytes by which UCX reaches this worker.
  [[nodiscard]] std::string_view address() const noexcept;
  // Returns "UCX 1.13.1 over posix,cma".
  [[nodiscard]] std::string describe() const;
  // Returns the descriptor that can be read when something has happened since may_sleep() has returned true.
  [[nodiscard]] int descriptor() const noexcept;
  // Moves what is under way, and returns how much has moved. Never blocks. Does nothing if UCX calls it.
  unsigned progress() noexcept;
  // Returns how often progress() was called.
  [[nodiscard]] std::uint64_t progress_count() const noexcept;
  // Asks for descriptor() to be readable at the next event. Returns false if progress() can do something now.
  [[nodiscard]] bool may_sleep() noexcept;
  // Keeps what UCX may still use until the worker has ended. Throws std::bad_alloc.
  void keep(std::shared_ptr<void> used);
  // Returns how many endpoints no lane and no target of puts uses: those to peers that have ended, for the most part.
  // UCX 1.13 gives the memory of such a peer back only when the worker ends, so a process whose peers come and go takes
  // a new worker now and then.
  [[nodiscard]] std::size_t unused_endpoints() const noexcept;
  // Closes all endpoints, and returns true when the destructor would not wait. REQUIRES: nothing uses the worker any
  // longer. Call progress(), and this again, until then.
  [[nodiscard]] bool prepare_end() noexcept;
  // Returns false in a forked child.
  [[nodiscard]] bool mine() const noexcept;
  // For this folder.
  [[nodiscard]] UcxCore& core() const noexcept { return *core_; }

 private:
  explicit UcxWorker(std::unique_ptr<UcxCore> core);
  void end_within(std::uint64_t time_ns) noexcept;
  std::unique_ptr<UcxCore> core_;
};

}  // namespace couplet::link
