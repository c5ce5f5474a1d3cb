#include "collective/short_calls.hpp"

#include <gtest/gtest.h>

#include "collective/short_run.hpp"

namespace couplet::collective {
namespace {

Arguments sum_of(std::uint64_t count) {
  return {
      .kind = cost::Collective::allreduce, .type = COUPLET_DOUBLE, .operation = COUPLET_OPERATION_SUM, .count = count};
}

wire::CollectiveHead head_of(const Arguments& arguments) {
  wire::CollectiveHead head;
  head.kind = static_cast<std::uint8_t>(arguments.kind);
  head.type = static_cast<std::uint8_t>(arguments.type);
  head.operation = 0;
  head.count = arguments.count;
  head.previous = 77;
  return head;
}

void remember(ShortCalls& calls, const Arguments& arguments) {
  Builder builder(0, 2);
  builder.send(1, {Space::input, 0, arguments.count});
  calls.remember(arguments, head_of(arguments), std::make_shared<const Schedule>(builder.take()));
}

TEST(ShortCalls, AreFoundByTheirArgumentsAndBySignature) {
  ShortCalls calls;
  remember(calls, sum_of(1));
  remember(calls, sum_of(2));
  ASSERT_NE(calls.find(sum_of(2)), nullptr);
  EXPECT_EQ(calls.find(sum_of(2))->head.count, 2U);
  EXPECT_EQ(calls.find(sum_of(2))->head.previous, 0U);
  EXPECT_EQ(calls.find(sum_of(3)), nullptr);
  const std::uint32_t signature = head_of(sum_of(1)).signature();
  ASSERT_NE(calls.find(signature), nullptr);
  EXPECT_EQ(calls.find(signature)->count, 1U);
  EXPECT_EQ(calls.find(signature ^ 1U), nullptr);
}

TEST(ShortCalls, DifferInEveryArgument) {
  ShortCalls calls;
  remember(calls, sum_of(1));
  for (int which = 0; which < 6; ++which) {
    Arguments other = sum_of(1);
    if (which == 0) other.kind = cost::Collective::scan;
    if (which == 1) other.method = cost::Method::ring;
    if (which == 2) other.type = COUPLET_INT64;
    if (which == 3) other.operation = COUPLET_OPERATION_MAX;
    if (which == 4) other.root = 0;
    if (which == 5) other.uneven = true;
    EXPECT_EQ(calls.find(other), nullptr) << which;
  }
}

TEST(ShortCalls, ForgetTheOneThatWasRememberedFirst) {
  ShortCalls calls;
  for (std::uint64_t count = 1; count <= ShortCalls::max_calls + 1; ++count) remember(calls, sum_of(count));
  EXPECT_EQ(calls.find(sum_of(1)), nullptr);
  EXPECT_NE(calls.find(sum_of(2)), nullptr);
}

TEST(ShortCalls, AreNotLong) {
  ShortCalls calls;
  remember(calls, sum_of(ShortRun::max_bytes));
  EXPECT_EQ(calls.find(sum_of(ShortRun::max_bytes)), nullptr);
}

}  // namespace
}  // namespace couplet::collective
