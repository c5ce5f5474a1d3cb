#include "halo/indices.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <span>
#include <utility>

#include "base/counted.hpp"
#include "wire/lists.hpp"

namespace couplet::halo {
namespace {

using exchange::Assembly;
using exchange::Direction;
using exchange::Edge;
using exchange::Parcel;
using exchange::Region;

// So many neighbouring indices have the same directory.
constexpr std::int64_t indices_together = 64;

std::string named(std::int64_t index, const IndexLists& lists) {
  return lists.base == 0 ? fmt::format("index {}", index)
                         : fmt::format("index {} (counted from {})", index, lists.base);
}

// Places of a list in the order of its numbers.
std::vector<std::size_t> order_of(std::span<const std::int64_t> numbers) {
  std::vector<std::size_t> order(numbers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t one, std::size_t other) { return numbers[one] < numbers[other]; });
  return order;
}

// Returns argument if a number is below the base, or twice in the list. what: "owned index".
Status check_numbers(std::span<const std::int64_t> numbers, std::int64_t base, bool may_repeat, const char* what) {
  const std::vector<std::size_t> order = order_of(numbers);
  for (std::size_t place = 0; place < order.size(); ++place) {
    const std::int64_t number = numbers[order[place]];
    const std::int64_t entry = static_cast<std::int64_t>(order[place]) + base;
    if (number < base || number > INT64_MAX / 2) {
      return fail(Code::argument, "{} {} (entry {} of the list) must be {} to {}", what, number, entry, base,
                  INT64_MAX / 2);
    }
    if (may_repeat || place == 0 || numbers[order[place - 1]] != number) continue;
    return fail(Code::argument, "{} {} is given twice, as entries {} and {} of the list", what, number,
                static_cast<std::int64_t>(order[place - 1]) + base, entry);
  }
  return {};
}

std::int32_t directory_of(std::int64_t index, std::int32_t rank_count) {
  return static_cast<std::int32_t>(index / indices_together % rank_count);
}

template <typename Number>
Result<std::vector<Number>> unpacked(const Parcel& parcel) {
  auto numbers = wire::decode_list<Number>(parcel.bytes);
  return numbers.ok() ? std::move(numbers)
                      : Result<std::vector<Number>>(numbers.status().within(fmt::format("from rank {}", parcel.rank)));
}

// Lists for ranks, as parcels.
template <typename Number>
std::vector<Parcel> parcels_of(const std::map<std::int32_t, std::vector<Number>>& lists) {
  std::vector<Parcel> parcels;
  parcels.reserve(lists.size());
  for (const auto& [rank, numbers] : lists)
    parcels.push_back({.rank = rank, .bytes = wire::encode_list(std::span<const Number>(numbers))});
  return parcels;
}

using Lists = std::map<std::int32_t, std::vector<std::int64_t>>;

// The indices that this rank keeps the directory of, counted from 0, and their owners.
class Directory {
 public:
  // Returns argument if another rank owns the index, too.
  Status add(const Parcel& parcel, std::int64_t base) {
    COUPLET_TRY_VALUE(const auto indices, unpacked<std::int64_t>(parcel));
    for (const std::int64_t index : indices) {
      const auto [found, is_new] = owners_.emplace(index, parcel.rank);
      if (is_new) continue;
      return fail(Code::argument, "index {} is owned by rank {} and by rank {}{}", index + base, found->second,
                  parcel.rank, base == 0 ? "" : fmt::format(" (indices counted from {})", base));
    }
    return {};
  }
  // -1: nobody.
  [[nodiscard]] std::int32_t owner(std::int64_t index) const {
    const auto found = owners_.find(index);
    return found == owners_.end() ? -1 : found->second;
  }

 private:
  std::map<std::int64_t, std::int32_t> owners_;
};

// Returns the owner of each ghost, as the directories know it. An error of one rank is told to the others when all have
// made their calls.
Result<std::vector<std::int32_t>> find_owners(Assembly& assembly, const IndexLists& lists) {
  Lists owned;
  Lists wanted;
  for (const std::int64_t index : lists.owned) {
    owned[directory_of(index - lists.base, assembly.size())].push_back(index - lists.base);
  }
  for (const std::int64_t index : lists.ghosts) {
    wanted[directory_of(index - lists.base, assembly.size())].push_back(index - lists.base);
  }
  COUPLET_TRY_VALUE(const auto owned_here, assembly.deliver(parcels_of(owned)));
  Directory directory;
  Status first;
  for (const Parcel& parcel : owned_here) {
    Status added = directory.add(parcel, lists.base);
    if (first.ok()) first = std::move(added);
  }
  COUPLET_TRY_VALUE(const auto wanted_here, assembly.deliver(parcels_of(wanted)));
  std::map<std::int32_t, std::vector<std::int32_t>> answers;
  for (const Parcel& parcel : wanted_here) {
    const auto indices = unpacked<std::int64_t>(parcel);
    if (first.ok()) first = indices.status();
    std::vector<std::int32_t>& answer = answers[parcel.rank];
    for (std::size_t place = 0; indices.ok() && place < indices->size(); ++place) {
      answer.push_back(directory.owner((*indices)[place]));
    }
  }
  COUPLET_TRY_VALUE(const auto answered, assembly.deliver(parcels_of(answers)));
  std::map<std::int32_t, std::vector<std::int32_t>> by_directory;
  for (const Parcel& parcel : answered) {
    auto numbers = unpacked<std::int32_t>(parcel);
    if (first.ok()) first = numbers.status();
    if (numbers.ok()) by_directory[parcel.rank] = std::move(*numbers);
  }
  std::vector<std::int32_t> owners;
  std::map<std::int32_t, std::size_t> next;
  for (const std::int64_t index : lists.ghosts) {
    const std::int32_t from = directory_of(index - lists.base, assembly.size());
    const std::vector<std::int32_t>& known = by_directory[from];
    const std::size_t place = next[from]++;
    const std::int32_t owner = place < known.size() ? known[place] : -1;
    owners.push_back(owner);
    if (owner >= 0 && owner < assembly.size()) continue;
    if (first.ok()) {
      first = fail(Code::argument, "rank {} needs {}, which no rank owns", assembly.rank(), named(index, lists));
    }
  }
  COUPLET_TRY(assembly.agree(first));
  return owners;
}

// Where the owned points are that another rank needs. Returns argument if one is not owned here.
Result<std::vector<std::int64_t>> places_of(const IndexLists& lists, std::span<const std::size_t> order,
                                            std::span<const std::int64_t> indices, std::int32_t peer,
                                            std::int32_t rank) {
  std::vector<std::int64_t> places;
  places.reserve(indices.size());
  for (const std::int64_t from_zero : indices) {
    const std::int64_t index = from_zero + lists.base;
    const auto found = std::lower_bound(order.begin(), order.end(), index, [&](std::size_t entry, std::int64_t wanted) {
      return lists.owned[entry] < wanted;
    });
    if (found == order.end() || lists.owned[*found] != index) {
      return fail(Code::argument, "rank {} needs {} of rank {}, which does not own it", peer, named(index, lists),
                  rank);
    }
    places.push_back(lists.place(*found));
  }
  return places;
}

// The points at these places, of one component or of all that are next to each other.
Region region_at(const Field& field, std::span<const std::int64_t> places, std::int64_t component,
                 std::uint64_t run_bytes) {
  Region region{.memory = field.memory + component * field.component_stride_bytes, .run_bytes = run_bytes};
  const std::int64_t step = places.size() < 2 ? 1 : places[1] - places[0];
  bool is_even = true;
  for (std::size_t number = 1; number < places.size(); ++number) {
    is_even = is_even && places[number] - places[number - 1] == step;
  }
  if (is_even) {
    region.memory += places.front() * field.stride_bytes[0];
    region.loop_count = 1;
    region.loops[0] = {.count = places.size(), .stride_bytes = step * field.stride_bytes[0]};
    return region;
  }
  region.offsets.reserve(places.size());
  for (const std::int64_t place : places) region.offsets.push_back(place * field.stride_bytes[0]);
  return region;
}

bool are_together(const Field& field) {
  return field.component_count == 1 || field.component_stride_bytes == static_cast<std::int64_t>(field.element_bytes);
}

Edge edge_at(const Field& field, std::uint32_t number, std::int32_t peer, Direction direction,
             std::span<const std::int64_t> places) {
  Edge edge;
  edge.direction = direction;
  edge.peer = peer;
  edge.tag = number;
  edge.title = fmt::format("{}, points of a list: {} x {}{}", field.name, field.component_count, field.type_name,
                           are_together(field) ? "" : ", each component apart");
  const auto components = static_cast<std::uint64_t>(field.component_count);
  if (are_together(field)) {
    edge.regions.push_back(region_at(field, places, 0, field.element_bytes * components));
    return edge;
  }
  for (std::int64_t component = 0; component < field.component_count; ++component) {
    edge.regions.push_back(region_at(field, places, component, field.element_bytes));
  }
  return edge;
}

}  // namespace

Status check(const IndexLists& lists, std::int32_t rank_count) {
  COUPLET_TRY(check_numbers(lists.owned, lists.base, false, "owned index"));
  COUPLET_TRY(check_numbers(lists.ghosts, lists.base, true, "ghost index"));
  if (lists.has_owners && lists.owners.size() != lists.ghosts.size()) {
    return fail(Code::argument, "{} owners are given for {} ghosts", lists.owners.size(), lists.ghosts.size());
  }
  for (std::size_t entry = 0; entry < lists.owners.size(); ++entry) {
    if (lists.owners[entry] >= 0 && lists.owners[entry] < rank_count) continue;
    return fail(Code::argument, "the owner of ghost {} must be a rank, 0 to {}, not {}",
                named(lists.ghosts[entry], lists), rank_count - 1, lists.owners[entry]);
  }
  if (lists.places.empty()) return {};
  if (lists.places.size() != lists.owned.size() + lists.ghosts.size()) {
    return fail(Code::argument, "{} places are given for {} owned points and {} ghosts", lists.places.size(),
                lists.owned.size(), lists.ghosts.size());
  }
  return check_numbers(lists.places, lists.base, false, "place");
}

Result<std::vector<IndexLink>> find_links(Assembly& assembly, const IndexLists& lists) {
  COUPLET_TRY(assembly.agree(check(lists, assembly.size())));
  COUPLET_TRY_VALUE(const bool all_have_owners, assembly.all(lists.has_owners || lists.ghosts.empty()));
  std::vector<std::int32_t> owners = lists.owners;
  if (!all_have_owners) {
    COUPLET_TRY_VALUE(owners, find_owners(assembly, lists));
  }
  std::map<std::int32_t, IndexLink> links;
  Lists asked;
  Status first;  // is told when all have made their calls
  for (std::size_t ghost = 0; ghost < lists.ghosts.size(); ++ghost) {
    const std::int32_t owner = owners[ghost];
    if (lists.has_owners && owner != lists.owners[ghost] && first.ok()) {
      first = fail(Code::argument, "rank {} gives rank {} as the owner of {}, which rank {} owns", assembly.rank(),
                   lists.owners[ghost], named(lists.ghosts[ghost], lists), owner);
    }
    asked[owner].push_back(lists.ghosts[ghost] - lists.base);
    links[owner].received.push_back(lists.place(lists.owned.size() + ghost));
  }
  COUPLET_TRY_VALUE(const auto requests, assembly.deliver(parcels_of(asked)));
  const std::vector<std::size_t> order = order_of(lists.owned);
  COUPLET_TRY(std::move(first));
  for (const Parcel& request : requests) {
    COUPLET_TRY_VALUE(const auto indices, unpacked<std::int64_t>(request));
    COUPLET_TRY_VALUE(links[request.rank].sent, places_of(lists, order, indices, request.rank, assembly.rank()));
  }
  std::vector<IndexLink> list;
  list.reserve(links.size());
  for (auto& [rank, link] : links) {
    link.peer = rank;
    list.push_back(std::move(link));
  }
  return list;
}

Status check_list_field(const IndexLists& lists, const Field& field) {
  if (field.component_count < 1) {
    return fail(Code::argument, "field '{}': a point must have at least 1 component, not {}", field.name,
                field.component_count);
  }
  std::int64_t needed = 0;
  const std::size_t point_count = lists.owned.size() + lists.ghosts.size();
  if (!lists.places.empty() && lists.places.size() != point_count) {
    return {};  // the freeze says so at all ranks
  }
  for (std::size_t number = 0; number < point_count; ++number) needed = std::max(needed, lists.place(number) + 1);
  if (field.shape[0] < needed) {
    return fail(Code::shape, "field '{}': the array has {}, and the lists of indices need {}", field.name,
                counted(field.shape[0], "point"), needed);
  }
  if (field.memory == nullptr && point_count > 0) {
    return fail(Code::argument, "field '{}': the array is NULL", field.name);
  }
  return check_memory(1, field);
}

std::vector<Edge> list_edges(const std::vector<IndexLink>& links, const Field& field, std::uint32_t number) {
  std::vector<Edge> edges;
  for (const IndexLink& link : links) {
    if (!link.sent.empty()) edges.push_back(edge_at(field, number, link.peer, Direction::out, link.sent));
    if (!link.received.empty()) edges.push_back(edge_at(field, number, link.peer, Direction::in, link.received));
  }
  return edges;
}

}  // namespace couplet::halo
