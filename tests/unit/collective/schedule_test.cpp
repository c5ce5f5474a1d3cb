// Carries out the schedules of all members in one thread, with memory of its own, and compares what comes out with what
// the call means. Elements are text, so that the order of operands shows.
#include "collective/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "collective/plan.hpp"

namespace couplet::collective {
namespace {

using cost::Collective;
using cost::Method;
using Elements = std::vector<std::string>;

// One member: its memory, and how far it is.
struct Member {
  Schedule schedule;
  Elements input;
  Elements output;
  Elements scratch;
  std::vector<bool> done;
  std::vector<bool> begun;

  Elements& space(Space which) { return which == Space::input ? input : which == Space::output ? output : scratch; }
  Elements take(const Range& range) {
    const auto first = space(range.space).begin() + static_cast<std::ptrdiff_t>(range.first);
    return {first, first + static_cast<std::ptrdiff_t>(range.count)};
  }
  void put(const Range& range, const Elements& elements) {
    EXPECT_EQ(range.count, elements.size());
    std::copy(elements.begin(), elements.end(), space(range.space).begin() + static_cast<std::ptrdiff_t>(range.first));
  }
};

// How a message goes: its send ends at once, or when its receive does.
enum class Way : std::uint8_t { eager, announced };

struct Sent {
  std::size_t index;  // the place of the step that sends it
  std::uint32_t number;
  Elements elements;
};
using Wire = std::deque<Sent>;

// Carries out the steps of all members in a random order, each after the steps that it needs.
class Carrier {
 public:
  Carrier(std::vector<Member>& members, Way way) : members_(members), way_(way) {
    for (Member& member : members) {
      member.scratch.resize(member.schedule.scratch_count, "?");
      member.done.assign(member.schedule.steps.size(), false);
      member.begun = member.done;
      left_ += member.schedule.steps.size();
    }
  }
  // Returns false if the members wait for each other.
  bool carry_out(std::mt19937& random) {
    while (left_ > 0) {
      std::vector<std::pair<std::size_t, std::size_t>> able;
      for (std::size_t rank = 0; rank < members_.size(); ++rank) {
        for (std::size_t index = 0; index < members_[rank].schedule.steps.size(); ++index) {
          if (is_able(rank, index)) able.emplace_back(rank, index);
        }
      }
      if (able.empty()) return false;
      const auto [rank, index] = able[random() % able.size()];
      carry_out(rank, index);
    }
    for (const auto& [ends, wire] : wires_) EXPECT_TRUE(wire.empty()) << ends.first << " to " << ends.second;
    return true;
  }

 private:
  [[nodiscard]] Wire& wire_to(std::size_t rank, const Step& step) {
    return wires_[{static_cast<std::size_t>(step.peer), rank}];
  }
  [[nodiscard]] static Wire::iterator find(Wire& wire, const Step& step) {
    return std::find_if(wire.begin(), wire.end(), [&](const Sent& one) { return one.number == step.number; });
  }
  [[nodiscard]] bool is_able(std::size_t rank, std::size_t index) {
    const Member& member = members_[rank];
    const Step& step = member.schedule.steps[index];
    if (member.begun[index]) return false;
    for (const std::uint32_t need : member.schedule.needs_of(step)) {
      if (!member.done[need]) return false;
    }
    if (step.action != Action::receive) return true;
    Wire& wire = wire_to(rank, step);
    return find(wire, step) != wire.end();
  }
  void end(std::size_t rank, std::size_t index) {
    members_[rank].done[index] = true;
    --left_;
  }
  void carry_out(std::size_t rank, std::size_t index) {
    Member& member = members_[rank];
    const Step& step = member.schedule.steps[index];
    member.begun[index] = true;
    if (step.action == Action::send) {
      wires_[{rank, static_cast<std::size_t>(step.peer)}].push_back({index, step.number, member.take(step.from)});
      if (way_ == Way::eager) end(rank, index);
      return;
    }
    if (step.action == Action::receive) {
      Wire& wire = wire_to(rank, step);
      const auto found = find(wire, step);
      member.put(step.to, found->elements);
      if (way_ == Way::announced) end(static_cast<std::size_t>(step.peer), found->index);
      wire.erase(found);
    } else {
      Elements from = member.take(step.from);
      const Elements to = member.take(step.to);
      for (std::size_t i = 0; i < from.size() && step.action != Action::copy; ++i) {
        from[i] = step.action == Action::combine_left ? from[i] + to[i] : to[i] + from[i];
      }
      member.put(step.to, from);
    }
    end(rank, index);
  }

  std::vector<Member>& members_;
  Way way_;
  std::map<std::pair<std::size_t, std::size_t>, Wire> wires_;
  std::size_t left_ = 0;
};

bool carry_out(std::vector<Member>& members, std::mt19937& random, Way way) {
  return Carrier(members, way).carry_out(random);
}

std::int32_t combine_nothing(const void*, void*, std::uint64_t, couplet_type, void*) {
  return 0;
}

// One case: a kind of call, a method and a group.
struct Case {
  Collective kind;
  Method method;
  std::int32_t size;
  std::int32_t root;
  std::uint64_t count;
  std::int32_t systems;
  bool in_order;  // the operation is not commutative
};

std::string element(std::int32_t rank, std::uint64_t place) {
  return fmt::format("{}.{} ", rank, place);
}

std::string sorted(std::string text) {
  std::vector<std::string> words;
  std::string word;
  for (const char letter : text) {
    if (letter != ' ') {
      word += letter;
      continue;
    }
    words.push_back(word);
    word.clear();
  }
  std::sort(words.begin(), words.end());
  std::string all;
  for (const std::string& one : words) all += one + " ";
  return all;
}

class Trial {
 public:
  explicit Trial(const Case& given) : case_(given) {
    operation_ = given.in_order ? *operations_.add({"text", combine_nothing, nullptr, false}) : COUPLET_OPERATION_SUM;
    std::vector<std::uint32_t> names;
    for (std::int32_t rank = 0; rank < given.size; ++rank) {
      const std::int32_t share = (given.size + given.systems - 1) / given.systems;
      names.push_back(static_cast<std::uint32_t>(given.in_order ? rank / share : rank % given.systems));
    }
    systems_ = group_systems(names);
    for (std::int32_t rank = 0; rank < given.size; ++rank)
      counts_.push_back((static_cast<std::uint64_t>(rank) * 3) % 5);
  }

  void run(std::mt19937& random) {
    for (const Way way : {Way::eager, Way::announced}) run(random, way);
  }
  static inline int trials = 0;

 private:
  void run(std::mt19937& random, Way way) {
    std::vector<Member> members(static_cast<std::size_t>(case_.size));
    for (std::int32_t rank = 0; rank < case_.size; ++rank) {
      Member& member = members[static_cast<std::size_t>(rank)];
      const Arguments arguments = arguments_of(rank);
      const auto shape = shape_of(arguments, case_.size, systems_, operations_);
      if (!cost::is_possible(case_.method, shape)) return;
      member.schedule = make_schedule(arguments, case_.method, rank, systems_, operations_);
      member.input = input_of(rank);
      member.output.assign(output_of(rank).size(), "-");
      if (case_.kind == Collective::broadcast && rank == case_.root) member.output = output_of(rank);
    }
    ASSERT_TRUE(carry_out(members, random, way)) << name() << (way == Way::eager ? ", eager" : ", announced");
    for (std::int32_t rank = 0; rank < case_.size; ++rank) {
      Elements found = members[static_cast<std::size_t>(rank)].output;
      if (arguments_of(rank).reduces() && !case_.in_order) {
        for (std::string& one : found) one = sorted(one);
      }
      ASSERT_EQ(found, output_of(rank)) << name() << ", rank " << rank;
    }
    ++trials;
  }
  [[nodiscard]] std::string name() const {
    return fmt::format("{} by {}, {} members on {} systems, root {}, count {}, {}", cost::name_of(case_.kind),
                       cost::name_of(case_.method), case_.size, case_.systems, case_.root, case_.count,
                       case_.in_order ? "in order" : "in any order");
  }
  [[nodiscard]] Arguments arguments_of(std::int32_t /*rank*/) const {
    Arguments arguments;
    arguments.kind = case_.kind;
    arguments.method = case_.method;
    arguments.type = COUPLET_INT32;
    arguments.operation = operation_;
    arguments.root = case_.root;
    arguments.count = case_.count;
    if (case_.kind == Collective::reduce_scatter) {
      arguments.uneven = true;
      arguments.input_counts = counts_.data();
    }
    return arguments;
  }
  // What the member `rank` gives.
  [[nodiscard]] Elements input_of(std::int32_t rank) const {
    std::uint64_t count = case_.count;
    const auto size = static_cast<std::uint64_t>(case_.size);
    if (case_.kind == Collective::alltoall || (case_.kind == Collective::scatter && rank == case_.root)) count *= size;
    if (case_.kind == Collective::reduce_scatter) count = sum_of_counts(case_.size);
    Elements made;
    for (std::uint64_t place = 0; place < count; ++place) made.push_back(element(rank, place));
    return made;
  }
  [[nodiscard]] std::uint64_t sum_of_counts(std::int32_t ranks) const {
    std::uint64_t sum = 0;
    for (std::int32_t rank = 0; rank < ranks; ++rank) sum += counts_[static_cast<std::size_t>(rank)];
    return sum;
  }
  [[nodiscard]] std::string combined(std::uint64_t place, std::int32_t ranks) const {
    std::string text;
    for (std::int32_t rank = 0; rank < ranks; ++rank) text += element(rank, place);
    return case_.in_order ? text : sorted(text);
  }
  // What it gets, by brute force.
  [[nodiscard]] Elements output_of(std::int32_t rank) const {
    Elements made;
    const std::uint64_t count =
        case_.kind == Collective::reduce_scatter ? counts_[static_cast<std::size_t>(rank)] : case_.count;
    for (std::uint64_t place = 0; place < count; ++place) {
      if (case_.kind == Collective::broadcast) made.push_back(element(case_.root, place));
      if (case_.kind == Collective::reduce && rank == case_.root) made.push_back(combined(place, case_.size));
      if (case_.kind == Collective::allreduce) made.push_back(combined(place, case_.size));
      if (case_.kind == Collective::scan) made.push_back(combined(place, rank + 1));
      if (case_.kind == Collective::reduce_scatter) made.push_back(combined(sum_of_counts(rank) + place, case_.size));
      if (case_.kind == Collective::scatter) {
        made.push_back(element(case_.root, static_cast<std::uint64_t>(rank) * count + place));
      }
    }
    const bool collects = case_.kind == Collective::allgather || case_.kind == Collective::alltoall ||
                          (case_.kind == Collective::gather && rank == case_.root);
    for (std::int32_t other = 0; collects && other < case_.size; ++other) {
      for (std::uint64_t place = 0; place < count; ++place) {
        const bool own_block = case_.kind == Collective::alltoall;
        made.push_back(element(other, own_block ? static_cast<std::uint64_t>(rank) * count + place : place));
      }
    }
    return made;
  }

  Case case_;
  Operations operations_;
  couplet_operation operation_ = COUPLET_OPERATION_SUM;
  Systems systems_;
  std::vector<std::uint64_t> counts_;
};

void try_all(Collective kind) {
  std::mt19937 random(7);
  Trial::trials = 0;
  const std::vector<Method> methods = {Method::linear,   Method::binomial,      Method::doubling, Method::ring,
                                       Method::pairwise, Method::reduce_linear, Method::systems};
  const bool rooted = kind == Collective::broadcast || kind == Collective::reduce || kind == Collective::gather ||
                      kind == Collective::scatter;
  const bool reduces = kind == Collective::reduce || kind == Collective::allreduce || kind == Collective::scan ||
                       kind == Collective::reduce_scatter;
  for (const std::int32_t size : {1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 33}) {
    for (const Method method : methods) {
      for (const std::int32_t systems : {1, 2, 3}) {
        if (systems > 1 && method != Method::systems) continue;
        for (const bool in_order : {false, true}) {
          if (in_order && !reduces) continue;
          for (std::int32_t root = 0; root < (rooted ? size : 1); ++root) {
            if (size > 13 && root % 8 != 1) continue;
            const std::uint64_t count = size > 13 ? 2 : static_cast<std::uint64_t>((size + root) % 4);
            Trial({kind, method, size, root, count, systems, in_order}).run(random);
          }
        }
      }
    }
  }
  EXPECT_GE(Trial::trials, 9);
}

TEST(Schedules, OfABroadcastBringTheDataOfTheRootToAll) {
  try_all(Collective::broadcast);
}
TEST(Schedules, OfAReduceCombineAtTheRoot) {
  try_all(Collective::reduce);
}
TEST(Schedules, OfAnAllreduceCombineEverywhere) {
  try_all(Collective::allreduce);
}
TEST(Schedules, OfAGatherCollectAtTheRoot) {
  try_all(Collective::gather);
}
TEST(Schedules, OfAnAllgatherCollectEverywhere) {
  try_all(Collective::allgather);
}
TEST(Schedules, OfAScatterGiveEachItsBlock) {
  try_all(Collective::scatter);
}
TEST(Schedules, OfAnAlltoallExchangeTheBlocks) {
  try_all(Collective::alltoall);
}
TEST(Schedules, OfAReduceScatterCombineBlockByBlock) {
  try_all(Collective::reduce_scatter);
}
TEST(Schedules, OfAScanCombineUpToTheMember) {
  try_all(Collective::scan);
}

TEST(Schedules, OfABarrierEndAtAllMembers) {
  try_all(Collective::barrier);
}

// The last step of no member may be possible before the first step of every other one.
TEST(Schedules, OfABarrierWaitForEveryMember) {
  std::mt19937 random(3);
  for (const std::int32_t size : {1, 2, 3, 5, 8, 12, 33}) {
    for (const std::int32_t systems : {1, 2, 3}) {
      std::vector<std::uint32_t> names;
      for (std::int32_t rank = 0; rank < size; ++rank) names.push_back(static_cast<std::uint32_t>(rank % systems));
      const Systems all = group_systems(names);
      const Operations operations;
      Arguments arguments;
      for (std::int32_t missing = 0; missing < size && size > 1; missing += 1 + size / 8) {
        const Way way = missing % 2 == 0 ? Way::eager : Way::announced;
        std::vector<Member> members(static_cast<std::size_t>(size));
        for (std::int32_t rank = 0; rank < size; ++rank) {
          if (rank == missing) continue;
          members[static_cast<std::size_t>(rank)].schedule =
              make_schedule(arguments, systems > 1 ? Method::systems : Method::doubling, rank, all, operations);
        }
        EXPECT_FALSE(carry_out(members, random, way)) << size << " members without " << missing;
        for (std::int32_t rank = 0; rank < size; ++rank) {
          const Member& member = members[static_cast<std::size_t>(rank)];
          const bool ended = std::all_of(member.done.begin(), member.done.end(), [](bool done) { return done; });
          EXPECT_EQ(ended, rank == missing) << size << " members without " << missing << ", rank " << rank;
        }
      }
    }
  }
}

// Between two systems, each message of a broadcast, reduce, allreduce or barrier over systems crosses once.
TEST(Schedules, OverSystemsCrossOnceBetweenTwoSystems) {
  const std::vector<std::uint32_t> names = {0, 1, 0, 1, 1, 0, 0, 1};
  const Systems systems = group_systems(names);
  const Operations operations;
  for (const Collective kind :
       {Collective::broadcast, Collective::reduce, Collective::allreduce, Collective::barrier}) {
    Arguments arguments;
    arguments.kind = kind;
    arguments.type = COUPLET_INT32;
    arguments.operation = COUPLET_OPERATION_SUM;
    arguments.root = 3;
    arguments.count = 4;
    int crossings = 0;
    for (std::int32_t rank = 0; rank < 8; ++rank) {
      for (const Step& step : make_schedule(arguments, Method::systems, rank, systems, operations).steps) {
        const bool sends = step.action == Action::send;
        if (sends && names[static_cast<std::size_t>(rank)] != names[static_cast<std::size_t>(step.peer)]) ++crossings;
      }
    }
    EXPECT_EQ(crossings, kind == Collective::broadcast || kind == Collective::reduce ? 1 : 2) << cost::name_of(kind);
  }
}

}  // namespace
}  // namespace couplet::collective
