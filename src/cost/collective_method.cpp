#include "cost/collective_method.hpp"

#include <array>

namespace couplet::cost {
namespace {

constexpr std::uint64_t all_bytes = UINT64_MAX;
constexpr std::uint64_t kib = 1024;

// The first piece that fits and is possible counts. The limits are estimates from the number of messages and bytes of
// each method, and were not measured.
constexpr std::array pieces = {
    MethodPiece{Collective::barrier, 2, 3, all_bytes, Method::systems},
    MethodPiece{Collective::barrier, 1, 1, all_bytes, Method::doubling},
    MethodPiece{Collective::broadcast, 2, 3, all_bytes, Method::systems},
    MethodPiece{Collective::broadcast, 1, 8, 512 * kib, Method::binomial},
    MethodPiece{Collective::broadcast, 1, 8, all_bytes, Method::ring},
    MethodPiece{Collective::broadcast, 1, 1, all_bytes, Method::binomial},
    MethodPiece{Collective::reduce, 2, 3, all_bytes, Method::systems},
    MethodPiece{Collective::reduce, 1, 1, all_bytes, Method::binomial},
    MethodPiece{Collective::allreduce, 2, 3, all_bytes, Method::systems},
    MethodPiece{Collective::allreduce, 1, 1, 16 * kib, Method::doubling},
    MethodPiece{Collective::allreduce, 1, 1, all_bytes, Method::ring},
    MethodPiece{Collective::allreduce, 1, 1, all_bytes, Method::doubling},
    MethodPiece{Collective::gather, 1, 4, 16 * kib, Method::binomial},
    MethodPiece{Collective::gather, 1, 1, all_bytes, Method::linear},
    MethodPiece{Collective::allgather, 1, 3, 32 * kib, Method::doubling},
    MethodPiece{Collective::allgather, 1, 1, all_bytes, Method::ring},
    MethodPiece{Collective::scatter, 1, 4, 16 * kib, Method::binomial},
    MethodPiece{Collective::scatter, 1, 1, all_bytes, Method::linear},
    MethodPiece{Collective::alltoall, 1, 1, all_bytes, Method::pairwise},
    MethodPiece{Collective::reduce_scatter, 1, 1, all_bytes, Method::ring},
    MethodPiece{Collective::reduce_scatter, 1, 1, all_bytes, Method::reduce_linear},
    MethodPiece{Collective::scan, 1, 4, all_bytes, Method::doubling},
    MethodPiece{Collective::scan, 1, 1, all_bytes, Method::linear},
};

constexpr std::array<std::string_view, 11> kind_names = {"no collective call", "barrier",        "broadcast", "reduce",
                                                         "allreduce",          "gather",         "allgather", "scatter",
                                                         "alltoall",           "reduce_scatter", "scan"};
constexpr std::array<std::string_view, method_count> method_names = {
    "automatic", "linear", "binomial", "doubling", "ring", "pairwise", "reduce_linear", "systems"};

}  // namespace

std::string_view name_of(Collective kind) noexcept {
  return kind_names[static_cast<std::size_t>(kind) < kind_names.size() ? static_cast<std::size_t>(kind) : 0];
}

std::string_view name_of(Method method) noexcept {
  return static_cast<std::uint8_t>(method) < method_count ? method_names[static_cast<std::size_t>(method)] : "unknown";
}

bool is_possible(Method method, const CollectiveShape& shape) noexcept {
  switch (shape.kind) {
    case Collective::barrier:
      return method == Method::doubling || method == Method::systems;
    case Collective::broadcast:
      return method == Method::binomial || method == Method::ring || method == Method::systems;
    case Collective::reduce:
      if (method == Method::systems) return shape.may_reorder || shape.systems_in_order;
      return method == Method::binomial;
    case Collective::allreduce:
      if (method == Method::systems) return shape.may_reorder || shape.systems_in_order;
      return method == Method::doubling || (method == Method::ring && shape.may_reorder);
    case Collective::gather:
    case Collective::scatter:
      return method == Method::linear || (method == Method::binomial && !shape.uneven);
    case Collective::allgather:
      return method == Method::ring || (method == Method::doubling && !shape.uneven);
    case Collective::alltoall:
      return method == Method::pairwise;
    case Collective::reduce_scatter:
      return method == Method::reduce_linear || (method == Method::ring && shape.may_reorder);
    case Collective::scan:
      return method == Method::linear || method == Method::doubling;
  }
  return false;
}

Method choose_method(const CollectiveShape& shape, std::span<const MethodPiece> measured) noexcept {
  for (const auto table : {measured, std::span<const MethodPiece>(pieces)}) {
    for (const MethodPiece& piece : table) {
      if (piece.kind != shape.kind || shape.systems < piece.min_systems || shape.size < piece.min_size) continue;
      if (shape.bytes <= piece.max_bytes && is_possible(piece.method, shape)) return piece.method;
    }
  }
  return Method::automatic;
}

}  // namespace couplet::cost
