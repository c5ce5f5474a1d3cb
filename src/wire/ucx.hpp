// What the link `ucx` sends beside frames: the head of each message that goes through UCX, and the introduction and the
// verdict with which two processes begin over their socket.
// Invariants: integers are little endian; a decoder returns nothing that it has not checked.
// Page: docs/formats/ucx.md. Tests: tests/unit/wire/ucx_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace couplet::wire {

inline constexpr std::uint8_t ucx_version = 1;
// The number of the active message handler of UCX.
inline constexpr unsigned ucx_handler = 7;

enum class UcxKind : std::uint8_t {
  hello = 1,   // no body: UCX reaches this process
  data = 2,    // the body is the next bytes of a frame
  credit = 3,  // no body: says how much its sender has consumed
};

struct UcxHead {
  UcxKind kind = UcxKind::data;
  std::uint64_t token = 0;   // the random number with which the receiver has introduced itself for this lane
  std::uint64_t number = 0;  // data: counts the records of this direction from 0; credit: the records consumed
  std::uint64_t bytes = 0;   // credit: the bytes consumed
};
inline constexpr std::size_t ucx_head_bytes = 32;
using UcxHeadImage = std::array<std::byte, ucx_head_bytes>;

[[nodiscard]] UcxHeadImage encode_ucx_head(const UcxHead& head) noexcept;
// Returns protocol if it is no head of this version.
[[nodiscard]] Result<UcxHead> decode_ucx_head(std::span<const std::byte> image);

// The first bytes of each side after the handshake.
struct UcxIntroduction {
  bool shares_memory = false;  // its UCX may use memory that processes of a node share
  std::uint64_t token = 0;     // what the other side puts into each head; never 0
  std::uint64_t node = 0;      // a number that changes with each boot of its node
  std::string worker;          // the address of the worker, which only UCX understands
};
inline constexpr std::size_t ucx_introduction_head_bytes = 28;
inline constexpr std::size_t max_ucx_address_bytes = 16384;

[[nodiscard]] std::string encode_ucx_introduction(const UcxIntroduction& introduction);
// Returns how many bytes the introduction has that begins here; 0: more bytes are needed to know it. Returns protocol
// or version if none begins so.
[[nodiscard]] Result<std::size_t> ucx_introduction_bytes(std::string_view image);
// REQUIRES: a whole introduction.
[[nodiscard]] Result<UcxIntroduction> decode_ucx_introduction(std::string_view image);

// Each side sends its verdict when the hello of the other side has come through UCX, or when it gives up. Afterwards
// the socket carries only one number for each direction: when a side ends its direction, it sends the number of its
// records.
struct UcxVerdict {
  bool is_reached = false;
  std::string why;  // if not
};
inline constexpr std::size_t ucx_verdict_head_bytes = 4;
inline constexpr std::size_t max_ucx_reason_bytes = 512;
inline constexpr std::size_t ucx_goodbye_bytes = 8;

[[nodiscard]] std::string encode_ucx_verdict(const UcxVerdict& verdict);
// As ucx_introduction_bytes.
[[nodiscard]] Result<std::size_t> ucx_verdict_bytes(std::string_view image);
[[nodiscard]] Result<UcxVerdict> decode_ucx_verdict(std::string_view image);

}  // namespace couplet::wire
