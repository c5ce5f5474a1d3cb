// What the members of an exchange tell each other (docs/formats/exchange.md): the terms of the edges between two
// neighbours, and notices that an exchange has failed or was closed. It turns both into bytes and back; the lengths at
// the head of a message are plain little endian numbers. exchange includes it; it includes base.
// Invariants: numbers are little endian; nothing that arrives is used before it was decoded and checked.
// Tests: tests/unit/wire/exchange_test.cpp (golden bytes).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace couplet::wire {

inline constexpr std::uint32_t exchange_terms_magic = 0x32544345;   // "ECT2"
inline constexpr std::uint32_t exchange_notice_magic = 0x314E4345;  // "ECN1"
inline constexpr std::size_t max_exchange_title_bytes = 1024;
inline constexpr std::size_t max_exchange_contents_bytes = 1024;
inline constexpr std::size_t max_exchange_text_bytes = 4096;
inline constexpr std::size_t exchange_length_bytes = 8;  // a length of a variable edge, at the head of a message

// An edge, as one of its two members has it.
struct ExchangeEdge {
  bool sends = false;  // the member that tells it is the sender
  bool is_variable = false;
  std::int64_t tag = 0;
  std::uint64_t bytes = 0;
  std::uint64_t every = 1;
  std::uint64_t offset = 0;
  std::string title{};
  std::string contents{};  // "8 double, 4 int32"; "": bytes that may be anything
};

// All edges between two members, as one of them has them, in order of direction and tag.
struct ExchangeTerms {
  bool big_endian = false;  // byte order of the member
  std::vector<ExchangeEdge> edges;
};

[[nodiscard]] std::string encode_exchange_terms(const ExchangeTerms& terms);
// Returns protocol if a value is out of range.
[[nodiscard]] Result<ExchangeTerms> decode_exchange_terms(std::string_view image);

enum class ExchangeNews : std::uint32_t {
  failed = 1,  // the exchange has failed at the sender, or at a member that has told the sender
  closed = 2,  // the sender has closed the exchange
};

struct ExchangeNotice {
  ExchangeNews news = ExchangeNews::failed;
  std::uint64_t rounds = 0;  // how many rounds the sender has begun
  std::int32_t code = 0;     // failed: a couplet_status
  std::string text;          // failed: why
};

[[nodiscard]] std::string encode_exchange_notice(const ExchangeNotice& notice);
// Returns protocol if a value is out of range.
[[nodiscard]] Result<ExchangeNotice> decode_exchange_notice(std::string_view image);

}  // namespace couplet::wire
