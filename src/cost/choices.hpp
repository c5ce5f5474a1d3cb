// What the costs of a machine decide: the eager limit and the piece size of each link, the size from which copies
// stream, the methods of collective calls, and the order in which the methods of an exchange are tried. Pure functions
// over what the machine's cost file holds (docs/formats/cost.md); without one, the library keeps its built-in limits.
// runtime reads the file and hands the results to message, series, collective and exchange. Tests:
// tests/unit/cost/choices_test.cpp. Decision: docs/decisions/0037-choices-follow-the-cost-file.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cost/collective_method.hpp"
#include "cost/curve.hpp"

namespace couplet::cost {

inline constexpr std::size_t max_method_pieces = 1024;
// The pieces of large messages are compared at this size.
inline constexpr std::uint64_t large_message_bytes = std::uint64_t{4} << 20U;

enum class LinkWay : std::uint8_t {
  eager,      // sent without asking
  announced,  // an envelope, then what the receiver asks for
  pieces,     // announced, and copied in pieces of a size
};

// A message between two processes over one link. Its time is half of that of a round trip, in seconds.
struct LinkCurve {
  std::string link;  // "shm"
  LinkWay way = LinkWay::eager;
  std::uint64_t piece_bytes = 0;  // of LinkWay::pieces
  Curve times;
};

enum class CopyWay : std::uint8_t { cached, streaming };

// A copy to memory of a size that is copied to again and again.
struct CopyCurve {
  CopyWay way = CopyWay::cached;
  Curve times;
};

// A collective call, over the size on which its choice depends (CollectiveShape::bytes).
struct CollectiveCurve {
  Collective call = Collective::barrier;
  Method method = Method::automatic;
  std::int32_t members = 1;
  std::int32_t systems = 1;
  Curve times;
};

// A round of an exchange, over the size of its longest message.
struct ExchangeCurve {
  std::string method;  // "mapped"
  Curve times;
};

// All that is known of a machine. Empty lists: nothing is.
struct MachineCosts {
  std::string machine;
  std::vector<std::string> hosts;
  std::vector<LinkCurve> links;
  std::vector<CopyCurve> copies;
  std::vector<CollectiveCurve> collectives;
  std::vector<ExchangeCurve> exchanges;
};

// Returns the curve of that way, or nullptr.
[[nodiscard]] const Curve* find_link(const MachineCosts& costs, std::string_view link, LinkWay way) noexcept;

// Returns the largest size, in bytes, up to which eager messages over the link are at most as expensive as announced
// ones; nothing if one of the two is not known.
[[nodiscard]] std::optional<std::uint64_t> eager_limit(const MachineCosts& costs, std::string_view link);
// Returns the piece size, in bytes, with the least cost of a message of large_message_bytes; nothing if none is known.
[[nodiscard]] std::optional<std::uint64_t> piece_size(const MachineCosts& costs, std::string_view link);
// Returns the largest size of a target, in bytes, that is copied with ordinary stores; nothing if one of the two ways
// is not known.
[[nodiscard]] std::optional<std::uint64_t> streaming_limit(const MachineCosts& costs);
// Returns the table of collective methods: for each call, first the curves for the most systems and members. Curves
// hold for groups of at least as many members on at least as many systems.
[[nodiscard]] std::vector<MethodPiece> method_pieces(const MachineCosts& costs);
// Returns the curve by which the time of a call of this shape by that method is predicted; nullptr: it is not known.
[[nodiscard]] const Curve* find_call(const MachineCosts& costs, const CollectiveShape& shape, Method method) noexcept;

// A time that is not known: any time below 0 is not.
inline constexpr double unknown_time_ns = -1;
// Returns the predicted time of each method of an exchange, or unknown_time_ns. 0 is a time.
[[nodiscard]] std::vector<double> exchange_times_ns(const MachineCosts& costs, std::span<const std::string> methods,
                                                    std::uint64_t bytes);
// Returns the places of the methods in the order in which they are tried: first those whose times are known (at least
// 0), the shortest first, and then the others; ties go to list order.
[[nodiscard]] std::vector<std::size_t> trial_order(std::span<const double> times_ns);

}  // namespace couplet::cost
