#include "relay/line.hpp"

#include "os/clock.hpp"

namespace couplet::relay {
namespace {

constexpr std::uint64_t try_interval_ns = 20'000'000;

}  // namespace

bool Line::connect() {
  if (channel_ != nullptr) {
    return false;
  }
  const std::uint64_t now = os::now_ns();
  missed_.look(now);
  if (now < next_try_ns_) {
    return false;
  }
  const auto found = channels_.channel_to(server_);
  if (found && (*found)->state() != channel::ChannelState::failed) {
    channel_ = *found;
    missed_ = {};
    return true;
  }
  lost(found ? (*found)->failure() : found.status());
  next_try_ns_ = now + try_interval_ns;
  return false;
}

std::string Line::missing() const {
  return hopeless() ? why_.text()
                    : fmt::format("{}; this process has looked for another one for {:.1f} s", why_.text(),
                                  static_cast<double>(missed_.total_ns()) * 1e-9);
}

void Line::lost(const Status& why) {
  channel_ = nullptr;
  why_ = why;
  next_try_ns_ = 0;
}

}  // namespace couplet::relay
