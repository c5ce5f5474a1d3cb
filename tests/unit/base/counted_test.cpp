#include "base/counted.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"

namespace couplet {
namespace {

TEST(Counted, OneHasASingular) {
  EXPECT_EQ(fmt::format("{}", counted(1, "step")), "1 step");
  EXPECT_EQ(fmt::format("{}", counted(std::uint64_t{1}, "index", "indices")), "1 index");
}

TEST(Counted, AllOtherNumbersHaveAPlural) {
  EXPECT_EQ(fmt::format("{}", counted(0, "step")), "0 steps");
  EXPECT_EQ(fmt::format("{}", counted(-1, "block")), "-1 blocks");
  EXPECT_EQ(fmt::format("{}", counted(std::int64_t{12}, "step")), "12 steps");
  EXPECT_EQ(fmt::format("{}", counted(UINT64_MAX, "byte")), "18446744073709551615 bytes");
  EXPECT_EQ(fmt::format("{}", counted(std::size_t{2}, "index", "indices")), "2 indices");
}

TEST(Counted, TheVerbAgreesWithTheNoun) {
  EXPECT_EQ(fmt::format("{}", counted(1, "step is retained", "steps are retained")), "1 step is retained");
  EXPECT_EQ(fmt::format("{}", counted(3, "step is retained", "steps are retained")), "3 steps are retained");
}

TEST(Counted, AFailureTakesIt) {
  EXPECT_EQ(fail(Code::limit, "only {} fit", counted(2, "step")).text(), "only 2 steps fit");
}

TEST(Counted, RanksBeginWith0) {
  EXPECT_EQ(fmt::format("{}", ranks_below(1)), "rank 0");
  EXPECT_EQ(fmt::format("{}", ranks_below(std::size_t{3})), "ranks 0 to 2");
}

}  // namespace
}  // namespace couplet
