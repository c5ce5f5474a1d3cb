// The numbers of the shipped model are compared with those of Python in tests/cost/test_core.py.
#include "cost/pair_model.hpp"

#include <gtest/gtest.h>

namespace couplet::cost {
namespace {

const PairPiece first{.min_pa = 0, .max_pa = 2, .alpha_s = 0.003805, .beta_s = 0.007712, .gamma_s = 0.005866};
const PairPiece second{.min_pa = 2, .max_pa = 7, .alpha_s = 0.008372, .beta_s = 0.006121, .gamma_s = 0.001588};

TEST(PairModel, IsAPlaneInEachPiece) {
  const PairModel model{{first, second}};
  EXPECT_TRUE(model.is_complete());
  EXPECT_DOUBLE_EQ(model.seconds(1, 3), 0.003805 + 3 * 0.007712 + 0.005866);
  EXPECT_DOUBLE_EQ(model.seconds(2, 3), 2 * 0.008372 + 3 * 0.006121 + 0.001588);
  EXPECT_DOUBLE_EQ(model.seconds(100, 0), 100 * 0.008372 + 0.001588) << "the last piece goes on";
}

TEST(PairModel, NeedsPiecesWithoutAGap) {
  EXPECT_FALSE(PairModel{}.is_complete());
  PairPiece later = second;
  later.min_pa = 3;
  EXPECT_FALSE((PairModel{{first, later}}).is_complete());
  later.max_pa = 1;
  EXPECT_FALSE(PairModel{{later}}.is_complete());
}

TEST(PairModel, HasAHingeWhosePiecesMeet) {
  const PairModel model = hinge(first, 2.5, 0.009, 7);
  ASSERT_TRUE(model.is_complete());
  EXPECT_DOUBLE_EQ(model.pieces[0].seconds(2.5, 4), model.pieces[1].seconds(2.5, 4));
  EXPECT_DOUBLE_EQ(model.seconds(2, 1), first.seconds(2, 1));
  EXPECT_DOUBLE_EQ(model.seconds(4.5, 0) - model.seconds(2.5, 0), 2 * 0.009);
}

}  // namespace
}  // namespace couplet::cost
