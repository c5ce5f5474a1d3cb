#include "support/sim_channels.hpp"

namespace couplet::test {

void SimChannels::connect(int first, int second, const channel::Handlers& of_first, const channel::Handlers& of_second,
                          const WrapLane& wrap) {
  auto lanes = network_.connect(first, second);
  if (wrap) {
    lanes.first = wrap(std::move(lanes.first));
    lanes.second = wrap(std::move(lanes.second));
  }
  const auto open = [this](int from, int to, const channel::Handlers& handlers, std::unique_ptr<link::Lane> lane) {
    auto& place = channels_[{from, to}];
    place =
        std::make_unique<channel::Channel>(static_cast<channel::PeerId>(to), fmt::format("endpoint {}", to), handlers);
    place->attach(std::move(lane));
  };
  open(first, second, of_first, std::move(lanes.first));
  open(second, first, of_second, std::move(lanes.second));
}

void SimChannels::kill(int endpoint) {
  network_.kill(endpoint);
}

int SimChannels::poll() {
  std::vector<channel::Channel*> order;
  for (const auto& [ends, channel] : channels_) {
    if (network_.alive(ends.first)) {
      order.push_back(channel.get());
    }
  }
  int work = 0;
  while (!order.empty()) {
    const std::size_t index = network_.random().below(order.size());
    work += order[index]->poll(static_cast<int>(network_.random().between(1, 16)));
    order[index] = order.back();
    order.pop_back();
  }
  for (const auto& other : others_) {
    work += other();
  }
  return work;
}

bool SimChannels::ready() const {
  for (const auto& [ends, channel] : channels_) {
    if (network_.alive(ends.first) && channel->ready()) {
      return true;
    }
  }
  return false;
}

bool SimChannels::run_until(const std::function<bool()>& done, std::uint64_t limit_ns) {
  constexpr int most_idle_rounds = 1000;  // a lane may be ready and move nothing for some polls (link/fault delays)
  const std::uint64_t end_ns = network_.now_ns() + limit_ns;
  int idle_rounds = 0;
  while (!done()) {
    if (poll() > 0) {
      idle_rounds = 0;
      continue;
    }
    // Polls once more: the first round may have made room (no frame is whole yet) for a channel that was polled before.
    const bool may_move = ++idle_rounds < 2 || (ready() && idle_rounds < most_idle_rounds);
    if (may_move) {
      continue;
    }
    if (!network_.advance_to_next() || network_.now_ns() > end_ns) {
      return done();
    }
    idle_rounds = 0;
  }
  return true;
}

}  // namespace couplet::test
