#include "link/file/file_connection.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "link/file/file_inbox.hpp"
#include "os/clock.hpp"
#include "os/directory.hpp"
#include "os/error.hpp"
#include "os/host.hpp"

namespace couplet::link {
namespace {

// A direction is confirmed when this part of what may be unread was read.
constexpr std::uint64_t confirmed_parts = 4;

constexpr char message_of(FileSide side) noexcept {
  return side == FileSide::dialer ? 'd' : 'a';
}

constexpr FileSide other(FileSide side) noexcept {
  return side == FileSide::dialer ? FileSide::acceptor : FileSide::dialer;
}

constexpr const char* mark_of(FileSide side) noexcept {
  return side == FileSide::dialer ? "closed-d" : "closed-a";
}

}  // namespace

Result<std::unique_ptr<FileConnection>> FileConnection::dial(const std::string& inbox, const FileOrigin& origin,
                                                             const FileOptions& options) {
  COUPLET_TRY_VALUE(const std::uint64_t number, os::random_bits());
  const std::string path = fmt::format("{}/{}{:016x}", inbox, file_call_prefix, number);
  if (::mkdir(path.c_str(), 0700) != 0) {
    return os::system_failure(errno, fmt::format("cannot make directory {}", path));
  }
  return open(path, FileSide::dialer, origin, options);
}

Result<std::unique_ptr<FileConnection>> FileConnection::accept(const std::string& path, const FileOrigin& origin,
                                                               const FileOptions& options) {
  return open(path, FileSide::acceptor, origin, options);
}

Result<std::unique_ptr<FileConnection>> FileConnection::open(const std::string& path, FileSide side,
                                                             const FileOrigin& origin, const FileOptions& options) {
  if (options.max_body_bytes < 1024 || options.max_body_bytes > wire::max_file_body_bytes ||
      options.max_unread_bytes < options.max_body_bytes || options.min_look_ns == 0 ||
      options.max_look_ns < options.min_look_ns) {
    return fail(Code::limit,
                "file: records of {} bytes, {} unread ones and looks after {} to {} ns; records have 1024 to {} bytes, "
                "at least one has to be unread, and looks are at least 1 ns apart",
                options.max_body_bytes, options.max_unread_bytes, options.min_look_ns, options.max_look_ns,
                wire::max_file_body_bytes);
  }
  COUPLET_TRY_VALUE(auto directory, FileDirectory::open(path));
  COUPLET_TRY_VALUE(auto timer, os::Timer::open());
  std::unique_ptr<FileConnection> connection(
      new FileConnection(std::move(directory), side, origin, options, std::move(timer)));
  connection->timer_->set(options.min_look_ns);
  return connection;
}

FileConnection::FileConnection(FileDirectory directory, FileSide side, const FileOrigin& origin,
                               const FileOptions& options, std::unique_ptr<os::Timer> timer)
    : options_(options),
      origin_(origin),
      side_(side),
      directory_(std::move(directory)),
      writer_(directory_, message_of(side), origin_, options_),
      reader_(directory_, message_of(other(side)), origin_.run_id, options_),
      timer_(std::move(timer)),
      peer_(directory_, mark_of(other(side)), options_),
      delay_ns_(options.min_look_ns) {}

FileConnection::~FileConnection() {
  if (!directory_.mine()) {
    return;  // in a forked child
  }
  shut();
  // Some file systems keep a file that is removed while it is open, under another name.
  writer_.close();
  reader_.close();
  timer_.reset();  // now there is a descriptor for the mark
  // Each side leaves its mark first, and then looks for the other one's, so that at least one of them sees both. If
  // there is no room for a mark, the end of the directory tells the other side.
  const bool marked = directory_.make(mark_of(side_)).ok();
  const bool unanswered = peer_.lost() && side_ == FileSide::dialer && reader_.data_bytes() == 0;
  if (!marked || unanswered || peer_.needs_nothing()) {
    static_cast<void>(os::remove_directory(directory_.path()));
    remove_if_empty(directory_.path().substr(0, directory_.path().rfind('/')));
  }
}

Status FileConnection::send(std::size_t bytes) {
  told_bytes_ = reader_.data_bytes();
  const Status sent = writer_.append_data(bytes, told_bytes_);
  return sent.code() == Code::not_yet ? Status() : sent;
}

Result<std::span<const std::byte>> FileConnection::receive() {
  if (!held_.empty()) {
    return std::exchange(held_, {});
  }
  while (true) {
    COUPLET_TRY_VALUE(const wire::FileRecord record, reader_.next());
    peer_.heard();
    COUPLET_TRY(writer_.note_read(record.read_bytes));
    if (record.kind == wire::FileRecordKind::data) {
      return reader_.body();
    }
  }
}

// A failure is not lost: the reader returns it again.
void FileConnection::take_notices() {
  if (held_.empty()) {
    if (const auto body = receive(); body.ok()) {
      held_ = *body;
    }
  }
}

Status FileConnection::finish_look(bool moved, std::uint64_t now_ns, bool untaken) {
  const Status flushed = writer_.flush();
  COUPLET_TRY(writer_.failure());
  if (flushed.ok() && writer_.idle()) {
    if (state_ == State::shutting) {
      state_ = State::shut;
      static_cast<void>(writer_.append(wire::FileRecordKind::end, reader_.data_bytes()));
    } else if (state_ == State::open &&
               reader_.data_bytes() - told_bytes_ >= options_.max_unread_bytes / confirmed_parts) {
      told_bytes_ = reader_.data_bytes();
      static_cast<void>(writer_.append(wire::FileRecordKind::read, told_bytes_));
    }
    COUPLET_TRY(writer_.failure());
  }
  delay_ns_ = moved ? options_.min_look_ns : std::min(options_.max_look_ns, 2 * delay_ns_);
  wake_in(delay_ns_, now_ns);
  return peer_.look(!moved && !untaken, now_ns);
}

void FileConnection::wake_in(std::uint64_t delay_ns, std::uint64_t now_ns) {
  next_look_ns_ = now_ns + delay_ns;
  timer_->set(delay_ns);
}

void FileConnection::expect_answer(std::uint64_t now_ns) {
  if (delay_ns_ != options_.min_look_ns) {
    delay_ns_ = options_.min_look_ns;
    wake_in(delay_ns_, now_ns);
  }
}

void FileConnection::shut() noexcept {
  if (state_ == State::shut) {
    return;
  }
  state_ = State::shutting;
  if (!writer_.flush().ok() || !writer_.idle()) {
    return;
  }
  state_ = State::shut;
  static_cast<void>(writer_.append(wire::FileRecordKind::end, reader_.data_bytes()));
}

Result<std::size_t> FileConnection::send_some(std::span<const std::byte> bytes) {
  COUPLET_TRY(writer_.flush());
  const std::size_t count = std::min(bytes.size(), room());
  if (count == 0) {
    COUPLET_TRY(writer_.failure());
    return Code::not_yet;
  }
  std::memcpy(body(count), bytes.data(), count);
  COUPLET_TRY(send(count));
  return count;
}

Result<std::size_t> FileConnection::receive_some(std::span<std::byte> bytes) {
  if (bytes.empty()) {
    return Code::not_yet;
  }
  if (rest_.empty()) {
    COUPLET_TRY_VALUE(rest_, receive());
  }
  const std::size_t count = std::min(bytes.size(), rest_.size());
  std::memcpy(bytes.data(), rest_.data(), count);
  rest_ = rest_.subspan(count);
  return count;
}

}  // namespace couplet::link
