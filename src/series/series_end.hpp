// SeriesEnd: how an incarnation of a series ends for one reader. A step exists only if all writer ranks have published
// it, so that the end comes when one of them has closed the series; what others have published beyond it is lost, and
// the reader says so before it tells of the end. Above: the reader. Below: the attachment.
// Tests: tests/conformance/series_suite.cpp.
#pragma once

#include <cstdint>
#include <utility>

#include "series/attachment.hpp"

namespace couplet::series {

// What a check of the sources, or a wait, has found.
enum class Outlook : std::uint8_t { steps, waiting, ended, lost };

// What the ranks of a reader have found together.
struct CommonSight {
  std::int64_t published = 0;  // the number of steps that every rank has seen
  // The smallest number of steps that a rank has seen of an ended series, or of one whose writer is lost; INT64_MAX if
  // there is no such rank.
  std::int64_t ended = INT64_MAX;
  std::int64_t lost = INT64_MAX;
  bool waiting = false;  // a rank waits for steps
  bool patient = false;  // a rank for which the series has ended is patient with those that wait
};
// Returns the outlook of all ranks together. The series has ended for all if all ranks have seen as many steps as one
// for which it has: a rank that checked earlier, or whose writers go on, has seen fewer. `steps` means that all ranks
// have enough steps, or that they check again.
[[nodiscard]] Outlook common_outlook(const CommonSight& sight) noexcept;

class SeriesEnd {
 public:
  // Returns what may still come if no step is there: `waiting`, `ended` or `lost`. If a writer rank has closed the
  // series, others may still publish steps that it lacks: this is waited for as long as another one lives and has not
  // closed it, for a while. One that has died before it has closed it is lost.
  [[nodiscard]] Outlook look(const Sight& sight, Attachment& attachment);
  // Says whether other ranks of the reader may still be waited for, whose writers have not closed the series.
  [[nodiscard]] bool is_patient();
  // Returns true the first time: the reader is told of the end once.
  [[nodiscard]] bool is_news() noexcept { return !std::exchange(told_, true); }
  // The same for an uneven end, which is told before the end.
  [[nodiscard]] bool is_uneven_news() noexcept { return !told_ && !std::exchange(told_uneven_, true); }

 private:
  std::uint64_t since_ns_ = 0;  // when a writer rank was seen to have closed the series; 0: not yet
  bool told_ = false;
  bool told_uneven_ = false;
};

// Says whether no further steps will come: then a read gives what is left, however many it asks for.
[[nodiscard]] bool is_over(Attachment& attachment);
// Returns how many steps the writer rank with the most steps has published, as far as they have come here.
[[nodiscard]] std::uint64_t most_published(const Attachment& attachment) noexcept;
// Returns how many steps will ever be whole, as far as writer ranks have closed the series or were found to be gone;
// max_ordinal if none has. If only the relay of a writer is gone, more steps may come over another one.
[[nodiscard]] std::uint64_t last_step(const Attachment& attachment) noexcept;
// Returns mismatch with a text that names the ranks, as far as this reader reads what they write. ended: the steps of
// all ranks; most: those of the rank with the most; lost: how many of them the reader has wanted.
[[nodiscard]] Status uneven_end(const Attachment& attachment, std::uint64_t ended, std::uint64_t most,
                                std::uint64_t lost);

}  // namespace couplet::series
