// Handles of halos. halos.cpp implements them; module.cpp calls bind_halos.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "handles.hpp"

namespace couplet_python {

/// A grid as the package has checked it: each list has an entry for each dimension, but block_cells.
struct Grid {
  std::vector<int64_t> cells;
  std::vector<int32_t> blocks;  ///< after divide(): all numbers
  std::vector<bool> periodic;
  std::vector<int64_t> block_cells;  ///< empty: as even as possible

  void divide(int32_t rank_count);
  [[nodiscard]] std::pair<std::vector<int64_t>, std::vector<int64_t>> box(int32_t rank) const;
  [[nodiscard]] int32_t neighbor(int32_t rank, const std::vector<int32_t>& offset) const;
  /// Returns the grid of the C interface. It is valid as long as this object.
  [[nodiscard]] couplet_grid terms() const;
};

/// What a field is, besides its array. Each list has an entry for each dimension of the grid.
struct HaloTerms {
  std::string name;
  std::vector<int64_t> below;
  std::vector<int64_t> above;
  std::vector<int64_t> first;  ///< -1: at `below`
  std::vector<bool> staggered;
  bool corners;
  int32_t component_axis;  ///< an axis of the array; -1: it has none
};

/// The points of a rank. An empty list may be given, too.
struct HaloLists {
  std::vector<int64_t> owned;
  std::vector<int64_t> ghosts;
  bool has_owners;
  std::vector<int32_t> owners;
  bool has_places;
  std::vector<int64_t> places;
};

/// One process's part in a halo.
struct Halo {
  std::shared_ptr<UniverseState> state;
  couplet_halo* handle = nullptr;
  std::vector<nb::object> arrays{};  ///< those of the fields
  HiddenEnd hidden_end{};            ///< of freeze or end

  /// Adds an array, which may have gaps.
  void add(nb::handle array, const HaloTerms& terms);
  void freeze();
  void begin(int64_t width);
  [[nodiscard]] bool test();
  void end(double timeout_s);
  [[nodiscard]] std::string method() const;
  [[nodiscard]] std::string explain() const;
  void close();

 private:
  [[nodiscard]] couplet_halo* open_handle(const char* verb) const;
  couplet_status check(const Outcome& outcome, const char* verb) const;
};

void bind_halos(nb::module_& module);

}  // namespace couplet_python
