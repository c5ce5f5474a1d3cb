#include "link/file/file_peer.hpp"

#include <algorithm>

namespace couplet::link {
namespace {

constexpr std::uint64_t min_check_interval_ns = 1'000'000;
constexpr std::uint64_t max_check_interval_ns = 1'000'000'000;
// What the other side has written before its mark may become visible later, unless the file system is local.
constexpr int max_mark_looks = 4;

}  // namespace

Status FilePeer::look(bool all_read, std::uint64_t now_ns) {
  Status status = look_at_beat(all_read, now_ns);
  if (!status.error()) {
    status = look_at_directory(all_read, now_ns);
  }
  lost_ = lost_ || status.code() == Code::peer_lost;
  return status;
}

Status FilePeer::look_at_beat(bool all_read, std::uint64_t now_ns) {
  // The watch is asked at each look, since it counts only time in which this process looks.
  if (beat_.watches() && beat_.silent_ns(now_ns) > options_.max_silence_ns) {
    silent_ = true;
    return fail(Code::peer_lost, "its heartbeat has not changed for {} s", options_.max_silence_ns / 1'000'000'000);
  }
  if (!beat_.has_ended() || !all_read) {
    return {};
  }
  if (death_seen_) {
    return fail(Code::peer_lost, "its process has died");
  }
  death_seen_ = true;  // the next look finds everything that it has written
  return {};
}

Status FilePeer::look_at_directory(bool all_read, std::uint64_t now_ns) {
  if (!all_read) {
    mark_looks_ = 0;
  }
  if (now_ns < next_check_ns_) {
    return {};
  }
  next_check_ns_ =
      now_ns + std::clamp(options_.max_damaged_ns / max_mark_looks, min_check_interval_ns, max_check_interval_ns);
  mark_looks_ = all_read && directory_.has(mark_) ? mark_looks_ + 1 : 0;
  if (mark_looks_ > (directory_.coherent() ? 1 : max_mark_looks)) {
    return fail(Code::peer_lost, "the other side has given the connection up");
  }
  return directory_.check();
}

}  // namespace couplet::link
