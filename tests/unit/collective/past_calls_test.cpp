#include "collective/past_calls.hpp"

#include <gtest/gtest.h>

namespace couplet::collective {
namespace {

Status failure_of_call(std::uint64_t call) {
  return fail(Code::peer_lost, "call {}", call);
}

// Fault: a member that the others had left behind was told why a call had failed long before.
TEST(PastCalls, KnowWhyACallFailedUntilOneSucceeds) {
  PastCalls past;
  for (std::uint64_t call = 0; call < 4; ++call) {
    past.begin(call, {});
  }
  EXPECT_TRUE(past.failure().ok());
  past.fail(1, failure_of_call(1));
  past.fail(2, failure_of_call(2));
  EXPECT_EQ(past.failure().text(), failure_of_call(1).text());
  past.end(3, {}, 1);
  EXPECT_TRUE(past.failure().ok());
  past.begin(4, {});
  past.begin(5, {});
  past.begin(6, {});
  past.fail(4, failure_of_call(4));
  past.fail(6, failure_of_call(6));
  past.end(5, {}, 1);
  EXPECT_EQ(past.failure().text(), failure_of_call(4).text()) << "an earlier call has ended, and no later one";
  past.clear();
  EXPECT_TRUE(past.failure().ok());
}

}  // namespace
}  // namespace couplet::collective
