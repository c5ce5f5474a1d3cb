#include "exchange/routes.hpp"

#include <algorithm>
#include <bit>
#include <map>

#include "base/counted.hpp"

namespace couplet::exchange {
namespace {

using wire::ExchangeEdge;
using wire::ExchangeTerms;

constexpr bool own_big_endian = std::endian::native == std::endian::big;

// Returns the pieces of a plain route, or nothing if one of its regions has gaps.
std::vector<Route::Run> runs_of(std::span<const Edge> edges, const Route& route) {
  std::vector<Route::Run> runs;
  for (const std::uint32_t place : route.edges) {
    for (const Region& region : edges[place].regions) {
      if (region.loop_count != 0 || !region.offsets.empty()) return {};
      if (region.run_bytes == 0) continue;
      if (!runs.empty() && runs.back().memory + runs.back().bytes == region.memory) {
        runs.back().bytes += region.run_bytes;
      } else {
        runs.push_back({.memory = region.memory, .bytes = region.run_bytes});
      }
    }
  }
  return runs;
}

Route route_of(std::span<const Edge> edges, std::vector<std::uint32_t> places) {
  Route route;
  route.edges = std::move(places);
  std::sort(route.edges.begin(), route.edges.end(),
            [&](std::uint32_t one, std::uint32_t other) { return edges[one].tag < edges[other].tag; });
  for (const std::uint32_t place : route.edges) {
    const Edge& edge = edges[place];
    const std::uint64_t bytes = edge.bytes() + (edge.is_variable ? wire::exchange_length_bytes : 0);
    route.max_bytes = std::min(route.max_bytes + bytes, max_edge_bytes + 1);  // more is refused, and must not overflow
    route.is_plain = route.is_plain && !edge.is_variable && edge.every == 1 && edge.offset == 0;
  }
  if (route.is_plain) route.runs = runs_of(edges, route);
  return route;
}

bool is_in_each_round(std::span<const Edge> edges, const Route& route) {
  return std::any_of(route.edges.begin(), route.edges.end(),
                     [&](std::uint32_t place) { return edges[place].every == 1 && edges[place].offset == 0; });
}

Status check_route(std::span<const Edge> edges, const Route& route, std::int32_t rank) {
  if (route.max_bytes > max_edge_bytes) {
    const Edge& edge = edges[route.edges.front()];
    return fail(Code::argument, "the edges between rank {} and rank {} have more than {} bytes in one direction", rank,
                edge.peer, max_edge_bytes);
  }
  for (std::size_t index = 1; index < route.edges.size(); ++index) {
    const Edge& edge = edges[route.edges[index]];
    if (edges[route.edges[index - 1]].tag == edge.tag) {
      return fail(Code::exists, "{} is there already: give one of the two another tag", describe(edge, rank));
    }
  }
  return {};
}

// An edge between two members, as its sender and its receiver have it; nullptr: that one does not have it.
struct Both {
  const ExchangeEdge* sender = nullptr;
  const ExchangeEdge* receiver = nullptr;
};

// The names of both ends, for texts.
struct Ends {
  std::string sender;
  std::string receiver;
};

Status compare_edge(const Both& both, const Ends& ends) {
  const ExchangeEdge& one = both.sender != nullptr ? *both.sender : *both.receiver;
  const std::string edge =
      fmt::format("edge{} (tag {}) from {} to {}", one.title.empty() ? std::string() : fmt::format(" '{}'", one.title),
                  one.tag, ends.sender, ends.receiver);
  if (both.receiver == nullptr) {
    return fail(Code::mismatch, "{}: the sender has it, with {}, and the receiver has not", edge,
                counted(one.bytes, "byte"));
  }
  if (both.sender == nullptr) {
    return fail(Code::mismatch, "{}: the receiver has it, with {}, and the sender has not", edge,
                counted(one.bytes, "byte"));
  }
  const ExchangeEdge& other = *both.receiver;
  if (one.title != other.title) {  // it may say more than the sizes do
    return fail(Code::mismatch, "{}: the receiver calls it '{}'", edge, other.title);
  }
  if (one.bytes != other.bytes) {
    return fail(Code::mismatch, "{}: the sender has {}, and the receiver {}", edge, counted(one.bytes, "byte"),
                other.bytes);
  }
  if (one.contents != other.contents && !one.contents.empty() && !other.contents.empty()) {
    return fail(Code::mismatch, "{}: the sender has {}, and the receiver {}", edge, one.contents, other.contents);
  }
  const auto word = [](bool is_variable) { return is_variable ? "a variable length" : "a fixed length"; };
  if (one.is_variable != other.is_variable) {
    return fail(Code::mismatch, "{}: the sender gives it {} ({}), and the receiver {}", edge, word(one.is_variable),
                counted(one.bytes, "byte"), word(other.is_variable));
  }
  if (one.every != other.every || one.offset != other.offset) {
    return fail(Code::mismatch,
                "{}: the sender gives every {} and offset {}, the receiver every {} and offset {}; both must agree",
                edge, one.every, one.offset, other.every, other.offset);
  }
  return {};
}

// Compares the edges that one sends to the other.
Status compare_direction(const ExchangeTerms& sender, const ExchangeTerms& receiver, const Ends& ends) {
  std::map<std::int64_t, Both> all;  // by tag, so that both find the same difference first
  for (const ExchangeEdge& edge : sender.edges) {
    if (edge.sends) all[edge.tag].sender = &edge;
  }
  for (const ExchangeEdge& edge : receiver.edges) {
    if (!edge.sends) all[edge.tag].receiver = &edge;
  }
  for (const auto& [tag, both] : all) COUPLET_TRY(compare_edge(both, ends));
  return {};
}

}  // namespace

bool Route::takes_part(std::span<const Edge> edges_of_member, std::uint64_t round) const noexcept {
  return is_plain ? !edges.empty() : std::any_of(edges.begin(), edges.end(), [&](std::uint32_t place) {
    return edges_of_member[place].takes_part(round);
  });
}

Result<Routes> Routes::of(std::span<const Edge> edges, std::int32_t rank) {
  struct Places {
    std::vector<std::uint32_t> out;
    std::vector<std::uint32_t> in;
  };
  std::map<std::int32_t, Places> by_peer;
  for (std::uint32_t place = 0; place < edges.size(); ++place) {
    Places& places = by_peer[edges[place].peer];
    (edges[place].direction == Direction::out ? places.out : places.in).push_back(place);
  }
  Routes routes;
  for (auto& [peer, places] : by_peer) {
    Route out = route_of(edges, std::move(places.out));
    Route in = route_of(edges, std::move(places.in));
    COUPLET_TRY(check_route(edges, out, rank));
    COUPLET_TRY(check_route(edges, in, rank));
    routes.is_plain = routes.is_plain && out.is_plain && in.is_plain;
    if (peer == rank) {
      const ExchangeTerms own = terms_with(edges, rank);
      const std::string name = fmt::format("rank {}", rank);
      COUPLET_TRY(compare_direction(own, own, {.sender = name, .receiver = name}));
      routes.self_out = std::move(out);
      routes.self_in = std::move(in);
      continue;
    }
    Port port;
    port.peer = peer;
    port.out_bytes = out.max_bytes;
    port.in_bytes = in.max_bytes;
    port.sends = !out.edges.empty();
    port.receives = !in.edges.empty();
    port.is_paired = is_in_each_round(edges, out) && is_in_each_round(edges, in);
    routes.ports.push_back(port);
    routes.out.push_back(std::move(out));
    routes.in.push_back(std::move(in));
  }
  return routes;
}

wire::ExchangeTerms terms_with(std::span<const Edge> edges, std::int32_t peer) {
  wire::ExchangeTerms terms;
  terms.big_endian = own_big_endian;
  for (const Edge& edge : edges) {
    if (edge.peer != peer) continue;
    terms.edges.push_back({.sends = edge.direction == Direction::out,
                           .is_variable = edge.is_variable,
                           .tag = edge.tag,
                           .bytes = edge.bytes(),
                           .every = edge.every,
                           .offset = edge.offset,
                           .title = edge.title.substr(0, wire::max_exchange_title_bytes),
                           .contents = contents(edge).substr(0, wire::max_exchange_contents_bytes)});
  }
  std::sort(terms.edges.begin(), terms.edges.end(), [](const ExchangeEdge& one, const ExchangeEdge& other) {
    return one.sends != other.sends ? one.sends : one.tag < other.tag;
  });
  return terms;
}

Status compare_terms(const ExchangeTerms& mine, std::int32_t rank, const ExchangeTerms& theirs, std::int32_t peer,
                     const std::function<std::string(std::int32_t)>& name_of) {
  if (mine.big_endian != theirs.big_endian) {
    return fail(Code::unsupported, "{} and {} have different byte orders, and an exchange moves plain bytes",
                name_of(std::min(rank, peer)), name_of(std::max(rank, peer)));
  }
  const bool is_lower = rank < peer;
  const ExchangeTerms& lower = is_lower ? mine : theirs;
  const ExchangeTerms& higher = is_lower ? theirs : mine;
  const Ends upwards{.sender = name_of(std::min(rank, peer)), .receiver = name_of(std::max(rank, peer))};
  COUPLET_TRY(compare_direction(lower, higher, upwards));
  return compare_direction(higher, lower, {.sender = upwards.receiver, .receiver = upwards.sender});
}

}  // namespace couplet::exchange
