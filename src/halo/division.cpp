#include "halo/division.hpp"

#include <vector>

namespace couplet::halo {
namespace {

struct Search {
  const GridTerms& terms;
  Places now{};
  Places best{};
  double best_cost = 0;
  bool has_best = false;
};

// The cells at the faces that the largest block shares with others: one face if there are two blocks, and two if there
// are more, or the dimension is periodic.
double cost_of(const GridTerms& terms, const Places& blocks) {
  double cost = 0;
  for (int across = 0; across < terms.dimensions; ++across) {
    const auto place = static_cast<std::size_t>(across);
    if (blocks[place] == 1 && !terms.is_periodic[place]) continue;
    double face = 1;
    for (int along = 0; along < terms.dimensions; ++along) {
      const auto other = static_cast<std::size_t>(along);
      if (other == place) continue;
      const std::int64_t extent = (terms.cells[other] + blocks[other] - 1) / blocks[other];
      face *= static_cast<double>(extent);
    }
    cost += terms.is_periodic[place] || blocks[place] > 2 ? 2 * face : face;
  }
  return cost;
}

// From the largest to the smallest. The number is at most that of ranks, so its root is small.
std::vector<std::int64_t> divisors_of(std::int64_t number) {
  std::vector<std::int64_t> large;
  std::vector<std::int64_t> small;
  for (std::int64_t one = 1; one * one <= number; ++one) {
    if (number % one != 0) continue;
    large.push_back(number / one);
    if (one * one != number) small.push_back(one);
  }
  large.insert(large.end(), small.rbegin(), small.rend());
  return large;
}

void search(Search& all, int dimension, std::int64_t left) {
  const auto place = static_cast<std::size_t>(dimension);
  if (dimension == all.terms.dimensions) {
    if (left != 1) return;
    const double cost = cost_of(all.terms, all.now);
    if (all.has_best && cost >= all.best_cost) return;
    all.best = all.now;
    all.best_cost = cost;
    all.has_best = true;
    return;
  }
  const std::int64_t given = all.terms.blocks[place];
  if (given != 0) {
    if (left % given != 0) return;
    all.now[place] = given;
    search(all, dimension + 1, left / given);
    return;
  }
  for (const std::int64_t count : divisors_of(left)) {
    if (count > all.terms.cells[place]) continue;
    all.now[place] = count;
    search(all, dimension + 1, left / count);
  }
}

// If all numbers of blocks are given, no other division is possible.
Status check_given_blocks(const GridTerms& terms, std::int32_t rank_count) {
  std::int64_t count = 1;
  for (int dimension = 0; dimension < terms.dimensions; ++dimension) {
    const std::int64_t given = terms.blocks[static_cast<std::size_t>(dimension)];
    if (given == 0 || __builtin_mul_overflow(count, given, &count)) return {};
  }
  if (count == rank_count) return {};
  return fail(Code::argument,
              "the number of blocks of the grid is {} ({}), and the number of ranks is {}; there must "
              "be one block for each rank",
              count, extents_of(terms, terms.blocks), rank_count);
}

}  // namespace

Result<Places> choose_blocks(const GridTerms& terms, std::int32_t rank_count) {
  COUPLET_TRY(check_given_blocks(terms, rank_count));
  Search all{.terms = terms};
  search(all, 0, rank_count);
  if (all.has_best) return all.best;
  return fail(Code::argument,
              "a grid of {} cells cannot be divided into {} blocks ({} in its dimensions, 0: any number) that have at "
              "least one cell; there is one block for each rank of the group",
              extents_of(terms, terms.cells), rank_count, extents_of(terms, terms.blocks));
}

}  // namespace couplet::halo
