// Memory of this process into which peers put with UCX, and the memory of a peer into which this process puts. The
// methods rdma_* of exchange use it.
// Invariants: a put never waits; what was put before ucx_fence() is there before what is put after it; memory that
// peers could still write stays allocated until the worker ends, because UCX may write it for them.
// Tests: tests/conformance/exchange/rdma.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.hpp"
#include "link/ucx/ucx_worker.hpp"

namespace couplet::link {

// Counts operations that UCX has not completed. It outlives them, if need be with UcxWorker::keep().
struct UcxTally {
  std::uint64_t under_way = 0;
  Status failure;
  UcxCore* core = nullptr;  // set by the operations
};

class UcxMemory {
 public:
  // Allocates `bytes`, zeroed and 64-byte aligned. Returns memory, unsupported, system.
  static Result<std::unique_ptr<UcxMemory>> open(std::shared_ptr<UcxWorker> worker, std::size_t bytes);
  // The memory is given back when the worker ends.
  ~UcxMemory();
  UcxMemory(const UcxMemory&) = delete;
  UcxMemory& operator=(const UcxMemory&) = delete;

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  // Returns what a peer needs to put into it.
  [[nodiscard]] Result<std::string> invitation() const;
  // No peer puts into it any longer: it is given back at once.
  void no_longer_shared() noexcept { is_shared_ = false; }

 private:
  UcxMemory(std::shared_ptr<UcxWorker> worker, std::size_t bytes) : worker_(std::move(worker)), bytes_(bytes) {}
  std::shared_ptr<UcxWorker> worker_;
  std::size_t bytes_;
  void* handle_ = nullptr;  // of UCX
  std::byte* data_ = nullptr;
  bool is_shared_ = true;
};

class UcxTarget {
 public:
  // Returns unsupported if UCX has no way to that memory, protocol, system.
  static Result<std::unique_ptr<UcxTarget>> open(std::shared_ptr<UcxWorker> worker, std::string_view invitation);
  ~UcxTarget();
  UcxTarget(const UcxTarget&) = delete;
  UcxTarget& operator=(const UcxTarget&) = delete;

  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  // Puts bytes at the offset. `from` stays unchanged until the tally no longer counts it. Returns peer_lost.
  // REQUIRES: it is inside of bytes().
  Status put(const void* from, std::size_t bytes, std::uint64_t offset, UcxTally& tally);
  // The tally counts until everything that was put to this target is there.
  Status flush(UcxTally& tally);

 private:
  struct State;
  explicit UcxTarget(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
  std::uint64_t bytes_ = 0;
};

// Orders what was put before it before what is put after it, for all targets of the worker.
Status ucx_fence(UcxWorker& worker);

}  // namespace couplet::link
