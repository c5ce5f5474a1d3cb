#include "counters/counters.hpp"

namespace couplet::counters {
namespace {

constexpr std::array<std::string_view, counter_count> names = {
    "messages_sent_self",
    "messages_sent_shm",
    "messages_sent_tcp",
    "messages_sent_other",
    "messages_received_self",
    "messages_received_shm",
    "messages_received_tcp",
    "messages_received_other",
    "message_bytes_sent_self",
    "message_bytes_sent_shm",
    "message_bytes_sent_tcp",
    "message_bytes_sent_other",
    "message_bytes_received_self",
    "message_bytes_received_shm",
    "message_bytes_received_tcp",
    "message_bytes_received_other",
    "messages_eager",
    "messages_rendezvous",
    "message_bytes_read_directly",
    "messages_unexpected",
    "message_wait_ns",
    "frames_sent",
    "frames_received",
    "connections_opened",
    "connections_lost",
    "series_steps_written",
    "series_bytes_written",
    "series_steps_delivered",
    "series_bytes_delivered",
    "series_steps_lost",
    "series_steps_skipped",
    "series_steps_torn",
    "series_write_ns",
    "series_held_ns",
    "series_read_ns",
    "series_read_wait_ns",
    "relay_steps_pushed",
    "relay_bytes_pushed",
    "relay_subscribers",
    "polls",
    "sleeps",
    "slept_ns",
    "message_bytes_written_directly",
};
static_assert(!names.back().empty());

}  // namespace

std::string_view counter_name(Counter counter) noexcept {
  const auto index = static_cast<std::size_t>(counter);
  return index < names.size() ? names[index] : "unknown";
}

LinkKind link_kind(std::string_view lane_name) noexcept {
  if (lane_name == "self") {
    return LinkKind::self;
  }
  if (lane_name == "shm") {
    return LinkKind::shm;
  }
  return lane_name == "tcp" ? LinkKind::tcp : LinkKind::other;
}

}  // namespace couplet::counters
