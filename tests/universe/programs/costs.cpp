// A rank that sends messages, makes collective calls and freezes an exchange, and prints how, as costs.py does.
// Usage: costs RANK SIZE
#include <couplet/couplet.hpp>
#include <cstdlib>
#include <iostream>
#include <numeric>
#include <string>
#include <vector>

namespace {

void run(std::int32_t rank, std::int32_t size) {
  couplet::Universe universe = couplet::join("costs", {.rank = rank, .size = size});
  const couplet::Group group = universe.group();
  const std::int32_t right = (rank + 1) % size;
  const std::int32_t left = (rank + size - 1) % size;
  for (const std::size_t bytes : {1U, 20'000U, 200'000U}) {
    const std::vector<std::uint8_t> data(bytes, static_cast<std::uint8_t>(rank));
    std::vector<std::uint8_t> incoming(bytes);
    couplet::Request request = group.irecv(std::span<std::uint8_t>(incoming), left);
    group.send(data, right, 0);
    request.wait();
  }
  const std::vector<double> one{static_cast<double>(rank)};
  std::vector<double> sum(1);
  couplet::allreduce(group, std::span<const double>(one), std::span<double>(sum), couplet::Operation::sum);
  if (sum[0] != size * (size - 1) / 2.0) throw couplet::Error(COUPLET_ERROR_INTERNAL, "the sum is wrong");
  for (const auto& [call, bytes] : std::vector<std::pair<std::string, std::uint64_t>>{
           {"allreduce", 8}, {"allreduce", 1 << 20}, {"broadcast", 8}, {"scan", 8}}) {
    std::cout << "METHOD " << call << ' ' << bytes << ' ' << couplet::collective_method(group, call, bytes) << '\n';
  }
  std::vector<double> out(100);
  std::vector<double> in(100);
  couplet::Exchange exchange(group, "costs");
  exchange.send({.peer = right}, out.data(), {{100}, {0}, {100}});
  exchange.receive({.peer = left}, in.data(), {{100}, {0}, {100}});
  exchange.freeze();
  exchange.start();
  exchange.wait();
  std::cout << "TABLE\n" << exchange.explain() << "END\n";
  exchange.close();
  std::cout << "EXPLAIN\n" << universe.explain() << '\n';
  couplet::barrier(group);  // a peer that has left has no link any more
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  try {
    run(std::atoi(arguments[1]), std::atoi(arguments[2]));
    return 0;
  } catch (const couplet::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
