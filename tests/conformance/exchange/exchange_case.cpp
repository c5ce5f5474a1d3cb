#include "exchange_case.hpp"

namespace couplet::conformance {

Member::Member(const ExchangeCase& all, Party& one, const std::string& directory, const std::string& name,
               double timeout_s)
    : makers_(all.make_makers(one)), timeout_s_(timeout_s), party(one) {
  exchange::Surroundings around;
  around.messenger = one.messenger.get();
  around.engine = one.engine.get();
  if (all.shares_memory(one.rank())) around.run_directory = directory;
  around.makers = {makers_.back().get()};
  exchange::ExchangeOptions options;
  options.timeout_s = timeout_s;
  auto made = Exchange::create(around, one.group(), name, options);
  EXPECT_TRUE(made.ok()) << made.status().text();
  exchange = std::move(*made);
}

Member::~Member() {
  if (exchange == nullptr) return;
  static_cast<void>(exchange->close());
  if (!exchange->is_idle()) bury(party, std::move(exchange));
}

std::uint32_t Member::add(Direction direction, int peer, std::int64_t tag, void* data, std::uint64_t bytes,
                          const Edge& terms) {
  Edge edge = terms;
  edge.direction = direction;
  edge.peer = peer;
  edge.tag = tag;
  edge.regions = {{.memory = static_cast<std::byte*>(data), .run_bytes = bytes}};
  const auto number = exchange->add(std::move(edge));
  EXPECT_TRUE(number.ok()) << number.status().text();
  return number.ok() ? *number : 0;
}

}  // namespace couplet::conformance
