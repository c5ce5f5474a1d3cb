// Appends the records of one direction of a connection to files, one file after the other. Private to link/file/.
// Invariants: at most one record waits to be written; a file is complete before the next one is used; never more than
// max_unread_bytes of bodies are unread.
// Format: docs/formats/file.md. Tests: tests/unit/link/file_link_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/retry.hpp"
#include "base/status.hpp"
#include "link/file/file_directory.hpp"
#include "link/file/file_options.hpp"
#include "wire/file_record.hpp"

namespace couplet::link {

// Returns the name of the file with this number in the direction of this letter.
[[nodiscard]] std::string file_name(char letter, std::uint64_t number);

class FileWriter {
 public:
  // All arguments outlive it.
  FileWriter(const FileDirectory& directory, char letter, const FileOrigin& origin, const FileOptions& options)
      : directory_(directory), letter_(letter), origin_(origin), options_(options) {}

  // Is nothing waiting to be written?
  [[nodiscard]] bool idle() const noexcept { return record_.written == record_.bytes && !next_file_; }
  // Returns the largest body of a record of data that may be appended now. 0: none.
  [[nodiscard]] std::size_t room() const noexcept;
  // Returns the memory for the body of the next record of data. REQUIRES: 1 to room() bytes.
  [[nodiscard]] std::byte* body(std::size_t bytes);
  // Appends the record whose body is in body(). Returns ok, or not_yet if flush() has to write the rest of it; in both
  // cases it is taken. Otherwise returns an error as flush().
  Status append_data(std::size_t bytes, std::uint64_t read_bytes);
  // Appends a record without a body. REQUIRES: idle().
  Status append(wire::FileRecordKind kind, std::uint64_t read_bytes);
  // Writes what waits. Returns not_yet if the file system takes nothing more at present; no_space if it has been full
  // for max_full_ns, or if no record fits into a file of this process; system, which says what has failed.
  Status flush();
  // Notes how many bytes of bodies the reader has read. Returns protocol if they are more than were written.
  Status note_read(std::uint64_t bytes);
  [[nodiscard]] const Status& failure() const noexcept { return failure_; }
  // Closes the files. Nothing may be written afterwards.
  void close() noexcept {
    file_.close();
    next_file_.close();
  }

 private:
  // The record that is written, or was written last. Its memory only grows, since a vector that grows again is filled
  // with zeros again.
  struct Record {
    std::vector<std::byte> memory;
    std::size_t bytes = 0;
    std::size_t written = 0;
  };
  [[nodiscard]] std::uint64_t max_body_bytes() const noexcept;
  [[nodiscard]] bool is_full() const noexcept;
  void make_record(std::size_t body_bytes);
  void stage(wire::FileRecordKind kind, std::size_t body_bytes, std::uint64_t read_bytes);
  Status write_record();
  Status make_next_file();
  Status waits_for_room(const Status& why);
  Status set_failure(Status why);

  const FileDirectory& directory_;
  char letter_;
  const FileOrigin& origin_;
  const FileOptions& options_;
  os::Descriptor file_;
  os::Descriptor next_file_;  // while the record that leads to it is being written
  std::uint64_t number_ = 0;  // the number of the file
  std::uint64_t offset_ = 0;  // the place in the file
  Record record_;
  std::uint64_t sequence_ = 0;
  std::uint64_t data_bytes_ = 0;  // the bytes of all bodies so far
  std::uint64_t read_bytes_ = 0;  // those that the reader has read
  LookedTime full_;
  Status failure_;
};

}  // namespace couplet::link
