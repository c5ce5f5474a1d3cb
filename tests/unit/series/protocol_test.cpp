// The pieces of the slot protocol alone, over plain memory.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "series/slot_protocol.hpp"

namespace couplet::series {
namespace {

using wire::ReaderState;

class Protocol : public ::testing::Test {
 protected:
  void SetUp() override { control.published.wake_at = nobody_sleeps; }
  static constexpr std::uint32_t entry_count = 4;
  wire::SeriesControl control{};
  std::array<wire::SeriesReaderEntry, entry_count> entries{};
  wire::SeriesSlotHeader slot{};
  const Owner reader{17, 3, ReaderState::holding};

  int take() { return take_entry(control, entries.data(), entry_count, reader); }
  int claim(std::uint64_t ordinal, std::uint64_t slots) {
    return try_claim(control, entries.data(), entry_count, ordinal, slots);
  }
};

TEST_F(Protocol, TheOwnerWordHoldsThreeNumbers) {
  const Owner owner = unpack(pack({0xFFFFFFFE, 0xFFFF, ReaderState::evicted}));
  EXPECT_EQ(owner.peer, 0xFFFFFFFEU);
  EXPECT_EQ(owner.incarnation, 0xFFFFU);
  EXPECT_EQ(owner.state, ReaderState::evicted);
}

TEST_F(Protocol, AStepIsThereOnlyBetweenEndOfWriteAndTheNextBegin) {
  EXPECT_FALSE(read_step(slot, 0));
  begin_write(slot, 0);
  EXPECT_FALSE(read_step(slot, 0));
  end_write(slot, 0, 42);
  EXPECT_EQ(read_step(slot, 0), 42);
  EXPECT_FALSE(read_step(slot, 4));  // the same slot's next ordinal
  ASSERT_TRUE(begin_read(slot, 0));
  begin_write(slot, 4);
  EXPECT_FALSE(end_read(slot, 0));
}

TEST_F(Protocol, PublishWakesOnlyWhoWaitsForThatMuch) {
  EXPECT_FALSE(publish(control.published, 1));
  const auto word = prepare_sleep(control.published, 3);
  ASSERT_TRUE(word);
  EXPECT_FALSE(publish(control.published, 2));
  EXPECT_EQ(control.published.word, *word);
  EXPECT_TRUE(publish(control.published, 3));
  EXPECT_NE(control.published.word, *word);
  EXPECT_FALSE(publish(control.published, 4));  // the sleeper has to ask again
  EXPECT_FALSE(prepare_sleep(control.published, 4));
}

TEST_F(Protocol, TheMostImpatientSleeperCounts) {
  ASSERT_TRUE(prepare_sleep(control.published, 9));
  ASSERT_TRUE(prepare_sleep(control.published, 2));
  ASSERT_TRUE(prepare_sleep(control.published, 5));
  EXPECT_FALSE(publish(control.published, 1));
  EXPECT_TRUE(publish(control.published, 2));
}

TEST_F(Protocol, ClosingEndsEverySleep) {
  const auto word = prepare_sleep(control.published, 3);
  close(control.published);
  EXPECT_NE(control.published.word, *word);
  EXPECT_FALSE(prepare_sleep(control.published, 3));
}

TEST_F(Protocol, AClaimIsTakenBackWhereSomebodyHolds) {
  const int entry = take();
  ASSERT_EQ(entry, 0);
  EXPECT_EQ(claim(2, 2), -1);  // opening is not holding
  EXPECT_EQ(announce_hold(control, entries[0], reader, 2, 2), 2U);
  EXPECT_EQ(claim(3, 2), -1);
  EXPECT_EQ(claim(4, 2), 0);
  EXPECT_EQ(control.claimed.claimed, 4U);  // ordinals 0 .. 3, as before
  EXPECT_FALSE(release(control.released, entries[0], 3));
  EXPECT_EQ(claim(4, 2), -1);
}

TEST_F(Protocol, AHoldThatComesTooLateIsTold) {
  EXPECT_EQ(claim(5, 2), -1);
  ASSERT_EQ(take(), 0);
  EXPECT_EQ(announce_hold(control, entries[0], reader, 1, 2), 4U);
}

TEST_F(Protocol, AReleaseWakesTheWriterOnlyWhenItIsEnough) {
  ASSERT_EQ(take(), 0);
  EXPECT_EQ(announce_hold(control, entries[0], reader, 0, 2), 0U);
  const auto word = prepare_writer_sleep(control, entries.data(), entry_count, 3);
  ASSERT_TRUE(word);
  EXPECT_FALSE(release(control.released, entries[0], 2));
  EXPECT_TRUE(release(control.released, entries[0], 3));
  EXPECT_NE(control.released.word, *word);
  EXPECT_FALSE(prepare_writer_sleep(control, entries.data(), entry_count, 3));
}

TEST_F(Protocol, EntriesRunOutAndComeBack) {
  for (int index = 0; index < 4; ++index) {
    EXPECT_EQ(take(), index);
  }
  EXPECT_EQ(take(), -1);
  EXPECT_EQ(control.released.entries_used, 4U);
  const Owner seen = owner_of(entries[2]);
  EXPECT_TRUE(replace_owner(entries[2], seen, 0));
  EXPECT_FALSE(replace_owner(entries[2], seen, 0));
  EXPECT_EQ(take(), 2);
}

// Store buffers: a claim and a hold at the same moment, a publication and a sleep at the same moment; one of the two must
// see the other, whatever the processor reorders. The model of the protocol proves it; this looks: two threads run along
// many instances, and meet at some.
struct Meeting {
  wire::SeriesControl control{};
  wire::SeriesReaderEntry entry{};
  int blocker = 0;
  std::uint64_t sure = 0;
  bool woken = false;
  std::optional<std::uint32_t> word;
};

template <typename One, typename Other>
void meet(std::vector<Meeting>& meetings, One&& one, Other&& other) {
  std::atomic<bool> started{false};
  std::thread thread([&] {
    started.store(true);
    started.notify_one();
    for (Meeting& meeting : meetings) {
      one(meeting);
    }
  });
  started.wait(false);
  for (Meeting& meeting : meetings) {
    other(meeting);
  }
  thread.join();
}

constexpr int meeting_rounds = 40;
constexpr std::size_t meetings_a_round = 2000;

TEST_F(Protocol, ClaimAndHoldNeverMissEachOther) {
  constexpr std::uint64_t slots = 2;
  for (int round = 0; round < meeting_rounds; ++round) {
    std::vector<Meeting> meetings(meetings_a_round);
    for (Meeting& meeting : meetings) {
      meeting.control.claimed.claimed = 7;
      meeting.control.released.entries_used = 1;
    }
    meet(
        meetings, [&](Meeting& m) { m.sure = announce_hold(m.control, m.entry, reader, 5, slots); },
        [&](Meeting& m) { m.blocker = try_claim(m.control, &m.entry, 1, 7, slots); });  // overwrites ordinal 5
    for (const Meeting& meeting : meetings) {
      ASSERT_TRUE(meeting.blocker == 0 || meeting.sure == 6);
    }
  }
}

TEST_F(Protocol, PublishAndSleepNeverMissEachOther) {
  for (int round = 0; round < meeting_rounds; ++round) {
    std::vector<Meeting> meetings(meetings_a_round);
    for (Meeting& meeting : meetings) {
      meeting.control.published.wake_at = nobody_sleeps;
    }
    meet(
        meetings, [](Meeting& m) { m.word = prepare_sleep(m.control.published, 1); },
        [](Meeting& m) { m.woken = publish(m.control.published, 1); });
    for (const Meeting& meeting : meetings) {
      // It does not sleep, or the word that it would sleep on has changed.
      ASSERT_TRUE(!meeting.word || (meeting.woken && *meeting.word != meeting.control.published.word));
    }
  }
}

}  // namespace
}  // namespace couplet::series
