#include "coalesce/timeline.hpp"

#include <fmt/format.h>

#include "coalesce/json.hpp"

namespace couplet::coalesce {

void Timeline::add(std::string_view stage, std::size_t row, std::uint64_t round, int phase, std::uint64_t start_ns,
                   std::uint64_t stop_ns) {
  if (events_.size() >= max_events_) {
    ++left_out_;
    return;
  }
  events_.push_back({.stage = stage,
                     .row = row,
                     .round = round,
                     .phase = phase,
                     .start_ns = start_ns,
                     .length_ns = stop_ns - start_ns});
}

std::string Timeline::json(const std::vector<std::string>& client_names) const {
  std::string text = fmt::format(R"({{"otherData": {{"events_left_out": {}}}, "traceEvents": [)"
                                 R"({{"name": "process_name", "ph": "M", "pid": {}, "args": {{"name": "rank {}"}}}})",
                                 left_out_, rank_, rank_);
  for (std::size_t row = 0; row <= client_names.size(); ++row) {
    text += fmt::format(R"(, {{"name": "thread_name", "ph": "M", "pid": {}, "tid": {}, "args": {{"name": {}}}}})",
                        rank_, row, json_text(row == 0 ? "waiting" : client_names[row - 1]));
  }
  for (const Event& event : events_) {
    text += fmt::format(R"(, {{"name": "{}", "ph": "X", "pid": {}, "tid": {}, "ts": {:.3f}, "dur": {:.3f}, )"
                        R"("args": {{"round": {}, "phase": {}}}}})",
                        event.stage, rank_, event.row, static_cast<double>(event.start_ns) * 1e-3,
                        static_cast<double>(event.length_ns) * 1e-3, event.round, event.phase);
  }
  return text + "]}";
}

}  // namespace couplet::coalesce
