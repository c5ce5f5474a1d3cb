// Conjugate gradients for Poisson's equation in a cube, A x = b, with a halo exchange by any method.
// See docs/guide/conjugate-gradients.md.
// usage: poisson [cells=48] [method=all|auto|NAME] [repeats=3] [output=FOLDER]
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <couplet/couplet_mpi.hpp>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr double wanted_residual = 0.95e-10;  // relative to b; what rounding adds leaves it below 1e-10
constexpr int max_iterations = 5000;

struct Options {
  std::int64_t cells = 48;
  std::string method = "all";
  int repeats = 3;
  std::string output = "output";
};

std::int64_t number_in(const std::string& text) {
  std::istringstream stream(text);
  std::int64_t number = 0;
  if (!(stream >> number) || !(stream >> std::ws).eof()) throw std::invalid_argument(text + " is no number");
  return number;
}

Options read_options(int count, char** words) {
  Options options;
  for (int n = 1; n < count; ++n) {
    const std::string word = words[n];
    const std::string name = word.substr(0, word.find('='));
    const std::string value = name.size() < word.size() ? word.substr(name.size() + 1) : "";
    if (name == "cells") {
      options.cells = number_in(value);
    } else if (name == "method") {
      options.method = value;
    } else if (name == "repeats") {
      options.repeats = static_cast<int>(number_in(value));
    } else if (name == "output") {
      options.output = value;
    } else {
      throw std::invalid_argument("the options are cells=, method=, repeats= and output=, not " + word);
    }
  }
  if (options.cells < 4) throw std::invalid_argument("cells must be at least 4, not " + std::to_string(options.cells));
  if (options.repeats < 1) throw std::invalid_argument("repeats must be at least 1");
  return options;
}

// A function on this rank's block, with one cell more at each side.
struct Field {
  std::int64_t n, m, l;  // cells of the block in each dimension
  std::vector<double> values = std::vector<double>((n + 2) * (m + 2) * (l + 2), 0.0);
  // i, j and k are -1 to n, m and l.
  [[nodiscard]] std::size_t place(std::int64_t i, std::int64_t j, std::int64_t k) const {
    return static_cast<std::size_t>(((i + 1) * (m + 2) + j + 1) * (l + 2) + k + 1);
  }
  double& at(std::int64_t i, std::int64_t j, std::int64_t k) { return values[place(i, j, k)]; }
  [[nodiscard]] double at(std::int64_t i, std::int64_t j, std::int64_t k) const { return values[place(i, j, k)]; }
};

struct Range {
  std::int64_t start, stop;
};

template <typename Body>
void for_each_cell(const Field& field, const Body& body) {
  for (std::int64_t i = 0; i < field.n; ++i) {
    for (std::int64_t j = 0; j < field.m; ++j) {
      for (std::int64_t k = 0; k < field.l; ++k) body(i, j, k);
    }
  }
}

// y = A x in some cells of the block. A is the negative Laplacian, times the square of the distance of cells.
void apply(const Field& x, Field& y, const Range& rows, const Range& columns, const Range& layers) {
  for (std::int64_t i = rows.start; i < rows.stop; ++i) {
    for (std::int64_t j = columns.start; j < columns.stop; ++j) {
      for (std::int64_t k = layers.start; k < layers.stop; ++k) {
        y.at(i, j, k) = 6 * x.at(i, j, k) - x.at(i - 1, j, k) - x.at(i + 1, j, k) - x.at(i, j - 1, k) -
                        x.at(i, j + 1, k) - x.at(i, j, k - 1) - x.at(i, j, k + 1);
      }
    }
  }
}

// The same in the whole block: the inner cells while the halo is under way, and then those at the sides.
void apply(couplet::Halo& halo, const Field& x, Field& y) {
  const auto inner = [](std::int64_t count) { return Range{1, std::max<std::int64_t>(count - 1, 1)}; };
  const Range rows = inner(x.n);
  const Range columns = inner(x.m);
  const Range layers = inner(x.l);
  halo.begin();
  apply(x, y, rows, columns, layers);
  halo.end();
  apply(x, y, {0, 1}, {0, x.m}, {0, x.l});
  apply(x, y, {rows.stop, x.n}, {0, x.m}, {0, x.l});
  apply(x, y, rows, {0, 1}, {0, x.l});
  apply(x, y, rows, {columns.stop, x.m}, {0, x.l});
  apply(x, y, rows, columns, {0, 1});
  apply(x, y, rows, columns, {layers.stop, x.l});
}

double dot(const Field& a, const Field& b) {
  double sum = 0;
  for_each_cell(a, [&](auto i, auto j, auto k) { sum += a.at(i, j, k) * b.at(i, j, k); });
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sum;
}

// y += factor * x
void add(Field& y, double factor, const Field& x) {
  for_each_cell(y, [&](auto i, auto j, auto k) { y.at(i, j, k) += factor * x.at(i, j, k); });
}

struct Solved {
  std::string method;
  int iterations = 0;
  double residual = 0;  // relative to b, computed anew
  double error = 0;     // the largest difference from the solution
  double seconds = 0;
  std::vector<double> history = {};  // residuals after each iteration
};

// A cube whose solution is known.
class Problem {
 public:
  Problem(const couplet::Group& group, std::int64_t cells)
      : group_(group), cells_(cells), grid_({.cells = {cells, cells, cells}}, group.size()) {}

  [[nodiscard]] const couplet::Grid& grid() const noexcept { return grid_; }

  // Throws couplet::Error if the method cannot be used here.
  Solved solve(const std::string& method, const std::string& name, std::string* explanation) const {
    const couplet::GridBox box = grid_.box(group_.rank());
    const Field zero{box.extent(0), box.extent(1), box.extent(2)};
    Field p = zero;
    couplet::Halo halo(group_, name, grid_, {.method = method});
    halo.add(p.values.data(),
             {.shape = {p.n + 2, p.m + 2, p.l + 2}, .below = {1, 1, 1}, .above = {1, 1, 1}, .name = "p"});
    halo.freeze();
    if (explanation != nullptr) *explanation = halo.explain();
    Solved solved{.method = halo.method()};

    const auto exact = exact_solution(box, zero);
    Field q = zero;
    p.values = exact.values;
    apply(halo, p, q);
    const Field b = q;
    const double size = std::sqrt(dot(b, b));

    MPI_Barrier(MPI_COMM_WORLD);
    const auto start = std::chrono::steady_clock::now();
    Field x = zero;
    Field r = b;
    std::copy(b.values.begin(), b.values.end(), p.values.begin());
    double square = dot(r, r);
    while (std::sqrt(square) > wanted_residual * size && solved.iterations < max_iterations) {
      apply(halo, p, q);
      const double step = square / dot(p, q);
      add(x, step, p);
      add(r, -step, q);
      const double next = dot(r, r);
      for_each_cell(p, [&](auto i, auto j, auto k) { p.at(i, j, k) = r.at(i, j, k) + next / square * p.at(i, j, k); });
      square = next;
      ++solved.iterations;
      solved.history.push_back(std::sqrt(square) / size);
    }
    solved.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    MPI_Allreduce(MPI_IN_PLACE, &solved.seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);

    std::copy(x.values.begin(), x.values.end(), p.values.begin());
    apply(halo, p, q);
    add(q, -1, b);
    solved.residual = std::sqrt(dot(q, q)) / size;
    for_each_cell(x, [&](auto i, auto j, auto k) {
      solved.error = std::max(solved.error, std::abs(x.at(i, j, k) - exact.at(i, j, k)));
    });
    MPI_Allreduce(MPI_IN_PLACE, &solved.error, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    halo.close();
    return solved;
  }

 private:
  // It is 0 beyond the cube. Its sides are not alike, so that a wrong order of dimensions is noticed.
  [[nodiscard]] Field exact_solution(const couplet::GridBox& box, const Field& zero) const {
    Field exact = zero;
    const auto place = [&](std::int64_t cell) {
      return static_cast<double>(cell + 1) / static_cast<double>(cells_ + 1);
    };
    for_each_cell(exact, [&](auto i, auto j, auto k) {
      const double x = place(box.start[0] + i);
      const double y = place(box.start[1] + j);
      const double z = place(box.start[2] + k);
      exact.at(i, j, k) = 64 * x * (1 - x) * y * (1 - y) * z * (1 - z) * std::exp(x - 2 * y + z * z);
    });
    return exact;
  }

  couplet::Group group_;
  std::int64_t cells_;
  couplet::Grid grid_;
};

// Takes the names of the methods from the table of an exchange.
std::vector<std::string> methods_of(const std::string& explanation) {
  std::vector<std::string> names;
  std::istringstream lines(explanation);
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    if (name == "*") words >> name;
    if (line.rfind("  ", 0) == 0 && !name.empty() && name != "stored" && name != "remembered") names.push_back(name);
  }
  return names;
}

struct Row {
  std::string method;
  std::string why_not = {};
  std::vector<Solved> runs = {};
};

std::string json_of(const Row& row) {
  std::ostringstream text;
  text << std::setprecision(17) << R"({"method": ")" << row.method << '"';
  if (row.runs.empty()) {
    text << R"(, "left_out": )" << std::quoted(row.why_not) << "}\n";
    return text.str();
  }
  const Solved& first = row.runs.front();
  text << R"(, "iterations": )" << first.iterations << R"(, "residual": )" << first.residual << R"(, "error": )"
       << first.error << R"(, "seconds": [)";
  for (std::size_t n = 0; n < row.runs.size(); ++n) text << (n > 0 ? ", " : "") << row.runs[n].seconds;
  text << R"(], "history": [)";
  for (std::size_t n = 0; n < first.history.size(); ++n) text << (n > 0 ? ", " : "") << first.history[n];
  text << "]}\n";
  return text.str();
}

void print(const Row& row) {
  if (row.runs.empty()) {
    std::cout << std::left << std::setw(24) << row.method << "left out: " << row.why_not << '\n' << std::flush;
    return;
  }
  std::vector<double> seconds;
  seconds.reserve(row.runs.size());
  for (const Solved& one : row.runs) seconds.push_back(one.seconds);
  std::sort(seconds.begin(), seconds.end());
  const Solved& first = row.runs.front();
  std::cout << std::left << std::setw(24) << row.method << std::right << std::setw(6) << first.iterations
            << std::scientific << std::setprecision(2) << std::setw(12) << first.residual << std::fixed
            << std::setprecision(3) << std::setw(10) << seconds[seconds.size() / 2] << " s" << std::setprecision(1)
            << std::setw(10) << 1e6 * seconds[seconds.size() / 2] / first.iterations << " us an iteration" << '\n'
            << std::flush;
}

// Methods take turns, so that what else the machine does meets all of them.
std::vector<Row> run_all(const Problem& problem, const std::vector<std::string>& names, int repeats) {
  std::vector<Row> rows;
  rows.reserve(names.size());
  for (const std::string& name : names) rows.push_back({.method = name});
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (Row& row : rows) {
      if (!row.why_not.empty()) continue;
      try {
        row.runs.push_back(problem.solve(row.method, row.method + " " + std::to_string(repeat), nullptr));
      } catch (const couplet::Error& error) {
        if (error.code() != COUPLET_ERROR_UNSUPPORTED) throw;
        row.why_not = error.what();
      }
    }
  }
  return rows;
}

int solve(const Options& options) {
  couplet::Universe universe = couplet::join("cg", MPI_COMM_WORLD);
  const couplet::Group group = universe.group();
  const bool is_head = group.rank() == 0;
  const Problem problem(group, options.cells);
  if (is_head) {
    const auto& blocks = problem.grid().blocks();
    std::cout << options.cells << "^3 cells, " << blocks[0] << " x " << blocks[1] << " x " << blocks[2] << " blocks"
              << '\n'
              << std::flush;
  }
  std::string explanation;
  const Solved chosen = problem.solve("auto", "chosen", &explanation);
  const std::vector<std::string> names = options.method == "all"
                                             ? methods_of(explanation)
                                             : std::vector{options.method == "auto" ? chosen.method : options.method};
  const std::vector<Row> rows = run_all(problem, names, options.repeats);
  if (is_head) {
    std::filesystem::create_directories(options.output);
    std::ofstream file(std::filesystem::path(options.output) / "cg.jsonl");
    file << R"({"cells": )" << options.cells << R"(, "ranks": )" << group.size() << R"(, "chosen": ")" << chosen.method
         << R"("})"
         << "\n";
    for (const Row& row : rows) {
      print(row);
      file << json_of(row);
    }
    std::cout << "chosen by measurement: " << chosen.method << '\n' << std::flush;
    file.close();
    if (!file) throw std::runtime_error("cannot write to " + options.output);
  }
  universe.leave();
  return std::all_of(rows.begin(), rows.end(), [](const Row& row) { return row.runs.empty(); }) ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  try {
    options = read_options(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "cg: " << error.what() << '\n';
    return 2;
  }
  int status = 1;
  MPI_Init(&argc, &argv);
  try {
    status = solve(options);
  } catch (const std::exception& error) {
    std::cerr << "cg: " << error.what() << '\n' << std::flush;
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return status;
}
