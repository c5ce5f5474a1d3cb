// Measures for the profiling functions: turns calls and their times into one row for each process. The first requester
// rank prints the rows at the end, if any process has used these functions. The session calls it.
// Tests: tests/compat/cotocoa/test_roles.py.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace ctca {

enum class Cost : int { none = 0, request, wait, area, buffer };
inline constexpr int cost_kinds = 5;

// One process's row. It is sent as it is in memory, between processes of the same build.
struct ProfileRow {
  std::int32_t used = 0;
  std::int32_t role = 0;
  std::int32_t program_id = 0;
  std::int32_t rank = 0;
  double measured_s = 0;  // between start and stop
  double total_s = 0;     // between start_total and stop_total
  double calc_s = 0;      // between start_calc and stop_calc
  double seconds[cost_kinds] = {};
  std::uint64_t calls[cost_kinds] = {};
  std::uint64_t bytes = 0;  // bytes of areas, data and steps
};

class Profile {
 public:
  using Clock = std::chrono::steady_clock;

  void start() noexcept;
  void stop() noexcept;
  void start_total() noexcept { begin(total_); }
  void stop_total() noexcept { end(total_, row_.total_s); }
  void start_calc() noexcept { begin(calc_); }
  void stop_calc() noexcept { end(calc_, row_.calc_s); }

  [[nodiscard]] bool measuring() const noexcept { return measured_ != Clock::time_point(); }
  void count(Cost cost, Clock::duration time) noexcept;
  void count_bytes(std::uint64_t bytes) noexcept { row_.bytes += measuring() ? bytes : 0; }
  // Returns what was measured, and ends measurements that still run.
  [[nodiscard]] ProfileRow row() noexcept;

 private:
  void begin(Clock::time_point& since) noexcept;
  static void end(Clock::time_point& since, double& sum_s) noexcept;

  ProfileRow row_;
  Clock::time_point measured_;
  Clock::time_point total_;
  Clock::time_point calc_;
};

// Returns the table as text, or "" if no process has measured.
[[nodiscard]] std::string profile_table(const std::vector<ProfileRow>& rows);

}  // namespace ctca
