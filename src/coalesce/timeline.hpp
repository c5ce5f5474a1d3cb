// Timeline: what a rank did when, as events of the Chrome trace format, which Perfetto and chrome://tracing open. It is
// kept in memory, up to a bound. StepManager fills it in. Tests: tests/unit/coalesce/statistics_test.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace couplet::coalesce {

class Timeline {
 public:
  // max_events: 0 turns it off. What comes after is counted, and not kept.
  Timeline(std::int32_t rank, std::size_t max_events) : rank_(rank), max_events_(max_events) {}

  [[nodiscard]] bool is_on() const noexcept { return max_events_ > 0; }
  // row: 0 for the rounds and waits, 1 + n for the client n. stage: a literal. Times: os::now_ns scale.
  void add(std::string_view stage, std::size_t row, std::uint64_t round, int phase, std::uint64_t start_ns,
           std::uint64_t stop_ns);
  // Returns the events of this rank; client_names: the names of the rows.
  [[nodiscard]] std::string json(const std::vector<std::string>& client_names) const;

 private:
  struct Event {
    std::string_view stage;
    std::size_t row = 0;
    std::uint64_t round = 0;
    int phase = 0;
    std::uint64_t start_ns = 0;
    std::uint64_t length_ns = 0;
  };
  std::int32_t rank_;
  std::size_t max_events_;
  std::uint64_t left_out_ = 0;
  std::vector<Event> events_;
};

}  // namespace couplet::coalesce
