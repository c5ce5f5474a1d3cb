#include "cost/collective_method.hpp"

#include <array>

namespace couplet::cost {
namespace {

constexpr std::uint64_t any_bytes = UINT64_MAX;
constexpr std::uint64_t kib = 1024;

// A piece of the table: the method for messages of up to max_bytes, in groups on at least min_systems systems and with
// at least min_size members.
struct Piece {
  Collective kind;
  std::int32_t min_systems;
  std::int32_t min_size;
  std::uint64_t max_bytes;
  Method method;
};

// The first piece that fits and is possible counts. The limits are estimates from the number of messages and bytes of
// each method, and were not measured.
constexpr std::array pieces = {
    Piece{Collective::barrier, 2, 3, any_bytes, Method::systems},
    Piece{Collective::barrier, 1, 1, any_bytes, Method::doubling},
    Piece{Collective::broadcast, 2, 3, any_bytes, Method::systems},
    Piece{Collective::broadcast, 1, 8, 512 * kib, Method::binomial},
    Piece{Collective::broadcast, 1, 8, any_bytes, Method::ring},
    Piece{Collective::broadcast, 1, 1, any_bytes, Method::binomial},
    Piece{Collective::reduce, 2, 3, any_bytes, Method::systems},
    Piece{Collective::reduce, 1, 1, any_bytes, Method::binomial},
    Piece{Collective::allreduce, 2, 3, any_bytes, Method::systems},
    Piece{Collective::allreduce, 1, 1, 16 * kib, Method::doubling},
    Piece{Collective::allreduce, 1, 1, any_bytes, Method::ring},
    Piece{Collective::allreduce, 1, 1, any_bytes, Method::doubling},
    Piece{Collective::gather, 1, 4, 16 * kib, Method::binomial},
    Piece{Collective::gather, 1, 1, any_bytes, Method::linear},
    Piece{Collective::allgather, 1, 3, 32 * kib, Method::doubling},
    Piece{Collective::allgather, 1, 1, any_bytes, Method::ring},
    Piece{Collective::scatter, 1, 4, 16 * kib, Method::binomial},
    Piece{Collective::scatter, 1, 1, any_bytes, Method::linear},
    Piece{Collective::alltoall, 1, 1, any_bytes, Method::pairwise},
    Piece{Collective::reduce_scatter, 1, 1, any_bytes, Method::ring},
    Piece{Collective::reduce_scatter, 1, 1, any_bytes, Method::reduce_linear},
    Piece{Collective::scan, 1, 4, any_bytes, Method::doubling},
    Piece{Collective::scan, 1, 1, any_bytes, Method::linear},
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

Method choose_method(const CollectiveShape& shape) noexcept {
  for (const Piece& piece : pieces) {
    if (piece.kind != shape.kind || shape.systems < piece.min_systems || shape.size < piece.min_size) continue;
    if (shape.bytes <= piece.max_bytes && is_possible(piece.method, shape)) return piece.method;
  }
  return Method::automatic;
}

}  // namespace couplet::cost
