// Another process's memory (process_vm_readv, process_vm_writev): one copy for a large message or a box of an area.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.hpp"

namespace couplet::os {

// Copies `bytes` from `address` in process `process` to `target`; any size, in as many calls as it takes. ok: all of it.
// unsupported: not allowed here (namespaces, ptrace_scope, seccomp); peer_lost: no such process; protocol: the peer's
// address is not readable; What was copied before an error is undefined.
Status read_process(std::uint32_t process, std::uint64_t address, void* target, std::uint64_t bytes);

// A piece of another process's memory.
struct ProcessRun {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};
// The runs one after the other from or to `local`, contiguous there; results as above.
Status read_process(std::uint32_t process, std::span<const ProcessRun> runs, void* local);
Status write_process(std::uint32_t process, std::span<const ProcessRun> runs, const void* local);

}  // namespace couplet::os
