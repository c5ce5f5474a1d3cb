// The pieces of the slot protocol alone, over plain memory.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "os/clock.hpp"
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

  Hold take() { return take_entry(control, entries.data(), entry_count, reader); }
  // Holds from `ordinal` on and returns what is safe.
  std::uint64_t hold(const Hold& hold, std::uint64_t ordinal, std::uint64_t slots) {
    EXPECT_TRUE(begin_hold(entries[static_cast<std::size_t>(hold.entry)], hold.owner, ordinal));
    return settle_hold(control, ordinal, slots);
  }
  // True: that wakes the writer.
  bool release(const Hold& hold, std::uint64_t consumed) {
    EXPECT_TRUE(move_consumed(entries[static_cast<std::size_t>(hold.entry)], hold.owner, consumed));
    return release_wakes(control.released, consumed);
  }
  int claim(std::uint64_t ordinal, std::uint64_t slots) {
    return try_claim(control, entries.data(), entry_count, ordinal, slots);
  }
};

TEST_F(Protocol, TheOwnerWordHoldsFourNumbers) {
  const Owner owner = unpack(pack({0xFFFFFFFE, 0xFFFF, ReaderState::evicted, 0xABC}));
  EXPECT_EQ(owner.generation, 0xABC);
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
  const Hold holder = take();
  ASSERT_EQ(holder.entry, 0);
  EXPECT_EQ(claim(2, 2), -1);  // opening is not holding
  EXPECT_EQ(hold(holder, 2, 2), 2U);
  EXPECT_EQ(claim(3, 2), -1);
  EXPECT_EQ(claim(4, 2), 0);
  EXPECT_EQ(control.claimed.claimed, 4U);  // ordinals 0 .. 3, as before
  EXPECT_FALSE(release(holder, 3));
  EXPECT_EQ(claim(4, 2), -1);
}

TEST_F(Protocol, AHoldThatComesTooLateIsTold) {
  EXPECT_EQ(claim(5, 2), -1);
  EXPECT_EQ(hold(take(), 1, 2), 4U);
}

TEST_F(Protocol, AReleaseWakesTheWriterOnlyWhenItIsEnough) {
  const Hold holder = take();
  EXPECT_EQ(hold(holder, 0, 2), 0U);
  const auto word = prepare_writer_sleep(control, entries.data(), entry_count, 3);
  ASSERT_TRUE(word);
  EXPECT_FALSE(release(holder, 2));
  EXPECT_TRUE(release(holder, 3));
  EXPECT_NE(control.released.word, *word);
  EXPECT_FALSE(prepare_writer_sleep(control, entries.data(), entry_count, 3));
}

TEST_F(Protocol, EntriesRunOutAndComeBack) {
  for (int index = 0; index < 4; ++index) {
    EXPECT_EQ(take().entry, index);
  }
  EXPECT_EQ(take().entry, -1);
  EXPECT_EQ(control.released.entries_used, 4U);
  const Owner seen = owner_of(entries[2]);
  EXPECT_TRUE(replace_owner(entries[2], seen, 0));
  EXPECT_FALSE(replace_owner(entries[2], seen, 0));
  EXPECT_EQ(take().entry, 2);
}

// ---- generations: an entry is given back and taken by another ----

TEST_F(Protocol, WhoWasReleasedMovesNobodyElsesEntry) {
  const Hold released = take();
  EXPECT_EQ(hold(released, 0, 2), 0U);
  EXPECT_EQ(state_of(entries[0], released.owner), HoldState::held);
  EXPECT_TRUE(replace_owner(entries[0], owner_of(entries[0]), 0));
  EXPECT_EQ(state_of(entries[0], released.owner), HoldState::released);
  const Hold next = take();  // the same process, so that only the generation differs
  ASSERT_EQ(next.entry, 0);
  EXPECT_EQ(hold(next, 0, 2), 0U);
  EXPECT_FALSE(move_consumed(entries[0], released.owner, 5));
  EXPECT_EQ(consumed_of(entries[0]), 0U);
  EXPECT_FALSE(free_entry(entries[0], released.owner));
  EXPECT_EQ(state_of(entries[0], next.owner), HoldState::held);
  EXPECT_TRUE(free_entry(entries[0], next.owner));
}

TEST_F(Protocol, ALateStoreOfAReleasedHolderFailsOnTheNextGeneration) {
  const Hold released = take();
  EXPECT_EQ(hold(released, 0, 2), 0U);
  std::uint64_t seen = entries[0].consumed.load();  // it is about to store, and is stopped
  EXPECT_TRUE(free_entry(entries[0], released.owner));
  const Hold next = take();
  EXPECT_FALSE(entries[0].consumed.compare_exchange_strong(seen, pack_consumed(released.owner.generation, 5)));
  EXPECT_EQ(hold(next, 3, 2), 3U);
  EXPECT_EQ(consumed_of(entries[0]), 3U);
}

TEST_F(Protocol, WhoWasReleasedWhileItOpenedDoesNotHold) {
  const Hold released = take();
  EXPECT_TRUE(replace_owner(entries[0], owner_of(entries[0]), 0));
  EXPECT_FALSE(begin_hold(entries[0], released.owner, 0));
  const Hold next = take();
  EXPECT_FALSE(begin_hold(entries[0], released.owner, 7));
  EXPECT_EQ(hold(next, 0, 2), 0U);
  EXPECT_EQ(consumed_of(entries[0]), 0U);
}

// The model has found it: a reader that was released between its two stores overwrote what the next owner had consumed.
TEST_F(Protocol, WhoIsReleasedWhileItTakesAnEntryWritesNothingIntoItAfterwards) {
  auto& entry = entries[0];
  std::atomic<bool> over = false;
  std::thread releaser([&] {
    while (!over.load()) {
      if (const Owner seen = owner_of(entry); seen.state == ReaderState::opening) {
        static_cast<void>(replace_owner(entry, seen, 0));
      }
    }
  });
  const auto take_often = [&](std::uint32_t peer) {
    std::uint64_t held = 0;
    const std::uint64_t end_ns = os::now_ns() + 20'000'000'000;
    for (int turn = 0; turn < 20'000 || (held == 0 && os::now_ns() < end_ns); ++turn) {  // it has to hold once
      const Hold hold = take_entry(control, &entry, 1, {.peer = peer});
      if (!hold.taken() || !begin_hold(entry, hold.owner, peer)) {
        continue;
      }
      ++held;
      const std::uint64_t consumed = entry.consumed.load();
      if (state_of(entry, hold.owner) == HoldState::held) {
        EXPECT_EQ(consumed, pack_consumed(hold.owner.generation, peer));
      }
      static_cast<void>(free_entry(entry, hold.owner));
    }
    EXPECT_GT(held, 0U);
  };
  std::thread other([&] { take_often(2); });
  take_often(1);
  other.join();
  over = true;
  releaser.join();
}

TEST_F(Protocol, AnEvictedHolderIsToldSoAndGivesItsEntryBack) {
  const Hold evicted = take();
  EXPECT_EQ(hold(evicted, 0, 2), 0U);
  Owner word = owner_of(entries[0]);
  word.state = ReaderState::evicted;
  EXPECT_TRUE(replace_owner(entries[0], evicted.owner, pack(word)));
  EXPECT_EQ(state_of(entries[0], evicted.owner), HoldState::evicted);
  EXPECT_FALSE(move_consumed(entries[0], evicted.owner, 1));
  EXPECT_TRUE(free_entry(entries[0], evicted.owner));
  EXPECT_EQ(entries[0].owner, 0U);
}

TEST_F(Protocol, GenerationsStartAgainAfterTheLast) {
  for (std::uint32_t turn = 1; turn <= (1U << wire::series_generation_bits) + 2; ++turn) {
    const Hold one = take();
    ASSERT_EQ(one.entry, 0);
    ASSERT_EQ(one.owner.generation, turn & generation_mask);
    ASSERT_TRUE(free_entry(entries[0], one.owner));
  }
}

// ---- a claim that is not decided ----

TEST_F(Protocol, AHoldTakesATentativeClaimBack) {
  EXPECT_EQ(claim(4, 2), -1);
  control.claimed.claim = tentative_claim(6);  // the writer looks at the holds for ordinal 5, and stops there
  EXPECT_EQ(hold(take(), 3, 2), 3U);           // ordinal 3 is what that claim would overwrite
  EXPECT_EQ(control.claimed.claim, definite_claim(5));
  std::uint64_t expected = tentative_claim(6);  // the writer goes on
  EXPECT_FALSE(control.claimed.claim.compare_exchange_strong(expected, definite_claim(6)));
  EXPECT_EQ(claim(5, 2), 0);
}

TEST_F(Protocol, AHoldLeavesATentativeClaimThatTakesNothingFromIt) {
  EXPECT_EQ(claim(4, 2), -1);
  control.claimed.claim = tentative_claim(6);
  EXPECT_EQ(hold(take(), 4, 2), 4U);
  EXPECT_EQ(control.claimed.claim, tentative_claim(6));
}

TEST_F(Protocol, ADefiniteClaimIsNotTakenBack) {
  EXPECT_EQ(claim(4, 2), -1);
  EXPECT_EQ(claim(5, 2), -1);
  EXPECT_EQ(hold(take(), 3, 2), 4U);
  EXPECT_EQ(control.claimed.claimed, 6U);
}

// ---- one wake-up for all sleepers ----

TEST_F(Protocol, OneOfTheSleepersPassesTheWakeUpOn) {
  EXPECT_FALSE(take_pass_on(control.published));
  ASSERT_TRUE(prepare_sleep(control.published, 1));
  EXPECT_TRUE(publish(control.published, 1));
  EXPECT_TRUE(take_pass_on(control.published));
  EXPECT_FALSE(take_pass_on(control.published));
}

// Store buffers: a claim and a hold at the same moment, a publication and a sleep at the same moment; one of the two
// must see the other, whatever the processor reorders. The model of the protocol proves it; this looks: two threads run
// along many instances, and meet at some.
struct Meeting {
  wire::SeriesControl control{};
  wire::SeriesReaderEntry entry{};
  Hold hold;
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
      meeting.control.claimed.claim = definite_claim(7);
      meeting.hold = take_entry(meeting.control, &meeting.entry, 1, reader);
    }
    meet(
        meetings,
        [&](Meeting& m) {
          ASSERT_TRUE(begin_hold(m.entry, m.hold.owner, 5));
          m.sure = settle_hold(m.control, 5, slots);
        },
        [&](Meeting& m) { m.blocker = try_claim(m.control, &m.entry, 1, 7, slots); });  // overwrites ordinal 5
    for (const Meeting& meeting : meetings) {
      ASSERT_TRUE(meeting.blocker == 0 ? meeting.sure == 5 : meeting.sure == 6);  // one of the two decides
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
