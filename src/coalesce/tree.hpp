// Tree: which rank is above which in phased broadcasts and reductions. Pure. Tests: tests/unit/coalesce/tree_test.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace couplet::coalesce {

// The ranks as a heap: counted from the root on, number n has the children arity x n + 1 to arity x n + arity.
struct Tree {
  std::int32_t parent = -1;            // -1: this rank is the root
  std::vector<std::int32_t> children;  // in the order in which they are combined
  int depth = 0;                       // the root has 0
  int height = 0;                      // the largest depth of any rank

  [[nodiscard]] static Tree of(std::int32_t rank, std::int32_t size, std::int32_t root, int arity) {
    const auto depth_of = [arity](std::int64_t number) {
      int depth = 0;
      for (; number > 0; number = (number - 1) / arity) ++depth;
      return depth;
    };
    const auto rank_of = [&](std::int64_t number) { return static_cast<std::int32_t>((number + root) % size); };
    const std::int64_t number = (std::int64_t{rank} - root + size) % size;
    Tree tree;
    tree.depth = depth_of(number);
    tree.height = depth_of(size - 1);
    if (number > 0) tree.parent = rank_of((number - 1) / arity);
    const std::int64_t last = std::min<std::int64_t>(number * arity + arity, size - 1);
    for (std::int64_t child = number * arity + 1; child <= last; ++child) tree.children.push_back(rank_of(child));
    return tree;
  }
};

}  // namespace couplet::coalesce
