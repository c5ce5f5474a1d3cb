// The frames of the family `relay`: the meaning of the low four bits of their kind and of the free fields of their
// header, and the payloads that have a structure. `context` is the number of the subscription, which the reader
// chooses.
// Page: docs/formats/relay.md. Tests: tests/unit/wire/relay_messages_test.cpp, tests/fuzz/relay.cpp.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "wire/frame.hpp"
#include "wire/step_share.hpp"

namespace couplet::wire {

// `first`, `second` and `tag` are the fields of the header.
enum class RelayKind : std::uint8_t {
  // Frames from a reader.
  subscribe = 0,  // payload: Subscribe
  // Ordinals below `first` may be sent; ordinals below `second` are no longer needed; tag: which of the others the
  // reader wants (WantedSteps).
  credit = 1,
  // The reader has closed. Payload: none, or Subscribe; a hold that an earlier relay has taken then ends, too, and
  // `unsubscribed` answers.
  unsubscribe = 2,
  // Frames from a relay.
  time = 4,  // sent before the first piece of a step with a time; first: its ordinal; second: the bits of its time
  unsubscribed = 5,  // the hold has ended
  accepted = 8,      // payload: Accepted; first: the first ordinal
  refused = 9,       // payload: a sentence; tag: the status. The subscription has ended
  piece = 10,  // payload: bytes of a step, in order; first: its ordinal; second: their offset. Further pieces follow
  // Payload: the last (or only) piece. first: its ordinal; second: the step; tag: the number of newer steps.
  step = 11,
  lost = 12,  // the ordinals [first, second) are gone; tag 1: overwritten while they were sent (torn)
  news = 13,  // first: the number of published ordinals
  // Everything was sent and nothing further comes. first: the number of published ordinals; tag 0: closed, 1: the
  // writer is gone.
  ended = 14,
  evicted = 15,  // the writer has released this holder (evict_after_held)
};
[[nodiscard]] constexpr std::uint8_t relay_frame_kind(RelayKind kind) noexcept {
  return frame_kind(FrameFamily::relay, static_cast<std::uint8_t>(kind));
}
[[nodiscard]] constexpr RelayKind relay_kind_of(const FrameHeader& header) noexcept {
  return static_cast<RelayKind>(header.kind & 0xF);
}
[[nodiscard]] constexpr bool from_reader(RelayKind kind) noexcept {
  return static_cast<std::uint8_t>(kind) < 4;
}

// Which ordinals a reader wants of those that it still needs: all, a share, or one of several.
struct WantedSteps {
  std::uint32_t share = whole_share;  // a follower's part of them, in 65536ths (step_share.hpp)
  std::uint64_t every = 1;            // `second` of the credit, and after it one of so many
};
// The tag of a credit is 0 for all steps, the share, or minus `every`. What is larger than a tag is left out, so that
// the reader is sent steps that it skips. REQUIRES: not both of them are given.
[[nodiscard]] std::int32_t encode_wanted(const WantedSteps& wanted) noexcept;
[[nodiscard]] Result<WantedSteps> decode_wanted(std::int32_t tag);

inline constexpr std::uint8_t relay_modes = 2;          // hold, follow
inline constexpr std::uint8_t relay_starts = 4;         // oldest, newest, next, step
inline constexpr std::size_t longest_relay_name = 128;  // for the name of a file or a series
inline constexpr std::size_t longest_relay_text = 1024;
inline constexpr std::uint64_t largest_ordinal = std::uint64_t{1} << 62;

// A field of a series, and the box of it that the reader wants.
struct SubscribedField {
  std::uint8_t field = 0;           // its number in the writer's file
  std::vector<std::int64_t> start;  // the first corners of the boxes, one after the other
  std::vector<std::int64_t> stop;
  std::uint16_t boxes = 1;  // at most series_most_boxes; each has start.size() / boxes dimensions
};

struct Subscribe {
  std::uint16_t incarnation = 0;  // incarnation of the reader's process
  std::uint8_t mode = 0;          // COUPLET_SERIES_HOLD or COUPLET_SERIES_FOLLOW
  std::uint8_t from = 0;          // one of COUPLET_SERIES_FROM_*
  // The reader continues with `next` after another relay was lost, and `from` is not used.
  bool again = false;
  bool latest = false;  // the reader follows, and wants only the newest step
  // After a jump to `end`, the relay may send the ordinals below end + window, too, once for each credit.
  bool jumps = false;
  std::int64_t from_step = 0;
  std::uint64_t next = 0;
  std::uint64_t window = 0;   // so many ordinals from the first one on may be sent at once
  std::uint64_t program = 0;  // hash of the name of the reader's program
  std::uint64_t series_incarnation = 0;
  // Common to the subscriptions of one reader, which leave out the same steps; 0: it shares none.
  std::uint32_t reader = 0;
  std::vector<SubscribedField> fields;
  std::string file;    // name in the relay's node directory
  std::string series;  // name of the series, which is checked
};
[[nodiscard]] std::vector<std::byte> encode_subscribe(const Subscribe& subscribe);
// Returns protocol if a length, a count or a value is out of range.
[[nodiscard]] Result<Subscribe> decode_subscribe(std::span<const std::byte> image);

struct Accepted {
  bool big_endian = false;  // numbers in steps have their most significant byte first
  std::uint64_t published = 0;
  std::uint64_t step_bytes = 0;          // size of the wanted part of a step, as it is sent
  std::uint16_t writer_incarnation = 0;  // incarnation of the writer's process
};
inline constexpr std::size_t accepted_bytes = 24;
void encode_accepted(const Accepted& accepted, std::span<std::byte, accepted_bytes> image) noexcept;
[[nodiscard]] Result<Accepted> decode_accepted(std::span<const std::byte> image);

}  // namespace couplet::wire
