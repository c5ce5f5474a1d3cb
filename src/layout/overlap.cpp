#include "layout/overlap.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace couplet::layout {
namespace {

constexpr std::size_t max_compared_directly = 16;

// Divides the boxes by planes, in the dimension in which a plane cuts the fewest of them, until few are left on each
// side. A box that a plane cuts goes to both sides.
class OverlapSearch {
 public:
  explicit OverlapSearch(std::span<const Box> boxes) : boxes_(boxes) {}

  std::optional<Overlap> run() {
    std::vector<std::uint32_t> all;
    all.reserve(boxes_.size());
    const auto dimensions = static_cast<std::size_t>(boxes_.empty() ? 0 : boxes_.front().dimensions);
    ends_.resize(dimensions);
    for (auto& ends : ends_) {
      ends.reserve(boxes_.size());
    }
    for (std::size_t index = 0; index < boxes_.size(); ++index) {
      for (std::size_t dimension = 0; dimension < dimensions; ++dimension) {
        ends_[dimension].push_back({boxes_[index].start[dimension], boxes_[index].stop[dimension]});
      }
      if (!boxes_[index].empty()) {
        all.push_back(static_cast<std::uint32_t>(index));
      }
    }
    return search(std::move(all));
  }

 private:
  struct Ends {
    std::int64_t start;
    std::int64_t stop;
  };
  struct Cut {
    std::size_t dimension = 0;
    std::int64_t at = 0;
    std::size_t larger_side = SIZE_MAX;  // number of boxes
    std::size_t both_sides = SIZE_MAX;   // number of boxes on both sides together
  };

  std::optional<Overlap> search(std::vector<std::uint32_t> some) {
    if (some.size() <= max_compared_directly) {
      return compare_all(some);
    }
    const Cut cut = best_cut(some);
    // A cut has to divide the boxes, and must not copy many of them to both sides. Otherwise the sides would double
    // again and again.
    if (cut.larger_side > some.size() - some.size() / 4 || cut.both_sides > some.size() + some.size() / 4) {
      return sweep(some);
    }
    std::vector<std::uint32_t> below;
    std::vector<std::uint32_t> above;
    const auto& ends = ends_[cut.dimension];
    for (const std::uint32_t index : some) {
      if (ends[index].start < cut.at) {
        below.push_back(index);
      }
      if (ends[index].stop > cut.at) {
        above.push_back(index);
      }
    }
    some = {};
    auto found = search(std::move(below));
    return found ? found : search(std::move(above));
  }

  [[nodiscard]] Cut best_cut(const std::vector<std::uint32_t>& some) {
    Cut best;
    for (std::size_t dimension = 0; dimension < ends_.size(); ++dimension) {
      const auto& ends = ends_[dimension];
      starts_.clear();
      for (const std::uint32_t index : some) {
        starts_.push_back(ends[index].start);
      }
      const auto middle = starts_.begin() + static_cast<std::ptrdiff_t>(starts_.size() / 2);
      std::nth_element(starts_.begin(), middle, starts_.end());
      Cut cut{dimension, *middle, 0, 0};
      std::size_t below = 0;
      std::size_t above = 0;
      for (const std::uint32_t index : some) {
        below += ends[index].start < cut.at ? 1U : 0U;
        above += ends[index].stop > cut.at ? 1U : 0U;
      }
      cut.larger_side = std::max(below, above);
      cut.both_sides = below + above;
      if (cut.both_sides < best.both_sides ||
          (cut.both_sides == best.both_sides && cut.larger_side < best.larger_side)) {
        best = cut;
      }
    }
    return best;
  }

  [[nodiscard]] std::optional<Overlap> compare_all(const std::vector<std::uint32_t>& some) const {
    for (std::size_t at = 0; at < some.size(); ++at) {
      for (std::size_t other = at + 1; other < some.size(); ++other) {
        if (auto found = compare(some[at], some[other])) {
          return found;
        }
      }
    }
    return std::nullopt;
  }

  // For boxes that no plane divides: goes through them in the order of their starts in the first dimension.
  [[nodiscard]] std::optional<Overlap> sweep(std::vector<std::uint32_t>& some) const {
    std::sort(some.begin(), some.end(),
              [&](std::uint32_t a, std::uint32_t b) { return boxes_[a].start[0] < boxes_[b].start[0]; });
    for (std::size_t at = 0; at < some.size(); ++at) {
      for (std::size_t other = at + 1; other < some.size() && boxes_[some[other]].start[0] < boxes_[some[at]].stop[0];
           ++other) {
        if (auto found = compare(some[at], some[other])) {
          return found;
        }
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<Overlap> compare(std::uint32_t a, std::uint32_t b) const {
    return intersect(boxes_[a], boxes_[b]) ? std::optional(Overlap{std::min(a, b), std::max(a, b)}) : std::nullopt;
  }

  std::span<const Box> boxes_;
  // The ends in each dimension of each box. They are read again and again, so they are stored close together.
  std::vector<std::vector<Ends>> ends_;
  std::vector<std::int64_t> starts_;
};

}  // namespace

std::optional<Overlap> find_overlap(std::span<const Box> boxes) {
  return OverlapSearch(boxes).run();
}

}  // namespace couplet::layout
