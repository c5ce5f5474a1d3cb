#include "os/process_memory.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>

#include "os/error.hpp"

namespace couplet::os {
namespace {

// One call moves less than 2 GiB; smaller pieces let signals through.
constexpr std::uint64_t piece_bytes = 256ULL << 20U;

Status read_failure(int error, std::uint32_t process, std::uint64_t address, std::uint64_t bytes) {
  switch (error) {
    case EPERM:
    case ENOSYS:
      return fail(Code::unsupported, "memory of process {} may not be read", process);
    case ESRCH:
      return fail(Code::peer_lost, "process {} is gone", process);
    case EFAULT:
      return fail(Code::protocol, "{} bytes at {:#x} of process {} cannot be read", bytes, address, process);
    default:
      return system_failure(error, fmt::format("cannot read {} bytes of process {}", bytes, process));
  }
}

}  // namespace

Status read_process(std::uint32_t process, std::uint64_t address, void* target, std::uint64_t bytes) {
  auto* place = static_cast<std::byte*>(target);
  while (bytes > 0) {
    const auto piece = static_cast<std::size_t>(std::min(bytes, piece_bytes));
    const iovec local{place, piece};
    const iovec remote{reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)), piece};
    const ssize_t moved =
        retry_interrupted([&] { return ::process_vm_readv(static_cast<pid_t>(process), &local, 1, &remote, 1, 0); });
    if (moved <= 0) {
      return read_failure(moved < 0 ? errno : EFAULT, process, address, bytes);
    }
    place += moved;
    address += static_cast<std::uint64_t>(moved);
    bytes -= static_cast<std::uint64_t>(moved);
  }
  return {};
}

}  // namespace couplet::os
