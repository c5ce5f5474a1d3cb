// Messengers over the simulated network, all in one thread: only non-blocking calls, and a loop that polls. The same
// seed gives the same run. The channels between two endpoints (or of one with itself) are made at the first use, as in
// a universe.
//
//   SimMessengers sim(seed, 3);
//   sim[0].isend(sim[0].groups().universe(), ...); sim[1].irecv(...);
//   EXPECT_EQ(sim.finish(1, &request).code(), Code::ok);
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "message/message.hpp"
#include "support/message_world.hpp"
#include "support/sim_channels.hpp"

namespace couplet::test {

class SimMessengers final : public MessageWorld {
 public:
  explicit SimMessengers(std::uint64_t seed, int size, const message::MessengerOptions& options = {},
                         link::SimOptions sim_options = {});
  ~SimMessengers() override;
  SimMessengers(const SimMessengers&) = delete;
  SimMessengers& operator=(const SimMessengers&) = delete;

  message::Messenger& operator[](int rank) override { return *endpoints_[static_cast<std::size_t>(rank)]->messenger; }
  [[nodiscard]] int size() const noexcept override { return static_cast<int>(endpoints_.size()); }
  SimChannels& channels() noexcept { return channels_; }
  void wrap(SimChannels::WrapLane wrap) { wrap_ = std::move(wrap); }
  void connect(int first, int second);
  // The endpoint is gone.
  void kill(int rank) override;

  int poll() override { return channels_.poll(); }
  bool run_until(const std::function<bool()>& done) override { return channels_.run_until(done); }
  void run_out() { channels_.run_out(); }

 private:
  struct Endpoint final : message::Channels {
    Endpoint(SimMessengers& all, int rank, int size, const message::MessengerOptions& options)
        : world(all), own(rank), messenger(std::make_unique<message::Messenger>(*this, nullptr, rank, size, options)) {}
    Result<channel::Channel*> channel_to(channel::PeerId peer) override;
    std::string peer_name(channel::PeerId peer) const override { return fmt::format("sim rank {}", peer); }

    SimMessengers& world;
    int own;
    std::unique_ptr<message::Messenger> messenger;
  };
  [[nodiscard]] channel::Handlers handlers(int rank);
  channel::Channel* self_channel(int rank);

  std::vector<std::unique_ptr<Endpoint>> endpoints_;
  std::vector<std::unique_ptr<channel::Channel>> self_channels_;
  std::vector<std::vector<bool>> connected_;
  SimChannels::WrapLane wrap_;
  SimChannels channels_;  // it ends before the messengers
};

}  // namespace couplet::test
