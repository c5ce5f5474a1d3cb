// The inbox of a member: a mapped file into which its neighbours write their messages. It knows the layout of the file
// (docs/formats/exchange.md). mapped uses it. Tests: tests/unit/exchange/inbox_test.cpp.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "exchange/buffer.hpp"
#include "exchange/method.hpp"
#include "os/mapped_file.hpp"

namespace couplet::exchange {

// The messages of up to this size are in the line of their number.
inline constexpr std::size_t max_line_bytes = 48;

// The line that tells that a message has come. The number of the first message is 1.
struct alignas(cache_line_bytes) HalfLine {
  std::byte data[max_line_bytes];
  std::uint64_t bytes;
  std::atomic<std::uint64_t> number;
};
static_assert(sizeof(HalfLine) == cache_line_bytes);

// One of the two places for messages of a neighbour.
struct Half {
  HalfLine* line = nullptr;
  std::byte* data = nullptr;  // line->data for short messages
};

// Where the part of a neighbour is in a file.
struct InboxPlace {
  std::uint64_t consumed_offset = 0;  // here the neighbour stores how many messages it has consumed
  std::uint64_t halves_offset = 0;
  std::uint64_t half_bytes = 0;     // distance of the two halves
  std::uint64_t message_bytes = 0;  // the longest message
};

// What a neighbour needs to write into the inbox.
struct Invitation {
  std::string build;
  std::string file;  // its name in the run directory, wherever that is
  std::uint64_t file_bytes = 0;
  std::array<std::uint64_t, 2> nonce{};
  InboxPlace place;

  // Returns mismatch or version if a neighbour cannot use it for messages of that port.
  [[nodiscard]] Status fits(const Port& port) const;
};

[[nodiscard]] std::string encode_invitation(const Invitation& invitation);
[[nodiscard]] Result<Invitation> decode_invitation(std::string_view text);

class Inbox {
 public:
  // Makes the file in the run directory, with a place for each port. Returns unsupported if there is no such directory,
  // no_space or system.
  static Result<std::unique_ptr<Inbox>> create(const Setting& setting, std::vector<InboxPlace>& places);
  // Maps the file of a neighbour. Returns unsupported if it is not in the own run directory, or is another file.
  static Result<std::unique_ptr<Inbox>> open(const std::string& run_directory, const Invitation& invitation);

  [[nodiscard]] Invitation invitation(const Port& port, const InboxPlace& place) const;
  // Not 0 while the owner sleeps; it sleeps on this word.
  [[nodiscard]] std::atomic<std::uint32_t>& sleeps() const noexcept;
  [[nodiscard]] std::atomic<std::uint64_t>& consumed(const InboxPlace& place) const noexcept;
  [[nodiscard]] std::array<Half, 2> halves(const InboxPlace& place) const noexcept;
  // The memory stays mapped.
  Status remove_name() { return file_->remove(); }

 private:
  Inbox(std::unique_ptr<os::MappedFile> file, const std::array<std::uint64_t, 2>& nonce)
      : file_(std::move(file)), nonce_(nonce) {}

  std::unique_ptr<os::MappedFile> file_;
  std::array<std::uint64_t, 2> nonce_;
};

}  // namespace couplet::exchange
