// The place in a shared directory at which one process is dialed: <directory>/<run id>/<name of the process>/. It holds
// the heartbeat of its owner and the directories of the connections that others make. runtime and universe use it.
// Invariants: directories have mode 0700 and belong to this user; an inbox with a heartbeat file is open; what a run
// has left is removed only if locks prove that all its processes have died, or if its heartbeats are older than
// max_stale_ns by the clock of the file server; an inbox alone, only if a lock proves that its owner has died and a
// later life of the same process has followed twice.
// Format: docs/formats/file.md. Tests: tests/unit/link/file_link_test.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "link/file/file_beat.hpp"
#include "link/file/file_options.hpp"

namespace couplet::link {

// Where a process is dialed.
struct FileAddress {
  std::string directory;  // the shared one
  std::uint64_t run_id = 0;
  std::string name;  // the name of the process: letters, digits and '-'

  [[nodiscard]] std::string path() const;
  [[nodiscard]] std::string beat_path() const { return path() + "/beat"; }
};
// Says whether it can be the name of an inbox: 1 to 40 of the characters 0-9, a-z and '-'.
[[nodiscard]] bool is_inbox_name(std::string_view name) noexcept;
// Does the process at this address accept connections, as far as the directory shows?
[[nodiscard]] bool inbox_is_open(const FileAddress& address);

// Removes an inbox that is empty, and the directory of its run if it was the last one.
void remove_if_empty(const std::string& inbox) noexcept;

// Files of another run whose heartbeats are that old belong to nobody. A process may be suspended over a night.
inline constexpr std::uint64_t max_stale_ns = 24ULL * 3600 * 1'000'000'000;

// Says whether a connection that could not be accepted with this code may be accepted later: only a resource is
// missing, and its dialer waits.
[[nodiscard]] bool may_be_taken_later(Code code) noexcept;

class FileInbox {
 public:
  // Makes the inbox, starts its heartbeat, and removes what other runs, and earlier lives of this process, have left.
  // Returns config if the directory is not an absolute path; exists if another process has this inbox; no_space; and
  // system, which says what is wrong with the directory.
  static Result<std::unique_ptr<FileInbox>> open(const FileAddress& address, const FileOptions& options);
  // Closes it: ends the connections that were not taken, and removes what nobody needs.
  ~FileInbox();
  FileInbox(const FileInbox&) = delete;
  FileInbox& operator=(const FileInbox&) = delete;

  [[nodiscard]] const FileAddress& address() const noexcept { return address_; }
  // Returns the directories of at most `most` connections that were not returned yet. Returns system if the directory
  // has vanished.
  Result<std::vector<std::string>> take_calls(std::size_t most);
  // The next take_calls() returns this one again.
  void put_back(const std::string& path);

 private:
  FileInbox(FileAddress address, const FileOptions& options) : address_(std::move(address)), options_(options) {}

  FileAddress address_;
  FileOptions options_;
  std::unique_ptr<FileBeat> beat_;
  std::set<std::string> taken_;
};

}  // namespace couplet::link
