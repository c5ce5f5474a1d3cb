// Halos among all ranks of a universe, through the public interface.
// WHAT: "rounds": prints the method at the end. "widths": the same, with a width for each round. "small": the
// last rank gives an array that is too small, and all print the error that they get. "apart": the last rank has another
// width, and all print the error. "death": the last rank kills itself after some rounds, and the others print theirs.
#ifndef COUPLET_TESTS_HALOS_HPP
#define COUPLET_TESTS_HALOS_HPP

#include <signal.h>

#include <couplet/couplet.hpp>
#include <iostream>
#include <string>
#include <vector>

namespace halos {

constexpr std::int64_t rows = 18;
constexpr std::int64_t columns = 14;
constexpr double timeout_s = 60;

/// A grid that is periodic in its columns. Two fields: pairs of numbers with corners, and numbers between the rows.
class Fields {
 public:
  Fields(const couplet::Group& group, const std::string& what)
      : grid_({.cells = {rows, columns}, .periodic = {false, true}}, group.size()),
        box_(grid_.box(group.rank())),
        is_last_(group.rank() == group.size() - 1),
        halo_(group, "halo", grid_, {.has_widths = what == "widths", .timeout_s = timeout_s}) {
    const std::int64_t height = box_.extent(0);
    const std::int64_t width = box_.extent(1);
    pairs_.resize(static_cast<std::size_t>((height + 4) * (width + 4) * 2));
    between_.resize(static_cast<std::size_t>((height + 3) * (width + 2)));
    couplet::HaloField pairs{.shape = {height + 4, width + 4}, .below = {2, 2}, .above = {2, 2}, .name = "pairs"};
    pairs.corners = true;
    pairs.components = 2;
    if (what == "small" && is_last_) pairs.shape = {height + 3, width + 4};
    if (what == "apart" && is_last_) pairs.below = {1, 2};
    add(pairs_.data(), pairs);
    couplet::HaloField between{.shape = {height + 3, width + 2}, .below = {1, 1}, .above = {1, 1}, .name = "between"};
    between.staggered = {true, false};
    add(between_.data(), between);
    halo_.freeze();
  }

  void run(int round, std::int64_t width) {
    fill(round);
    if (width < 0) {
      halo_.begin();
    } else {
      halo_.begin(width);
    }
    halo_.end(timeout_s);
    check(round, width < 0 ? 2 : width);
  }
  couplet::Halo& halo() { return halo_; }

 private:
  // All ranks go on to the freeze, which has to fail at all.
  template <typename T>
  void add(T* data, const couplet::HaloField& field) {
    try {
      halo_.add(data, field);
    } catch (const couplet::Error& error) {
      std::cout << (std::string("add: ") + error.name() + "\n");
    }
  }
  static double value(std::int64_t row, std::int64_t column, std::int64_t part, int round) {
    return static_cast<double>(1000000 * round + 1000 * row + 10 * ((column + columns) % columns) + part);
  }
  double& pair(std::int64_t row, std::int64_t column, std::int64_t part) {
    const std::int64_t place = (row - box_.start[0] + 2) * (box_.extent(1) + 4) + column - box_.start[1] + 2;
    return pairs_[static_cast<std::size_t>(place * 2 + part)];
  }
  std::int32_t& number(std::int64_t row, std::int64_t column) {
    const std::int64_t place = (row - box_.start[0] + 1) * (box_.extent(1) + 2) + column - box_.start[1] + 1;
    return between_[static_cast<std::size_t>(place)];
  }
  // The rows between cells that belong to this block: also the uppermost one, if it is the last block.
  [[nodiscard]] std::int64_t number_stop() const { return box_.stop[0] == rows ? rows + 1 : box_.stop[0]; }

  void fill(int round) {
    std::fill(pairs_.begin(), pairs_.end(), -1.0);
    std::fill(between_.begin(), between_.end(), -1);
    for (std::int64_t column = box_.start[1]; column < box_.stop[1]; ++column) {
      for (std::int64_t row = box_.start[0]; row < box_.stop[0]; ++row) {
        for (std::int64_t part = 0; part < 2; ++part) pair(row, column, part) = value(row, column, part, round);
      }
      for (std::int64_t row = box_.start[0]; row < number_stop(); ++row) {
        number(row, column) = static_cast<std::int32_t>(value(row, column, 5, round));
      }
    }
  }

  void check(int round, std::int64_t width) {
    const std::int64_t near = width < 1 ? width : 1;
    for (std::int64_t row = box_.start[0] - 2; row < box_.stop[0] + 2; ++row) {
      for (std::int64_t column = box_.start[1] - 2; column < box_.stop[1] + 2; ++column) {
        const bool is_there = row >= 0 && row < rows && row >= box_.start[0] - width && row < box_.stop[0] + width &&
                              column >= box_.start[1] - width && column < box_.stop[1] + width;
        for (std::int64_t part = 0; part < 2; ++part) {
          expect(pair(row, column, part), is_there ? value(row, column, part, round) : -1);
        }
      }
    }
    for (std::int64_t row = box_.start[0] - 1; row < box_.stop[0] + 2; ++row) {
      for (std::int64_t column = box_.start[1] - 1; column < box_.stop[1] + 1; ++column) {
        const bool is_beside = column < box_.start[1] || column >= box_.stop[1];
        const bool is_beyond = row < box_.start[0] || row >= number_stop();
        bool is_there = row >= 0 && row <= rows && !(is_beside && is_beyond);
        if (is_beside) is_there = is_there && near == 1;
        if (row < box_.start[0]) is_there = is_there && near == 1;
        if (row > box_.stop[0]) is_there = is_there && near == 1 && number_stop() == box_.stop[0];
        expect(number(row, column), is_there ? value(row, column, 5, round) : -1);
      }
    }
  }
  static void expect(double got, double wanted) {
    if (got == wanted) return;
    throw couplet::Error(COUPLET_ERROR_INTERNAL, std::to_string(got) + " is there, not " + std::to_string(wanted));
  }

  couplet::Grid grid_;
  couplet::GridBox box_;
  bool is_last_;
  std::vector<double> pairs_;
  std::vector<std::int32_t> between_;
  couplet::Halo halo_;
};

inline void run(const couplet::Group& group, const std::string& what) {
  constexpr int rounds = 40;
  constexpr int rounds_before_death = 7;
  Fields fields(group, what);
  for (int round = 0; round < (what == "death" ? 1'000'000 : rounds); ++round) {
    if (what == "death" && round == rounds_before_death && group.rank() == group.size() - 1) ::raise(SIGKILL);
    fields.run(round, what == "widths" ? round % 3 : -1);
  }
  std::cout << (fields.halo().method() + "\n") << std::flush;
  fields.halo().close();
}

/// Joins and runs. Returns the status of the process.
template <class Join>
int tell(int argc, char** argv, Join join) {
  const std::string program = argc > 1 ? argv[1] : "";
  const std::string what = argc > 2 ? argv[2] : "rounds";
  try {
    couplet::Universe universe = join(program);
    const couplet::Group group = universe.group();
    if (what == "rounds" || what == "widths") {
      run(group, what);
    } else {
      try {
        run(group, what);
      } catch (const couplet::Error& error) {
        std::cout << (error.name() + std::string(": ") + error.what() + "\n") << std::flush;
      }
    }
    universe.leave();
    return 0;
  } catch (const couplet::Error& error) {
    std::cerr << (program + ": " + error.name() + ": " + error.what() + "\n") << std::flush;
    return 1;
  }
}

}  // namespace halos

#endif
