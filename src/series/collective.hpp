// The agreements of collective calls of writers and readers: they fail on all ranks if they fail on one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "message/agree.hpp"
#include "series/series.hpp"
#include "universe/registry.hpp"

namespace couplet::series {

// How much longer than its own timeout a collective call waits for ranks that have not made it yet. Then it fails with
// a timeout on all. Ranks that compute are often late by seconds, which is no error.
inline constexpr std::uint64_t max_rank_delay_ns = 60'000'000'000;
// Returns the deadline for the agreements of a call whose own deadline is deadline_ns.
[[nodiscard]] constexpr std::uint64_t agreement_deadline(std::uint64_t deadline_ns) noexcept {
  return deadline_ns > UINT64_MAX - max_rank_delay_ns ? UINT64_MAX : deadline_ns + max_rank_delay_ns;
}

// What an agreement is about: the kind of its members and the user's call in which they agree, for texts, and a number
// by which one agreement is told from another.
struct Subject {
  std::string_view kind;
  std::string_view call;
  std::int64_t number = 0;
};
inline constexpr Subject preparing_series{"writer rank", "creates the series", 101};
inline constexpr Subject making_series{"writer rank", "creates the series", 102};
inline constexpr Subject announcing_series{"writer rank", "creates the series", 103};
inline constexpr Subject putting_step{"writer rank", "puts a step", 104};

// Returns ok if every member brings ok. Otherwise each member that failed gets its own status back. All others get the
// status of the failed member with the lowest rank, preceded by that member's kind and rank. All get mismatch if they
// agree on different subjects: one that was started again creates or opens the series anew, while others go on.
[[nodiscard]] Status agree_on_status(message::Team& team, const Status& own, const Subject& subject,
                                     std::uint64_t deadline_ns);
// Does the same. If the result is ok, `values`, of which each member has equally many, become the minima over the
// members; otherwise they are unspecified. If there is no memory, this member leaves the sequence, and the others are
// told.
[[nodiscard]] Status agree_on_minimum(message::Team& team, const Status& own, const Subject& subject,
                                      std::span<std::int64_t> values, std::uint64_t deadline_ns);

// The points at which the ranks of a reader agree, in the order of the sequences in which they come:
//   open:    choice, then per incarnation of the series record, sources, start, opened
//            (rank 0 alone asks the hub for the record. The point is repeated until there is one, or the call is over
//            for some rank. Then rank 0 passes it on.)
//   restart: record, sources, start, opened (nobody leaves the old incarnation before all have passed the last one)
//   read:    plan (times, if the reader has an interval), copies (mismatch, if the writers disagree), again as long as
//            steps are missing
//   read at physical times: instants, then for each step that is missing the points of a read
// Between two points a rank does its own work, and does not leave the sequence even if that fails: it brings the
// failure to the next point, where all learn of it and all leave.
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

// The agreements of the ranks of a reader. The reader uses its team only through this class. With each call a
// rank brings the result of its work since the call before.
class Agreement {
 public:
  Agreement(message::Team& team, Environment& environment) : team_(team), environment_(environment) {}

  [[nodiscard]] int rank() const noexcept { return team_.rank(); }
  [[nodiscard]] int size() const noexcept { return team_.size(); }
  [[nodiscard]] bool alone() const noexcept { return team_.size() == 1; }
  // Begins a call of the user with this deadline.
  void begin(std::uint64_t deadline_ns) noexcept { deadline_ns_ = agreement_deadline(deadline_ns); }
  [[nodiscard]] std::uint64_t deadline_ns() const noexcept { return deadline_ns_; }
  // Leaves the sequence, since this rank cannot take part in the next agreement. The others are told there why.
  void leave(const Status& why) noexcept;

  // For a rank that waits before the next agreement, which others may never come to. Returns why they will not, and
  // leaves the sequence then; ok: nothing is known of that.
  [[nodiscard]] Status disturbed();
  // For such a rank, too: will the next agreement fail, since a rank is lost? It makes that agreement then, which the
  // others await.
  [[nodiscard]] bool is_broken_up() const { return !team_.broken_up().ok(); }

  // As agree_on_minimum.
  [[nodiscard]] Status minimum(AgreementPoint point, const Status& own, std::span<std::int64_t> values,
                               std::uint64_t deadline_ns);
  [[nodiscard]] Status status(AgreementPoint point, const Status& own, std::uint64_t deadline_ns) {
    return minimum(point, own, {}, deadline_ns);
  }
  // Passes the `size` bytes that rank 0 has on to all, in parts, so that no rank ever queues many of them for its
  // neighbours. All ranks give the same size. A rank that fails alone leaves the sequence.
  [[nodiscard]] Status pass_on(std::string& bytes, std::size_t size, std::uint64_t deadline_ns);

 private:
  message::Team& team_;
  Environment& environment_;
  std::uint64_t deadline_ns_ = UINT64_MAX;  // for the agreements of this call
};

// The search of the ranks of a reader for the newest record of a series, on which they agree. Rank 0 asks the hub,
// which answers once for all of them, and passes the answer on.
class RecordSearch {
 public:
  // All outlive this object.
  RecordSearch(Agreement& agreement, Environment& environment, const std::string& name)
      : agreement_(agreement), environment_(environment), name_(name) {}

  // Returns the newest record above newer_than (-1: any), the same on all ranks. Returns timeout if the deadline of a
  // rank has passed before, and interrupted if this rank was. begun: to which record this rank has begun to attach, or
  // nullptr. If that is the newest one on all ranks, it is not passed on again.
  Result<universe::SeriesRecord> newest(std::int64_t newer_than, const universe::SeriesRecord* begun,
                                        std::uint64_t deadline_ns, std::uint64_t agreement_ns);

 private:
  // What a rank brings to the agreement.
  struct Look {
    Result<universe::SeriesRecord> found = Code::not_yet;  // by rank 0
    std::string description;                               // the found record as bytes
    bool unanswered = false;                               // the hub has not answered rank 0
    bool interrupted = false;
    bool over = false;  // the rank waits no longer
    [[nodiscard]] Status failure() const { return found.status().error() ? found.status() : Status(); }
  };
  Look look(std::int64_t newer_than, std::uint64_t deadline_ns);
  Result<universe::SeriesRecord> pass_on(Look own, std::uint64_t incarnation, std::uint64_t bytes,
                                         std::uint64_t agreement_ns);

  Agreement& agreement_;
  Environment& environment_;
  const std::string& name_;
  bool answered_ = false;  // by the hub, the last time that it had time to answer
  std::string doubt_;      // why it has not answered
};

}  // namespace couplet::series
