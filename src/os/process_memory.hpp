// Reading another process's memory (process_vm_readv): one copy for a large message.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"

namespace couplet::os {

// Copies `bytes` from `address` in process `process` to `target`; any size, in as many calls as it takes. ok: all of it.
// unsupported: not allowed here (namespaces, ptrace_scope, seccomp); peer_lost: no such process; protocol: the peer's
// address is not readable; What was copied before an error is undefined.
Status read_process(std::uint32_t process, std::uint64_t address, void* target, std::uint64_t bytes);

}  // namespace couplet::os
