// An exchange among all ranks of a universe, in rounds whose contents are checked.
// WHAT: "rounds": prints the method at the end. "death": the last rank kills itself after some rounds, and the others
// print the error that they get. "speed": two ranks, 100 doubles each way; prints the time of a round.
// "freezes": hundreds of exchanges, one after the other, each with a method that is chosen by trials.
#ifndef COUPLET_TESTS_EXCHANGING_HPP
#define COUPLET_TESTS_EXCHANGING_HPP

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <couplet/couplet.hpp>
#include <iostream>
#include <string>
#include <vector>

namespace exchanging {

constexpr std::int64_t rows = 6;
constexpr std::int64_t columns = 9;
constexpr int rounds_before_death = 20;

inline double value(std::int32_t rank, int round, std::int64_t place) {
  return rank * 1e6 + round * 1e2 + static_cast<double>(place);
}

/// A ring: the two last columns go right and the first two rows left, by way of boxes and of a list.
class Ring {
 public:
  explicit Ring(const couplet::Group& group)
      : rank_(group.rank()),
        right_((rank_ + 1) % group.size()),
        left_((rank_ + group.size() - 1) % group.size()),
        exchange_(group, "ring", {.timeout_s = 60}) {
    const std::vector<std::int64_t> shape{rows, columns};
    exchange_.send({.peer = right_, .tag = 1, .title = "columns"}, out_.data(),
                   {shape, {0, columns - 2}, {rows, columns}});
    exchange_.receive({.peer = left_, .tag = 1, .title = "columns"}, in_.data(), {shape, {0, 0}, {rows, 2}});
    std::vector<std::int64_t> from;
    std::vector<std::int64_t> to;
    for (std::int64_t place = 0; place < columns; ++place) {
      from.push_back(2 * place);
      to.push_back(rows * columns - 1 - place);
    }
    exchange_.send({.peer = left_, .tag = 2, .every = 2}, out_.data(), from);
    listed_.resize(rows * columns, -1);
    exchange_.receive({.peer = right_, .tag = 2, .every = 2}, listed_.data(), to);
    exchange_.freeze();
  }

  void run(int round) {
    for (std::int64_t place = 0; place < rows * columns; ++place) at(out_, place) = value(rank_, round, place);
    exchange_.start();
    exchange_.wait(60);
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t column = 0; column < 2; ++column) {
        check(at(in_, row * columns + column), value(left_, round, row * columns + columns - 2 + column), round);
      }
    }
    const int listed_round = round - round % 2;
    for (std::int64_t place = 0; place < columns; ++place) {
      check(at(listed_, rows * columns - 1 - place), value(right_, listed_round, 2 * place), round);
    }
  }

  couplet::Exchange& exchange() { return exchange_; }

 private:
  static double& at(std::vector<double>& data, std::int64_t place) { return data[static_cast<std::size_t>(place)]; }
  static void check(double got, double wanted, int round) {
    if (got == wanted) return;
    throw couplet::Error(COUPLET_ERROR_INTERNAL, "round " + std::to_string(round) + ": " + std::to_string(got) +
                                                     " has arrived, not " + std::to_string(wanted));
  }

  std::int32_t rank_;
  std::int32_t right_;
  std::int32_t left_;
  std::vector<double> out_ = std::vector<double>(rows * columns);
  std::vector<double> in_ = std::vector<double>(rows * columns);
  std::vector<double> listed_;
  couplet::Exchange exchange_;
};

inline void die_in_the_middle(couplet::Universe& universe) {
  const couplet::Group group = universe.group();
  Ring ring(group);
  try {
    for (int round = 0; round < 1'000'000; ++round) {
      if (round == rounds_before_death && group.rank() == group.size() - 1) ::raise(SIGKILL);
      ring.run(round);
    }
  } catch (const couplet::Error& error) {
    std::cout << (error.name() + std::string(": ") + error.what() + "\n") << std::flush;
  }
}

inline void freeze_often(const couplet::Group& group) {
  constexpr int freezes = 400;
  for (int number = 0; number < freezes; ++number) {
    const double out = group.rank() + 1000.0 * number;
    double in = -1;
    couplet::Exchange ring(group, "again");
    ring.send({.peer = (group.rank() + 1) % group.size()}, &out, {{1}, {0}, {1}});
    ring.receive({.peer = (group.rank() + group.size() - 1) % group.size()}, &in, {{1}, {0}, {1}});
    ring.freeze();
    ring.start();
    ring.wait(60);
    if (in != (group.rank() + group.size() - 1) % group.size() + 1000.0 * number) {
      throw couplet::Error(COUPLET_ERROR_INTERNAL,
                           std::to_string(in) + " has come in freeze " + std::to_string(number));
    }
    ring.close();
  }
  std::cout << "frozen\n" << std::flush;
}

inline void measure(const couplet::Group& group) {
  constexpr int rounds = 2000;
  std::vector<double> out(100, 1.0);
  std::vector<double> in(100);
  couplet::Exchange exchange(group, "speed");
  const std::int32_t other = 1 - group.rank();
  exchange.send({.peer = other}, out.data(), {{100}, {0}, {100}});
  exchange.receive({.peer = other}, in.data(), {{100}, {0}, {100}});
  exchange.freeze();
  double best_us = 1e9;
  for (int sample = 0; sample < 200; ++sample) {
    const auto begin = std::chrono::steady_clock::now();
    for (int round = 0; round < rounds; ++round) {
      exchange.start();
      exchange.wait();
    }
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    best_us = std::min(best_us, took.count() / rounds);
  }
  if (group.rank() == 0) std::cout << exchange.explain() << "best " << best_us << " us\n";
  exchange.close();
}

/// Joins and runs. Returns the status of the process.
template <class Join>
int tell(int argc, char** argv, Join join) {
  const std::string program = argc > 1 ? argv[1] : "";
  const std::string what = argc > 2 ? argv[2] : "rounds";
  try {
    couplet::Universe universe = join(program);
    if (what == "death") {
      die_in_the_middle(universe);
      universe.leave();
      return 0;
    }
    const couplet::Group group = universe.group();
    if (what == "speed") {
      measure(group);
    } else if (what == "freezes") {
      freeze_often(group);
    } else {
      Ring ring(group);
      for (int round = 0; round < 300; ++round) ring.run(round);
      std::cout << (ring.exchange().method() + "\n") << std::flush;
      ring.exchange().close();
    }
    universe.leave();
    return 0;
  } catch (const couplet::Error& error) {
    std::cerr << (program + ": " + error.name() + ": " + error.what() + "\n") << std::flush;
    return 1;
  }
}

}  // namespace exchanging

#endif
