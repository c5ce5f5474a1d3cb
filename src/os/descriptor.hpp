// A file descriptor that is owned: it is closed by the destructor, not inherited by exec, and closed in forked
// children.
#pragma once

#include <cstdint>
#include <utility>

namespace couplet::os {

class Descriptor {
 public:
  Descriptor() noexcept = default;
  // Takes ownership of `number` (>= 0).
  explicit Descriptor(int number);
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)), generation_(other.generation_) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }

  // Returns -1 if there is none.
  [[nodiscard]] int number() const noexcept { return number_; }
  explicit operator bool() const noexcept { return number_ >= 0; }
  // Returns false in a forked child. The number is closed there, and may mean something else.
  [[nodiscard]] bool mine() const noexcept;
  void close() noexcept;
  // Gives the open number away. Forked children then inherit it like any other.
  [[nodiscard]] int release() noexcept;

 private:
  int number_ = -1;
  std::uint64_t generation_ = 0;
};

}  // namespace couplet::os
