// Numbers of the other byte order become numbers of the own one: golden bytes for each element type.
#include "base/swap.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/types.hpp"

namespace couplet {
namespace {

std::vector<std::byte> swapped(std::size_t bytes, std::size_t swap_bytes) {
  std::vector<std::byte> data(bytes);
  for (std::size_t index = 0; index < bytes; ++index) data[index] = static_cast<std::byte>(index);
  swap_numbers(data.data(), bytes, swap_bytes);
  return data;
}

std::vector<std::byte> bytes(std::initializer_list<int> numbers) {
  std::vector<std::byte> made;
  for (const int number : numbers) made.push_back(static_cast<std::byte>(number));
  return made;
}

TEST(Swap, ReversesTheBytesOfEachNumber) {
  EXPECT_EQ(swapped(4, 1), bytes({0, 1, 2, 3}));
  EXPECT_EQ(swapped(6, 2), bytes({1, 0, 3, 2, 5, 4}));
  EXPECT_EQ(swapped(8, 4), bytes({3, 2, 1, 0, 7, 6, 5, 4}));
  EXPECT_EQ(swapped(16, 8), bytes({7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8}));
}

// The real and the imaginary part of a complex number are two numbers, which keep their order.
TEST(Swap, KnowsTheNumbersOfEachType) {
  for (const TypeInfo& type : type_table) {
    const bool complex = type.name.starts_with("complex");
    const bool opaque = type.element_bytes == 1;
    EXPECT_EQ(type.swap_bytes, complex ? type.element_bytes / 2 : opaque ? 1 : type.element_bytes) << type.name;
  }
  const TypeInfo* const type = find_type(COUPLET_COMPLEX_FLOAT);
  EXPECT_EQ(swapped(type->element_bytes, type->swap_bytes), bytes({3, 2, 1, 0, 7, 6, 5, 4}));
}

TEST(Swap, LeavesOpaqueBytesAlone) {
  const TypeInfo* const type = find_type(COUPLET_BYTE);
  EXPECT_EQ(swapped(5, type->swap_bytes), bytes({0, 1, 2, 3, 4}));
}

TEST(Swap, TurnsTheDoubleOfTheOtherByteOrderIntoANumber) {
  const double number = 1.0 / 3;
  double data = number;
  swap_numbers(reinterpret_cast<std::byte*>(&data), sizeof data, 8);
  EXPECT_NE(data, number);
  swap_numbers(reinterpret_cast<std::byte*>(&data), sizeof data, 8);
  EXPECT_EQ(data, number);
}

}  // namespace
}  // namespace couplet
