#include "exchange/plan.hpp"

#include <algorithm>

#include "base/counted.hpp"

namespace couplet::exchange {
namespace {

// A run of an edge.
struct Run {
  const std::byte* first = nullptr;
  const std::byte* last = nullptr;  // the byte after it
  std::size_t edge = 0;
};

// Has the region more bytes than there are from its first to its last one? It then has some twice. What is left after
// this test cannot have many more runs than memory has bytes.
bool is_folded(const Region& region) {
  if (!region.offsets.empty()) return false;
  std::uint64_t span = region.run_bytes;
  for (int loop = 0; loop < region.loop_count; ++loop) {
    const Region::Loop& each = region.loops[static_cast<std::size_t>(loop)];
    const auto stride = static_cast<std::uint64_t>(each.stride_bytes < 0 ? -each.stride_bytes : each.stride_bytes);
    std::uint64_t length = 0;
    if (each.count == 0 || __builtin_mul_overflow(each.count - 1, stride, &length) ||
        __builtin_add_overflow(span, length, &span)) {
      return false;
    }
  }
  return region.bytes() > span;
}

// The error of two runs that have bytes in common, of which one receives.
Status both_use(std::span<const Edge> edges, const Run& before, const Run& after, std::int32_t rank) {
  const auto bytes = before.last - after.first;
  const std::string one = describe(edges[before.edge], rank);
  if (before.edge == after.edge) {
    return fail(Code::argument, "{} receives {} twice into the same memory", one, counted(bytes, "byte"));
  }
  const std::string other = describe(edges[after.edge], rank);
  if (edges[before.edge].direction == edges[after.edge].direction) {
    return fail(Code::argument, "{} and {} receive into the same memory: {}", one, other, counted(bytes, "byte"));
  }
  return fail(Code::argument, "{} and {} use the same memory, and one of them receives into it: {}", one, other,
              counted(bytes, "byte"));
}

// Returns argument if the region is malformed. bytes: gets its size.
Status check_region(const Region& region, std::uint64_t& bytes) {
  if (region.loop_count < 0 || region.loop_count > layout::max_dimensions) {
    return fail(Code::argument, "a region has {} loops; 0 to {} are possible", region.loop_count,
                layout::max_dimensions);
  }
  if (!region.offsets.empty() && region.loop_count != 0) {
    return fail(Code::argument, "a region has {} offsets and {} loops; it may have one of the two",
                region.offsets.size(), region.loop_count);
  }
  std::uint64_t product = region.run_bytes;
  bool is_too_large = product > max_edge_bytes;
  const auto multiply = [&](std::uint64_t count) {
    is_too_large = is_too_large || __builtin_mul_overflow(product, count, &product) || product > max_edge_bytes;
  };
  if (!region.offsets.empty()) multiply(region.offsets.size());
  for (int loop = 0; loop < region.loop_count; ++loop) multiply(region.loops[static_cast<std::size_t>(loop)].count);
  if (is_too_large) return fail(Code::argument, "a region has more than {} bytes", max_edge_bytes);
  if (product > 0 && region.memory == nullptr) {
    return fail(Code::argument, "a region of {} bytes has the address NULL", product);
  }
  bytes = product;
  return {};
}

}  // namespace

std::uint64_t Region::run_count() const noexcept {
  if (!offsets.empty()) return offsets.size();
  std::uint64_t count = 1;
  for (int loop = 0; loop < loop_count; ++loop) count *= loops[static_cast<std::size_t>(loop)].count;
  return count;
}

std::uint64_t Region::bytes() const noexcept {
  return run_bytes * run_count();
}

std::uint64_t Edge::bytes() const noexcept {
  std::uint64_t sum = 0;
  for (const Region& region : regions) sum += region.bytes();
  return sum;
}

Region simplified(const Region& region) {
  Region simple = region;
  if (region.bytes() == 0) return {.memory = region.memory};
  if (!region.offsets.empty()) {
    const auto& offsets = region.offsets;
    const auto step = static_cast<std::int64_t>(region.run_bytes);
    const auto has_gap = [step](std::int64_t one, std::int64_t next) { return next - one != step; };
    if (std::adjacent_find(offsets.begin(), offsets.end(), has_gap) != offsets.end()) return simple;
    Region run{.memory = region.memory + offsets.front(), .run_bytes = region.bytes()};
    run.type = region.type;
    return run;
  }
  simple.loop_count = 0;
  simple.loops = {};
  for (int loop = region.loop_count - 1; loop >= 0; --loop) {  // from the fastest one on; they are turned around below
    const Region::Loop& each = region.loops[static_cast<std::size_t>(loop)];
    if (each.count == 1) continue;
    const auto outermost = static_cast<std::size_t>(simple.loop_count);
    if (outermost == 0 && each.stride_bytes == static_cast<std::int64_t>(simple.run_bytes)) {
      simple.run_bytes *= each.count;
    } else if (outermost > 0 && each.stride_bytes == simple.loops[outermost - 1].stride_bytes *
                                                         static_cast<std::int64_t>(simple.loops[outermost - 1].count)) {
      simple.loops[outermost - 1].count *= each.count;
    } else {
      simple.loops[outermost] = each;
      ++simple.loop_count;
    }
  }
  std::reverse(simple.loops.begin(), simple.loops.begin() + simple.loop_count);
  return simple;
}

std::string contents(const Edge& edge) {
  struct Elements {
    const TypeInfo* type;
    std::uint64_t count;
  };
  std::vector<Elements> all;
  for (const Region& region : edge.regions) {
    if (region.bytes() == 0) continue;
    const TypeInfo* const type = find_type(region.type);
    if (type == nullptr || region.type == COUPLET_BYTE) return {};
    if (all.empty() || all.back().type != type) all.push_back({type, 0});
    all.back().count += region.bytes() / type->element_bytes;
  }
  std::string text;
  for (const Elements& one : all) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", one.count, one.type->name);
  return text;
}

std::string describe(const Edge& edge, std::int32_t rank) {
  const bool out = edge.direction == Direction::out;
  const std::string title = edge.title.empty() ? std::string() : fmt::format(" '{}'", edge.title);
  return fmt::format("edge{} (tag {}) from rank {} to rank {}", title, edge.tag, out ? rank : edge.peer,
                     out ? edge.peer : rank);
}

Status check(const Edge& edge, std::int32_t group_size) {
  if (edge.peer < 0 || edge.peer >= group_size) {
    return fail(Code::argument, "the peer of an edge is {}; the group has the ranks 0 to {}", edge.peer,
                group_size - 1);
  }
  if (edge.every < 1) return fail(Code::argument, "every must be at least 1, not 0");
  std::uint64_t sum = 0;
  for (const Region& region : edge.regions) {
    std::uint64_t bytes = 0;
    COUPLET_TRY(check_region(region, bytes));
    sum += bytes;
    if (sum > max_edge_bytes) return fail(Code::argument, "an edge has more than {} bytes", max_edge_bytes);
  }
  return {};
}

Status check_apart(std::span<const Edge> edges, std::int32_t rank) {
  std::vector<Run> runs;
  for (std::size_t index = 0; index < edges.size(); ++index) {
    const Edge& edge = edges[index];
    const bool receives = edge.direction == Direction::in;
    for (const Region& region : edge.regions) {
      if (is_folded(region)) {  // it has fewer bytes than runs
        if (!receives) continue;
        return fail(Code::argument, "{} receives twice into the same memory: an array has fewer bytes than the edge",
                    describe(edge, rank));
      }
      for_each_run(region, [&](const std::byte* first) {
        runs.push_back({.first = first, .last = first + region.run_bytes, .edge = index});
      });
    }
  }
  std::sort(runs.begin(), runs.end(), [](const Run& one, const Run& other) { return one.first < other.first; });
  Run received{};  // of those before, the one that ends last; in each direction
  Run sent{};
  for (const Run& run : runs) {
    const bool receives = edges[run.edge].direction == Direction::in;
    if (received.last > run.first) return both_use(edges, received, run, rank);
    if (receives && sent.last > run.first) return both_use(edges, sent, run, rank);
    Run& furthest = receives ? received : sent;
    if (run.last > furthest.last) furthest = run;
  }
  return {};
}

}  // namespace couplet::exchange
