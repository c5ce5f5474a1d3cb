// Halos of lists of indices, compared point by point with a global array; and lists that are wrong, which are the same
// named error at all ranks. The seeds are fixed; a seed that fails is printed.
#include <atomic>
#include <numeric>

#include "base/random.hpp"
#include "exchange_case.hpp"
#include "halo/halo.hpp"

namespace couplet::conformance {
namespace {

using halo::Field;
using halo::Halo;
using halo::IndexLists;

constexpr int rounds = 3;

// What all ranks own and need.
struct Mesh {
  std::int64_t points = 0;
  std::vector<IndexLists> lists;  // by rank
  std::int64_t components = 1;
  bool is_apart = false;  // components are far from each other
  std::int64_t padding = 0;
};

std::int64_t below(Random& random, std::int64_t limit) {
  return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(limit)));
}

template <typename Entry>
void shuffle(Random& random, std::vector<Entry>& list) {
  for (std::size_t last = list.size(); last > 1; --last) std::swap(list[last - 1], list[random.below(last)]);
}

Mesh random_mesh(std::uint64_t seed) {
  Random random(seed);
  Mesh mesh;
  const std::int64_t ranks = 1 + below(random, 6);
  mesh.lists.resize(static_cast<std::size_t>(ranks));
  mesh.points = 1 + below(random, 400);
  mesh.components = 1 + below(random, 3);
  mesh.is_apart = random.chance(0.3);
  mesh.padding = below(random, 3);
  const std::int64_t stride = 1 + below(random, 1'000);  // numbers have gaps
  std::vector<std::int32_t> owner(static_cast<std::size_t>(mesh.points));
  const bool is_scattered = random.chance(0.5);
  for (std::int64_t point = 0; point < mesh.points; ++point) {
    const std::int64_t rank = is_scattered ? below(random, ranks) : point * ranks / mesh.points;
    owner[static_cast<std::size_t>(point)] = static_cast<std::int32_t>(rank);
    mesh.lists[static_cast<std::size_t>(rank)].owned.push_back(point * stride);
  }
  const bool all_have_owners = random.chance(0.3);
  for (IndexLists& lists : mesh.lists) {
    shuffle(random, lists.owned);
    for (std::int64_t point = 0; point < mesh.points; ++point) {
      if (!random.chance(0.2)) continue;  // it may be one of its own
      lists.ghosts.push_back(point * stride);
    }
    shuffle(random, lists.ghosts);
    lists.has_owners = all_have_owners || random.chance(0.3);
    for (const std::int64_t ghost : lists.ghosts) {
      if (lists.has_owners) lists.owners.push_back(owner[static_cast<std::size_t>(ghost / stride)]);
    }
    if (random.chance(0.5)) {
      lists.places.resize(lists.owned.size() + lists.ghosts.size());
      std::iota(lists.places.begin(), lists.places.end(), std::int64_t{0});
      shuffle(random, lists.places);
    }
    if (random.chance(0.3)) {  // as in Fortran
      lists.base = 1;
      for (auto* const list : {&lists.owned, &lists.ghosts, &lists.places}) {
        for (std::int64_t& number : *list) ++number;
      }
    }
  }
  return mesh;
}

double value(std::int64_t index, std::int64_t component, int round) {
  return static_cast<double>(index * 10 + component) + 1e7 * round;
}

// An array of one rank, with room at the ends of its points.
class Array {
 public:
  Array(const Mesh& mesh, const IndexLists& lists)
      : points_(static_cast<std::int64_t>(lists.owned.size() + lists.ghosts.size()) + mesh.padding),
        components_(mesh.components),
        is_apart_(mesh.is_apart),
        numbers_(static_cast<std::size_t>(points_ * components_), -1.0) {}
  double& at(std::int64_t place, std::int64_t component) {
    const std::int64_t number = is_apart_ ? component * points_ + place : place * components_ + component;
    return numbers_[static_cast<std::size_t>(number)];
  }
  [[nodiscard]] Field field(const std::string& name) {
    Field field;
    field.name = name;
    field.memory = reinterpret_cast<std::byte*>(numbers_.data());
    field.type_name = "double";
    field.element_bytes = sizeof(double);
    field.shape[0] = points_;
    field.component_count = components_;
    field.stride_bytes[0] = (is_apart_ ? 1 : components_) * 8;
    field.component_stride_bytes = (is_apart_ ? points_ : 1) * 8;
    return field;
  }
  std::vector<double>& numbers() { return numbers_; }

 private:
  std::int64_t points_;
  std::int64_t components_;
  bool is_apart_;
  std::vector<double> numbers_;
};

void check_round(const Mesh& mesh, const IndexLists& lists, Halo& halo, Array& array, int round) {
  std::fill(array.numbers().begin(), array.numbers().end(), -1.0);
  std::vector<double> expected = array.numbers();
  Array wanted(mesh, lists);
  const std::size_t points = lists.owned.size() + lists.ghosts.size();
  for (std::size_t number = 0; number < points; ++number) {
    const bool is_owned = number < lists.owned.size();
    const std::int64_t index =
        (is_owned ? lists.owned[number] : lists.ghosts[number - lists.owned.size()]) - lists.base;
    for (std::int64_t component = 0; component < mesh.components; ++component) {
      if (is_owned) array.at(lists.place(number), component) = value(index, component, round);
      wanted.at(lists.place(number), component) = value(index, component, round);
    }
  }
  MUST(halo.begin({}));
  MUST(halo.end(os::deadline_after(60)));
  EXPECT_EQ(array.numbers(), wanted.numbers());
}

TEST_P(ExchangeMethod, HalosOfRandomListsHaveWhatTheGlobalArrayHas) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const Mesh mesh = random_mesh(seed);
    run(static_cast<int>(mesh.lists.size()), [&](Member& member) {
      const IndexLists& lists = mesh.lists[static_cast<std::size_t>(member.rank())];
      Halo halo(*member.exchange, lists, member.rank());
      Array one(mesh, lists);
      Array two(mesh, lists);
      MUST(halo.add(one.field("one")).status());
      MUST(halo.add(two.field("")).status());
      MUST(halo.freeze());
      for (int round = 0; round < rounds; ++round) check_round(mesh, lists, halo, round % 2 == 0 ? one : two, round);
    });
  }
}

// All ranks get the same error.
void expect_refused(std::vector<IndexLists> lists, std::initializer_list<const char*> parts, const ExchangeCase& method,
                    const std::string& directory, bool is_mismatch = false) {
  Parties parties(LaneKind::shm, static_cast<int>(lists.size()));
  parties.run([&](Party& party) {
    Member member(method, party, directory);
    const IndexLists& own = lists[static_cast<std::size_t>(party.rank())];
    Halo halo(*member.exchange, own, party.rank());
    std::vector<double> numbers(20);
    Field field{.name = "u",
                .memory = reinterpret_cast<std::byte*>(numbers.data()),
                .type_name = party.rank() == 0 && is_mismatch ? "int64" : "double",
                .element_bytes = 8};
    field.shape[0] = 20;
    field.stride_bytes[0] = 8;
    field.component_stride_bytes = 8;
    MUST(halo.add(field).status());
    const Status frozen = halo.freeze();
    EXPECT_EQ(frozen.code(), is_mismatch ? Code::mismatch : Code::argument) << frozen.text();
    for (const char* const part : parts) EXPECT_NE(frozen.text().find(part), std::string::npos) << frozen.text();
    EXPECT_TRUE(halo.begin({}).error());
  });
}

TEST_P(ExchangeMethod, WrongListsAreTheSameErrorAtAllRanks) {
  const auto refused = [this](std::vector<IndexLists> lists, std::initializer_list<const char*> parts) {
    expect_refused(std::move(lists), parts, GetParam(), directory_.path());
  };
  refused({{.owned = {0, 1}}, {.owned = {2}, .ghosts = {7}}, {.owned = {3}}},
          {"rank 1 needs index 7, which no rank owns"});
  refused({{.owned = {0, 1}}, {.owned = {2}}, {.owned = {3, 1}, .ghosts = {0}}},
          {"index 1 is owned by rank 0 and by rank 2"});
  refused({{.owned = {0, 1}}, {.owned = {2, -3}}}, {"owned index -3 (entry 1 of the list) must be 0 to"});
  refused({{.owned = {0, 1}, .ghosts = {-1}}, {.owned = {2}}}, {"ghost index -1 (entry 0 of the list)"});
  refused({{.owned = {4, 1, 4}}, {.owned = {2}}}, {"owned index 4 is given twice, as entries 0 and 2"});
  refused({{.owned = {1, 2}, .base = 1}, {.owned = {3, 0}, .base = 1}}, {"owned index 0 (entry 2 of the list)"});
  refused({{.owned = {1}, .ghosts = {9}, .base = 1}, {.owned = {1}}}, {"rank 0 needs index 9 (counted from 1)"});
  refused({{.owned = {0}, .ghosts = {2}, .owners = {5}, .has_owners = true}, {.owned = {2}}},
          {"the owner of ghost index 2 must be a rank, 0 to 1, not 5"});
  // All ranks give owners: the owner finds out. One does not: the directory does.
  refused({{.owned = {0}, .ghosts = {2}, .owners = {1}, .has_owners = true}, {.owned = {3}}},
          {"rank 0 needs index 2 of rank 1, which does not own it"});
  refused({{.owned = {0}, .ghosts = {3}, .owners = {0}, .has_owners = true}, {.owned = {3}, .ghosts = {0}}},
          {"rank 0 gives rank 0 as the owner of index 3, which rank 1 owns"});
  refused({{.owned = {0}, .ghosts = {3}, .places = {0, 0}}, {.owned = {3}}}, {"place 0 is given twice"});
  refused({{.owned = {0}, .ghosts = {3}, .places = {0}}, {.owned = {3}}}, {"1 places are given for 1 owned points"});
  expect_refused({{.owned = {0}, .ghosts = {1}}, {.owned = {1}, .ghosts = {0}}},
                 {"int64", "double", "u, points of a list"}, GetParam(), directory_.path(), true);
}

TEST_P(ExchangeMethod, ArraysThatDoNotHoldTheListsAreErrorsAtAllRanks) {
  run(3, [](Member& member) {
    IndexLists lists{.owned = {member.rank()}, .ghosts = {(member.rank() + 1) % 3}};
    Halo halo(*member.exchange, lists, member.rank());
    std::vector<double> numbers(8);
    Field field{
        .name = "u", .memory = reinterpret_cast<std::byte*>(numbers.data()), .type_name = "double", .element_bytes = 8};
    field.shape[0] = member.rank() == 1 ? 1 : 2;
    field.stride_bytes[0] = field.component_stride_bytes = 8;
    const Status added = halo.add(field).status();
    EXPECT_EQ(added.code(), member.rank() == 1 ? Code::shape : Code::ok) << added.text();
    const Status frozen = halo.freeze();
    EXPECT_EQ(frozen.code(), Code::shape);
    EXPECT_NE(frozen.text().find("field 'u': the array has 1 point, and the lists of indices need 2"),
              std::string::npos)
        << frozen.text();
  });
}

TEST_P(ExchangeMethod, ARankThatNeverFreezesItsListsIsNamedByATimeout) {
  std::atomic<bool> is_over{false};
  Parties parties(LaneKind::shm, 3);
  parties.run([&](Party& party) {
    while (party.rank() == 1 && !is_over) party.engine->look_at_all();
    if (party.rank() == 1) return;
    Member member(GetParam(), party, directory_.path(), "test", 0.3);
    Halo halo(*member.exchange, IndexLists{.owned = {party.rank()}}, party.rank());
    const Status frozen = halo.freeze();
    EXPECT_EQ(frozen.code(), Code::timeout) << frozen.text();
    if (party.rank() != 0) return;  // it waits for the one that waits
    EXPECT_NE(frozen.text().find("party 1"), std::string::npos) << frozen.text();
    is_over = true;
  });
}

}  // namespace
}  // namespace couplet::conformance
