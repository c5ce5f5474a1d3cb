// A connection that reads too little is told no changes, and then the state of everything.
#include "hub_world.hpp"

namespace couplet::universe {
namespace {

SeriesRecord record_of(channel::PeerId writer, std::uint64_t creation) {
  SeriesRecord record;
  record.name = "eta";
  record.program = "nowcast";
  record.fields = {{"", COUPLET_DOUBLE, {4}}};
  record.slots = 2;
  record.creation = creation;
  SeriesPart part;
  part.writer = writer;
  part.boxes = {{{1, {0}, {4}}}};
  part.file = "series-eta";
  record.parts.push_back(part);
  return record;
}

class HubStateBehind : public ::testing::Test {
 protected:
  HubStateBehind() : ocean_(world_.join("ocean", 0, 1)), nowcast_(world_.join("nowcast", 0, 1)) {
    other_ = world_.join("other", 0, 1);
    world_.announce(nowcast_, 1, record_of(1, creation_));
    world_.send(ocean_, NoteMessage{1, SeriesNote::reader_opened, "eta"});
  }
  void change() {
    world_.send(nowcast_, NoteMessage{2, SeriesNote::writer_closed, "eta", {}, creation_});
    world_.announce(nowcast_, 3, record_of(1, ++creation_));
  }
  HubWorld world_{"ocean:1,nowcast:1,other:1"};
  ConnectionId ocean_;
  ConnectionId nowcast_;
  ConnectionId other_;
  std::uint64_t creation_ = 7;
};

TEST_F(HubStateBehind, ItIsToldNoChangesAndThenTheState) {
  world_.hub().fell_behind(ocean_);
  const auto changes = world_.all<SeriesMessage>(ocean_).size();
  const auto states = world_.all<StatesMessage>(ocean_).size();
  change();
  world_.cut(other_);
  EXPECT_EQ(world_.all<SeriesMessage>(ocean_).size(), changes);
  EXPECT_TRUE(world_.changes(ocean_).empty());
  EXPECT_EQ(world_.changes(nowcast_).size(), 1U) << "the others are told";

  world_.hub().caught_up(ocean_);
  world_.pump();
  ASSERT_EQ(world_.all<SeriesMessage>(ocean_).size(), changes + 1);
  EXPECT_EQ(world_.last<SeriesMessage>(ocean_).incarnation, 1U);
  EXPECT_FALSE(world_.last<SeriesMessage>(ocean_).closed);
  EXPECT_EQ(world_.all<StatesMessage>(ocean_).size(), states + 1);
  EXPECT_EQ(world_.known(ocean_, 2).state, PeerState::lost);
  EXPECT_EQ(world_.known(ocean_, 2).why, "its connection ended");
}

TEST_F(HubStateBehind, ItIsToldNothingIfNothingHasChanged) {
  const auto states = world_.all<StatesMessage>(ocean_).size();
  world_.hub().fell_behind(ocean_);
  world_.hub().caught_up(ocean_);
  world_.pump();
  EXPECT_EQ(world_.all<StatesMessage>(ocean_).size(), states);
}

TEST_F(HubStateBehind, ItIsAnsweredAndMayEnd) {
  world_.hub().fell_behind(ocean_);
  world_.send(ocean_, FindMessage{7, "eta", -1, false});
  EXPECT_EQ(world_.last<AnswerMessage>(ocean_).request, 7U);
  world_.cut(other_);
  world_.send(ocean_, LeaveMessage{});
  EXPECT_TRUE(world_.has<GoodbyeMessage>(ocean_));
  world_.hub().caught_up(ocean_);
  world_.pump();
  world_.cut(ocean_);
  world_.hub().caught_up(ocean_);
  world_.hub().fell_behind(ocean_);
}

}  // namespace
}  // namespace couplet::universe
