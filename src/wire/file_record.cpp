#include "wire/file_record.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>

#include "base/assert.hpp"
#include "wire/numbers.hpp"

namespace couplet::wire {
namespace {

constexpr std::size_t version_at = 4;
constexpr std::size_t kind_at = 5;
constexpr std::size_t incarnation_at = 6;
constexpr std::size_t body_bytes_at = 8;
constexpr std::size_t header_check_at = 12;
constexpr std::size_t sequence_at = 16;
constexpr std::size_t run_id_at = 24;
constexpr std::size_t read_bytes_at = 32;

using HeaderImage = std::array<std::byte, file_header_bytes>;

// Returns the low half of XXH3 over the header, in which the check itself counts as 0.
std::uint32_t header_check(std::span<const std::byte, file_header_bytes> image) noexcept {
  HeaderImage copy;
  std::memcpy(copy.data(), image.data(), copy.size());
  put_little(copy.data() + header_check_at, std::uint32_t{0});
  return static_cast<std::uint32_t>(XXH3_64bits(copy.data(), copy.size()) & 0xFFFFFFFFU);
}

bool has_body(FileRecordKind kind) noexcept {
  return kind == FileRecordKind::data;
}

}  // namespace

void encode_file_record(FileRecord record, std::span<const std::byte> body, std::span<std::byte> image) noexcept {
  COUPLET_ASSERT(body.size() <= max_file_body_bytes && has_body(record.kind) == !body.empty());
  COUPLET_ASSERT(image.size() == body.size() + file_record_added_bytes);
  std::byte* const header = image.data();
  std::memcpy(header, file_record_magic.data(), file_record_magic.size());
  header[version_at] = std::byte{file_record_version};
  header[kind_at] = static_cast<std::byte>(record.kind);
  put_little(header + incarnation_at, record.incarnation);
  put_little(header + body_bytes_at, static_cast<std::uint32_t>(body.size()));
  put_little(header + sequence_at, record.sequence);
  put_little(header + run_id_at, record.run_id);
  put_little(header + read_bytes_at, record.read_bytes);
  put_little(header + header_check_at, header_check(image.first<file_header_bytes>()));
  if (!body.empty() && body.data() != header + file_header_bytes) {  // it may have been made in its place
    std::memcpy(header + file_header_bytes, body.data(), body.size());
  }
  const std::size_t checked = file_header_bytes + body.size();
  put_little(header + checked, static_cast<std::uint64_t>(XXH3_64bits(header, checked)));
}

Result<FileRecord> decode_file_header(std::span<const std::byte, file_header_bytes> image) {
  const std::byte* const header = image.data();
  if (std::memcmp(header, file_record_magic.data(), file_record_magic.size()) != 0 ||
      take_little<std::uint32_t>(header + header_check_at) != header_check(image)) {
    return Code::not_yet;
  }
  if (header[version_at] != std::byte{file_record_version}) {
    return fail(Code::version, "a file record of version {}; this program uses version {}",
                std::to_integer<int>(header[version_at]), file_record_version);
  }
  FileRecord record;
  record.kind = static_cast<FileRecordKind>(header[kind_at]);
  record.incarnation = take_little<std::uint16_t>(header + incarnation_at);
  record.body_bytes = take_little<std::uint32_t>(header + body_bytes_at);
  record.sequence = take_little<std::uint64_t>(header + sequence_at);
  record.run_id = take_little<std::uint64_t>(header + run_id_at);
  record.read_bytes = take_little<std::uint64_t>(header + read_bytes_at);
  if (record.kind < FileRecordKind::data || record.kind > FileRecordKind::end) {
    return fail(Code::protocol, "a file record of kind {}, which does not exist",
                std::to_integer<int>(header[kind_at]));
  }
  if (record.body_bytes > max_file_body_bytes || has_body(record.kind) != (record.body_bytes != 0)) {
    return fail(Code::protocol, "a file record of kind {} with {} bytes of body, expected {}",
                std::to_integer<int>(header[kind_at]), record.body_bytes,
                has_body(record.kind) ? fmt::format("1 to {}", max_file_body_bytes) : std::string("none"));
  }
  return record;
}

Result<FileRecord> decode_file_record(std::span<const std::byte> bytes) {
  if (bytes.size() < file_header_bytes) {
    return Code::not_yet;
  }
  COUPLET_TRY_VALUE(const FileRecord record, decode_file_header(bytes.first<file_header_bytes>()));
  const std::size_t checked = file_header_bytes + record.body_bytes;
  if (bytes.size() < checked + file_check_bytes) {
    return Code::not_yet;
  }
  if (take_little<std::uint64_t>(bytes.data() + checked) != XXH3_64bits(bytes.data(), checked)) {
    return Code::not_yet;
  }
  return record;
}

}  // namespace couplet::wire
