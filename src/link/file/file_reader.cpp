#include "link/file/file_reader.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "link/file/file_writer.hpp"
#include "os/clock.hpp"
#include "os/error.hpp"

namespace couplet::link {
namespace {

constexpr std::size_t min_read_bytes = 16U << 10U;

}  // namespace

Result<wire::FileRecord> FileReader::next() {
  body_ = {};
  bool read_once = false;
  while (failure_.ok()) {
    auto record = wire::decode_file_record(staged());
    if (record.ok()) {
      failure_ = check(*record);
      if (failure_.error()) {
        break;
      }
      const std::size_t bytes = record->body_bytes + wire::file_record_added_bytes;
      body_ = staged().subspan(wire::file_header_bytes, record->body_bytes);
      stage_.begin += bytes;
      offset_ += bytes;
      ++sequence_;
      incarnation_ = record->incarnation;
      data_bytes_ += record->body_bytes;
      damaged_ = {};
      if (record->kind == wire::FileRecordKind::next || record->kind == wire::FileRecordKind::end) {
        finish_file();
      }
      if (record->kind == wire::FileRecordKind::end) {
        failure_ = Code::end;
      }
      if (record->kind != wire::FileRecordKind::next) {
        return record;
      }
      read_once = false;
      continue;
    }
    if (record.code() != Code::not_yet) {
      failure_ = record.status().within(fmt::format("{}/{}", directory_.path(), file_name(letter_, number_)));
      break;
    }
    if (read_once && staged().size() >= wanted()) {
      return wait_or_damage();
    }
    auto read = fill();
    if (read.code() == Code::limit && may_wait_for_descriptor()) {
      return Code::not_yet;
    }
    if (!read && read.code() != Code::not_found) {
      failure_ = read.status();
      break;
    }
    if (!read || *read == 0) {
      return wait_or_damage();
    }
    read_once = true;
  }
  return failure_;
}

// Returns how many staged bytes make a whole record, as far as its header is known.
std::size_t FileReader::wanted() const {
  if (staged().size() >= wire::file_header_bytes) {
    if (const auto header = wire::decode_file_header(staged().first<wire::file_header_bytes>()); header.ok()) {
      return header->body_bytes + wire::file_record_added_bytes;
    }
  }
  return wire::file_header_bytes;
}

Status FileReader::check(const wire::FileRecord& record) const {
  const auto name = [&] { return fmt::format("{}/{}", directory_.path(), file_name(letter_, number_)); };
  if (record.run_id != run_id_) {
    return fail(Code::mismatch, "{}: it belongs to run {:016x}, and this is run {:016x}", name(), record.run_id,
                run_id_);
  }
  if (record.sequence != sequence_) {
    return fail(Code::protocol, "{}: record {} where record {} has to be", name(), record.sequence, sequence_);
  }
  if (incarnation_ && record.incarnation != *incarnation_) {
    return fail(Code::protocol, "{}: record {} is of incarnation {}, and those before it of incarnation {}", name(),
                record.sequence, record.incarnation, *incarnation_);
  }
  return {};
}

Result<std::size_t> FileReader::fill() {
  if (!file_) {
    COUPLET_TRY_VALUE(file_, directory_.open_file(file_name(letter_, number_)));
  }
  if (stage_.begin != 0) {
    std::memmove(stage_.memory.data(), stage_.memory.data() + stage_.begin, stage_.end - stage_.begin);
    stage_.end -= stage_.begin;
    stage_.begin = 0;
  }
  const std::size_t want = std::max(wanted(), stage_.end + min_read_bytes);
  if (stage_.memory.size() < want) {
    stage_.memory.resize(want);
  }
  const ssize_t count = os::retry_interrupted([&] {
    return ::pread(file_.number(), stage_.memory.data() + stage_.end, stage_.memory.size() - stage_.end,
                   static_cast<off_t>(offset_ + stage_.end));
  });
  if (count < 0) {
    return os::system_failure(errno, fmt::format("cannot read {}/{}", directory_.path(), file_name(letter_, number_)));
  }
  no_descriptor_ = {};
  stage_.end += static_cast<std::size_t>(count);
  return static_cast<std::size_t>(count);
}

Status FileReader::wait_or_damage() {
  if (!file_) {
    return Code::not_yet;
  }
  struct stat facts {};
  const bool whole = staged().size() >= wanted() && staged().size() >= wire::file_header_bytes;
  if (whole && ::fstat(file_.number(), &facts) == 0) {
    // Without a header that fits, the next record begins at the latest after the longest one.
    const bool header_fits = wanted() != wire::file_header_bytes;
    const std::size_t record = header_fits ? wanted() : wire::max_file_body_bytes + wire::file_record_added_bytes;
    const bool later =
        static_cast<std::uint64_t>(facts.st_size) > offset_ + record || directory_.has(file_name(letter_, number_ + 1));
    damaged_.look(os::now_ns());
    if (later && damaged_.total_ns() > options_.max_damaged_ns) {
      failure_ =
          fail(Code::protocol, "{}/{}: record {} is damaged: it does not fit its check, but later ones are there",
               directory_.path(), file_name(letter_, number_), sequence_);
      return failure_;
    }
    stage_.end = stage_.begin;  // it is read again
  }
  if (!directory_.coherent()) {
    stage_.end = stage_.begin;
    file_.close();  // a file that is opened anew shows what its server has
  }
  return Code::not_yet;
}

// Descriptors may be given back soon, as the writer waits for room.
bool FileReader::may_wait_for_descriptor() {
  no_descriptor_.look(os::now_ns());
  return no_descriptor_.total_ns() <= options_.max_full_ns;
}

void FileReader::finish_file() {
  file_.close();  // first, since some file systems keep a file that is removed while it is open
  directory_.remove(file_name(letter_, number_));
  ++number_;
  offset_ = 0;
  stage_.begin = stage_.end = 0;  // the body of the last record in a file is empty
}

}  // namespace couplet::link
