#include "coalesce/tree.hpp"

#include <gtest/gtest.h>

namespace couplet::coalesce {
namespace {

TEST(Tree, EachRankIsTheChildOfItsParentAndOneLevelDeeper) {
  for (const int arity : {1, 2, 3, 8}) {
    for (std::int32_t size = 1; size <= 20; ++size) {
      for (const std::int32_t root : {0, size / 2, size - 1}) {
        int deepest = 0;
        for (std::int32_t rank = 0; rank < size; ++rank) {
          const Tree tree = Tree::of(rank, size, root, arity);
          deepest = std::max(deepest, tree.depth);
          EXPECT_EQ(tree.height, Tree::of(root, size, root, arity).height);
          EXPECT_LE(tree.children.size(), static_cast<std::size_t>(arity));
          EXPECT_EQ(tree.parent < 0, rank == root);
          for (const std::int32_t child : tree.children) {
            const Tree below = Tree::of(child, size, root, arity);
            EXPECT_EQ(below.parent, rank);
            EXPECT_EQ(below.depth, tree.depth + 1);
          }
          if (tree.parent < 0) continue;
          const Tree above = Tree::of(tree.parent, size, root, arity);
          EXPECT_EQ(std::count(above.children.begin(), above.children.end(), rank), 1);
        }
        EXPECT_EQ(deepest, Tree::of(root, size, root, arity).height);
      }
    }
  }
}

TEST(Tree, OfOneRankHasNoHeight) {
  const Tree tree = Tree::of(0, 1, 0, 2);
  EXPECT_EQ(tree.height, 0);
  EXPECT_EQ(tree.parent, -1);
  EXPECT_TRUE(tree.children.empty());
}

}  // namespace
}  // namespace couplet::coalesce
