// What a collective call of writers or readers agrees on.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "message/agree.hpp"
#include "series/series.hpp"

namespace couplet::series {

// ok where every member brings ok. Otherwise a member that failed gets its own status back, and all others that of the
// first one that failed, with "<who> <rank>: " in front.
[[nodiscard]] Status agree_on_status(message::Team& team, const Status& own, std::string_view who,
                                     std::uint64_t deadline_ns);
// The same; if it is ok, `values`, as many on each member, are the minima over the members. Otherwise they are
// unspecified.
[[nodiscard]] Status agree_on_minimum(message::Team& team, const Status& own, std::string_view who,
                                      std::span<std::int64_t> values, std::uint64_t deadline_ns);

// The points at which the ranks of a reader agree, in the order of the sequences in which they come:
//   open:    choice, then per incarnation of the series record, sources, start, opened
//   restart: record, sources, start, opened (nobody leaves the old incarnation before all have passed the last one)
//   read:    plan (times, if the reader has an interval), copies (mismatch, if the writers disagree), again as long as steps are missing
//   read at physical times: instants, then for each step that is missing the points of a read
// Between two points a rank does its own work and leaves no sequence, whatever goes wrong: it brings the failure to the
// next point, where all find out and all leave.
enum class AgreementPoint : std::uint8_t {
  choice,
  record,
  sources,
  start,
  opened,
  instants,
  plan,
  times,
  copies,
  mismatch
};
inline constexpr AgreementPoint last_agreement_point = AgreementPoint::mismatch;

// The ranks of a reader. The team is reached only through this class, and each of its calls takes the outcome of the
// own work since the last one.
class Agreement {
 public:
  Agreement(message::Team& team, Environment& environment) : team_(team), environment_(environment) {}

  [[nodiscard]] int rank() const noexcept { return team_.rank(); }
  [[nodiscard]] int size() const noexcept { return team_.size(); }
  [[nodiscard]] bool alone() const noexcept { return team_.size() == 1; }

  // As agree_on_minimum.
  [[nodiscard]] Status minimum(AgreementPoint point, const Status& own, std::span<std::int64_t> values,
                               std::uint64_t deadline_ns);
  [[nodiscard]] Status status(AgreementPoint point, const Status& own, std::uint64_t deadline_ns) {
    return minimum(point, own, {}, deadline_ns);
  }

 private:
  message::Team& team_;
  Environment& environment_;
};

}  // namespace couplet::series
