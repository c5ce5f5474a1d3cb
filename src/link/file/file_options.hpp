// The bounds of the transport `file`, and what its parts share.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>

namespace couplet::link {

// Writes like pwrite(2): returns the bytes written, or -1 and errno. Tests use one that fails.
using FileWrite = std::function<ssize_t(int file, const void* bytes, std::size_t count, off_t offset)>;

struct FileOptions {
  std::uint32_t largest_payload = 1U << 20U;  // for one frame
  std::uint64_t eager_bytes = 64U << 10U;
  std::uint32_t max_body_bytes = 128U << 10U;  // for one record; 1 KiB to wire::max_file_body_bytes
  // A file that has reached this size is followed by another one. It may be larger by one record.
  std::uint64_t max_file_bytes = 4U << 20U;
  // How many bytes of a direction may be unread. No further ones are taken then.
  std::uint64_t max_unread_bytes = 8U << 20U;
  // How often a file is looked at: at first after min_look_ns; the time doubles while nothing comes.
  std::uint64_t min_look_ns = 50'000;
  std::uint64_t max_look_ns = 20'000'000;
  // How long a full file system is waited for.
  std::uint64_t max_full_ns = 5'000'000'000;
  // For how long a record may fail its check although later ones are there. A file system that caches shows pages late.
  std::uint64_t max_damaged_ns = 3'000'000'000;
  // A peer whose heartbeat has not changed for this long is lost.
  std::uint64_t max_silence_ns = 30'000'000'000;
  std::uint64_t beat_interval_ns = 1'000'000'000;
  FileWrite write;  // empty: pwrite
};

// Identifies the process that writes a file, in each record.
struct FileOrigin {
  std::uint64_t run_id = 0;
  std::uint16_t incarnation = 0;
};

}  // namespace couplet::link
