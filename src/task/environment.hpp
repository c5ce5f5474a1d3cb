// The services that tasks and areas need from their process. The runtime implements them; tests fake them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/engine.hpp"
#include "message/message.hpp"
#include "universe/membership.hpp"

namespace couplet::task {

class Environment {
 public:
  Environment() = default;
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  virtual ~Environment() = default;

  [[nodiscard]] virtual message::Messenger& messenger() noexcept = 0;
  [[nodiscard]] virtual engine::Engine& engine() noexcept = 0;
  [[nodiscard]] virtual channel::PeerId self() const noexcept = 0;
  [[nodiscard]] virtual const std::vector<universe::ProgramInfo>& programs() const noexcept = 0;
  // Returns, for example, "program 'ocean' rank 1 (universe rank 1) on host n03".
  [[nodiscard]] virtual std::string peer_name(channel::PeerId peer) const = 0;
  [[nodiscard]] virtual const std::string& node_directory() const noexcept = 0;
  [[nodiscard]] virtual std::uint16_t node() const noexcept = 0;
  // Returns true if that rank has left or is lost. Before it does, it asks the hub whether the rank is back: a process
  // that makes only such calls would not hear of it otherwise.
  [[nodiscard]] virtual bool gone(channel::PeerId peer) = 0;
  // Returns true if that rank was lost, as far as this process has heard, and is not back: it may be started again.
  [[nodiscard]] virtual bool is_lost(channel::PeerId peer) const = 0;
  // Returns true if that rank has left in good order, as far as this process has heard, and is not back.
  [[nodiscard]] virtual bool has_left(channel::PeerId peer) const = 0;
  // Returns ok while that incarnation of the rank may still answer; otherwise peer_lost, which names it and says how
  // this was found out. Checks its lock if it is on this node: one system call.
  virtual Status alive(channel::PeerId peer, std::uint16_t incarnation) = 0;
  // Returns the newest known incarnation of the rank.
  [[nodiscard]] virtual std::uint16_t incarnation(channel::PeerId peer) const noexcept = 0;
};

}  // namespace couplet::task
