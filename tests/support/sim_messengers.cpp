#include "support/sim_messengers.hpp"

#include <algorithm>

#include "link/self/self_lane.hpp"

namespace couplet::test {

SimMessengers::SimMessengers(std::uint64_t seed, int size, const message::MessengerOptions& options,
                             link::SimOptions sim_options)
    : connected_(static_cast<std::size_t>(size), std::vector<bool>(static_cast<std::size_t>(size))),
      channels_(seed, sim_options) {
  for (int rank = 0; rank < size; ++rank) {
    endpoints_.push_back(std::make_unique<Endpoint>(*this, rank, size, options));
  }
  self_channels_.resize(static_cast<std::size_t>(size));
}

SimMessengers::~SimMessengers() = default;

channel::Handlers SimMessengers::handlers(int rank) {
  channel::Handlers all{};
  all[static_cast<std::size_t>(wire::FrameFamily::message)] = &(*this)[rank].handler();
  return all;
}

void SimMessengers::connect(int first, int second) {
  const auto low = static_cast<std::size_t>(std::min(first, second));
  const auto high = static_cast<std::size_t>(std::max(first, second));
  if (connected_[low][high]) return;
  connected_[low][high] = true;
  const auto of_low = handlers(static_cast<int>(low));
  const auto of_high = handlers(static_cast<int>(high));
  channels_.connect(static_cast<int>(low), static_cast<int>(high), of_low, of_high, wrap_);
}

void SimMessengers::kill(int rank) {
  channels_.kill(rank);
}

Result<channel::Channel*> SimMessengers::Endpoint::channel_to(channel::PeerId peer) {
  if (static_cast<int>(peer) == own) return world.self_channel(own);
  world.connect(own, static_cast<int>(peer));
  return &world.channels_.channel(own, static_cast<int>(peer));
}

channel::Channel* SimMessengers::self_channel(int rank) {
  auto& channel = self_channels_[static_cast<std::size_t>(rank)];
  if (channel == nullptr) {
    channel = std::make_unique<channel::Channel>(static_cast<channel::PeerId>(rank), fmt::format("endpoint {}", rank),
                                                 handlers(rank));
    auto lane = link::make_self_lane();
    channel->attach(wrap_ ? wrap_(std::move(*lane)) : std::move(*lane));
    channels_.also([&channel] { return channel->poll(16); });
  }
  return channel.get();
}

}  // namespace couplet::test
