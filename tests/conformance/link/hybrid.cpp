// Channels with several lanes: hybrid ones, several streams over tcp, and lanes of unlike delay.
#include "link/sim/network.hpp"
#include "link_case.hpp"

namespace couplet::conformance {

namespace {

std::unique_ptr<Connection> connect_hybrid() {
  auto connection = connect_tcp();
  connection->more.push_back(connect_files());
  connection->policy = {
      .rule = channel::LaneRule::by_size, .max_short_bytes = 700, .short_link = "tcp", .long_link = "file"};
  return connection;
}

std::unique_ptr<Connection> connect_streams() {
  auto connection = connect_tcp();
  connection->more.push_back(connect_tcp());
  connection->more.push_back(connect_tcp());
  connection->policy = {.rule = channel::LaneRule::by_size, .max_short_bytes = 700};
  return connection;
}

struct SlowAndFast final : Connection {
  link::SimNetwork network;
  explicit SlowAndFast(const link::SimOptions& options) : network(4711, options) {
    std::tie(first, second) = network.connect(0, 1);
  }
  void pause() override { network.advance_to_next(); }
};

std::unique_ptr<Connection> connect_unlike_delays() {
  auto connection = std::make_unique<SlowAndFast>(link::SimOptions{.delay_ns = 1'000});
  connection->more.push_back(std::make_unique<SlowAndFast>(link::SimOptions{.delay_ns = 1'000'000}));
  connection->policy.rule = channel::LaneRule::round_robin;
  return connection;
}

LinkCase delayed(const std::string& name, const std::function<std::unique_ptr<Connection>()>& make) {
  return with_faults({name, make}, name + "_with_delays", {.delay = 0.1}, 1);
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(several_lanes, ChannelConformance,
                         testing::Values(LinkCase{"hybrid", connect_hybrid}, delayed("hybrid", connect_hybrid),
                                         LinkCase{"streams", connect_streams}, delayed("streams", connect_streams),
                                         LinkCase{"unlike_delays", connect_unlike_delays},
                                         delayed("unlike_delays", connect_unlike_delays)),
                         name_of);

}  // namespace couplet::conformance
