// SeriesEnd: how an incarnation of a series ends for one reader. A step exists only if all writer ranks have published
// it, so that the end comes when one of them has closed the series; what others have published beyond it is lost, and
// the reader says so before it tells of the end. Above: the reader. Below: the attachment.
// Tests: tests/conformance/series_suite.cpp.
#pragma once

#include <cstdint>
#include <utility>

#include "series/attachment.hpp"

namespace couplet::series {

class SeriesEnd {
 public:
  // Says whether it is still open how many steps the others have that one writer rank lacks, which has closed the
  // series: another rank lives, and has not closed it. One that never does delays the end for a while only.
  [[nodiscard]] bool awaits(const Sight& sight, const Attachment& attachment);
  // Returns true the first time: the reader is told of the end once.
  [[nodiscard]] bool is_news() noexcept { return !std::exchange(told_, true); }

 private:
  std::uint64_t since_ns_ = 0;  // when a writer rank was seen to have closed the series; 0: not yet
  bool told_ = false;
};

// Says whether no further steps will come: then a read gives what is left, however many it asks for.
[[nodiscard]] bool is_over(Attachment& attachment);
// Returns how many steps the writer rank with the most steps has published, as far as they have come here.
[[nodiscard]] std::uint64_t most_published(const Attachment& attachment) noexcept;
// Returns mismatch with a text that names the ranks, as far as this reader reads what they write. ended: the steps of
// all ranks; most: those of the rank with the most; lost: how many of them the reader has wanted.
[[nodiscard]] Status uneven_end(const Attachment& attachment, std::uint64_t ended, std::uint64_t most,
                                std::uint64_t lost);

}  // namespace couplet::series
