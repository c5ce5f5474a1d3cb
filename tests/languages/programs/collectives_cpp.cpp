// The collective calls of tests/languages in C++; see test_collectives.py. Usage: collectives_cpp PROGRAM
#include <couplet/couplet.hpp>
#include <cstdio>
#include <string>
#include <vector>

namespace {

void expect(bool holds, const std::string& what) {
  if (!holds) {
    throw std::runtime_error("not so: " + what);
  }
}

void make_groups(const couplet::Universe& universe) {
  const couplet::Group all = universe.group();
  const couplet::Group heads = couplet::heads_group(universe.handle());
  expect(heads.size() == 2 && heads.rank() == all.rank(), "heads");
  couplet::barrier(heads);
  const couplet::Group left = couplet::program_group_of(universe.handle(), "left");
  expect(left.size() == 1 && left.rank() == (all.rank() == 0 ? 0 : -1), "the group of a program");
  const couplet::Group last =
      couplet::filter_group(universe.handle(), "last", [](int rank, int program) { return rank + program == 2; });
  expect(last.size() == 1 && last.rank() == (all.rank() == 1 ? 0 : -1), "filter");
  const auto backwards = couplet::split(all, "backwards", 0, -all.rank());
  expect(backwards && backwards->size() == 2 && backwards->rank() == 1 - all.rank(), "split");
  couplet::barrier(*backwards);
  expect(couplet::split(all, "first", all.rank() == 0 ? 3 : -1).has_value() == (all.rank() == 0),
         "split without color");
  try {
    static_cast<void>(couplet::split(all, all.rank() == 0 ? "one" : "other", 0));
    expect(false, "two names");
  } catch (const couplet::Error& error) {
    expect(error.code() == COUPLET_ERROR_MISMATCH, error.what());
  }
  try {
    static_cast<void>(
        couplet::filter_group(universe.handle(), "odd", [](int, int) -> bool { throw std::runtime_error("mine"); }));
    expect(false, "an exception of the filter");
  } catch (const std::runtime_error& error) {
    expect(std::string(error.what()) == "mine", error.what());
  }
}

// What one member refuses fails at both, and the next calls match.
void refuse_alone(const couplet::Group& group, std::span<const std::int64_t> in, std::span<std::int64_t> out) {
  const bool refuses = group.rank() == 1;
  const auto fails = [&](const auto& call, const std::string& words) {
    try {
      call();
      expect(false, words);
    } catch (const couplet::Error& error) {
      expect(std::string(error.what()).find(words) != std::string::npos, error.what());
    }
    const std::int64_t one = 1;
    std::int64_t sum = 0;
    couplet::allreduce(group, std::span(&one, 1), std::span(&sum, 1), couplet::Operation::sum);
    expect(sum == 2, "the call after one that was refused");
  };
  fails([&] { couplet::allreduce(group, in, refuses ? out.first(1) : out, couplet::Operation::sum); },
        "result has 1 element");
  fails([&] { couplet::iallreduce(group, in, refuses ? out.first(1) : out, couplet::Operation::sum).wait(); },
        "result has 1 element");
  const std::vector<std::uint64_t> counts(refuses ? 3 : 2, 1);
  fails([&] { couplet::allgatherv(group, in, out, {counts}); }, "have 3 entries");
  fails([&] { couplet::alltoall(group, refuses ? in.first(1) : in, out); },
        "data has 1 element, which cannot be divided");
  fails([&] { couplet::barrier(group, {.timeout_s = refuses ? std::nan("") : 60}); }, "timeout");
  fails(
      [&] {
        if (!refuses) return couplet::barrier(group);
        couplet::refuse_collective(group, "barrier", "the mesh is not there");
        throw couplet::Error(COUPLET_ERROR_STATE, "the mesh is not there");
      },
      "the mesh is not there");
}

void make_calls(const couplet::Universe& universe) {
  using couplet::Operation;
  using Numbers = std::vector<std::int64_t>;
  const couplet::Group group = universe.group();
  const std::int32_t rank = group.rank();
  expect(group.size() == 2, "two members");
  couplet::barrier(group);

  Numbers data = {rank + 1, 10 * (rank + 1)};
  Numbers result(4);
  const std::span<const std::int64_t> in(data);
  const std::span<std::int64_t> out(result);
  couplet::allreduce(group, in, out, Operation::sum);
  expect(result[0] == 3 && result[1] == 30, "allreduce");
  couplet::reduce(group, in, out, Operation::max, 1);
  expect(rank != 1 || result[1] == 20, "reduce");
  couplet::scan(group, in, out, Operation::product);
  expect(result[0] == (rank == 0 ? 1 : 2), "scan");
  couplet::allgather(group, in, out);
  expect(result[0] == 1 && result[3] == 20, "allgather");
  couplet::gather(group, in, out, 0);
  couplet::scatter(group, std::span<const std::int64_t>(result), std::span<std::int64_t>(data), 0);
  expect(data[0] == rank + 1, "scatter");
  couplet::alltoall(group, in, out);
  expect(result[0] == (rank == 0 ? 1 : 10) && result[1] == (rank == 0 ? 2 : 20), "alltoall");

  const std::vector<std::uint64_t> counts = {1, 2};
  const Numbers uneven = {100 * (rank + 1), 100 * (rank + 1) + 1};
  couplet::allgatherv(group, std::span<const std::int64_t>(uneven), out, {counts});
  expect(result[0] == 100 && result[1] == 200 && result[2] == 201, "allgatherv");
  const Numbers three = {1, 2, 3};
  couplet::reduce_scatter(group, std::span<const std::int64_t>(three), out, counts, Operation::sum);
  expect(result[0] == (rank == 0 ? 2 : 4), "reduce_scatter");

  const Operation add = couplet::create_operation<std::int64_t>(
      universe.handle(), "add",
      [](std::span<const std::int64_t> from, std::span<std::int64_t> into) {
        for (std::size_t i = 0; i < into.size(); ++i) {
          into[i] += from[i];
        }
      },
      true);
  couplet::Request request = couplet::iallreduce(group, in, out, add);
  request.wait();
  expect(result[0] == 3, "operation of user code");
  expect(couplet::collective_method(group, "allreduce", 8) == "doubling", "method");

  try {
    couplet::allreduce(group, in, out.first(1), Operation::sum);
    expect(false, "a short result");
  } catch (const couplet::Error& error) {
    expect(std::string(error.what()).ends_with("result has 1 element, and 2 are needed"), error.what());
  }
  refuse_alone(group, in, out);
  make_groups(universe);
  try {
    couplet::allreduce(group, std::span<const std::int64_t>(three).first(rank == 0 ? 2 : 3), out, Operation::sum);
    expect(false, "a mismatch");
  } catch (const couplet::Error& error) {
    expect(error.code() == COUPLET_ERROR_MISMATCH, error.what());
  }
  std::int64_t value = rank == 1 ? 77 : 0;
  couplet::broadcast(group, std::span<std::int64_t>(&value, 1), 1);
  expect(value == 77, "broadcast");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    couplet::Universe universe = couplet::join(argc > 1 ? argv[1] : "");
    make_calls(universe);
    universe.leave();
    std::puts("cpp: all collective calls are right");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
