#include "profile.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "launch.hpp"

namespace ctca {

void Profile::begin(Clock::time_point& since) noexcept {
  row_.used = 1;
  since = Clock::now();
}

void Profile::end(Clock::time_point& since, double& sum_s) noexcept {
  if (since != Clock::time_point()) {
    sum_s += std::chrono::duration<double>(Clock::now() - since).count();
  }
  since = Clock::time_point();
}

void Profile::start() noexcept {
  begin(measured_);
}

void Profile::stop() noexcept {
  end(measured_, row_.measured_s);
}

void Profile::count(Cost cost, Clock::duration time) noexcept {
  const auto kind = static_cast<int>(cost);
  row_.seconds[kind] += std::chrono::duration<double>(time).count();
  ++row_.calls[kind];
}

ProfileRow Profile::row() noexcept {
  stop();
  stop_total();
  stop_calc();
  return row_;
}

std::string profile_table(const std::vector<ProfileRow>& rows) {
  if (std::none_of(rows.begin(), rows.end(), [](const ProfileRow& row) { return row.used != 0; })) {
    return "";
  }
  std::string text =
      fmt::format("CoToCoA profile, seconds and calls of each process\n{:<10}{:>5}{:>6}", "role", "prog", "rank");
  for (const char* column :
       {"total", "calc", "measured", "request", "calls", "wait", "calls", "area", "calls", "buffer", "calls", "MB"}) {
    text += fmt::format("{:>10}", column);
  }
  text += '\n';
  for (const ProfileRow& row : rows) {
    if (row.used == 0) {
      continue;
    }
    const auto role = static_cast<Role>(row.role);
    text += fmt::format("{:<10}{:>5}{:>6}{:>10.3f}{:>10.3f}{:>10.3f}", role_name(role),
                        role == Role::worker ? std::to_string(row.program_id) : "-", row.rank, row.total_s, row.calc_s,
                        row.measured_s);
    for (int kind = 1; kind < cost_kinds; ++kind) {
      text += fmt::format("{:>10.3f}{:>10}", row.seconds[kind], row.calls[kind]);
    }
    text += fmt::format("{:>10.3f}\n", static_cast<double>(row.bytes) * 1e-6);
  }
  return text;
}

}  // namespace ctca
