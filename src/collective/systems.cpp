#include <algorithm>
#include <map>

#include "collective/algorithms.hpp"

namespace couplet::collective {
namespace {

// The two circles of a member: the members of its system, and one member of each system.
struct Circles {
  Circle within;
  std::int32_t leader = 0;  // place in `within`
  std::vector<std::int32_t> leaders;
  Circle between;
};

// The member of its system that deals with other systems is `root` or, in the others, the first one.
Circles circles_of(const Builder& builder, const Systems& systems, std::int32_t root) {
  Circles circles;
  const std::int32_t own_system = systems.system_of[static_cast<std::size_t>(builder.own())];
  for (std::size_t system = 0; system < systems.members.size(); ++system) {
    const auto& members = systems.members[system];
    const auto found = std::find(members.begin(), members.end(), root);
    circles.leaders.push_back(found != members.end() ? root : members.front());
    if (circles.leaders.back() == builder.own()) circles.between.own = static_cast<std::int32_t>(system);
  }
  const auto& members = systems.members[static_cast<std::size_t>(own_system)];
  const auto place = [&](std::int32_t rank) {
    return static_cast<std::int32_t>(std::find(members.begin(), members.end(), rank) - members.begin());
  };
  circles.within = {members, place(builder.own())};
  circles.leader = place(circles.leaders[static_cast<std::size_t>(own_system)]);
  circles.between.ranks = circles.leaders;
  return circles;
}

}  // namespace

Systems group_systems(std::span<const std::uint32_t> names) {
  Systems systems;
  std::map<std::uint32_t, std::int32_t> known;
  for (std::size_t rank = 0; rank < names.size(); ++rank) {
    const auto [entry, is_new] = known.emplace(names[rank], static_cast<std::int32_t>(systems.members.size()));
    if (is_new) systems.members.emplace_back();
    if (!is_new && systems.system_of.back() != entry->second) systems.in_order = false;
    systems.members[static_cast<std::size_t>(entry->second)].push_back(static_cast<std::int32_t>(rank));
    systems.system_of.push_back(entry->second);
  }
  return systems;
}

void barrier_systems(Builder& builder, const Systems& systems, Range mark) {
  const Circles circles = circles_of(builder, systems, 0);
  if (circles.within.own == circles.leader) {
    for (std::int32_t place = 0; place < circles.within.size(); ++place) {
      if (place != circles.leader) builder.receive(circles.within.rank(place), mark);
    }
  } else {
    builder.send(circles.within.rank(circles.leader), mark);
  }
  barrier_dissemination(builder, circles.between, mark);
  broadcast_binomial(builder, circles.within, circles.leader, mark);
}

void broadcast_systems(Builder& builder, const Systems& systems, std::int32_t root, Range data) {
  const Circles circles = circles_of(builder, systems, root);
  broadcast_binomial(builder, circles.between, systems.system_of[static_cast<std::size_t>(root)], data);
  broadcast_binomial(builder, circles.within, circles.leader, data);
}

// In order: systems whose members are neighbors, and combined from left to right. The result then goes from the first
// member of its system to the root.
void reduce_systems(Builder& builder, const Systems& systems, std::int32_t root, Range data, bool in_order) {
  const Circles circles = circles_of(builder, systems, root);
  reduce_binomial(builder, circles.within, circles.leader, data, in_order);
  reduce_binomial(builder, circles.between, systems.system_of[static_cast<std::size_t>(root)], data, in_order);
}

void allreduce_systems(Builder& builder, const Systems& systems, Range data) {
  const Circles circles = circles_of(builder, systems, 0);
  reduce_binomial(builder, circles.within, circles.leader, data, true);
  allreduce_doubling(builder, circles.between, data);
  broadcast_binomial(builder, circles.within, circles.leader, data);
}

std::vector<Range> split(Range whole, std::int32_t parts, std::uint64_t unit) {
  std::vector<Range> blocks;
  const auto count = static_cast<std::uint64_t>(parts);
  const std::uint64_t units = whole.count / unit;
  std::uint64_t first = 0;
  for (std::uint64_t part = 0; part < count; ++part) {
    const std::uint64_t length = (units / count + (part < units % count ? 1 : 0)) * unit;
    blocks.push_back(whole.part(first, length));
    first += length;
  }
  return blocks;
}

}  // namespace couplet::collective
