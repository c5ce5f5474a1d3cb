#include "cost/collective_method.hpp"

#include <gtest/gtest.h>

namespace couplet::cost {
namespace {

TEST(CollectiveMethod, IsPossibleForEveryShape) {
  for (int kind = static_cast<int>(Collective::barrier); kind <= static_cast<int>(Collective::scan); ++kind) {
    for (const std::uint64_t bytes : {0ULL, 8ULL, 1ULL << 14U, 1ULL << 20U, 1ULL << 40U}) {
      for (const std::int32_t size : {1, 2, 3, 4, 8, 1000}) {
        for (const std::int32_t systems : {1, 2, 3}) {
          for (int flags = 0; flags < 8; ++flags) {
            const CollectiveShape shape{static_cast<Collective>(kind),
                                        bytes,
                                        size,
                                        systems,
                                        (flags & 1) != 0,
                                        (flags & 2) != 0,
                                        (flags & 4) != 0};
            const Method chosen = choose_method(shape);
            EXPECT_TRUE(is_possible(chosen, shape))
                << name_of(shape.kind) << " of " << bytes << " bytes by " << name_of(chosen) << ", flags " << flags;
          }
        }
      }
    }
  }
}

TEST(CollectiveMethod, DependsOnTheSizeOfTheMessage) {
  CollectiveShape shape{.kind = Collective::allreduce, .bytes = 8, .size = 4};
  EXPECT_EQ(choose_method(shape), Method::doubling);
  shape.bytes = 8 << 20;
  EXPECT_EQ(choose_method(shape), Method::ring);
  shape.may_reorder = false;
  EXPECT_EQ(choose_method(shape), Method::doubling);
}

TEST(CollectiveMethod, GoesOverSystemsIfThereAreSeveral) {
  CollectiveShape shape{.kind = Collective::reduce, .bytes = 8, .size = 6, .systems = 2};
  EXPECT_EQ(choose_method(shape), Method::systems);
  shape.may_reorder = false;
  shape.systems_in_order = false;
  EXPECT_EQ(choose_method(shape), Method::binomial);
}

TEST(CollectiveMethod, HasANameForEachKindAndMethod) {
  EXPECT_EQ(name_of(Collective::reduce_scatter), "reduce_scatter");
  EXPECT_EQ(name_of(Method::systems), "systems");
  EXPECT_EQ(name_of(static_cast<Method>(200)), "unknown");
  EXPECT_EQ(name_of(static_cast<Collective>(200)), "no collective call");
}

}  // namespace
}  // namespace couplet::cost
