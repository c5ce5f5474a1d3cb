// Reads the records of one direction of a connection, while another process appends them, and removes the files that it
// has read. Private to link/file/.
// Invariants: a record is passed on only after its check; what does not fit its check is read again, and is an error
// only if later bytes have been there for a while.
// Format: docs/formats/file.md. Tests: tests/unit/link/file_link_test.cpp, tests/fuzz/file_link.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/retry.hpp"
#include "base/status.hpp"
#include "link/file/file_directory.hpp"
#include "link/file/file_options.hpp"
#include "wire/file_record.hpp"

namespace couplet::link {

class FileReader {
 public:
  // All arguments outlive it.
  FileReader(const FileDirectory& directory, char letter, std::uint64_t run_id, const FileOptions& options)
      : directory_(directory), letter_(letter), run_id_(run_id), options_(options) {}

  // Returns the next record, whose body() is valid until the next call; not_yet if there is none; mismatch if the
  // record belongs to another run; protocol if it is damaged; system. After an error it returns that error for ever,
  // and `end` after the record of kind end.
  Result<wire::FileRecord> next();
  // The body of the record that next() has returned.
  [[nodiscard]] std::span<const std::byte> body() const noexcept { return body_; }
  // Why next() returns no further record, or ok.
  [[nodiscard]] const Status& failure() const noexcept { return failure_; }
  // The bytes of all bodies that were returned so far.
  [[nodiscard]] std::uint64_t data_bytes() const noexcept { return data_bytes_; }
  // Closes the file. Nothing may be read afterwards.
  void close() noexcept { file_.close(); }

 private:
  // Bytes that were read from the file and are not used yet.
  struct Stage {
    std::vector<std::byte> memory;
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  // Reads more bytes of the file. Returns how many, or not_found if there is no file yet.
  Result<std::size_t> fill();
  [[nodiscard]] std::size_t wanted() const;
  Status check(const wire::FileRecord& record) const;
  // Nothing fits: returns not_yet, or protocol if that has lasted too long.
  Status wait_or_damage();
  // Says whether to wait although the process has no descriptor left.
  bool may_wait_for_descriptor();
  void finish_file();
  [[nodiscard]] std::span<const std::byte> staged() const noexcept {
    return std::span(stage_.memory).subspan(stage_.begin, stage_.end - stage_.begin);
  }

  const FileDirectory& directory_;
  char letter_;
  std::uint64_t run_id_;
  const FileOptions& options_;
  os::Descriptor file_;
  std::uint64_t number_ = 0;  // the number of the file
  std::uint64_t offset_ = 0;  // the place of the first staged byte in the file
  Stage stage_;
  std::span<const std::byte> body_;
  std::uint64_t sequence_ = 0;
  std::optional<std::uint16_t> incarnation_;  // the writer's, once it is known
  std::uint64_t data_bytes_ = 0;
  LookedTime damaged_;
  LookedTime no_descriptor_;
  Status failure_;
};

}  // namespace couplet::link
