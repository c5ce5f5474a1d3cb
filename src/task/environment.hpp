// What tasks and areas need of the process they live in. The runtime implements it; tests fake it.
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
  // "program 'ocean' rank 1 (universe rank 1) on host n03"
  [[nodiscard]] virtual std::string peer_name(channel::PeerId peer) const = 0;
  [[nodiscard]] virtual const std::string& node_directory() const noexcept = 0;
  [[nodiscard]] virtual std::uint16_t node() const noexcept = 0;
  // Has that rank left, or is it lost?
  [[nodiscard]] virtual bool gone(channel::PeerId peer) const noexcept = 0;
};

}  // namespace couplet::task
