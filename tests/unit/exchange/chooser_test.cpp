#include "exchange/chooser.hpp"

#include <gtest/gtest.h>

namespace couplet::exchange {
namespace {

TEST(Fastest, IsTheOneWithTheShortestTime) {
  EXPECT_EQ(fastest(std::vector<double>{30, 10, 20}), 1);
}

TEST(Fastest, GivesTiesToTheOrderOfTheList) {
  EXPECT_EQ(fastest(std::vector<double>{10.2, 10, 10.1}), 0);
  EXPECT_EQ(fastest(std::vector<double>{11, 10.2, 10}), 1);
}

TEST(Fastest, LeavesOutWhatHasNoTime) {
  EXPECT_EQ(fastest(std::vector<double>{0, 10, 0}), 1);
  EXPECT_EQ(fastest(std::vector<double>{0, 0}), -1);
  EXPECT_EQ(fastest(std::vector<double>{}), -1);
}

}  // namespace
}  // namespace couplet::exchange
