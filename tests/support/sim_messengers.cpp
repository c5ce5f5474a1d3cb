#include "support/sim_messengers.hpp"

#include <algorithm>

namespace couplet::test {

SimMessengers::SimMessengers(std::uint64_t seed, int size, const message::MessengerOptions& options,
                             link::SimOptions sim_options)
    : connected_(static_cast<std::size_t>(size), std::vector<bool>(static_cast<std::size_t>(size))),
      channels_(seed, sim_options) {
  for (int rank = 0; rank < size; ++rank) {
    endpoints_.push_back(std::make_unique<Endpoint>(*this, rank, size, options));
  }
}

SimMessengers::~SimMessengers() = default;

channel::Handlers SimMessengers::handlers(int rank) {
  channel::Handlers all{};
  all[static_cast<std::size_t>(wire::FrameFamily::message)] = &(*this)[rank];
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
  world.connect(own, static_cast<int>(peer));
  return &world.channels_.channel(own, static_cast<int>(peer));
}

Status SimMessengers::finish(int rank, message::Request** request, couplet_message* message) {
  if (!run_until([&] { return *request == nullptr || (*request)->done; })) return Code::not_yet;
  return (*this)[rank].test(request, message);
}

}  // namespace couplet::test
