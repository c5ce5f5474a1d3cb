#include "wire/collective.hpp"

#include <algorithm>
#include <utility>

#include "wire/numbers.hpp"

namespace couplet::wire {
namespace {

constexpr std::uint8_t flag_big_endian = 1;
constexpr std::uint8_t flag_apart = 2;
constexpr std::uint8_t flag_uneven = 4;
// The first byte of a short head. No kind of call has these numbers.
constexpr std::uint8_t short_little_endian = 0;
constexpr std::uint8_t short_big_endian = 128;
constexpr std::uint8_t all_flags = flag_big_endian | flag_apart | flag_uneven;

const std::byte* bytes_of(std::string_view image) noexcept {
  return reinterpret_cast<const std::byte*>(image.data());
}

// Returns the first bytes of a text, without a part of a character of UTF-8 at the end.
std::string_view first_bytes(std::string_view text, std::size_t most) noexcept {
  const auto continues = [&text](std::size_t place) {
    return (static_cast<unsigned char>(text[place]) & 0xC0U) == 0x80U;
  };
  if (text.size() <= most) return text;
  while (most > 0 && continues(most)) --most;
  return text.substr(0, most);
}

// The table: the number of entries, the entries, and the origin.
std::string encode_table(const std::vector<CollectivePiece>& table, std::string_view origin) {
  if (table.empty()) return {};
  const std::size_t count = std::min<std::size_t>(table.size(), max_collective_pieces);
  std::string image(4 + count * collective_piece_bytes, '\0');
  auto* target = reinterpret_cast<std::byte*>(image.data());
  put_little(target, static_cast<std::uint32_t>(count));
  target += 4;
  for (std::size_t place = 0; place < count; ++place, target += collective_piece_bytes) {
    put_little(target, table[place].kind);
    put_little(target + 1, table[place].method);
    put_little(target + 4, table[place].min_systems);
    put_little(target + 8, table[place].min_size);
    put_little(target + 16, table[place].max_bytes);
  }
  image += first_bytes(origin, max_collective_origin_bytes);
  return image;
}

// Returns false if the image is malformed.
bool decode_table(std::string_view image, CollectiveNotice& notice) {
  if (image.empty()) return true;
  if (image.size() < 4) return false;
  const auto count = take_little<std::uint32_t>(bytes_of(image));
  image.remove_prefix(4);
  if (count == 0 || count > max_collective_pieces || image.size() / collective_piece_bytes < count) return false;
  for (std::uint32_t place = 0; place < count; ++place) {
    const std::byte* const source = bytes_of(image);
    notice.table.push_back({.kind = take_little<std::uint8_t>(source),
                            .method = take_little<std::uint8_t>(source + 1),
                            .min_systems = take_little<std::int32_t>(source + 4),
                            .min_size = take_little<std::int32_t>(source + 8),
                            .max_bytes = take_little<std::uint64_t>(source + 16)});
    image.remove_prefix(collective_piece_bytes);
  }
  notice.origin = image;
  return image.size() <= max_collective_origin_bytes;
}

}  // namespace

std::uint32_t CollectiveHead::signature() const noexcept {
  std::uint64_t mixed = 0x9E3779B97F4A7C15U;
  const std::uint64_t words[] = {std::uint64_t{kind} | std::uint64_t{method} << 8U | std::uint64_t{type} << 16U |
                                     std::uint64_t{uneven} << 24U |
                                     std::uint64_t{static_cast<std::uint32_t>(root)} << 32U,
                                 operation, count};
  for (const std::uint64_t word : words) {
    mixed = (mixed ^ word) * 0xBF58476D1CE4E5B9U;
    mixed ^= mixed >> 31U;
  }
  const auto folded = static_cast<std::uint32_t>(mixed ^ (mixed >> 32U));
  return folded == 0 ? 1 : folded;
}

void encode_collective_head(const CollectiveHead& head, std::span<std::byte, collective_head_bytes> image) noexcept {
  put_little(image.data(), head.kind);
  put_little(image.data() + 1, head.method);
  put_little(image.data() + 2, head.type);
  put_little(image.data() + 3, static_cast<std::uint8_t>(head.operation));
  put_little(image.data() + 4, head.root);
  put_little(image.data() + 8, head.count);
  put_little(image.data() + 16, head.previous);
  const unsigned flags =
      (head.big_endian ? flag_big_endian : 0U) | (head.apart ? flag_apart : 0U) | (head.uneven ? flag_uneven : 0U);
  put_little(image.data() + 20, (head.operation & ~0xFFU) | flags);  // one byte of flags, three of the operation
}

Result<CollectiveHead> decode_collective_head(std::string_view image) {
  if (image.size() < collective_head_bytes) {
    return fail(Code::protocol, "a message of a collective call has {} bytes, and its head {}", image.size(),
                collective_head_bytes);
  }
  const std::byte* const source = bytes_of(image);
  const auto last = take_little<std::uint32_t>(source + 20);
  const std::uint32_t flags = last & 0xFFU;
  if ((flags & ~std::uint32_t{all_flags}) != 0) {
    return fail(Code::protocol, "a message of a collective call has the flags {:#x}", flags);
  }
  CollectiveHead head;
  head.kind = take_little<std::uint8_t>(source);
  head.method = take_little<std::uint8_t>(source + 1);
  head.type = take_little<std::uint8_t>(source + 2);
  head.operation = (last & ~0xFFU) | take_little<std::uint8_t>(source + 3);
  head.root = take_little<std::int32_t>(source + 4);
  head.count = take_little<std::uint64_t>(source + 8);
  head.previous = take_little<std::uint32_t>(source + 16);
  head.big_endian = (flags & flag_big_endian) != 0;
  head.apart = (flags & flag_apart) != 0;
  head.uneven = (flags & flag_uneven) != 0;
  return head;
}

void encode_short_head(const ShortHead& head, std::span<std::byte, short_head_bytes> image) noexcept {
  put_little(image.data(), head.previous << 8U | (head.big_endian ? short_big_endian : short_little_endian));
  put_little(image.data() + 4, head.signature);
}

bool has_short_head(std::string_view image) noexcept {
  if (image.size() < short_head_bytes) return false;
  const auto first = take_little<std::uint8_t>(bytes_of(image));
  return first == short_little_endian || first == short_big_endian;
}

ShortHead decode_short_head(std::string_view image) noexcept {
  const auto first = take_little<std::uint32_t>(bytes_of(image));
  return {.signature = take_little<std::uint32_t>(bytes_of(image) + 4),
          .previous = first >> 8U,
          .big_endian = (first & 0xFFU) == short_big_endian};
}

std::string encode_collective_notice(const CollectiveNotice& notice) {
  const std::string_view text = first_bytes(notice.text, max_notice_text_bytes);
  std::size_t more = 0;
  if (notice.kind == NoticeKind::revoke) more = text.size();
  if (notice.kind == NoticeKind::inquiry) more = collective_head_bytes;
  const std::string table =
      notice.kind == NoticeKind::epoch ? encode_table(notice.table, notice.origin) : std::string();
  if (notice.kind == NoticeKind::epoch) more = 4 * notice.systems.size() + table.size();
  std::string image(collective_notice_bytes + more, '\0');
  auto* const target = reinterpret_cast<std::byte*>(image.data());
  put_little(target, collective_magic);
  put_little(target + 4, static_cast<std::uint32_t>(notice.kind));
  put_little(target + 8, notice.identity);
  put_little(target + 16, notice.call);
  put_little(target + 24, notice.creation);
  put_little(target + 32, notice.epoch);
  put_little(target + 40, notice.kind == NoticeKind::epoch ? static_cast<std::int32_t>(table.size()) : notice.code);
  put_little(target + 48, notice.cause);
  put_little(target + 44, static_cast<std::uint32_t>(more));
  std::byte* rest = target + collective_notice_bytes;
  if (notice.kind == NoticeKind::revoke) std::copy_n(bytes_of(text), text.size(), rest);
  if (notice.kind == NoticeKind::inquiry) {
    encode_collective_head(notice.head, std::span<std::byte, collective_head_bytes>(rest, collective_head_bytes));
  }
  if (notice.kind == NoticeKind::epoch) {
    for (const std::uint32_t system : notice.systems) {
      put_little(rest, system);
      rest += 4;
    }
    std::copy_n(bytes_of(table), table.size(), rest);
  }
  return image;
}

Result<CollectiveNotice> decode_collective_notice(std::string_view image) {
  const std::byte* const source = bytes_of(image);
  if (image.size() < collective_notice_bytes || take_little<std::uint32_t>(source) != collective_magic) {
    return fail(Code::protocol, "a notice about a collective call is malformed: {} bytes", image.size());
  }
  const auto kind = take_little<std::uint32_t>(source + 4);
  const auto more = take_little<std::uint32_t>(source + 44);
  const std::string_view rest = image.substr(collective_notice_bytes);
  CollectiveNotice notice;
  notice.kind = static_cast<NoticeKind>(kind);
  notice.identity = take_little<std::uint64_t>(source + 8);
  notice.call = take_little<std::uint64_t>(source + 16);
  notice.creation = take_little<std::uint64_t>(source + 24);
  notice.epoch = take_little<std::uint64_t>(source + 32);
  notice.code = take_little<std::int32_t>(source + 40);
  notice.cause = take_little<std::uint64_t>(source + 48);
  const bool is_bare = notice.kind == NoticeKind::greeting || notice.kind == NoticeKind::creation;
  if (kind < 1 || kind > 5 || more != rest.size() || (is_bare && more != 0) || notice.creation == 0 ||
      notice.creation > max_creation ||
      (notice.kind == NoticeKind::revoke &&
       (more > max_notice_text_bytes || notice.code >= 0 || notice.cause > notice.call)) ||
      (notice.kind == NoticeKind::epoch && (notice.code < 0 || static_cast<std::uint32_t>(notice.code) > more ||
                                            (more - static_cast<std::uint32_t>(notice.code)) % 4 != 0))) {
    return fail(Code::protocol,
                "a notice about a collective call is malformed: kind {}, creation {}, code {}, {} bytes follow", kind,
                notice.creation, notice.code, rest.size());
  }
  if (notice.kind == NoticeKind::revoke) notice.text = rest;
  if (notice.kind == NoticeKind::inquiry) {
    COUPLET_TRY_VALUE(notice.head, decode_collective_head(rest));
  }
  if (notice.kind == NoticeKind::epoch) {
    const std::size_t systems_bytes = more - static_cast<std::uint32_t>(std::exchange(notice.code, 0));
    for (std::size_t offset = 0; offset < systems_bytes; offset += 4) {
      notice.systems.push_back(take_little<std::uint32_t>(bytes_of(rest) + offset));
    }
    if (!decode_table(rest.substr(systems_bytes), notice)) {
      return fail(Code::protocol, "a notice about a collective call is malformed: its table of methods has {} bytes",
                  rest.size() - systems_bytes);
    }
  }
  return notice;
}

}  // namespace couplet::wire
