#include "layout/datatype.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>

namespace couplet::layout {
namespace {

const TypeInfo& element(couplet_type type) {
  return *find_type(type);
}

// The reference: the places of all bytes of an item in the order in which they travel, and how MPI's definition moves
// its bounds. swaps: the size of the number to which a byte belongs.
struct Reference {
  std::vector<std::int64_t> places;
  std::vector<std::size_t> swaps;
  std::int64_t lower = 0;
  std::int64_t upper = 0;
  bool is_empty = true;   // nothing has been added
  bool is_given = false;  // the bounds are those of a resized type, or of a part of an array
  std::int64_t alignment = 1;

  static Reference of(const TypeInfo& info) {
    Reference made;
    for (std::size_t index = 0; index < info.element_bytes; ++index) {
      made.places.push_back(static_cast<std::int64_t>(index));
      made.swaps.push_back(info.swap_bytes);
    }
    made.upper = static_cast<std::int64_t>(info.element_bytes);
    made.is_empty = false;
    made.alignment = static_cast<std::int64_t>(info.swap_bytes);
    return made;
  }
  [[nodiscard]] std::int64_t extent() const { return upper - lower; }
  void add(const Reference& other, std::int64_t offset) {
    for (const std::int64_t place : other.places) {
      places.push_back(place + offset);
    }
    swaps.insert(swaps.end(), other.swaps.begin(), other.swaps.end());
    alignment = std::max(alignment, other.alignment);
    if (is_given && !other.is_given) {
      return;
    }
    const bool is_first = is_empty || (other.is_given && !is_given);
    lower = is_first ? other.lower + offset : std::min(lower, other.lower + offset);
    upper = is_first ? other.upper + offset : std::max(upper, other.upper + offset);
    is_given = other.is_given;
    is_empty = false;
  }
};

struct Both {
  Datatype ours;
  Reference reference;
};

// ---- random types ----

class Maker {
 public:
  explicit Maker(std::uint32_t seed) : random_(seed) {}

  Both make(int depth) {
    if (depth == 0) {
      constexpr std::array kinds = {COUPLET_BYTE, COUPLET_INT16, COUPLET_FLOAT, COUPLET_DOUBLE, COUPLET_COMPLEX_FLOAT};
      const TypeInfo& info = element(kinds[number(kinds.size())]);
      return {Datatype(info), Reference::of(info)};
    }
    switch (number(6)) {
      case 0:
        return contiguous(make(depth - 1));
      case 1:
        return vector(make(depth - 1));
      case 2:
        return indexed(make(depth - 1));
      case 3:
        return subarray(make(depth - 1));
      case 4:
        return resized(make(depth - 1));
      default:
        return structure(depth);
    }
  }
  std::uint64_t number(std::uint64_t end) { return std::uniform_int_distribution<std::uint64_t>(0, end - 1)(random_); }

 private:
  Both contiguous(const Both& of) {
    const std::uint64_t count = number(4);
    Reference made;
    for (std::uint64_t index = 0; index < count; ++index) {
      made.add(of.reference, static_cast<std::int64_t>(index) * of.reference.extent());
    }
    return {Datatype::contiguous(count, of.ours).value(), made};
  }
  Both vector(const Both& of) {
    const std::uint64_t count = number(4);
    const std::uint64_t block = number(3);
    const std::int64_t stride = static_cast<std::int64_t>(number(9)) - 4;
    Reference made;
    for (std::uint64_t index = 0; index < count; ++index) {
      for (std::uint64_t item = 0; item < block; ++item) {
        const std::int64_t items = static_cast<std::int64_t>(index) * stride + static_cast<std::int64_t>(item);
        made.add(of.reference, items * of.reference.extent());
      }
    }
    return {Datatype::vector(count, block, stride, of.ours).value(), made};
  }
  Both indexed(const Both& of) {
    std::vector<std::uint64_t> blocks(number(4));
    std::vector<std::int64_t> displacements;
    Reference made;
    for (std::uint64_t& block : blocks) {
      block = number(3);
      displacements.push_back(static_cast<std::int64_t>(number(9)) - 4);
      for (std::uint64_t item = 0; item < block; ++item) {
        made.add(of.reference, (displacements.back() + static_cast<std::int64_t>(item)) * of.reference.extent());
      }
    }
    return {Datatype::indexed(blocks, displacements, of.ours).value(), made};
  }
  Both subarray(const Both& of) {
    const std::size_t dimensions = 1 + number(3);
    std::vector<std::uint64_t> sizes;
    std::vector<std::uint64_t> subsizes;
    std::vector<std::uint64_t> starts;
    std::uint64_t items = 1;
    for (std::size_t dimension = 0; dimension < dimensions; ++dimension) {
      sizes.push_back(1 + number(4));
      subsizes.push_back(number(sizes.back() + 1));
      starts.push_back(number(sizes.back() - subsizes.back() + 1));
      items *= sizes.back();
    }
    Reference made;
    for (std::uint64_t item = 0; item < items; ++item) {
      std::uint64_t rest = item;
      bool is_inside = true;
      for (std::size_t dimension = dimensions; dimension-- > 0;) {
        const std::uint64_t at = rest % sizes[dimension];
        rest /= sizes[dimension];
        is_inside = is_inside && at >= starts[dimension] && at < starts[dimension] + subsizes[dimension];
      }
      if (is_inside) {
        made.add(of.reference, static_cast<std::int64_t>(item) * of.reference.extent());
      }
    }
    made.lower = 0;
    made.upper = static_cast<std::int64_t>(items) * of.reference.extent();
    made.is_given = true;
    return {Datatype::subarray(sizes, subsizes, starts, of.ours).value(), made};
  }
  Both resized(const Both& of) {
    const std::int64_t lower = static_cast<std::int64_t>(number(9)) - 4;
    const std::uint64_t extent = number(64);
    Both made{Datatype::resized(of.ours, lower, extent).value(), of.reference};
    made.reference.lower = lower;
    made.reference.upper = lower + static_cast<std::int64_t>(extent);
    made.reference.is_given = true;
    return made;
  }
  Both structure(int depth) {
    std::vector<std::uint64_t> blocks(number(4));
    std::vector<std::int64_t> displacements;
    std::vector<std::unique_ptr<Both>> items;
    std::vector<const Datatype*> types;
    Reference made;
    for (std::uint64_t& block : blocks) {
      block = number(3);
      displacements.push_back(static_cast<std::int64_t>(number(60)) - 30);
      items.push_back(std::make_unique<Both>(make(static_cast<int>(number(static_cast<std::uint64_t>(depth))))));
      types.push_back(&items.back()->ours);
      const Reference& of = items.back()->reference;
      for (std::uint64_t item = 0; item < block; ++item) {
        made.add(of, displacements.back() + static_cast<std::int64_t>(item) * of.extent());
      }
    }
    const std::int64_t rest = made.is_given ? 0 : made.extent() % made.alignment;
    made.upper += rest == 0 ? 0 : made.alignment - rest;
    return {Datatype::structure(blocks, displacements, types).value(), made};
  }

  std::mt19937 random_;
};

// ---- what is promised ----

struct Memory {
  std::vector<std::byte> bytes;
  std::byte* start = nullptr;
};

// Memory in which `count` items lie, with room to both sides, filled with numbers.
Memory memory_for(const Reference& item, std::uint64_t count) {
  std::int64_t lowest = 0;
  std::int64_t highest = 0;
  for (std::uint64_t index = 0; index < count; ++index) {
    for (const std::int64_t place : item.places) {
      lowest = std::min(lowest, place + static_cast<std::int64_t>(index) * item.extent());
      highest = std::max(highest, place + static_cast<std::int64_t>(index) * item.extent());
    }
  }
  Memory made{std::vector<std::byte>(static_cast<std::size_t>(highest - lowest) + 17)};
  std::uint8_t next = 0;
  for (std::byte& byte : made.bytes) {
    byte = static_cast<std::byte>(next += 7);
  }
  made.start = made.bytes.data() + 8 - lowest;
  return made;
}

std::vector<std::byte> packed_by_hand(const Reference& item, std::uint64_t count, const std::byte* start) {
  std::vector<std::byte> packed;
  for (std::uint64_t index = 0; index < count; ++index) {
    for (const std::int64_t place : item.places) {
      packed.push_back(start[place + static_cast<std::int64_t>(index) * item.extent()]);
    }
  }
  return packed;
}

void expect_like_reference(const Both& both, std::uint64_t count, std::uint64_t received) {
  const Reference& item = both.reference;
  ASSERT_EQ(both.ours.bytes(), item.places.size());
  EXPECT_EQ(both.ours.lower_bound(), item.lower);
  EXPECT_EQ(static_cast<std::int64_t>(both.ours.extent()), item.extent());
  ASSERT_TRUE(both.ours.check_count(count).ok());
  const Memory from = memory_for(item, count);
  const auto wanted = packed_by_hand(item, count, from.start);
  std::vector<std::byte> packed(wanted.size());
  both.ours.pack(from.start, count, packed.data());
  EXPECT_EQ(packed, wanted);
  if (both.ours.is_dense()) {
    EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), from.start));
  }
  // A message that is shorter than the items for which there is room.
  const std::size_t bytes = wanted.empty() ? 0 : received % (wanted.size() + 1);
  Memory to = memory_for(item, count);
  Memory expected = memory_for(item, count);
  std::uint64_t at = 0;
  for (std::byte& byte : packed) {
    byte = static_cast<std::byte>(++at);
  }
  for (std::size_t index = 0; index < bytes; ++index) {
    const std::size_t size = item.places.size();
    const auto start = static_cast<std::int64_t>(index / size) * item.extent();
    expected.start[item.places[index % size] + start] = packed[index];
  }
  both.ours.unpack(packed.data(), bytes, count, to.start);
  EXPECT_EQ(to.bytes, expected.bytes);
  // Whole numbers are turned.
  std::vector<std::byte> turned = wanted;
  for (std::size_t first = 0; first < wanted.size();) {
    const std::size_t size = item.swaps[first % item.swaps.size()];
    std::reverse(turned.begin() + static_cast<std::ptrdiff_t>(first),
                 turned.begin() + static_cast<std::ptrdiff_t>(first + size));
    first += size;
  }
  std::vector<std::byte> swapped = wanted;
  both.ours.swap(swapped.data(), swapped.size(), count);
  EXPECT_EQ(swapped, turned);
}

TEST(Datatype, RandomTypesAreLikeTheListOfTheirBytes) {
  for (std::uint32_t seed = 0; seed < 4000; ++seed) {
    SCOPED_TRACE(seed);
    Maker maker(seed);
    const Both both = maker.make(1 + static_cast<int>(maker.number(3)));
    expect_like_reference(both, maker.number(4), maker.number(1000));
    if (HasFailure()) {
      return;
    }
  }
}

TEST(Datatype, AColumnIsOneStepAndABlockOfWholeRowsIsDense) {
  const Datatype number(element(COUPLET_DOUBLE));
  EXPECT_TRUE(number.is_dense());
  EXPECT_TRUE(Datatype::vector(3, 5, 5, number)->is_dense());
  EXPECT_FALSE(Datatype::vector(3, 1, 5, number)->is_dense());
  EXPECT_EQ(&Datatype::vector(3, 1, 5, number)->element(), &element(COUPLET_DOUBLE));
  // In an array of such items, the columns lie side by side.
  const Datatype column = Datatype::resized(*Datatype::vector(3, 1, 5, number), 0, 8).value();
  EXPECT_EQ(column.extent(), 8U);
  EXPECT_EQ(column.bytes(), 24U);
}

// Fault: an MPI program that was converted sent other numbers from the second item on.
TEST(Datatype, BoundsThatWereGivenCountInPlaceOfThoseOfOtherMembers) {
  const Datatype number(element(COUPLET_INT32));
  const Datatype wide = Datatype::resized(number, 0, 12).value();
  const std::array<std::uint64_t, 2> blocks = {1, 1};
  const std::array<std::int64_t, 2> places = {0, 24};
  const std::array types = {&number, &wide};
  const Datatype both = Datatype::structure(blocks, places, types).value();
  EXPECT_EQ(both.lower_bound(), 24);
  EXPECT_EQ(both.extent(), 12U);
}

TEST(Datatype, AStructureIsAlignedAndHasNoOneElement) {
  struct Particle {
    double x;
    std::int32_t kind;
  };
  const Datatype number(element(COUPLET_DOUBLE));
  const Datatype kind(element(COUPLET_INT32));
  const std::array<std::uint64_t, 2> blocks = {1, 1};
  const std::array<std::int64_t, 2> places = {offsetof(Particle, x), offsetof(Particle, kind)};
  const std::array types = {&number, &kind};
  const Datatype particle = Datatype::structure(blocks, places, types).value();
  EXPECT_EQ(particle.extent(), sizeof(Particle));
  EXPECT_EQ(particle.bytes(), 12U);
  EXPECT_EQ(&particle.element(), &mixed_type);
  EXPECT_FALSE(particle.is_dense());
}

TEST(Datatype, WhatIsTooLargeIsRefused) {
  const Datatype number(element(COUPLET_DOUBLE));
  constexpr std::uint64_t all = UINT64_MAX;
  constexpr std::int64_t far = INT64_MAX;
  EXPECT_EQ(Datatype::contiguous(all, number).code(), Code::limit);
  EXPECT_EQ(Datatype::vector(2, 1, far, number).code(), Code::limit);
  EXPECT_EQ(Datatype::vector(2, 1, -far, number).code(), Code::limit);
  EXPECT_EQ(Datatype::vector(all, all, far, number).code(), Code::limit);
  EXPECT_TRUE(Datatype::vector(1, 1, far, number).ok()) << "the stride is not used";
  const std::array<std::uint64_t, 1> one = {1};
  const std::array<std::int64_t, 1> place = {far};
  EXPECT_EQ(Datatype::indexed(one, place, number).code(), Code::limit);
  const std::array types = {&number};
  EXPECT_EQ(Datatype::structure(one, place, types).code(), Code::limit);
  EXPECT_EQ(Datatype::resized(number, far, all).code(), Code::limit);
  const std::array<std::uint64_t, 3> sizes = {all, all, all};
  const std::array<std::uint64_t, 3> none = {0, 0, 0};
  EXPECT_EQ(Datatype::subarray(sizes, none, none, number).code(), Code::limit);
  EXPECT_EQ(Datatype::contiguous(1U << 30U, number)->check_count(std::uint64_t{1} << 40U).code(), Code::limit);
  const Datatype wide = Datatype::resized(number, 0, std::uint64_t{1} << 61U).value();
  EXPECT_EQ(wide.check_count(3).code(), Code::limit) << "16 bytes, far apart";
}

TEST(Datatype, APartThatDoesNotLieInTheArrayIsRefused) {
  const Datatype number(element(COUPLET_DOUBLE));
  const std::array<std::uint64_t, 2> sizes = {4, 5};
  const std::array<std::uint64_t, 2> part = {2, 3};
  const std::array<std::uint64_t, 2> starts = {1, 3};
  const auto made = Datatype::subarray(sizes, part, starts, number);
  EXPECT_EQ(made.code(), Code::argument);
  EXPECT_EQ(made.status().text(), "dimension 1: 3 items from 3 do not lie in 5");
}

TEST(Datatype, ManyEmptyItemsTakeNoTime) {
  const Datatype nothing = Datatype::contiguous(0, Datatype(element(COUPLET_INT32))).value();
  constexpr std::uint64_t count = std::uint64_t{1} << 50U;
  nothing.pack(nullptr, count, nullptr);
  nothing.unpack(nullptr, 0, count, nullptr);
  EXPECT_EQ(nothing.bytes(), 0U);
}

TEST(Datatype, LevelsAreBounded) {
  Result<Datatype> made = Datatype(element(COUPLET_INT32));
  int levels = 0;
  for (; made.ok() && levels < 100; ++levels) {
    made = Datatype::vector(2, 1, 3, Datatype::resized(*made, 0, 4).value());  // reaches no further
  }
  EXPECT_EQ(made.code(), Code::limit);
  EXPECT_GE(levels, 32);
}

}  // namespace
}  // namespace couplet::layout
