// Reports how busy the cores are, as the system says.
#pragma once

#include <cstdint>

#include "os/descriptor.hpp"

namespace couplet::os {

class LoadMeter {
 public:
  LoadMeter();
  // Returns the number of processes and threads of this host that run or wait for a core, with the caller. Returns -1
  // if the system does not say.
  [[nodiscard]] int runnable() const noexcept;
  // Returns how long the calling thread has waited for a core since it began, or 0 if the system does not say.
  [[nodiscard]] static std::uint64_t delay_ns() noexcept;
  // Returns the number of cores of this host, whether or not this process may use them.
  [[nodiscard]] static int cores() noexcept;

 private:
  Descriptor file_;
};

// Measures how much of the time a process of this host runs, or waits for a core (its first thread).
class RunMeter {
 public:
  // process: its pid here; 0: not known.
  explicit RunMeter(std::uint32_t process);
  // Returns the share of the time since the last call, from 0 to 1. Returns 1 if the system does not say, and 0 if the
  // process has ended.
  [[nodiscard]] double share(std::uint64_t now_ns) noexcept;

 private:
  Descriptor file_;
  std::uint64_t last_ns_ = 0;
  std::uint64_t last_run_ns_ = 0;
};

}  // namespace couplet::os
