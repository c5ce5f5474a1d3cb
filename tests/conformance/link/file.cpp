#include <unistd.h>

#include <memory>

#include "base/random.hpp"
#include "link/file/file_lane.hpp"
#include "link_case.hpp"
#include "support/temporary_directory.hpp"

namespace couplet::conformance {

namespace {

struct FilePair final : Connection {
  test::TemporaryDirectory directory;
  ~FilePair() override {
    first.reset();
    second.reset();
  }
};

// Takes a part of what it is given, and as a full file system nothing at all now and then.
link::FileWrite bad_write(double full) {
  return [random = std::make_shared<Random>(77), full](int file, const void* bytes, std::size_t count,
                                                       off_t offset) -> ssize_t {
    if (random->chance(full)) {
      errno = ENOSPC;
      return -1;
    }
    return ::pwrite(file, bytes, random->chance(0.5) ? 1 + random->below(count) : count, offset);
  };
}

std::unique_ptr<Connection> connect_file(const link::FileOptions& options,
                                         const std::optional<link::SessionKeys>& keys = std::nullopt) {
  auto connection = std::make_unique<FilePair>();
  const link::FileOrigin origin{.run_id = 4711, .incarnation = 1};
  auto first = link::FileConnection::dial(connection->directory.path(), origin, options).value();
  auto second = link::FileConnection::accept(first->path(), origin, options).value();
  auto reversed = keys;
  if (reversed) {
    std::swap(reversed->send, reversed->receive);
  }
  connection->first = link::make_file_lane(std::move(first), keys).value();
  connection->second = link::make_file_lane(std::move(second), reversed).value();
  return connection;
}

std::unique_ptr<Connection> connect_small_files() {
  return connect_file({.max_body_bytes = 4096, .max_file_bytes = 10'000, .max_unread_bytes = 30'000});
}

std::unique_ptr<Connection> connect_short_writes() {
  return connect_file({.max_file_bytes = 100'000, .write = bad_write(0)});
}

std::unique_ptr<Connection> connect_full_disk() {
  return connect_file({.max_file_bytes = 100'000, .write = bad_write(0.3)});
}

std::unique_ptr<Connection> connect_encrypted() {
  link::SessionKeys keys{.cipher = wire::Cipher::chacha20_poly1305};
  keys.send.fill(1);
  keys.receive.fill(2);
  return connect_file({}, keys);
}

}  // namespace

std::unique_ptr<Connection> connect_files() {
  return connect_file({});
}

COUPLET_LINK_CONFORMS(file, connect_files);
COUPLET_LINK_CONFORMS(file_small_files, connect_small_files);
COUPLET_LINK_CONFORMS(file_short_writes, connect_short_writes);
COUPLET_LINK_CONFORMS(file_encrypted, connect_encrypted);
// The suite of lanes expects that an idle lane takes a small frame at once, which a full file system does not.
INSTANTIATE_TEST_SUITE_P(file_full_disk, ChannelConformance,
                         testing::Values(LinkCase{"file_full_disk", connect_full_disk}), name_of);

}  // namespace couplet::conformance
