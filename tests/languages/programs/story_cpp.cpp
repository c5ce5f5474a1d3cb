// The story of tests/languages in C++; see test_story.py. Usage: story_cpp writer|reader
#include <array>
#include <complex>
#include <couplet/couplet.hpp>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr std::int64_t steps = 20;
constexpr std::size_t large = 100000;
const std::vector<std::int64_t> shape{4, 3, 5};
const couplet::Box whole{{0, 0, 0}, shape};
const couplet::Box part{{1, 0, 2}, {4, 2, 5}};

void require(bool condition, const std::string& what) {
  if (!condition) {
    throw std::runtime_error("not true: " + what);
  }
}

/// Calls visit(value) for each element of the box in C order.
template <class Visit>
void for_each_value(const couplet::Box& box, std::int64_t step, Visit visit) {
  for (std::int64_t k = box.start[0]; k < box.stop[0]; ++k) {
    for (std::int64_t j = box.start[1]; j < box.stop[1]; ++j) {
      for (std::int64_t i = box.start[2]; i < box.stop[2]; ++i) {
        visit(static_cast<double>(1000 * step + 100 * k + 10 * j + i));
      }
    }
  }
}

void fill(std::span<double> eta, std::int64_t step) {
  auto next = eta.begin();
  for_each_value(whole, step, [&](double value) { *next++ = value; });
}

void write_series(couplet::Universe& universe) {
  auto series = universe.create_series<double>(
      "eta", shape, whole, {.slots = 6, .required_readers = "reader", .holders = 3, .collective = true});
  std::vector<double> eta(series.elements());
  for (std::int64_t step = 10; step <= 10 * steps; step += 10) {
    if (step % 20 == 0) {
      fill(eta, step);
      require(series.put(eta, step), "put");
    } else {
      fill(series.claim(step - 1).value(), step - 1);
      series.abandon();
      fill(series.claim(step).value(), step);
      series.publish();
    }
  }
  require(series.newest() == 10 * steps, "newest");
  series.close();
}

void read_series(couplet::Universe& universe) {
  auto series = universe.open_series<double>("eta", {.box = part});
  std::vector<double> out(4 * series.elements());
  std::int64_t read = 0;
  for (auto batch = series.read({.up_to = 4}, out); !batch.ended(); batch = series.read({.up_to = 4}, out)) {
    require(batch.status() == COUPLET_OK && batch.lost() == 0, "whole batch");
    for (std::size_t s = 0; s < batch.size(); ++s) {
      require(batch.ordinals()[s] == static_cast<std::uint64_t>(read), "ordinal");
      require(batch.steps()[s] == 10 * ++read, "step");
      auto next = batch[s].begin();
      for_each_value(part, batch.steps()[s], [&](double value) { require(*next++ == value, "value"); });
    }
  }
  require(read == steps, "all steps");
  const couplet::Statistics counts = series.statistics();
  require(counts.delivered == steps && counts.lost == 0, "counts");
  require(counts.published - counts.first == counts.delivered + counts.lost + counts.skipped + counts.pending,
          "equation");
}

void answer(const couplet::Group& group) {
  std::vector<std::int64_t> numbers(large);
  for (int round = 0; round < 5; ++round) {
    const couplet::Message message = group.recv(numbers);
    require(message.source == 1 && message.tag == 100 + round, "envelope");
    const std::span<std::int64_t> received = std::span(numbers).first(message.count);
    for (std::int64_t& number : received) {
      number *= 2;
    }
    group.send(std::span<const std::int64_t>(received), message.source, 200 + round);
  }
  const std::array<float, 3> first{1.5F, 2.5F, 3.5F};
  const std::complex<double> second{1, 2};
  std::vector<couplet::Request> requests;
  requests.push_back(group.isend(std::span<const float>(first), 1, 21));
  requests.push_back(group.isend(std::span<const std::complex<double>>(&second, 1), 1, 22));
  couplet::wait_all(requests, 60);
}

void ask(const couplet::Group& group) {
  const std::array<std::size_t, 5> counts{0, 1, 7, 4000, large};
  std::vector<std::int64_t> numbers(large);
  for (int round = 0; round < 5; ++round) {
    const std::size_t count = counts.at(static_cast<std::size_t>(round));
    for (std::size_t n = 0; n < count; ++n) {
      numbers[n] = static_cast<std::int64_t>(n) + round;
    }
    group.send(std::span<const std::int64_t>(numbers).first(count), 0, 100 + round);
    const couplet::Message message = group.recv(numbers, 0, 200 + round);
    require(message.source == 0 && message.count == count && message.bytes == 8 * count, "envelope");
    for (std::size_t n = 0; n < count; ++n) {
      require(numbers[n] == 2 * (static_cast<std::int64_t>(n) + round), "number");
    }
  }
  std::array<float, 3> first{};
  std::complex<double> second;
  std::vector<couplet::Request> requests;
  requests.push_back(group.irecv(std::span<std::complex<double>>(&second, 1), 0, 22));
  requests.push_back(group.irecv(std::span<float>(first), couplet::any_source, 21));
  const couplet::AnyDone done = couplet::wait_any(requests, 60);
  require(done.index >= 0 && done.message.tag == (done.index == 0 ? 22 : 21), "any");
  couplet::Request& other = requests[static_cast<std::size_t>(1 - done.index)];
  other.wait(60);
  require(!other.pending() && other.test().has_value(), "a request that is done stays done");
  require(second == std::complex<double>(1, 2) && first[0] == 1.5F && first[2] == 3.5F, "values");
}

void tell(const std::string& role) {
  const bool writer = role == "writer";
  couplet::Universe universe = couplet::join(role);
  require(universe.size() == 2 && universe.rank() == (writer ? 0 : 1), "rank");
  require(universe.find_rank(writer ? "reader" : "writer", 0) == 1 - universe.rank(), "peer");
  if (writer) {
    write_series(universe);
    answer(universe.group());
  } else {
    read_series(universe);
    ask(universe.group());
  }
  universe.leave();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    tell(argc > 1 ? argv[1] : "");
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  std::cout << "cpp " << argv[1] << ": the story is told\n";
  return 0;
}
