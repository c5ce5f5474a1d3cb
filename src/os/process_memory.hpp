// Another process's memory (process_vm_readv, process_vm_writev): one copy for a large message or a box of an area.
// Invariants: a copy counts only if, after it, the process is still the one that was proven at the beginning: a number of a
// process is used again, and the memory of another one must never be taken for a message.
// Tests: tests/unit/os/process_memory_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/status.hpp"
#include "os/descriptor.hpp"

namespace couplet::os {

// What only the process that is meant has in its memory: random bytes, and where.
struct MemoryProof {
  static constexpr std::size_t max_bytes = 16;
  std::uint64_t address = 0;
  std::array<std::uint8_t, max_bytes> bytes{};
  std::size_t size = max_bytes;
};

// A piece of another process's memory.
struct ProcessRun {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

class ProcessMemory {
 public:
  // The memory of process `process`, if the proof is found there. unsupported: it may not be read here (namespaces,
  // ptrace_scope, seccomp), or the number belongs to another process here; peer_lost: there is no such process; protocol: the
  // proof's address is not readable.
  static Result<std::unique_ptr<ProcessMemory>> open(std::uint32_t process, const MemoryProof& proof);
  ProcessMemory(const ProcessMemory&) = delete;
  ProcessMemory& operator=(const ProcessMemory&) = delete;
  ~ProcessMemory() = default;

  [[nodiscard]] std::uint32_t process() const noexcept { return process_; }
  // Copies `bytes` from `address` to `target`; any size, in as many calls as it takes. ok: all of it, and from the process that
  // was proven. peer_lost: that process has ended, or runs another program; unsupported, protocol: as for open(). After an
  // error the contents of the target are undefined.
  Status read(std::uint64_t address, void* target, std::uint64_t bytes) const;
  // The runs one after the other from or to `local`, contiguous there; results as above. After peer_lost of a write it cannot
  // be excluded that some of it went to a process that was given the number in that very moment.
  Status read(std::span<const ProcessRun> runs, void* local) const;
  Status write(std::span<const ProcessRun> runs, const void* local) const;

 private:
  ProcessMemory(std::uint32_t process, const MemoryProof& proof, Descriptor handle)
      : process_(process), proof_(proof), handle_(std::move(handle)) {}
  [[nodiscard]] Status still_the_same() const;
  [[nodiscard]] Status has_ended() const;
  [[nodiscard]] bool lives() const noexcept;

  std::uint32_t process_;
  MemoryProof proof_;
  Descriptor handle_;  // pidfd, opened before the proof was read; none where the system has no such thing
};

}  // namespace couplet::os
