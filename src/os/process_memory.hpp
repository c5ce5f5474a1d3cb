// Copies from and to another process's memory (process_vm_readv, process_vm_writev): one copy for a large message or a
// box of an area.
// Invariant: a copy counts only if, after it, the process is still the one that was proven at the beginning. The system
// uses process numbers again, and the memory of another process must never be taken for a message.
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

// The proof: random bytes that only the intended process has in its memory, and their address.
struct MemoryProof {
  static constexpr std::size_t max_bytes = 16;
  std::uint64_t address = 0;
  std::array<std::uint8_t, max_bytes> bytes{};
  std::size_t size = max_bytes;
  // May a process that the intended one has forked have them, too? If not (see os::WipedPage), a copy that was read
  // together with the proof needs no further question.
  bool survives_fork = true;
};

// A piece of another process's memory.
struct ProcessRun {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

class ProcessMemory {
 public:
  // Opens the memory of process `process` if the proof is found there. Returns unsupported if it may not be read here
  // (namespaces, ptrace_scope, seccomp), or if the number belongs to another process here; peer_lost if there is no
  // such process; and protocol if the proof's address cannot be read.
  static Result<std::unique_ptr<ProcessMemory>> open(std::uint32_t process, const MemoryProof& proof);
  ProcessMemory(const ProcessMemory&) = delete;
  ProcessMemory& operator=(const ProcessMemory&) = delete;
  ~ProcessMemory() = default;

  [[nodiscard]] std::uint32_t process() const noexcept { return process_; }
  // Copies `bytes` from `address` to `target`: any size, in as many calls as it takes. ok means that all of it was
  // copied, and from the proven process. Returns peer_lost if that process has ended, or runs another program;
  // unsupported and protocol as open() does. After an error the contents of the target are undefined.
  Status read(std::uint64_t address, void* target, std::uint64_t bytes) const;
  // Copies the runs one after the other from or to `local`, where they are contiguous. The results are as above. After
  // peer_lost of a write it is possible that a part of it went to a process that was given the number at that very
  // moment.
  Status read(std::span<const ProcessRun> runs, void* local) const;
  Status write(std::span<const ProcessRun> runs, const void* local) const;

  // The same for one piece of a larger copy, without the question whether the process is still the proven one. What was
  // read counts only if check() is ok afterwards. Before the first write it has to be ok, or the process has to have
  // shown in another way that it lives.
  Status read_unchecked(std::uint64_t address, void* target, std::uint64_t bytes) const;
  Status write_unchecked(std::uint64_t address, const void* source, std::uint64_t bytes) const;
  // Returns ok if the process is still the proven one, else peer_lost.
  [[nodiscard]] Status check() const;

 private:
  ProcessMemory(std::uint32_t process, const MemoryProof& proof, Descriptor handle)
      : process_(process), proof_(proof), handle_(std::move(handle)) {}
  [[nodiscard]] bool is_proof(const std::array<std::uint8_t, MemoryProof::max_bytes>& seen) const noexcept;
  [[nodiscard]] Status has_ended() const;
  [[nodiscard]] bool lives() const noexcept;

  std::uint32_t process_;
  MemoryProof proof_;
  // A pidfd that was opened before the proof was read. Empty if the system has none.
  Descriptor handle_;
};

}  // namespace couplet::os
