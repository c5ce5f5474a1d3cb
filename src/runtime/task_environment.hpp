// The services that tasks and areas need from their process, provided by membership, engine and messenger.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "os/clock.hpp"
#include "task/environment.hpp"

namespace couplet::runtime {

class TaskEnvironment final : public task::Environment {
 public:
  TaskEnvironment(universe::Membership& membership, engine::Engine& engine, message::Messenger& messenger)
      : membership_(membership), engine_(engine), messenger_(messenger) {}

  [[nodiscard]] message::Messenger& messenger() noexcept override { return messenger_; }
  [[nodiscard]] engine::Engine& engine() noexcept override { return engine_; }
  [[nodiscard]] channel::PeerId self() const noexcept override {
    return static_cast<channel::PeerId>(membership_.rank());
  }
  [[nodiscard]] const std::vector<universe::ProgramInfo>& programs() const noexcept override {
    return membership_.programs();
  }
  [[nodiscard]] std::string peer_name(channel::PeerId peer) const override { return membership_.peer_name(peer); }
  [[nodiscard]] const std::string& node_directory() const noexcept override { return membership_.node_directory(); }
  [[nodiscard]] std::uint16_t node() const noexcept override { return membership_.node(); }
  [[nodiscard]] bool gone(channel::PeerId peer) override {
    if (!seems_gone(peer)) return false;
    // In a poll, other letters wait; and many lost ranks are asked for together.
    const std::uint64_t now_ns = os::now_ns();
    if (engine_.is_polling() || now_ns < asked_ns_ + question_interval_ns) return true;
    static_cast<void>(membership_.catch_up(universe::CatchUp::ask));
    asked_ns_ = os::now_ns();
    return seems_gone(peer);
  }
  [[nodiscard]] bool is_lost(channel::PeerId peer) const override {
    return membership_.peer(peer).state == universe::PeerState::lost;
  }
  [[nodiscard]] bool has_left(channel::PeerId peer) const override {
    return membership_.peer(peer).state == universe::PeerState::left;
  }
  Status alive(channel::PeerId peer, std::uint16_t incarnation) override {
    return membership_.alive(peer, incarnation);
  }
  [[nodiscard]] std::uint16_t incarnation(channel::PeerId peer) const noexcept override {
    return membership_.peer(peer).incarnation;
  }

 private:
  static constexpr std::uint64_t question_interval_ns = 10'000'000;

  [[nodiscard]] bool seems_gone(channel::PeerId peer) const {
    const auto state = membership_.peer(peer).state;
    return state == universe::PeerState::left || state == universe::PeerState::lost;
  }

  std::uint64_t asked_ns_ = 0;
  universe::Membership& membership_;
  engine::Engine& engine_;
  message::Messenger& messenger_;
};

}  // namespace couplet::runtime
