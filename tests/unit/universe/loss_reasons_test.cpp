// The reasons of losses that a member is told with the states of all peers.
#include "universe/hub/loss_reasons.hpp"

#include <gtest/gtest.h>

namespace couplet::universe {
namespace {

PeerInfo info(PeerState state, std::uint16_t incarnation = 0) {
  PeerInfo info;
  info.state = state;
  info.incarnation = incarnation;
  info.node = 3;
  return info;
}

TEST(LossReasons, PeersThatAreLostForOneReasonAreOneGroup) {
  LossReasons reasons;
  reasons.note(4, info(PeerState::lost, 2), "its host is down");
  reasons.note(5, info(PeerState::lost), "it was killed");
  reasons.note(6, info(PeerState::lost), "its host is down");
  reasons.note(7, info(PeerState::lost), "");
  reasons.note(8, info(PeerState::left), "");
  const auto groups = reasons.groups();
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].why, "it was killed");
  ASSERT_EQ(groups[0].runs.size(), 1U);
  EXPECT_EQ(groups[0].runs[0].first, 5U);
  EXPECT_EQ(groups[1].why, "its host is down");
  ASSERT_EQ(groups[1].runs.size(), 2U);
  EXPECT_EQ(groups[1].runs[0], (PeerRun{4, 1, PeerState::lost, 2, 3}));
  EXPECT_EQ(groups[1].runs[1].first, 6U);
}

TEST(LossReasons, AReasonEndsWithTheReturnAndWithTheNextLoss) {
  LossReasons reasons;
  reasons.note(4, info(PeerState::lost), "it was killed");
  reasons.note(4, info(PeerState::lost, 1), "its host is down");
  ASSERT_EQ(reasons.groups().size(), 1U);
  EXPECT_EQ(reasons.groups()[0].why, "its host is down");
  reasons.note(4, info(PeerState::present, 2), "");
  EXPECT_TRUE(reasons.groups().empty());
}

TEST(LossReasons, TheOldestAreForgottenBeyondTheBound) {
  LossReasons reasons;
  for (channel::PeerId peer = 0; peer <= LossReasons::max_reasons; ++peer) {
    reasons.note(peer, info(PeerState::lost), "it was killed");
  }
  ASSERT_EQ(reasons.groups().size(), 1U);
  EXPECT_EQ(reasons.groups()[0].runs.size(), LossReasons::max_reasons);
  EXPECT_EQ(reasons.groups()[0].runs.front().first, 1U);
}

}  // namespace
}  // namespace couplet::universe
