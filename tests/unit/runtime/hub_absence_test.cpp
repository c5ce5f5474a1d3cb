// How long a relay that nobody uses waits for its hub.
#include "runtime/hub_absence.hpp"

#include <gtest/gtest.h>

#include <cerrno>

#include "os/socket.hpp"

namespace couplet::runtime {
namespace {

constexpr std::uint64_t tick_ns = 100'000'000;

const Status silent = os::socket_failure(ETIMEDOUT, "the hub is lost");
const Status refused = os::socket_failure(ECONNREFUSED, "the hub is lost");

// Looks at each tick for this time, and returns whether it has given up at the end.
bool after(HubAbsence& absence, const Status& hub, double seconds, std::uint64_t& now_ns) {
  for (const auto end = now_ns + static_cast<std::uint64_t>(seconds * 1e9); now_ns <= end; now_ns += tick_ns) {
    absence.look(hub, now_ns);
  }
  return absence.given_up();
}

TEST(HubAbsence, IsLongForAHubThatMayLive) {
  HubAbsence absence({});
  std::uint64_t now_ns = 1;
  EXPECT_FALSE(after(absence, silent, 59, now_ns));
  EXPECT_TRUE(after(absence, silent, 2, now_ns));
}

TEST(HubAbsence, IsShortForAHubThatIsDead) {
  HubAbsence absence({});
  std::uint64_t now_ns = 1;
  EXPECT_FALSE(after(absence, silent, 10, now_ns));
  EXPECT_FALSE(after(absence, refused, 3.8, now_ns));
  EXPECT_TRUE(after(absence, refused, 0.5, now_ns));
}

TEST(HubAbsence, BeginsAnewWhenTheHubWasThere) {
  HubAbsence absence({});
  std::uint64_t now_ns = 1;
  for (int round = 0; round < 3; ++round) {
    EXPECT_FALSE(after(absence, refused, 3, now_ns));
    EXPECT_FALSE(after(absence, silent, 40, now_ns));
    EXPECT_FALSE(after(absence, {}, 1, now_ns));
  }
}

TEST(HubAbsence, DoesNotCountTheTimeInWhichTheRelayIsStopped) {
  HubAbsence absence({});
  std::uint64_t now_ns = 1;
  after(absence, refused, 1, now_ns);
  now_ns += 3600 * std::uint64_t{1'000'000'000};
  EXPECT_FALSE(after(absence, refused, 1, now_ns));
}

}  // namespace
}  // namespace couplet::runtime
