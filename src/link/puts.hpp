// puts: one-sided access to the memory of peers. A process shares memory with its peers, and puts into what they share,
// without a call of theirs. exchange uses it; link/ucx implements it.
// Invariants: no call waits; what was put before fence() is there before what is put after it; memory that peers could
// still write to stays allocated until the object that gave it has ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace couplet::link {

// Counts operations that are not completed. It outlives them, if need be with Puts::keep().
struct PutTally {
  std::uint64_t under_way = 0;
  Status failure;
  void* owner = nullptr;  // for the implementation
};

// Memory of this process.
class OwnMemory {
 public:
  OwnMemory() = default;
  OwnMemory(const OwnMemory&) = delete;
  OwnMemory& operator=(const OwnMemory&) = delete;
  virtual ~OwnMemory() = default;
  [[nodiscard]] virtual std::byte* data() const noexcept = 0;
  // Returns what a peer needs to put into it; unsupported.
  [[nodiscard]] virtual Result<std::string> invitation() const = 0;
  // No peer puts into it any longer: it may be given back by the destructor.
  virtual void no_longer_shared() noexcept = 0;
};

// Memory of a peer.
class PutTarget {
 public:
  PutTarget() = default;
  PutTarget(const PutTarget&) = delete;
  PutTarget& operator=(const PutTarget&) = delete;
  virtual ~PutTarget() = default;
  [[nodiscard]] virtual std::uint64_t bytes() const noexcept = 0;
  // Puts bytes at the offset. `from` stays unchanged until the tally no longer counts it. Returns peer_lost.
  // REQUIRES: it is inside of bytes().
  virtual Status put(const void* from, std::size_t bytes, std::uint64_t offset, PutTally& tally) = 0;
  // The tally counts until everything that was put to this target is there.
  virtual Status flush(PutTally& tally) = 0;
};

class Puts {
 public:
  Puts() = default;
  Puts(const Puts&) = delete;
  Puts& operator=(const Puts&) = delete;
  virtual ~Puts() = default;
  // Returns, for example, "UCX 1.13.1 over posix,cma".
  [[nodiscard]] virtual std::string describe() const = 0;
  // Allocates `bytes`, zeroed and 64-byte aligned. Returns memory, unsupported, system.
  virtual Result<std::unique_ptr<OwnMemory>> own(std::size_t bytes) = 0;
  // Returns unsupported if there is no way to that memory, protocol, system.
  virtual Result<std::unique_ptr<PutTarget>> target(std::string_view invitation) = 0;
  // Orders what was put before it before what is put after it, for all targets.
  virtual Status fence() = 0;
  // Moves what is under way. Never blocks.
  virtual void progress() noexcept = 0;
  // Keeps what operations may still use until they cannot any longer. Throws std::bad_alloc.
  virtual void keep(std::shared_ptr<void> used) = 0;
};

}  // namespace couplet::link
