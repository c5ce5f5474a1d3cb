// Takes samples of several methods in turn and prints them. The programs of bench/run series share it.
#pragma once

#include <sys/mman.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "couplet/couplet.h"

namespace couplet::bench {

using Samples = std::map<std::string, std::vector<double>>;

// The paper's array and box.
inline constexpr std::int64_t extent = 900;
inline constexpr std::int64_t box_start = 150;
inline constexpr std::int64_t box_extent = 600;
inline constexpr std::uint64_t step_bytes = extent * extent * 4;
inline constexpr std::uint64_t box_bytes = box_extent * box_extent * 4;

[[noreturn]] inline void give_up(const std::string& why) {
  std::fprintf(stderr, "bench series: %s\n", why.c_str());
  std::exit(1);
}
inline void must(couplet_status status, const char* what) {
  if (status != COUPLET_OK) {
    give_up(std::string(what) + ": " + couplet_error_text());
  }
}

inline double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
template <typename Work>
double timed(const Work& work) {
  const double start = seconds();
  work();
  return seconds() - start;
}

// The methods of a case. Each is timed once in a round, and each round begins with another one, so that what one leaves
// behind (in the caches, on its way to memory) does not always affect the same next one.
using Method = std::pair<std::string, std::function<double()>>;
inline void take_round(const std::vector<Method>& methods, std::size_t round, Samples& samples) {
  for (std::size_t index = 0; index < methods.size(); ++index) {
    const auto& [name, work] = methods[(index + round) % methods.size()];
    samples[name].push_back(work());
  }
}

inline void print(const std::string& name, const std::string& unit, const Samples& samples) {
  std::printf(R"({"case": "%s", "unit": "%s", "samples": {)", name.c_str(), unit.c_str());
  const char* comma = "";
  for (const auto& [method, values] : samples) {
    std::printf("%s\"%s\": [", comma, method.c_str());
    for (std::size_t index = 0; index < values.size(); ++index) {
      std::printf("%s%.6g", index == 0 ? "" : ", ", values[index]);
    }
    std::printf("]");
    comma = ", ";
  }
  std::printf("}}\n");
  std::fflush(stdout);
}

inline std::byte* touched_memory(std::uint64_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    give_up("no memory");
  }
  madvise(memory, bytes, MADV_HUGEPAGE);
  std::memset(memory, 1, bytes);
  return static_cast<std::byte*>(memory);
}

// A shared file in memory, allocated and touched as slots are.
class SharedMemory {
 public:
  SharedMemory(const std::string& path, std::uint64_t bytes);
  explicit SharedMemory(const std::string& path, bool writable = false);  // opens an existing one
  ~SharedMemory() { munmap(data_, bytes_); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

// Destinations of boxes, used in turn, and all touched before.
class Destinations {
 public:
  explicit Destinations(std::uint64_t steps) : steps_(steps), data_(touched_memory(steps * box_bytes)) {}
  ~Destinations() { munmap(data_, steps_ * box_bytes); }
  Destinations(const Destinations&) = delete;
  Destinations& operator=(const Destinations&) = delete;
  std::byte* next(std::uint64_t count) {
    if (at_ + count > steps_) {
      at_ = 0;
    }
    std::byte* data = at(at_);
    at_ += count;
    return data;
  }
  [[nodiscard]] std::byte* at(std::uint64_t step) const { return data_ + step * box_bytes; }
  // Reads what has arrived, as a user does first.
  static void touch(const std::byte* data, std::uint64_t count) {
    volatile std::byte sink{};
    for (std::uint64_t at = 0; at < count * box_bytes; at += 4096) {
      sink = data[at];
    }
    static_cast<void>(sink);
  }

 private:
  std::uint64_t steps_;
  std::byte* data_;
  std::uint64_t at_ = 0;
};

// Joins as the only rank of `program` in the universe of COUPLET_HUB.
couplet_universe* join(const char* program);
couplet_series* create_series(couplet_universe* universe, const char* name, std::uint64_t slots);
// Opens the box of `name`, from the oldest retained step.
couplet_series* open_series(couplet_universe* universe, const char* name, int mode, std::uint64_t buffer_bytes);
void read_series(couplet_series* series, std::uint64_t count, std::byte* out);

}  // namespace couplet::bench
