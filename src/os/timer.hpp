// A descriptor that can be read when a time has come, so that a process that sleeps on descriptors wakes up then.
#pragma once

#include <cstdint>
#include <memory>

#include "base/status.hpp"
#include "os/descriptor.hpp"

namespace couplet::os {

class Timer {
 public:
  static Result<std::unique_ptr<Timer>> open();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  [[nodiscard]] int descriptor() const noexcept { return file_.number(); }
  // The descriptor can be read from now + delay_ns on, and cannot be read until then. A delay of 0 counts as 1.
  void set(std::uint64_t delay_ns) noexcept;

 private:
  explicit Timer(Descriptor file) : file_(std::move(file)) {}
  Descriptor file_;
};

}  // namespace couplet::os
