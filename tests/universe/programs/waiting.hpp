// Program "left" writes two series and sends numbers; program "right" waits for any of them, and counts what it gets.
// Used without MPI (waiting.cpp) and under each MPI (mpi/waiting.cpp), by tests/universe/test_waiting_for_any.py.
#ifndef COUPLET_TESTS_WAITING_HPP
#define COUPLET_TESTS_WAITING_HPP

#include <poll.h>

#include <array>
#include <couplet/couplet.hpp>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "outcome.hpp"

namespace waiting {

constexpr std::int64_t step_count = 30;
constexpr std::int64_t number_count = 10;
constexpr std::int64_t width = 8;  // elements that one rank writes
constexpr std::int32_t number_tag = 3;
constexpr std::int32_t choice_tag = 9;
const std::array<std::string, 2> names = {"eta", "rho"};

inline void require(bool condition, const std::string& what) {
  if (!condition) {
    throw couplet::Error(COUPLET_ERROR_INTERNAL, what);
  }
}

inline double value(std::int64_t step, std::int64_t place) {
  return static_cast<double>(1000 * step + place);
}

/// Each rank of `left` writes its part of both, the second one seldom, and sends its numbers to each rank of `right`.
inline void write(couplet::Universe& universe) {
  const couplet::OwnProgram own = universe.program();
  const couplet::ProgramInfo right = universe.program(1 - own.program);
  const couplet::Box box{{own.rank * width}, {(own.rank + 1) * width}};
  std::vector<couplet::Writer<double>> series;
  for (const std::string& name : names) {
    couplet::SeriesOptions options;
    options.slots = 4;
    options.required_readers = "right";
    series.push_back(universe.create_series<double>(name, {own.size * width}, box, options));
  }
  std::vector<double> data(width);
  for (std::int64_t step = 1; step <= step_count; ++step) {
    for (std::int64_t place = 0; place < width; ++place) {
      data[static_cast<std::size_t>(place)] = value(step, box.start[0] + place);
    }
    require(series[0].put(data, step), "put");
    if (step % 5 == 0) {
      require(series[1].put(data, step), "put");
    }
    for (std::int32_t rank = 0; step % 3 == 0 && rank < right.size; ++rank) {
      universe.group().send(step / 3, right.first_rank + rank, number_tag);
    }
  }
  for (auto& one : series) {
    one.close();
  }
}

/// One rank of `right`.
class Waiter {
 public:
  Waiter(couplet::Universe& universe, bool local, bool loop)
      : universe_(universe), descriptor_(loop ? couplet::descriptor_of(universe) : -1) {
    const couplet::OwnProgram own = universe.program();
    const couplet::ProgramInfo left = universe.program(1 - own.program);
    first_left_ = left.first_rank;
    writers_ = left.size;
    numbers_.resize(static_cast<std::size_t>(left.size), 0);
    couplet::OpenOptions options;
    options.local = local;
    for (const std::string& name : names) {
      readers_.emplace_back(universe.open_series<double>(name, options));
      const bool window = std::getenv("COUPLET_MPI_WINDOW_BYTES") != nullptr;
      require(!window || readers_.back()->describe().route == "window", "the series is not read through the window");
    }
  }

  /// Every rank waits for itself.
  void run_alone() {
    while (const auto what = wait(true)) {
      if (*what == numbers) {
        take_number();
      } else {
        take_steps(*what, 0);
      }
    }
    check();
  }
  /// Rank 0 waits, and tells the others which series to read: the reads are collective.
  void run_together() {
    const couplet::OwnProgram own = universe_.program();
    const couplet::Group team = universe_.program_group();
    while (readers_[0] || readers_[1]) {
      std::int32_t choice = own.rank == 0 ? static_cast<std::int32_t>(wait(false).value()) : 0;
      for (std::int32_t rank = 1; own.rank == 0 && rank < own.size; ++rank) {
        team.send(choice, rank, choice_tag);
      }
      if (own.rank != 0) {
        team.recv(choice, 0, choice_tag);
      }
      take_steps(static_cast<std::size_t>(choice), couplet::for_ever);
    }
    while (received() < writers_ * number_count) {
      take_number();
    }
    check();
  }

 private:
  static constexpr std::size_t numbers = 2;

  [[nodiscard]] std::int64_t received() const {
    std::int64_t sum = 0;
    for (const std::int64_t each : numbers_) {
      sum += each;
    }
    return sum;
  }
  /// Returns the number of a series, or `numbers`; nothing if everything has come.
  std::optional<std::size_t> wait(bool with_numbers) {
    std::vector<couplet::Awaited> awaited;
    std::vector<std::size_t> what;
    for (std::size_t which = 0; which < readers_.size(); ++which) {
      if (readers_[which]) {
        awaited.emplace_back(*readers_[which]);
        what.push_back(which);
      }
    }
    if (with_numbers && received() < writers_ * number_count) {
      awaited.emplace_back(universe_.group(), couplet::any_source, number_tag);
      what.push_back(numbers);
    }
    if (awaited.empty()) {
      return std::nullopt;
    }
    const couplet::Ready ready = look(awaited);
    message_ = ready.message;
    return what.at(ready.index);
  }
  [[nodiscard]] couplet::Ready look(const std::vector<couplet::Awaited>& awaited) const {
    if (descriptor_ < 0) {
      return couplet::wait_any(awaited).value();
    }
    for (;;) {
      if (const auto ready = couplet::arm_any(awaited)) {
        return *ready;
      }
      pollfd polled{.fd = descriptor_, .events = POLLIN, .revents = 0};
      require(::poll(&polled, 1, 60000) == 1, "the descriptor stays unreadable");
    }
  }
  void take_number() {
    std::int64_t number = 0;
    const couplet::Message got = universe_.group().recv(number, couplet::any_source, number_tag);
    require(message_.bytes == 0 || (message_.source == got.source && message_.bytes == got.bytes),
            "another message than the one that was ready");
    std::int64_t& last = numbers_.at(static_cast<std::size_t>(got.source - first_left_));
    require(number == ++last, "a number is missing");
  }
  /// A series that is ready for this rank alone can be read without waiting.
  void take_steps(std::size_t which, double timeout_s) {
    const auto batch = readers_[which]->read({.at_least = 1, .up_to = 3, .timeout_s = timeout_s});
    require(batch.status() == COUPLET_OK || batch.status() == COUPLET_END, "a ready series gives nothing");
    if (batch.ended()) {
      readers_[which].reset();
      return;
    }
    for (std::size_t at = 0; at < batch.size(); ++at) {
      steps_[which] += 1;
      const std::int64_t step = steps_[which] * (which == 0 ? 1 : 5);
      require(batch.steps()[at] == step, "a step is missing");
      for (std::int64_t place = 0; place < writers_ * width; ++place) {
        require(batch[at][static_cast<std::size_t>(place)] == value(step, place), "wrong content");
      }
    }
  }
  void check() const {
    require(steps_[0] == step_count && steps_[1] == step_count / 5, "steps are missing");
    require(received() == writers_ * number_count, "numbers are missing");
  }

  couplet::Universe& universe_;
  int descriptor_;
  std::int32_t first_left_ = 0;
  std::int64_t writers_ = 0;
  std::vector<std::optional<couplet::Reader<double>>> readers_;
  std::array<std::int64_t, 2> steps_{};
  std::vector<std::int64_t> numbers_;  // the last one of each rank of `left`
  couplet::Message message_{};
};

/// what: "alone", "loop" or "together". Joins and runs; prints one line if all went well, and returns the status of the
/// process.
template <class Join>
int tell(int argc, char** argv, Join join) {
  const std::string program = argc > 1 ? argv[1] : "";
  const std::string what = argc > 2 ? argv[2] : "alone";
  return outcome::tell(program, join, [&](couplet::Universe& universe) {
    if (program == "left") {
      write(universe);
      return;
    }
    Waiter waiter(universe, what != "together", what == "loop");
    what == "together" ? waiter.run_together() : waiter.run_alone();
  });
}

}  // namespace waiting

#endif
