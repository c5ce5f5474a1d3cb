// What the members of a group send to each other in collective calls (docs/formats/collective.md): the head of each
// message, and the notices. It turns both into bytes and back. collective includes it; it includes base.
// Invariants: numbers are little endian; nothing that arrives is used before it was decoded and checked.
// Tests: tests/unit/wire/collective_test.cpp (golden bytes).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace couplet::wire {

inline constexpr std::size_t collective_head_bytes = 24;
inline constexpr std::size_t short_head_bytes = 8;
inline constexpr std::uint32_t max_short_previous = 0xFFFFFF;
inline constexpr std::uint32_t collective_magic = 0x344C4343;  // "CCL4"
inline constexpr std::size_t collective_notice_bytes = 56;     // without what follows
inline constexpr std::uint32_t max_notice_text_bytes = 4096;
inline constexpr std::uint64_t max_creation = UINT64_MAX / 2;
inline constexpr std::size_t collective_piece_bytes = 24;
inline constexpr std::uint32_t max_collective_pieces = 1024;
inline constexpr std::size_t max_collective_origin_bytes = 256;

// What must be the same at the members, as one of them has it.
struct CollectiveHead {
  std::uint8_t kind = 0;        // cost::Collective
  std::uint8_t method = 0;      // cost::Method
  std::uint8_t type = 0;        // couplet_type
  bool uneven = false;          // each member has a count of its own
  std::uint32_t operation = 0;  // the mark of the operation
  std::int32_t root = -1;
  std::uint64_t count = 0;     // that of the call, or of this message if each member has a count of its own
  std::uint32_t previous = 0;  // signature of the call before; 0: not known, or it has failed
  bool big_endian = false;     // byte order of the numbers
  bool apart = false;          // the elements follow as a message of their own

  // The same for calls that agree in everything but the call before. Never 0.
  [[nodiscard]] std::uint32_t signature() const noexcept;
  [[nodiscard]] bool agrees(const CollectiveHead& other) const noexcept {
    return kind == other.kind && uneven == other.uneven && method == other.method && type == other.type &&
           operation == other.operation && root == other.root && count == other.count;
  }
};

void encode_collective_head(const CollectiveHead& head, std::span<std::byte, collective_head_bytes> image) noexcept;
// Returns protocol if there are too few bytes, or flags that do not exist.
[[nodiscard]] Result<CollectiveHead> decode_collective_head(std::string_view image);

// The head of a message of a call that all members have made before: its signature says what it is.
struct ShortHead {
  std::uint32_t signature = 0;
  std::uint32_t previous = 0;  // the lowest 24 bits of the signature of the call before; 0: not known, or it has failed
  bool big_endian = false;     // byte order of the numbers

  friend bool operator==(const ShortHead&, const ShortHead&) = default;
};

void encode_short_head(const ShortHead& head, std::span<std::byte, short_head_bytes> image) noexcept;
// Does the message begin with a short head?
[[nodiscard]] bool has_short_head(std::string_view image) noexcept;
// REQUIRES: has_short_head().
[[nodiscard]] ShortHead decode_short_head(std::string_view image) noexcept;

enum class NoticeKind : std::uint32_t {
  greeting = 1,  // to the parent in the tree: this member, and all below it, have come
  epoch = 2,     // to a child: the number of the meeting
  revoke = 3,    // the call has failed
  inquiry = 4,   // this member waits in the call, whose head follows
  creation = 5,  // to a member that is in an earlier creation of the group
};

// An entry of the table by which the members choose methods (cost::MethodPiece). Its numbers may be any: an entry whose
// numbers are out of range is never chosen.
struct CollectivePiece {
  std::uint8_t kind = 0;
  std::uint8_t method = 0;
  std::int32_t min_systems = 1;
  std::int32_t min_size = 1;
  std::uint64_t max_bytes = UINT64_MAX;

  friend bool operator==(const CollectivePiece&, const CollectivePiece&) = default;
};

struct CollectiveNotice {
  NoticeKind kind = NoticeKind::greeting;
  std::uint64_t identity = 0;  // hash of the group
  std::uint64_t call = 0;      // counted from the group's first call
  std::uint64_t creation = 1;  // the number of the creation of the group in which the sender is
  std::uint64_t epoch = 0;     // 0: the members have not met
  std::int32_t code = 0;       // revoke: a couplet_status
  std::string text;            // revoke: why
  std::uint64_t cause = 0;     // revoke: the call that had ended at the sender when it heard of a failure, or `call`
  CollectiveHead head;         // inquiry
  std::vector<std::uint32_t> systems;  // epoch: a number for each member, the same for members of one system
  std::vector<CollectivePiece> table;  // epoch: of the first member, which all use; empty: that of the library
  std::string origin;                  // epoch: where the table comes from; only if there is one
};

[[nodiscard]] std::string encode_collective_notice(const CollectiveNotice& notice);
// Returns protocol if a value is out of range.
[[nodiscard]] Result<CollectiveNotice> decode_collective_notice(std::string_view image);

}  // namespace couplet::wire
