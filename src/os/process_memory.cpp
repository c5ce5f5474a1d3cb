#include "os/process_memory.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <array>
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

// Calls `move` with as many runs as one call takes; a run that is too long goes in pieces.
template <typename Move>
Status move_runs(std::uint32_t process, std::span<const ProcessRun> runs, std::byte* local, const Move& move) {
  constexpr std::size_t most_runs = 512;
  std::array<iovec, most_runs> remote{};
  std::size_t next = 0;
  std::uint64_t done_bytes = 0;  // of runs[next]
  while (next < runs.size()) {
    std::size_t count = 0;
    std::uint64_t bytes = 0;
    std::uint64_t skip = done_bytes;
    for (std::size_t index = next; index < runs.size() && count < most_runs && bytes < piece_bytes; ++index) {
      const std::uint64_t piece = std::min(runs[index].bytes - skip, piece_bytes - bytes);
      remote[count++] = {reinterpret_cast<void*>(static_cast<std::uintptr_t>(runs[index].address + skip)),
                         static_cast<std::size_t>(piece)};
      bytes += piece;
      skip = 0;
    }
    const iovec here{local, static_cast<std::size_t>(bytes)};
    const ssize_t moved = retry_interrupted([&] { return move(&here, remote.data(), count); });
    if (moved <= 0 && bytes > 0) {
      return read_failure(moved < 0 ? errno : EFAULT, process, runs[next].address, bytes);
    }
    local += moved;
    done_bytes += static_cast<std::uint64_t>(moved);
    while (next < runs.size() && done_bytes >= runs[next].bytes) {
      done_bytes -= runs[next++].bytes;
    }
  }
  return {};
}

}  // namespace

Status read_process(std::uint32_t process, std::span<const ProcessRun> runs, void* local) {
  return move_runs(process, runs, static_cast<std::byte*>(local),
                   [process](const iovec* here, const iovec* remote, std::size_t count) {
                     return ::process_vm_readv(static_cast<pid_t>(process), here, 1, remote, count, 0);
                   });
}

Status write_process(std::uint32_t process, std::span<const ProcessRun> runs, const void* local) {
  auto* bytes = const_cast<std::byte*>(static_cast<const std::byte*>(local));  // NOLINT: only read
  return move_runs(process, runs, bytes, [process](const iovec* here, const iovec* remote, std::size_t count) {
    return ::process_vm_writev(static_cast<pid_t>(process), here, 1, remote, count, 0);
  });
}

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
