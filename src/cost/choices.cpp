#include "cost/choices.hpp"

#include <algorithm>
#include <tuple>

namespace couplet::cost {
namespace {

// Returns the largest size up to which the first way is taken; nothing if one of the two is not known.
std::optional<std::uint64_t> limit_of(const Curve* first, const Curve* second) {
  if (first == nullptr || second == nullptr) return std::nullopt;
  const Curve* const ways[] = {first, second};
  const Range range = cheapest(ways).front();
  return range.order.front() == 0 ? range.max_bytes : 0;
}

// Curves that are compared with each other: of one call, for groups of one kind.
auto group_of(const CollectiveCurve& curve) {
  return std::tuple(curve.call, -curve.systems, -curve.members);
}

}  // namespace

const Curve* find_link(const MachineCosts& costs, std::string_view link, LinkWay way) noexcept {
  const auto found = std::find_if(costs.links.begin(), costs.links.end(),
                                  [&](const LinkCurve& curve) { return curve.link == link && curve.way == way; });
  return found == costs.links.end() ? nullptr : &found->times;
}

std::optional<std::uint64_t> eager_limit(const MachineCosts& costs, std::string_view link) {
  return limit_of(find_link(costs, link, LinkWay::eager), find_link(costs, link, LinkWay::announced));
}

std::optional<std::uint64_t> piece_size(const MachineCosts& costs, std::string_view link) {
  std::vector<const Curve*> ways;
  std::vector<std::uint64_t> sizes;
  for (const LinkCurve& curve : costs.links) {
    if (curve.link != link || curve.way != LinkWay::pieces) continue;
    ways.push_back(&curve.times);
    sizes.push_back(curve.piece_bytes);
  }
  if (ways.empty()) return std::nullopt;
  return sizes[order_at(ways, large_message_bytes).front()];
}

std::optional<std::uint64_t> streaming_limit(const MachineCosts& costs) {
  const auto find = [&](CopyWay way) -> const Curve* {
    const auto found = std::find_if(costs.copies.begin(), costs.copies.end(),
                                    [&](const CopyCurve& curve) { return curve.way == way; });
    return found == costs.copies.end() ? nullptr : &found->times;
  };
  return limit_of(find(CopyWay::cached), find(CopyWay::streaming));
}

std::vector<MethodPiece> method_pieces(const MachineCosts& costs) {
  std::vector<const CollectiveCurve*> curves;
  curves.reserve(costs.collectives.size());
  for (const CollectiveCurve& curve : costs.collectives) curves.push_back(&curve);
  std::stable_sort(curves.begin(), curves.end(), [](const CollectiveCurve* left, const CollectiveCurve* right) {
    return group_of(*left) < group_of(*right);
  });
  std::vector<MethodPiece> pieces;
  for (auto first = curves.begin(); first != curves.end();) {
    const auto last = std::find_if(first, curves.end(),
                                   [&](const CollectiveCurve* one) { return group_of(*one) != group_of(**first); });
    std::vector<const Curve*> ways;
    for (auto one = first; one != last; ++one) ways.push_back(&(*one)->times);
    for (const Range& range : cheapest(ways)) {
      for (const std::size_t place : range.order) {
        const CollectiveCurve& curve = **(first + static_cast<std::ptrdiff_t>(place));
        pieces.push_back({.kind = curve.call,
                          .min_systems = curve.systems,
                          .min_size = curve.members,
                          .max_bytes = range.max_bytes,
                          .method = curve.method});
      }
    }
    first = last;
  }
  return pieces;
}

const Curve* find_call(const MachineCosts& costs, const CollectiveShape& shape, Method method) noexcept {
  const CollectiveCurve* best = nullptr;
  for (const CollectiveCurve& curve : costs.collectives) {
    if (curve.call != shape.kind || curve.method != method) continue;
    if (curve.systems > shape.systems || curve.members > shape.size) continue;
    if (best == nullptr || group_of(curve) < group_of(*best)) best = &curve;
  }
  return best == nullptr ? nullptr : &best->times;
}

std::vector<double> exchange_times_ns(const MachineCosts& costs, std::span<const std::string> methods,
                                      std::uint64_t bytes) {
  std::vector<double> times;
  times.reserve(methods.size());
  for (const std::string& method : methods) {
    const auto found = std::find_if(costs.exchanges.begin(), costs.exchanges.end(),
                                    [&](const ExchangeCurve& curve) { return curve.method == method; });
    times.push_back(found == costs.exchanges.end() ? unknown_time_ns : found->times.seconds(bytes) * 1e9);
  }
  return times;
}

std::vector<std::size_t> trial_order(std::span<const double> times_ns) {
  std::vector<std::size_t> known;
  std::vector<std::size_t> others;
  for (std::size_t place = 0; place < times_ns.size(); ++place) {
    (times_ns[place] >= 0 ? known : others).push_back(place);
  }
  std::vector<std::size_t> order;
  order.reserve(times_ns.size());
  while (!known.empty()) {
    double least = times_ns[known.front()];
    for (const std::size_t place : known) least = std::min(least, times_ns[place]);
    const auto next = std::find_if(known.begin(), known.end(),
                                   [&](std::size_t place) { return times_ns[place] <= least * (1 + tie_share); });
    order.push_back(*next);
    known.erase(next);
  }
  order.insert(order.end(), others.begin(), others.end());
  return order;
}

}  // namespace couplet::cost
