// What the system says about how busy the cores are.
#pragma once

#include <cstdint>

#include "os/descriptor.hpp"

namespace couplet::os {

class LoadMeter {
 public:
  LoadMeter();
  // Processes and threads of this host that run, or wait for a core, the caller among them; -1 if the system does not say.
  [[nodiscard]] int runnable() const noexcept;
  // For how long the calling thread has waited for a core since it began; 0 if the system does not say.
  [[nodiscard]] static std::uint64_t delay_ns() noexcept;
  // Of this host, whether or not this process may use them.
  [[nodiscard]] static int cores() noexcept;

 private:
  Descriptor file_;
};

}  // namespace couplet::os
