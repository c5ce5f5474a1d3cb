#include "link/file/file_writer.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "os/clock.hpp"
#include "os/error.hpp"
#include "os/file_size_limit.hpp"

namespace couplet::link {

using wire::FileRecordKind;

namespace {

constexpr std::uint64_t smallest_body_bytes = 1024;  // FileOptions::max_body_bytes is no smaller, either

}  // namespace

std::string file_name(char letter, std::uint64_t number) {
  return fmt::format("{}{}", letter, number);
}

// A file has room for a record and for the one that says that another file follows. If the limit of its size is too
// small for that, writing fails.
std::uint64_t FileWriter::max_body_bytes() const noexcept {
  constexpr std::uint64_t added = 2 * wire::file_record_added_bytes;
  const std::uint64_t limit = os::file_size_limit();
  const bool is_too_small = limit < added + smallest_body_bytes;
  return is_too_small ? options_.max_body_bytes : std::min<std::uint64_t>(options_.max_body_bytes, limit - added);
}

std::size_t FileWriter::room() const noexcept {
  const std::uint64_t unread = data_bytes_ - read_bytes_;
  if (!idle() || !failure_.ok() || unread >= options_.max_unread_bytes) {
    return 0;
  }
  return static_cast<std::size_t>(std::min(max_body_bytes(), options_.max_unread_bytes - unread));
}

// Must the next record go to another file?
bool FileWriter::is_full() const noexcept {
  const std::uint64_t next_bytes = max_body_bytes() + 2 * wire::file_record_added_bytes;
  const std::uint64_t limit = os::file_size_limit();
  return offset_ >= options_.max_file_bytes || next_bytes > limit || offset_ > limit - next_bytes;
}

void FileWriter::make_record(std::size_t body_bytes) {
  record_.bytes = body_bytes + wire::file_record_added_bytes;
  record_.memory.resize(std::max(record_.memory.size(), record_.bytes));
}

std::byte* FileWriter::body(std::size_t bytes) {
  COUPLET_ASSERT(idle());
  make_record(bytes);
  record_.written = record_.bytes;  // nothing waits until it is appended
  return record_.memory.data() + wire::file_header_bytes;
}

void FileWriter::stage(FileRecordKind kind, std::size_t body_bytes, std::uint64_t read_bytes) {
  make_record(body_bytes);
  const auto image = std::span(record_.memory).first(record_.bytes);
  wire::encode_file_record({.kind = kind,
                            .incarnation = origin_.incarnation,
                            .sequence = sequence_++,
                            .run_id = origin_.run_id,
                            .read_bytes = read_bytes},
                           image.subspan(wire::file_header_bytes, body_bytes), image);
  record_.written = 0;
}

Status FileWriter::append_data(std::size_t bytes, std::uint64_t read_bytes) {
  COUPLET_TRY(failure_);
  data_bytes_ += bytes;
  stage(FileRecordKind::data, bytes, read_bytes);
  return flush();
}

Status FileWriter::append(FileRecordKind kind, std::uint64_t read_bytes) {
  COUPLET_TRY(failure_);
  COUPLET_ASSERT(idle());
  stage(kind, 0, read_bytes);
  return flush();
}

Status FileWriter::flush() {
  COUPLET_TRY(failure_);
  if (idle()) {
    return {};
  }
  if (!file_) {
    COUPLET_TRY(make_next_file());
    file_ = std::move(next_file_);
  }
  COUPLET_TRY(write_record());
  if (!next_file_ && is_full()) {
    // The reader goes on to a file that is there already. What it has read last does not matter to this record.
    COUPLET_TRY(make_next_file());
    stage(FileRecordKind::next, 0, 0);
    COUPLET_TRY(write_record());
  }
  if (next_file_) {
    file_ = std::move(next_file_);
    offset_ = 0;
  }
  return {};
}

Status FileWriter::make_next_file() {
  auto made = directory_.make(file_name(letter_, number_));
  if (!made) {
    return waits_for_room(made.status());
  }
  ++number_;
  next_file_ = std::move(*made);
  return {};
}

Status FileWriter::write_record() {
  const std::uint64_t left_bytes = record_.bytes - record_.written;
  if (Status fits = os::check_file_size("a file in " + directory_.path(), offset_ + left_bytes); !fits.ok()) {
    return set_failure(std::move(fits));
  }
  while (record_.written < record_.bytes) {
    const std::byte* const bytes = record_.memory.data() + record_.written;
    const std::size_t count = record_.bytes - record_.written;
    const auto offset = static_cast<off_t>(offset_);
    const ssize_t wrote = os::retry_interrupted([&] {
      return options_.write ? options_.write(file_.number(), bytes, count, offset)
                            : ::pwrite(file_.number(), bytes, count, offset);
    });
    if (wrote < 0) {
      return waits_for_room(os::system_failure(errno, fmt::format("cannot write to {}", directory_.path())));
    }
    if (wrote == 0) {
      return waits_for_room({Code::no_space, fmt::format("{} takes no bytes", directory_.path())});
    }
    record_.written += static_cast<std::size_t>(wrote);
    offset_ += static_cast<std::uint64_t>(wrote);
    full_ = {};
  }
  if (!directory_.coherent() && ::fdatasync(file_.number()) != 0) {
    // A server may say only now that it has no room, and what it has kept of the record is not known.
    return set_failure(os::system_failure(errno, fmt::format("cannot write to {}", directory_.path())));
  }
  return {};
}

// A full file system is waited for, since readers remove what they have read. Everything else is a failure.
Status FileWriter::waits_for_room(const Status& why) {
  if (why.code() != Code::no_space && why.code() != Code::limit) {
    return set_failure(why.code() == Code::system ? why : Status(Code::system, why.text()));
  }
  full_.look(os::now_ns());
  if (full_.total_ns() <= options_.max_full_ns) {
    return Code::not_yet;
  }
  return set_failure(fail(why.code(), "{}, for {} s by now", why.text(), options_.max_full_ns / 1'000'000'000));
}

Status FileWriter::set_failure(Status why) {
  failure_ = std::move(why);
  return failure_;
}

Status FileWriter::note_read(std::uint64_t bytes) {
  if (bytes > data_bytes_) {
    return set_failure(fail(Code::protocol, "the peer says that it has read {} bytes of {}", bytes, data_bytes_));
  }
  read_bytes_ = std::max(read_bytes_, bytes);
  return {};
}

}  // namespace couplet::link
