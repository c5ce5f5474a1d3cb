// Says whether the process at the other end of a connection of files is still there: by its heartbeat, by the mark that
// it leaves when it ends its side, and by the directory of the connection. Private to link/file/.
// Invariants: what the other process wrote before it died is read before its death is reported, and what it wrote
// before it left its mark is read before its end is reported.
// Tests: tests/unit/link/file_link_test.cpp, tests/unit/link/file_beat_test.cpp.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.hpp"
#include "link/file/file_beat.hpp"
#include "link/file/file_directory.hpp"
#include "link/file/file_options.hpp"

namespace couplet::link {

class FilePeer {
 public:
  // mark: the name of the file that the other side makes at its end. The other arguments outlive it.
  FilePeer(const FileDirectory& directory, std::string mark, const FileOptions& options)
      : directory_(directory), mark_(std::move(mark)), options_(options) {}

  // From now on, this heartbeat says whether the peer is there.
  void watch_beat(const std::string& path) { beat_ = FileBeatWatch(path, options_.beat_interval_ns); }
  // It has written something.
  void heard() noexcept { beat_.heard(); }
  // Called after each look at the peer's files. all_read: it has found nothing, and nothing more may be there. Returns
  // peer_lost if the peer has died, is silent, or has ended its side without an end; and system if the directory has
  // vanished.
  Status look(bool all_read, std::uint64_t now_ns);
  // Has look() returned peer_lost?
  [[nodiscard]] bool lost() const noexcept { return lost_; }
  // Has a look proven that the peer's process has died?
  [[nodiscard]] bool has_died() const noexcept { return beat_.has_ended(); }
  // Has look() failed because nothing has changed the heartbeat for too long?
  [[nodiscard]] bool is_silent() const noexcept { return silent_; }
  // Looks now, and says whether the peer no longer needs the directory.
  [[nodiscard]] bool needs_nothing() { return beat_.owner_has_died() || directory_.has(mark_); }

 private:
  Status look_at_beat(bool all_read, std::uint64_t now_ns);
  Status look_at_directory(bool all_read, std::uint64_t now_ns);

  const FileDirectory& directory_;
  std::string mark_;
  const FileOptions& options_;
  FileBeatWatch beat_;
  std::uint64_t next_check_ns_ = 0;
  int mark_looks_ = 0;  // how many looks in a row have found the mark and nothing else
  bool death_seen_ = false;
  bool silent_ = false;
  bool lost_ = false;
};

}  // namespace couplet::link
