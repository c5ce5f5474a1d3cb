// Several messengers in one process, with a thread for each, over real lanes: what a universe puts together, without
// hub and processes. Blocking calls work.
//
//   Parties parties(LaneKind::shm, 3);
//   parties.run([](Party& party) { party.messenger->send(party.group(), ...); });
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.hpp"
#include "link/shm/shm_link.hpp"
#include "message/message.hpp"
#include "os/process_page.hpp"
#include "support/message_world.hpp"
#include "support/temporary_directory.hpp"

namespace couplet::test {

enum class LaneKind { shm, tcp };
[[nodiscard]] std::string_view lane_name(LaneKind kind);
// Returns both ends of a connection over loopback.
[[nodiscard]] std::pair<std::unique_ptr<link::Lane>, std::unique_ptr<link::Lane>> tcp_lanes();

// One rank. The lane to itself is always `self`.
class Party final : public message::Channels, public engine::Source {
 public:
  Party(const std::string& directory, int rank, int size, const message::MessengerOptions& options,
        engine::Patience patience);
  ~Party() override;

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] message::Group& group() noexcept { return messenger->groups().universe(); }
  [[nodiscard]] os::Doorbell& doorbell() noexcept { return *doorbell_; }
  void attach(int peer, std::unique_ptr<link::Lane> lane);
  [[nodiscard]] channel::Channel& channel(int peer) { return *channels_.at(peer); }
  // Closes all lanes without a goodbye. The messenger cannot be used afterwards.
  void die() { channels_.clear(); }
  // Ends in good order: what was sent has arrived at peers that end, too.
  void end();

  Result<channel::Channel*> channel_to(channel::PeerId peer) override;
  std::string peer_name(channel::PeerId peer) const override { return fmt::format("party {}", peer); }
  void look_for_returned() override {
    if (on_look_for_returned) on_look_for_returned();
  }
  std::function<void()> on_look_for_returned;
  int poll(std::uint64_t now_ns, int budget) override;
  [[nodiscard]] bool ready() const override;
  // What a test leaves of a failed call. It ends after everything else of this rank.
  std::vector<std::shared_ptr<void>> remains;

 private:
  int rank_;
  link::ShmPeer self_;
  std::unique_ptr<os::ProcessPage> page_;
  std::unique_ptr<os::Doorbell> doorbell_;

 public:
  std::unique_ptr<link::ShmLink> shm;
  std::unique_ptr<engine::Engine> engine;
  std::unique_ptr<message::Messenger> messenger;
  [[nodiscard]] const link::ShmPeer& self() const noexcept { return self_; }

 private:
  std::map<int, std::unique_ptr<channel::Channel>> channels_;  // they end first
};

class Parties {
 public:
  using Wrap = std::function<std::unique_ptr<link::Lane>(std::unique_ptr<link::Lane>)>;

  Parties(LaneKind kind, int size, const message::MessengerOptions& options = {}, const Wrap& wrap = {});
  Party& operator[](int rank) { return *parties_[static_cast<std::size_t>(rank)]; }
  // Runs body for each rank in a thread of its own. Then ends all in good order, unless told otherwise.
  void run(const std::function<void(Party&)>& body, bool good_end = true);

 private:
  void connect(LaneKind kind, Party& low, Party& high, const Wrap& wrap);
  TemporaryDirectory directory_;
  std::vector<std::unique_ptr<Party>> parties_;
};

// The same, driven by one thread. Killing a rank closes its lanes without a goodbye.
class LaneMessengers final : public MessageWorld {
 public:
  LaneMessengers(LaneKind kind, int size, const message::MessengerOptions& options = {}, const Parties::Wrap& wrap = {})
      : parties_(kind, size, options, wrap), alive_(static_cast<std::size_t>(size), true) {}
  message::Messenger& operator[](int rank) override { return *parties_[rank].messenger; }
  channel::Channel& channel(int rank, int peer) { return parties_[rank].channel(peer); }
  [[nodiscard]] int size() const noexcept override { return static_cast<int>(alive_.size()); }
  int poll() override;
  bool run_until(const std::function<bool()>& done) override;
  void kill(int rank) override;

 private:
  Parties parties_;
  std::vector<bool> alive_;
};

}  // namespace couplet::test
