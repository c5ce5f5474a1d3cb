// The files of a connection: for any content the lane delivers whole frames, waits, or fails. The input is one record
// after the other, each after a kind and a length, so that the checks are right, or the bytes of the file themselves.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "link/file/file_lane.hpp"
#include "os/directory.hpp"
#include "receiver.hpp"

using namespace couplet;

namespace {

constexpr link::FileOrigin origin{.run_id = 1, .incarnation = 1};

std::vector<std::byte> file_of(std::span<const std::byte> input, bool as_they_are) {
  if (as_they_are) {
    return {input.begin(), input.end()};
  }
  std::vector<std::byte> file;
  std::uint64_t sequence = 0;
  while (input.size() >= 2) {
    const auto kind = static_cast<wire::FileRecordKind>(1 + std::to_integer<unsigned>(input[0]) % 4);
    const std::size_t length = std::min<std::size_t>(std::to_integer<unsigned>(input[1]), input.size() - 2);
    const bool data = kind == wire::FileRecordKind::data && length != 0;
    const auto body = input.subspan(2, data ? length : 0);
    std::vector<std::byte> image(body.size() + wire::file_record_added_bytes);
    wire::encode_file_record({.kind = data || kind != wire::FileRecordKind::data ? kind : wire::FileRecordKind::read,
                              .incarnation = 1,
                              .sequence = sequence++,
                              .run_id = 1},
                             body, image);
    file.insert(file.end(), image.begin(), image.end());
    input = input.subspan(2 + body.size());
  }
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t count) {
  if (count == 0) {
    return 0;
  }
  const std::string inbox = os::temporary_name("/dev/shm", "couplet-fuzz");
  if (::mkdir(inbox.c_str(), 0700) != 0) {
    return 0;
  }
  {
    link::FileOptions options;
    options.largest_payload = 1U << 16U;
    options.min_look_ns = 1;
    options.max_look_ns = 1;
    auto connection = link::FileConnection::dial(inbox, origin, options);
    if (!connection.ok()) {
      std::abort();
    }
    const os::Descriptor peer(::open(((*connection)->path() + "/a0").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    auto lane = link::make_file_lane(std::move(*connection));
    const auto file = file_of(std::span(reinterpret_cast<const std::byte*>(data) + 1, count - 1), (data[0] & 1U) != 0);
    fuzz::Receiver receiver(options.largest_payload);
    // It comes in two pieces, so that records are cut anywhere.
    const std::size_t cut = file.empty() ? 0 : (data[0] >> 1U) % file.size();
    for (const auto& [begin, end] : {std::pair<std::size_t, std::size_t>(0, cut), {cut, file.size()}}) {
      if (::pwrite(peer.number(), file.data() + begin, end - begin, static_cast<off_t>(begin)) < 0) {
        std::abort();
      }
      for (int idle = 0; idle < 3;) {
        const int answer = (*lane)->poll(receiver, 3);
        idle = answer > 0 ? 0 : idle + 1;
      }
    }
  }
  static_cast<void>(os::remove_directory(inbox));
  return 0;
}
