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
    expect(std::string(error.what()) == "allreduce: result has 1 elements, and 2 are needed", error.what());
  }
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
