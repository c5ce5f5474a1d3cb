// The records in which a connection of the transport `file` writes its bytes: a header, a body, and a check of both.
// One process appends them to a file, and another one reads them while they grow.
// Invariants: integers are little endian; a record that is written in part, or whose pages have not all become visible,
// does not fit its check; a decoder returns nothing that it has not checked.
// Page: docs/formats/file.md. Tests: tests/unit/wire/file_record_test.cpp, tests/fuzz/file_record.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.hpp"

namespace couplet::wire {

inline constexpr std::array<char, 4> file_record_magic = {'C', 'P', 'L', 'F'};
inline constexpr std::uint8_t file_record_version = 1;
inline constexpr std::size_t file_header_bytes = 40;
inline constexpr std::size_t file_check_bytes = 8;
// The bytes that a record has beside its body.
inline constexpr std::size_t file_record_added_bytes = file_header_bytes + file_check_bytes;
inline constexpr std::size_t max_file_body_bytes = std::size_t{1} << 20U;

enum class FileRecordKind : std::uint8_t {
  data = 1,  // the body is the next bytes of the connection
  read = 2,  // no body: only says how much the writer of the record has read
  next = 3,  // no body, the last one in its file: the next file goes on
  end = 4,   // no body: nothing further comes in this direction
};

struct FileRecord {
  FileRecordKind kind = FileRecordKind::data;
  std::uint16_t incarnation = 0;  // the incarnation of the process that writes it
  std::uint32_t body_bytes = 0;
  std::uint64_t sequence = 0;    // counts the records of a direction from 0
  std::uint64_t run_id = 0;      // the run of the universe
  std::uint64_t read_bytes = 0;  // bytes of bodies of the other direction that the writer of the record has read
};

// Writes a whole record to `image`, which has file_record_added_bytes more than the body. Sets body_bytes itself.
// REQUIRES: at most max_file_body_bytes of body, and none if the kind is not data.
void encode_file_record(FileRecord record, std::span<const std::byte> body, std::span<std::byte> image) noexcept;

// Reads a header alone. Returns not_yet if it does not fit its check, so that it is not, or not yet, a header; version
// if it fits and has another version; protocol if it fits and says something impossible.
[[nodiscard]] Result<FileRecord> decode_file_header(std::span<const std::byte, file_header_bytes> image);
// Reads the record with which `bytes` begin. Returns not_yet if it is not complete or does not fit its check, and the
// errors of decode_file_header. Its body then begins at file_header_bytes.
[[nodiscard]] Result<FileRecord> decode_file_record(std::span<const std::byte> bytes);

}  // namespace couplet::wire
