// A file descriptor that closes itself.
// Tests: tests/compat.
#pragma once

#include <unistd.h>

namespace compat {

class OwnedDescriptor {
 public:
  OwnedDescriptor() = default;
  explicit OwnedDescriptor(int number) : number_(number) {}
  ~OwnedDescriptor() { reset(); }
  OwnedDescriptor(const OwnedDescriptor&) = delete;
  OwnedDescriptor& operator=(const OwnedDescriptor&) = delete;
  OwnedDescriptor& operator=(OwnedDescriptor&& other) noexcept {
    reset();
    number_ = other.number_;
    other.number_ = -1;
    return *this;
  }
  OwnedDescriptor(OwnedDescriptor&& other) noexcept : number_(other.number_) { other.number_ = -1; }
  [[nodiscard]] int number() const noexcept { return number_; }
  void reset() noexcept {
    if (number_ >= 0) {
      ::close(number_);
    }
    number_ = -1;
  }

 private:
  int number_ = -1;
};

}  // namespace compat
