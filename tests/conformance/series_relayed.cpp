// Readers on another node: a relay on the writers' node sends into their local slots.
#include <map>

#include "conformance/series_suite.hpp"
#include "support/loopback_relay.hpp"

namespace couplet::conformance {
namespace {

// Returns the relay of a world. It exists as long as a reader has it.
std::shared_ptr<testing::LoopbackRelay> relay_of(const testing::SeriesWorld& world) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<testing::LoopbackRelay>> relays;
  const std::lock_guard lock(mutex);
  auto& entry = relays[world.directory()];
  auto relay = entry.lock();
  if (!relay) {
    entry = relay = std::make_shared<testing::LoopbackRelay>(world);
  }
  return relay;
}

}  // namespace

const SeriesWay relayed = {"relayed",
                           [](const testing::SeriesWorld& world, channel::PeerId self, std::string program) {
                             return std::make_unique<testing::RemoteEnvironment>(
                                 world, self, std::move(program), [relay = relay_of(world)] { return relay; });
                           },
                           {}};
INSTANTIATE_TEST_SUITE_P(Relayed, SeriesConformance, ::testing::Values(relayed));

}  // namespace couplet::conformance
