#include "collective/operation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>

namespace couplet::collective {
namespace {

using ::testing::HasSubstr;

template <typename T>
std::vector<T> combine(couplet_operation operation, couplet_type type, std::vector<T> left, std::vector<T> into) {
  const Operations operations;
  EXPECT_TRUE(operations.check(operation, type, into.size()).ok());
  const Status status = operations.combine(operation, type, Side::right, reinterpret_cast<std::byte*>(left.data()),
                                           reinterpret_cast<std::byte*>(into.data()), into.size());
  EXPECT_TRUE(status.ok()) << status.text();
  return into;
}

TEST(Operation, OfIntegersWrapsAround) {
  using Bytes = std::vector<std::int8_t>;
  EXPECT_EQ(combine<std::int8_t>(COUPLET_OPERATION_SUM, COUPLET_INT8, {127, -3}, {1, 5}), (Bytes{-128, 2}));
  EXPECT_EQ(combine<std::int8_t>(COUPLET_OPERATION_PRODUCT, COUPLET_INT8, {100, -3}, {3, 5}), (Bytes{44, -15}));
  EXPECT_EQ(combine<std::uint16_t>(COUPLET_OPERATION_PRODUCT, COUPLET_UINT16, {65535}, {65535}),
            (std::vector<std::uint16_t>{1}));
  EXPECT_EQ(combine<std::int64_t>(COUPLET_OPERATION_SUM, COUPLET_INT64, {INT64_MAX}, {1}),
            (std::vector<std::int64_t>{INT64_MIN}));
}

TEST(Operation, OfRealAndComplexNumbers) {
  EXPECT_EQ(combine<float>(COUPLET_OPERATION_SUM, COUPLET_FLOAT, {1.5F}, {2}), (std::vector<float>{3.5F}));
  using Complex = std::complex<double>;
  EXPECT_EQ(combine<Complex>(COUPLET_OPERATION_PRODUCT, COUPLET_COMPLEX_DOUBLE, {{1, 2}}, {{3, 4}}),
            (std::vector<Complex>{{-5, 10}}));
}

TEST(Operation, MaxAndMinKeepWhatIsNotANumber) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const couplet_operation operation : {COUPLET_OPERATION_MAX, COUPLET_OPERATION_MIN}) {
    const auto found = combine<double>(operation, COUPLET_DOUBLE, {nan, 1, 2}, {1, nan, 3});
    EXPECT_TRUE(std::isnan(found[0]));
    EXPECT_TRUE(std::isnan(found[1]));
    EXPECT_EQ(found[2], operation == COUPLET_OPERATION_MAX ? 3 : 2);
  }
}

TEST(Operation, LogicalGivesZeroOrOne) {
  using Numbers = std::vector<std::int32_t>;
  const Numbers a = {0, 0, 5, 5};
  const Numbers b = {0, 7, 0, 7};
  EXPECT_EQ(combine(COUPLET_OPERATION_LOGICAL_AND, COUPLET_INT32, a, b), (Numbers{0, 0, 0, 1}));
  EXPECT_EQ(combine(COUPLET_OPERATION_LOGICAL_OR, COUPLET_INT32, a, b), (Numbers{0, 1, 1, 1}));
  EXPECT_EQ(combine(COUPLET_OPERATION_LOGICAL_XOR, COUPLET_INT32, a, b), (Numbers{0, 1, 1, 0}));
}

TEST(Operation, BitwiseWorksOnBytesToo) {
  using Bytes = std::vector<std::uint8_t>;
  const Bytes a = {0b1100};
  const Bytes b = {0b1010};
  EXPECT_EQ(combine(COUPLET_OPERATION_BITWISE_AND, COUPLET_BYTE, a, b), Bytes{0b1000});
  EXPECT_EQ(combine(COUPLET_OPERATION_BITWISE_OR, COUPLET_UINT8, a, b), Bytes{0b1110});
  EXPECT_EQ(combine(COUPLET_OPERATION_BITWISE_XOR, COUPLET_BYTE, a, b), Bytes{0b0110});
}

TEST(Operation, LocationsOfEqualValuesAreTheLowestFromBothSides) {
  const std::vector<double> low = {5, 1, 2, 9};
  const std::vector<double> high = {5, 3, 2, 4};
  for (const couplet_operation operation : {COUPLET_OPERATION_MAXLOC, COUPLET_OPERATION_MINLOC}) {
    EXPECT_EQ(combine(operation, COUPLET_DOUBLE, low, high), (std::vector<double>{5, 1, 2, 4}));
    EXPECT_EQ(combine(operation, COUPLET_DOUBLE, high, low), (std::vector<double>{5, 1, 2, 4}));
  }
  EXPECT_EQ(combine<double>(COUPLET_OPERATION_MAXLOC, COUPLET_DOUBLE, {1, 0}, {2, 7}), (std::vector<double>{2, 7}));
  EXPECT_EQ(combine<double>(COUPLET_OPERATION_MINLOC, COUPLET_DOUBLE, {1, 0}, {2, 7}), (std::vector<double>{1, 0}));
}

TEST(Operation, ThatIsNotDefinedIsRefused) {
  Operations operations;
  EXPECT_THAT(operations.check(12, COUPLET_INT8, 2).text(), HasSubstr("there is no operation 12"));
  EXPECT_EQ(operations.check(-1, COUPLET_INT8, 2).code(), Code::argument);
  EXPECT_EQ(operations.check(COUPLET_OPERATION_SUM, COUPLET_BYTE, 2).code(), Code::type);
  EXPECT_EQ(operations.check(COUPLET_OPERATION_MAX, COUPLET_COMPLEX_FLOAT, 2).code(), Code::type);
  EXPECT_EQ(operations.check(COUPLET_OPERATION_BITWISE_OR, COUPLET_FLOAT, 2).code(), Code::type);
  EXPECT_THAT(operations.check(COUPLET_OPERATION_MINLOC, COUPLET_INT8, 3).text(), HasSubstr("even, not 3"));
  const auto nothing = [](const void*, void*, std::uint64_t, couplet_type, void*) { return 0; };
  EXPECT_EQ(operations.add({"", nothing, nullptr, true}).code(), Code::argument);
  EXPECT_EQ(operations.add({"one", nullptr, nullptr, true}).code(), Code::argument);
  const auto one = operations.add({"one", nothing, nullptr, false});
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(*one, COUPLET_OPERATION_USER);
  EXPECT_FALSE(operations.may_reorder(*one));
  EXPECT_TRUE(operations.may_reorder(COUPLET_OPERATION_SUM));
  EXPECT_EQ(operations.add({"one", nothing, nullptr, true}).code(), Code::exists);
  EXPECT_GE(operations.mark_of(*one), first_user_mark);
}

}  // namespace
}  // namespace couplet::collective
