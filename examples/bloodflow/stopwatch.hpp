// Adds up the time of one kind of work.
#ifndef BLOODFLOW_STOPWATCH_HPP
#define BLOODFLOW_STOPWATCH_HPP

#include <chrono>

namespace bloodflow {

class Stopwatch {
 public:
  // Runs until it is destroyed.
  class Lap {
   public:
    explicit Lap(Stopwatch& watch) : watch_(watch) {}
    Lap(const Lap&) = delete;
    Lap& operator=(const Lap&) = delete;
    ~Lap() { watch_.total_ += std::chrono::steady_clock::now() - start_; }

   private:
    Stopwatch& watch_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  };

  [[nodiscard]] double seconds() const { return std::chrono::duration<double>(total_).count(); }
  void reset() { total_ = {}; }

 private:
  std::chrono::steady_clock::duration total_{};
};

}  // namespace bloodflow

#endif
