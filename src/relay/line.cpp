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
  if (now < next_try_ns_) {
    return false;
  }
  const auto found = channels_.channel_to(server_);
  if (found && (*found)->state() != channel::ChannelState::failed) {
    channel_ = *found;
    return true;
  }
  lost(found ? (*found)->failure() : found.status());
  next_try_ns_ = now + try_interval_ns;
  return false;
}

void Line::lost(const Status& why) {
  channel_ = nullptr;
  why_ = why;
  next_try_ns_ = 0;
  if (lost_since_ns_ == 0) {
    lost_since_ns_ = os::now_ns();
  }
}

bool Line::given_up() const {
  if (channel_ != nullptr || lost_since_ns_ == 0) {
    return false;
  }
  const bool hopeless = why_.code() == Code::unsupported;
  return hopeless || os::now_ns() - lost_since_ns_ >= patience_ns_;
}

}  // namespace couplet::relay
