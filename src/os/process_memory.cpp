#include "os/process_memory.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "os/error.hpp"

namespace couplet::os {
namespace {

// One call moves less than 2 GiB. Smaller pieces also let signals be handled.
constexpr std::uint64_t piece_bytes = 256ULL << 20U;

// Linux 5.3. The number of the call is the same on all processors.
Descriptor open_handle(std::uint32_t process) noexcept {
#ifdef SYS_pidfd_open
  return Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(process), 0)));
#else
  static_cast<void>(process);
  return {};
#endif
}

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

// Calls `move` with as many runs as one call takes. A run that is too long is moved in pieces.
template <typename Move>
Status move_runs(std::uint32_t process, std::span<const ProcessRun> runs, std::byte* local, const Move& move) {
  constexpr std::size_t most_runs = 512;
  std::array<iovec, most_runs> remote;  // NOLINT: filled below
  std::size_t next = 0;
  std::uint64_t done_bytes = 0;  // the finished bytes of runs[next]
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

Status write_runs(std::uint32_t process, std::span<const ProcessRun> runs, const void* local) {
  auto* bytes = const_cast<std::byte*>(static_cast<const std::byte*>(local));  // NOLINT: only read
  return move_runs(process, runs, bytes, [process](const iovec* here, const iovec* remote, std::size_t count) {
    return ::process_vm_writev(static_cast<pid_t>(process), here, 1, remote, count, 0);
  });
}

}  // namespace

Result<std::unique_ptr<ProcessMemory>> ProcessMemory::open(std::uint32_t process, const MemoryProof& proof) {
  auto memory = std::unique_ptr<ProcessMemory>(new ProcessMemory(process, proof, open_handle(process)));
  MemoryProof seen = proof;
  seen.bytes = {};
  const iovec local{seen.bytes.data(), proof.size};
  const iovec remote{reinterpret_cast<void*>(static_cast<std::uintptr_t>(proof.address)), proof.size};
  const ssize_t moved =
      retry_interrupted([&] { return ::process_vm_readv(static_cast<pid_t>(process), &local, 1, &remote, 1, 0); });
  if (moved < 0) {
    return read_failure(errno, process, proof.address, proof.size);
  }
  if (static_cast<std::size_t>(moved) != proof.size || seen.bytes != proof.bytes) {
    return fail(Code::unsupported, "process number {} is another process here", process);
  }
  if (!memory->lives()) {
    return memory->has_ended();
  }
  return memory;
}

// Without a handle only the proof can show that the process has ended.
bool ProcessMemory::lives() const noexcept {
  if (!handle_.mine()) {
    return true;
  }
  pollfd entry{handle_.number(), POLLIN, 0};
  return retry_interrupted([&] { return ::poll(&entry, 1, 0); }) == 0;
}

// Are these bytes, which were read just now, those of the proven process?
bool ProcessMemory::is_proof(const std::array<std::uint8_t, MemoryProof::max_bytes>& seen) const noexcept {
  return seen == proof_.bytes && (!proof_.survives_fork || lives());
}

Status ProcessMemory::has_ended() const {
  return fail(Code::peer_lost, "process {} has ended, or runs another program now", process_);
}

Status ProcessMemory::check() const {
  auto seen = proof_.bytes;
  seen.fill(0);
  const iovec local{seen.data(), proof_.size};
  const iovec remote{reinterpret_cast<void*>(static_cast<std::uintptr_t>(proof_.address)), proof_.size};
  const ssize_t moved =
      retry_interrupted([&] { return ::process_vm_readv(static_cast<pid_t>(process_), &local, 1, &remote, 1, 0); });
  const bool same = moved == static_cast<ssize_t>(proof_.size) && is_proof(seen);
  return same ? Status() : has_ended();
}

// The same call reads the last piece and the proof, so that both come from the same memory.
Status ProcessMemory::read(std::uint64_t address, void* target, std::uint64_t bytes) const {
  auto* place = static_cast<std::byte*>(target);
  auto seen = proof_.bytes;
  seen.fill(0);
  while (bytes > 0) {
    const auto piece = static_cast<std::size_t>(std::min(bytes, piece_bytes));
    const std::array<iovec, 2> local{{{place, piece}, {seen.data(), proof_.size}}};
    const std::array<iovec, 2> remote{
        {{reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)), piece},
         {reinterpret_cast<void*>(static_cast<std::uintptr_t>(proof_.address)), proof_.size}}};
    const std::size_t parts = piece == bytes ? 2 : 1;
    const ssize_t moved = retry_interrupted(
        [&] { return ::process_vm_readv(static_cast<pid_t>(process_), local.data(), parts, remote.data(), parts, 0); });
    if (moved <= 0) {
      return read_failure(moved < 0 ? errno : EFAULT, process_, address, bytes);
    }
    const auto taken = std::min(static_cast<std::size_t>(moved), piece);
    place += taken;
    address += taken;
    bytes -= taken;
    if (bytes == 0) {
      const bool same = static_cast<std::size_t>(moved) == piece + proof_.size && is_proof(seen);
      return same ? Status() : has_ended();
    }
  }
  return {};
}

Status ProcessMemory::read(std::span<const ProcessRun> runs, void* local) const {
  COUPLET_TRY(move_runs(process_, runs, static_cast<std::byte*>(local),
                        [this](const iovec* here, const iovec* remote, std::size_t count) {
                          return ::process_vm_readv(static_cast<pid_t>(process_), here, 1, remote, count, 0);
                        }));
  return check();
}

Status ProcessMemory::read_unchecked(std::uint64_t address, void* target, std::uint64_t bytes) const {
  const ProcessRun run{.address = address, .bytes = bytes};
  return move_runs(process_, std::span(&run, 1), static_cast<std::byte*>(target),
                   [this](const iovec* here, const iovec* remote, std::size_t count) {
                     return ::process_vm_readv(static_cast<pid_t>(process_), here, 1, remote, count, 0);
                   });
}

Status ProcessMemory::write_unchecked(std::uint64_t address, const void* source, std::uint64_t bytes) const {
  const ProcessRun run{.address = address, .bytes = bytes};
  return write_runs(process_, std::span(&run, 1), source);
}

Status ProcessMemory::write(std::span<const ProcessRun> runs, const void* local) const {
  COUPLET_TRY(check());
  COUPLET_TRY(write_runs(process_, runs, local));
  return check();
}

}  // namespace couplet::os
