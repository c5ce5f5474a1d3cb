// A file descriptor that is owned, closed at the end, not inherited by exec and closed in forked children.
#pragma once

#include <cstdint>
#include <utility>

namespace couplet::os {

class Descriptor {
 public:
  Descriptor() noexcept = default;
  // Owns `number` from here on (>= 0).
  explicit Descriptor(int number);
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)), generation_(other.generation_) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }

  // -1 where there is none.
  [[nodiscard]] int number() const noexcept { return number_; }
  explicit operator bool() const noexcept { return number_ >= 0; }
  // False in a forked child: the number is closed there, and may mean something else.
  [[nodiscard]] bool mine() const noexcept;
  void close() noexcept;
  // Gives the number away, open (it is then inherited by forked children as any other).
  [[nodiscard]] int release() noexcept;

 private:
  int number_ = -1;
  std::uint64_t generation_ = 0;
};

}  // namespace couplet::os
