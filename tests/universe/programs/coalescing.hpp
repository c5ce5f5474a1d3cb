// Coalesced rounds among all ranks of a universe, whose contents are checked.
// WHAT: "rounds": a kernel with a halo, a monitor by phased reduction, and a viewer steered by phased broadcast, in all
// four combinations of the merges; prints the same sum for each. "throw": a client of the last rank throws in a round,
// and the others print the error that they get. "death": the last rank kills itself. "inside": misuse by callbacks.
// "stages": prints which stages of clients are called, whose classes override some.
#ifndef COUPLET_TESTS_COALESCING_HPP
#define COUPLET_TESTS_COALESCING_HPP

#include <signal.h>

#include <algorithm>
#include <couplet/couplet.hpp>
#include <functional>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace coalescing {

constexpr int rounds = 40;
constexpr std::int64_t cells = 100;

/// A row of cells with a cell of each neighbour at its ends, in a ring of all ranks.
class Kernel final : public couplet::Client {
 public:
  explicit Kernel(const couplet::Group& group)
      : rank_(group.rank()), size_(group.size()), row_(cells + 2, 1.0 + group.rank()) {}
  void enter(couplet::StepManager& manager) {
    const std::int32_t number = manager.add("kernel", *this);
    const std::int32_t left = (rank_ + size_ - 1) % size_;
    const std::int32_t right = (rank_ + 1) % size_;
    const auto cell = [](std::int64_t place) { return couplet::ArrayBox{{cells + 2}, {place}, {place + 1}}; };
    manager.send(number, {.peer = left, .tag = 1}, row_.data(), cell(1));
    manager.send(number, {.peer = right, .tag = 2}, row_.data(), cell(cells));
    manager.receive(number, {.peer = right, .tag = 1}, row_.data(), cell(cells + 1));
    manager.receive(number, {.peer = left, .tag = 2}, row_.data(), cell(0));
  }
  void use(const couplet::Moment& /*moment*/) override {
    std::vector<double> next = row_;
    for (std::size_t place = 1; place <= cells; ++place) {
      next[place] = row_[place] + strength * (row_[place - 1] - 2 * row_[place] + row_[place + 1]);
    }
    std::copy(next.begin(), next.end(), row_.begin());
  }
  [[nodiscard]] double sum() const {
    double sum = 0;
    for (std::size_t place = 1; place <= cells; ++place) sum += row_[place] * static_cast<double>(place);
    return sum;
  }
  double strength = 0.2;

 private:
  std::int32_t rank_;
  std::int32_t size_;
  std::vector<double> row_;
};

/// Sends a part of changing length to the next rank in every third round.
class Viewer final : public couplet::Client {
 public:
  Viewer(const couplet::Group& group, const Kernel& kernel)
      : rank_(group.rank()), size_(group.size()), kernel_(kernel), out_(20), in_(20) {}
  void enter(couplet::StepManager& manager) {
    manager_ = &manager;
    const std::int32_t number = manager.add("viewer", *this);
    const couplet::ArrayBox all{{20}, {0}, {20}};
    request_ = manager.send(number, {.peer = (rank_ + 1) % size_, .every = 3, .is_variable = true}, out_.data(), all);
    arriving_ = manager.receive(number, {.peer = (rank_ + size_ - 1) % size_, .every = 3, .is_variable = true},
                                in_.data(), all);
  }
  void fill(const couplet::Moment& moment) override {
    for (double& value : out_) value = kernel_.sum() + static_cast<double>(moment.round);
    if (moment.round % 3 == 0) manager_->set_length(request_, 8 * (moment.round % 20));
  }
  void use(const couplet::Moment& moment) override {
    const std::uint64_t wanted = moment.round % 3 == 0 ? 8 * (moment.round % 20) : 0;
    if (manager_->length(arriving_) != wanted) throw std::runtime_error("a part has the wrong length");
    for (std::size_t place = 0; place < wanted / 8; ++place) seen_ += in_[place];
  }
  [[nodiscard]] double seen() const { return seen_; }

 private:
  std::int32_t rank_;
  std::int32_t size_;
  const Kernel& kernel_;
  couplet::StepManager* manager_ = nullptr;
  std::uint32_t request_ = 0;
  std::uint32_t arriving_ = 0;
  double seen_ = 0;
  std::vector<double> out_;
  std::vector<double> in_;
};

/// Runs all clients, and returns what they have computed, with all digits.
inline std::string run(const couplet::Group& group, bool merge_waits, bool merge_messages) {
  couplet::StepManager manager(group, "flow", {.merge_waits = merge_waits, .merge_messages = merge_messages});
  Kernel kernel(group);
  Viewer viewer(group, kernel);
  kernel.enter(manager);
  viewer.enter(manager);
  double all = 0;
  manager.add_reduction<double>(
      {.name = "monitor", .every = 4}, COUPLET_OPERATION_MAX, 1, true,
      [&](std::uint64_t, std::span<double> value) { return value[0] = kernel.sum(), true; },
      [&](std::uint64_t, std::uint64_t givers, std::span<const double> value) {
        if (givers != static_cast<std::uint64_t>(group.size())) throw std::runtime_error("a rank has not given");
        all += value[0];
      });
  manager.add_broadcast<double>(
      {.name = "steering"}, 1,
      [](std::uint64_t round, std::span<double> value) -> std::optional<std::size_t> {
        if (round % 7 != 2) return std::nullopt;
        value[0] = 0.2 - 0.001 * static_cast<double>(round);
        return 1;
      },
      [&](std::uint64_t, std::span<const double> value) { kernel.strength = value[0]; });
  manager.freeze();
  for (int round = 0; round < rounds; ++round) manager.round(60);
  std::ostringstream text;
  text << std::hexfloat << kernel.sum() << " " << viewer.seen() << " " << all;
  manager.close();
  return text.str();
}

/// A client that does something in the round 5 at the last rank.
class Troubled final : public couplet::Client {
 public:
  explicit Troubled(std::function<void()> trouble) : trouble_(std::move(trouble)) {}
  void use(const couplet::Moment& moment) override {
    if (moment.round == 5) trouble_();
  }

 private:
  std::function<void()> trouble_;
};

inline void get_into_trouble(const couplet::Group& group, std::function<void()> trouble) {
  couplet::StepManager manager(group, "flow");
  Kernel kernel(group);
  kernel.enter(manager);
  const bool is_last = group.rank() == group.size() - 1;
  Troubled troubled(is_last ? std::move(trouble) : [] {});
  manager.add("troubled", troubled);
  manager.freeze();
  try {
    for (int round = 0; round < 1'000; ++round) manager.round(60);
  } catch (const couplet::Error& error) {
    std::cout << (error.name() + std::string(": ") + error.what() + "\n") << std::flush;
  } catch (const std::exception& error) {
    std::cout << (std::string("thrown: ") + error.what() + "\n") << std::flush;
  }
}

/// What a callback may not do is refused, and what it may do is done.
inline void misuse(couplet::Universe& universe, const couplet::Group& group) {
  couplet::StepManager manager(group, "flow");
  std::string said;
  const auto attempt = [&](const std::function<couplet_status()>& call) {
    said += couplet_status_name(call());
    said += " ";
  };
  Troubled troubled([&] {
    attempt([&] { return couplet_coalesce_round(manager.handle(), 1); });
    attempt([&] { return couplet_coalesce_amend(manager.handle(), 9); });
    attempt([&] { return couplet_coalesce_close(manager.handle()); });
    attempt([&] { return couplet_leave(universe.handle()); });
    attempt([&] { return couplet_universe_progress(universe.handle()); });
  });
  manager.add("troubled", troubled);
  manager.freeze();
  for (int round = 0; round < 8; ++round) manager.round(60);
  std::cout << (said + "\n") << std::flush;
}

/// A client that says which of its stages are called. Classes that override none, some, or all of them are derived from
/// it or stand beside it.
class Filling : public couplet::Client {
 public:
  void fill(const couplet::Moment& /*moment*/) override { said += "fill "; }
  std::string said;
};

class FillingAndUsing final : public Filling {
 public:
  void use(const couplet::Moment& /*moment*/) override { said += "use "; }
};

/// A class that registers itself before the object of the derived class is there.
class Entering : public couplet::Client {
 public:
  explicit Entering(couplet::StepManager& manager) { manager.add("entering", *this); }
  std::string said;
};

class EnteringAndUsing final : public Entering {
 public:
  using Entering::Entering;
  void use(const couplet::Moment& /*moment*/) override { said += "use "; }
};

class Hiding final : public couplet::Client {
 public:
  std::string said;

 private:
  void overlap(const couplet::Moment& /*moment*/) override { said += "overlap "; }
  void end_round(const couplet::Moment& /*moment*/) override { said += "end_round "; }
};

class Overloading final : public couplet::Client {
 public:
  void fill(int /*other*/) { said += "another "; }
  void fill(const couplet::Moment& /*moment*/) override { said += "fill "; }
  std::string said;
};

/// Prints which stages of each client are called in a round.
inline void tell_stages(const couplet::Group& group) {
  couplet::StepManager manager(group, "flow");
  couplet::Client idle;
  Filling filling;
  FillingAndUsing both;
  FillingAndUsing known_as_filling;
  FillingAndUsing known_as_client;
  Hiding hiding;
  Overloading overloading;
  manager.add("idle", idle);
  manager.add("filling", filling);
  manager.add("both", both);
  manager.add("known as filling", static_cast<Filling&>(known_as_filling));
  manager.add("known as client", static_cast<couplet::Client&>(known_as_client));
  manager.add("hiding", hiding);
  manager.add("overloading", overloading);
  EnteringAndUsing entering(manager);
  manager.freeze();
  manager.round(60);
  for (const std::string* said : {&filling.said, &both.said, &known_as_filling.said, &known_as_client.said,
                                  &hiding.said, &overloading.said, &entering.said}) {
    std::cout << *said + "\n";
  }
  std::cout << std::flush;
}

/// Joins and runs. Returns the status of the process.
template <class Join>
int tell(int argc, char** argv, Join join) {
  const std::string program = argc > 1 ? argv[1] : "";
  const std::string what = argc > 2 ? argv[2] : "rounds";
  try {
    couplet::Universe universe = join(program);
    const couplet::Group group = universe.group();
    if (what == "throw") {
      get_into_trouble(group, [] { throw std::out_of_range("no such site"); });
    } else if (what == "death") {
      get_into_trouble(group, [] { ::raise(SIGKILL); });
    } else if (what == "inside") {
      misuse(universe, group);
    } else if (what == "stages") {
      tell_stages(group);
    } else {
      const std::string merged = run(group, true, true);
      for (const bool merge_waits : {true, false}) {
        for (const bool merge_messages : {true, false}) {
          if (run(group, merge_waits, merge_messages) != merged) throw std::runtime_error("the bits differ");
        }
      }
      std::cout << (merged + "\n") << std::flush;
    }
    universe.leave();
    return 0;
  } catch (const std::exception& error) {
    std::cerr << (program + ": " + error.what() + "\n") << std::flush;
    return 1;
  }
}

}  // namespace coalescing

#endif
