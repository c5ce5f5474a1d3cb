// Part of couplet.hpp, which programs include: grids that are divided into blocks, and the cells around a block.
// Tests: tests/universe/test_halo.py.
#ifndef COUPLET_COUPLET_HALO_HPP
#define COUPLET_COUPLET_HALO_HPP

#include <algorithm>
#include <couplet/couplet_message.hpp>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace couplet {

/// What all ranks give alike of a grid, with an entry for each dimension.
struct GridTerms {
  std::vector<std::int64_t> cells;             ///< the extents of the whole grid
  std::vector<std::int32_t> blocks = {};       ///< their numbers; 0, or no entry at all: chosen
  std::vector<bool> periodic = {};             ///< no entry at all: none is
  std::vector<std::int64_t> block_cells = {};  ///< those of each block, in turn; empty: as even as possible
};

/// Half open: start to stop (not included) in each dimension.
struct GridBox {
  std::vector<std::int64_t> start;
  std::vector<std::int64_t> stop;
  [[nodiscard]] std::int64_t extent(std::size_t dimension) const { return stop[dimension] - start[dimension]; }
};

/// A grid of cells that is divided into one block for each rank.
class Grid {
 public:
  /// Divides the grid. Errors: as couplet_grid_divide.
  Grid(const GridTerms& terms, std::int32_t rank_count) : terms_(terms) {
    const std::size_t dimensions = terms_.cells.size();
    const auto fits = [&](std::size_t entries) { return entries == 0 || entries == dimensions; };
    if (dimensions > COUPLET_GRID_MAX_DIMENSIONS || !fits(terms_.blocks.size()) || !fits(terms_.periodic.size())) {
      throw Error(COUPLET_ERROR_ARGUMENT, "a grid has " + std::to_string(dimensions) + " dimensions, " +
                                              std::to_string(terms_.blocks.size()) + " numbers of blocks and " +
                                              std::to_string(terms_.periodic.size()) + " periodic");
    }
    std::int64_t given = 0;
    for (const std::int32_t blocks : terms_.blocks) given += blocks;
    if (!terms_.block_cells.empty() && given != static_cast<std::int64_t>(terms_.block_cells.size())) {
      throw Error(COUPLET_ERROR_ARGUMENT, "the cells of " + std::to_string(terms_.block_cells.size()) +
                                              " blocks are given, and the dimensions have " + std::to_string(given) +
                                              " together");
    }
    terms_.blocks.resize(dimensions, 0);
    couplet_grid divided = c();
    detail::check(couplet_grid_divide(&divided, rank_count));
    std::copy_n(divided.blocks, dimensions, terms_.blocks.begin());
  }

  [[nodiscard]] const std::vector<std::int64_t>& cells() const noexcept { return terms_.cells; }
  [[nodiscard]] const std::vector<std::int32_t>& blocks() const noexcept { return terms_.blocks; }
  /// Returns the cells of a block.
  [[nodiscard]] GridBox box(std::int32_t rank) const {
    GridBox box{std::vector<std::int64_t>(cells().size()), std::vector<std::int64_t>(cells().size())};
    const couplet_grid grid = c();
    detail::check(couplet_grid_box(&grid, rank, box.start.data(), box.stop.data()));
    return box;
  }
  /// Returns the rank whose block is so many blocks away, or -1 if that is beyond the grid.
  [[nodiscard]] std::int32_t neighbor(std::int32_t rank, const std::vector<std::int32_t>& offset) const {
    if (offset.size() != cells().size()) {
      throw Error(COUPLET_ERROR_ARGUMENT, "an offset has " + std::to_string(offset.size()) + " entries, and the grid " +
                                              std::to_string(cells().size()) + " dimensions");
    }
    std::int32_t neighbor = -1;
    const couplet_grid grid = c();
    detail::check(couplet_grid_neighbor(&grid, rank, offset.data(), &neighbor));
    return neighbor;
  }
  /// Returns the grid of the C interface. It is valid as long as this object.
  [[nodiscard]] couplet_grid c() const {
    couplet_grid grid;
    couplet_grid_init(&grid);
    grid.dimensions = static_cast<std::int32_t>(terms_.cells.size());
    std::copy(terms_.cells.begin(), terms_.cells.end(), grid.cells);
    std::copy(terms_.blocks.begin(), terms_.blocks.end(), grid.blocks);
    std::copy(terms_.periodic.begin(), terms_.periodic.end(), grid.periodic);
    if (!terms_.block_cells.empty()) grid.block_cells = terms_.block_cells.data();
    return grid;
  }

 private:
  GridTerms terms_;
};

/// What a field is, besides its memory. Vectors have an entry for each dimension of the grid, or none: the default.
struct HaloField {
  std::vector<std::int64_t> shape;              ///< the extents of the array, in points
  std::vector<std::int64_t> below = {};         ///< how many points come from below; default 0
  std::vector<std::int64_t> above = {};         ///< and from above
  std::string name = {};                        ///< what error texts call it
  bool corners = false;                         ///< also from blocks that share only an edge or a corner
  std::vector<bool> staggered = {};             ///< points lie between cells; default false
  std::vector<std::int64_t> first = {};         ///< where the block begins in the array; default: at `below`
  std::vector<std::int64_t> stride_bytes = {};  ///< default: dense, in C order
  std::int64_t components = 1;                  ///< the elements of a point
  std::int64_t component_stride_bytes = 0;      ///< their distance; 0: they are next to each other
};

/// The points of this rank, by numbers that are the same at all ranks: those of a mesh, or of the rows of a sparse
/// matrix.
struct HaloIndices {
  std::vector<std::int64_t> owned;        ///< the points that this rank owns, each once
  std::vector<std::int64_t> ghosts;       ///< the points that it needs of other ranks
  std::vector<std::int32_t> owners = {};  ///< the rank that owns each ghost; empty: they are found
  std::vector<std::int64_t> places = {};  ///< where each of both is in the arrays; empty: in that order
};

struct HaloOptions {
  bool has_widths = false;  ///< begin() may be given a width
  std::string method = "auto";
  double timeout_s = 60;  ///< of freeze and close; negative: none
};

/// The cells around the block of this rank, or the ghosts of its list of points. The arrays of its fields must not
/// move, and outlive it.
class Halo {
 public:
  /// Creates a halo with one block for each rank of the group. Errors: as couplet_halo_create.
  Halo(const Group& group, const std::string& name, const Grid& grid, const HaloOptions& options = {})
      : dimensions_(grid.cells().size()) {
    const couplet_halo_options c = c_options(options);
    const couplet_grid terms = grid.c();
    couplet_halo* handle = nullptr;
    detail::check(couplet_halo_create(group.handle(), name.c_str(), &terms, &c, &handle));
    owner_ = detail::Owner<couplet_halo, couplet_halo_close>(handle);
  }

  /// Creates a halo of lists of indices. The shape of its fields is a number of points. Errors: as
  /// couplet_halo_create_list.
  Halo(const Group& group, const std::string& name, const HaloIndices& indices, const HaloOptions& options = {})
      : dimensions_(1) {
    const std::size_t points = indices.owned.size() + indices.ghosts.size();
    const auto fits = [](std::size_t given, std::size_t wanted) { return given == 0 || given == wanted; };
    if (!fits(indices.owners.size(), indices.ghosts.size()) || !fits(indices.places.size(), points)) {
      throw Error(COUPLET_ERROR_ARGUMENT, std::to_string(indices.owners.size()) + " owners and " +
                                              std::to_string(indices.places.size()) + " places are given for " +
                                              std::to_string(indices.owned.size()) + " owned points and " +
                                              std::to_string(indices.ghosts.size()) + " ghosts");
    }
    const couplet_halo_options c = c_options(options);
    couplet_halo_indices lists;
    couplet_halo_indices_init(&lists);
    lists.owned = indices.owned.data();
    lists.owned_count = indices.owned.size();
    lists.ghosts = indices.ghosts.data();
    lists.ghost_count = indices.ghosts.size();
    if (!indices.owners.empty()) lists.owners = indices.owners.data();
    if (!indices.places.empty()) lists.places = indices.places.data();
    couplet_halo* handle = nullptr;
    detail::check(couplet_halo_create_list(group.handle(), name.c_str(), &lists, &c, &handle));
    owner_ = detail::Owner<couplet_halo, couplet_halo_close>(handle);
  }

  /// Adds a field. Errors: as couplet_halo_add.
  template <Element T>
    requires(!std::is_const_v<T>)
  void add(T* data, const HaloField& field) {
    couplet_halo_field c;
    couplet_halo_field_init(&c);
    c.name = field.name.empty() ? nullptr : field.name.c_str();
    c.data = data;
    c.type = type_of<T>;
    c.corners = field.corners ? 1 : 0;
    c.components = field.components;
    c.component_stride_bytes = field.component_stride_bytes;
    if (field.shape.empty()) throw Error(COUPLET_ERROR_ARGUMENT, "the shape of the array of a field is not given");
    copy(field.shape, c.shape, "shape");
    copy(field.below, c.below, "below");
    copy(field.above, c.above, "above");
    copy(field.first, c.first, "first");
    copy(field.stride_bytes, c.stride_bytes, "stride_bytes");
    copy(field.staggered, c.staggered, "staggered");
    detail::check(couplet_halo_add(handle(), &c));
  }
  /// Agrees with the other ranks on the fields and on the method. Collective. Errors: as couplet_halo_freeze.
  void freeze() { detail::check(couplet_halo_freeze(handle())); }
  /// Begins a round. Leave the arrays alone until it has ended, but for reading the block. Never blocks.
  void begin() { detail::check(couplet_halo_begin(handle(), -1)); }
  /// Begins a round in which halos reach no farther than `width`, which is the same at all ranks.
  void begin(std::int64_t width) { detail::check(couplet_halo_begin(handle(), width < 0 ? -2 : width)); }
  /// Returns true if the round is over. Never blocks.
  bool test() {
    std::int32_t done = 0;
    detail::check(couplet_halo_test(handle(), &done));
    return done != 0;
  }
  /// Waits until the round is over. After Error(COUPLET_ERROR_TIMEOUT) it is still under way.
  void end(double timeout_s = for_ever) { detail::check(couplet_halo_end(handle(), timeout_s)); }
  /// Returns the name of the method, or "" before the halo is frozen.
  [[nodiscard]] std::string method() const {
    const char* name = nullptr;
    detail::check(couplet_halo_method(handle(), &name));
    return name;
  }
  /// Returns a table of the methods, their times in the trials, and why others were left out.
  [[nodiscard]] std::string explain() const {
    std::size_t needed = 0;
    detail::check(couplet_halo_explain(handle(), nullptr, 0, &needed));
    std::string text(needed, '\0');
    detail::check(couplet_halo_explain(handle(), text.data(), text.size(), &needed));
    text.resize(needed - 1);
    return text;
  }
  /// Closes the halo, and throws the errors that the destructor would ignore.
  void close() { detail::check(couplet_halo_close(owner_.release())); }
  [[nodiscard]] couplet_halo* handle() const noexcept { return owner_.get(); }

 private:
  static couplet_halo_options c_options(const HaloOptions& options) {
    couplet_halo_options c;
    couplet_halo_options_init(&c);
    c.method = options.method.c_str();
    c.timeout_s = options.timeout_s;
    c.has_widths = options.has_widths ? 1 : 0;
    return c;
  }
  template <typename From, typename To>
  void copy(const std::vector<From>& given, To* entries, const char* name) const {
    if (!given.empty() && given.size() != dimensions_) {
      throw Error(COUPLET_ERROR_ARGUMENT, std::string(name) + " has " + std::to_string(given.size()) +
                                              " entries, and the halo " + std::to_string(dimensions_) + " dimensions");
    }
    std::copy(given.begin(), given.end(), entries);
  }

  detail::Owner<couplet_halo, couplet_halo_close> owner_;
  std::size_t dimensions_;
};

}  // namespace couplet

#endif
