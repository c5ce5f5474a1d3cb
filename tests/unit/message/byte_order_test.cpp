// Messages of a sender of the other byte order, over the simulated network.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <numeric>

#include "layout/type_handles.hpp"
#include "support/sim_messengers.hpp"

namespace couplet::message {
namespace {

using test::SimMessengers;

TEST(message_byte_order, numbers_of_the_other_order_are_turned) {
  MessengerOptions foreign;
  foreign.foreign_byte_order = true;
  for (const std::size_t count :
       std::initializer_list<std::size_t>{1, 100, 300000}) {  // eager small, eager placed, pieces
    SimMessengers sim(3, 2, foreign);
    std::vector<std::uint32_t> sent(count);
    std::vector<std::uint32_t> got(count);
    std::vector<double> complex_sent(2 * count);
    std::vector<double> complex_got(2 * count);
    std::iota(sent.begin(), sent.end(), 0x01020304U);
    std::iota(complex_sent.begin(), complex_sent.end(), 0.5);
    std::vector<std::uint32_t> turned(sent);
    for (auto& number : turned) number = __builtin_bswap32(number);
    auto complex_turned = complex_sent;
    for (auto& number : complex_turned) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, &number, 8);
      bits = __builtin_bswap64(bits);
      std::memcpy(&number, &bits, 8);
    }
    Request* requests[4] = {};
    Group& from = sim[0].groups().universe();
    Group& to = sim[1].groups().universe();
    ASSERT_TRUE(sim[0].isend(from, turned.data(), count, COUPLET_UINT32, 1, 0, &requests[0]).ok());
    ASSERT_TRUE(sim[0].isend(from, complex_turned.data(), count, COUPLET_COMPLEX_DOUBLE, 1, 1, &requests[1]).ok());
    sim.run_out();
    ASSERT_TRUE(sim[1].irecv(to, got.data(), count, COUPLET_UINT32, 0, 0, &requests[2]).ok());
    ASSERT_TRUE(sim[1].irecv(to, complex_got.data(), count, COUPLET_COMPLEX_DOUBLE, 0, 1, &requests[3]).ok());
    for (int index = 0; index < 4; ++index) {
      const Status status = sim.finish(index / 2, &requests[index]);
      EXPECT_TRUE(status.ok()) << status.text();
    }
    EXPECT_EQ(got, sent);
    EXPECT_EQ(complex_got, complex_sent);
  }
}

// A structure of numbers of two sizes, which the receiver turns as its own datatype says.
TEST(message_byte_order, members_of_structures_are_turned) {
  struct Item {
    std::uint16_t small;
    double large;
  };
  const layout::Datatype small(*find_type(COUPLET_UINT16));
  const layout::Datatype large(*find_type(COUPLET_DOUBLE));
  const std::array<std::uint64_t, 2> blocks = {1, 1};
  const std::array<std::int64_t, 2> places = {offsetof(Item, small), offsetof(Item, large)};
  const std::array types = {&small, &large};
  const auto type = layout::keep_datatype(layout::Datatype::structure(blocks, places, types).value());
  ASSERT_TRUE(type.ok());
  MessengerOptions foreign;
  foreign.foreign_byte_order = true;
  for (const std::size_t count : std::initializer_list<std::size_t>{1, 100, 100000}) {
    SimMessengers sim(3, 2, foreign);
    std::vector<Item> sent(count);
    std::vector<Item> got(count + 1);
    for (std::size_t index = 0; index < count; ++index) {
      std::uint64_t bits = 0;
      const double value = 0.5 + static_cast<double>(index);
      std::memcpy(&bits, &value, 8);
      bits = __builtin_bswap64(bits);
      std::memcpy(&sent[index].large, &bits, 8);
      sent[index].small = __builtin_bswap16(static_cast<std::uint16_t>(index));
    }
    Request* requests[2] = {};
    couplet_message message{};
    ASSERT_TRUE(sim[0].isend(sim[0].groups().universe(), sent.data(), count, *type, 1, 0, &requests[0]).ok());
    sim.run_out();
    ASSERT_TRUE(sim[1].irecv(sim[1].groups().universe(), got.data(), count + 1, *type, 0, 0, &requests[1]).ok());
    EXPECT_TRUE(sim.finish(1, &requests[1], &message).ok());
    EXPECT_TRUE(sim.finish(0, &requests[0]).ok());
    EXPECT_EQ(message.count, count);
    for (std::size_t index = 0; index < count; ++index) {
      ASSERT_EQ(got[index].large, 0.5 + static_cast<double>(index));
      ASSERT_EQ(got[index].small, static_cast<std::uint16_t>(index));
    }
  }
  EXPECT_TRUE(layout::free_datatype(*type));
}

// Fault: a structure of two kinds of one size has no gaps, and was not turned.
TEST(message_byte_order, a_structure_without_gaps_is_turned) {
  const layout::Datatype number(*find_type(COUPLET_UINT32));
  const layout::Datatype real(*find_type(COUPLET_FLOAT));
  const std::array<std::uint64_t, 2> blocks = {1, 1};
  const std::array<std::int64_t, 2> places = {0, 4};
  const std::array types = {&number, &real};
  auto made = layout::Datatype::structure(blocks, places, types).value();
  ASSERT_TRUE(made.is_dense());
  const auto type = layout::keep_datatype(std::move(made));
  MessengerOptions foreign;
  foreign.foreign_byte_order = true;
  SimMessengers sim(3, 2, foreign);
  const std::array<std::uint32_t, 4> sent = {0x01020304U, 0x05060708U, 0x090A0B0CU, 0x0D0E0F10U};
  std::array<std::uint32_t, 4> got{};
  Request* requests[2] = {};
  ASSERT_TRUE(sim[0].isend(sim[0].groups().universe(), sent.data(), 2, *type, 1, 0, &requests[0]).ok());
  ASSERT_TRUE(sim[1].irecv(sim[1].groups().universe(), got.data(), 2, *type, 0, 0, &requests[1]).ok());
  EXPECT_TRUE(sim.finish(1, &requests[1]).ok());
  EXPECT_TRUE(sim.finish(0, &requests[0]).ok());
  for (std::size_t index = 0; index < sent.size(); ++index) EXPECT_EQ(got[index], __builtin_bswap32(sent[index]));
  EXPECT_TRUE(layout::free_datatype(*type));
}

}  // namespace
}  // namespace couplet::message
