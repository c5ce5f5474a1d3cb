#include "task/open_tasks.hpp"

#include <gtest/gtest.h>

#include <random>

namespace couplet::task {
namespace {

constexpr channel::PeerId requester = 7;

OpenTask with_number(std::uint64_t number) {
  OpenTask task;
  task.requester = requester;
  task.number = number;
  return task;
}

// Tasks with the ids 1 to count, and the numbers 101 and so on, which may be given out.
OpenTasks inbox_of(std::uint64_t count) {
  OpenTasks tasks;
  for (std::uint64_t id = 1; id <= count; ++id) {
    tasks.add(id, with_number(100 + id));
  }
  tasks.looked();
  tasks.looked();
  return tasks;
}

TEST(OpenTasks, AreTakenInTheOrderInWhichTheyCame) {
  OpenTasks tasks = inbox_of(2);
  EXPECT_EQ(tasks.take(), 1U);
  ASSERT_NE(tasks.held(1), nullptr);
  EXPECT_EQ(tasks.held(1)->number, 101U);
  EXPECT_EQ(tasks.held(2), nullptr);
  EXPECT_FALSE(tasks.all_held());
  EXPECT_EQ(tasks.take(), 2U);
  EXPECT_TRUE(tasks.all_held());
  EXPECT_EQ(tasks.waiting(), 0U);
}

TEST(OpenTasks, AreGivenOutAfterTheMailboxWasPolledOnceMore) {
  OpenTasks tasks;
  tasks.add(1, with_number(1));
  EXPECT_FALSE(tasks.has_next());
  tasks.looked();  // the end of the poll in which it came
  EXPECT_FALSE(tasks.has_next());
  tasks.add(2, with_number(2));
  tasks.queue(1, 0);
  EXPECT_FALSE(tasks.next_for(0));
  tasks.looked();
  EXPECT_EQ(tasks.next_for(0), 1U);
  EXPECT_FALSE(tasks.has_next()) << "the second one came a poll later";
  tasks.looked();
  EXPECT_TRUE(tasks.has_next());
}

TEST(OpenTasks, AWorkerDoesTheOldestOfItsOwnAndOfThoseForAnyWorker) {
  OpenTasks tasks = inbox_of(3);
  tasks.queue(1, any_worker);
  tasks.queue(2, 5);
  tasks.queue(3, 6);
  EXPECT_EQ(tasks.next_for(5), 1U);
  tasks.give(1);
  EXPECT_EQ(tasks.next_for(5), 2U);
  EXPECT_EQ(tasks.next_for(6), 3U);
  EXPECT_FALSE(tasks.next_for(8));
}

TEST(OpenTasks, OneThatAGroupGivesBackIsTheFirstOfItsQueue) {
  OpenTasks tasks = inbox_of(2);
  tasks.queue(1, 5);
  tasks.queue(2, 5);
  tasks.give(1);
  EXPECT_EQ(tasks.next_for(5), 2U);
  tasks.queue_again(1);
  EXPECT_EQ(tasks.next_for(5), 1U);
  EXPECT_EQ(tasks.waiting(), 2U);
}

TEST(OpenTasks, OnlyOneThatNobodyHasBegunCanBeWithdrawn) {
  OpenTasks tasks = inbox_of(4);
  tasks.take();
  tasks.queue(2, 5);
  tasks.queue(3, 5);
  tasks.give(2);
  EXPECT_FALSE(tasks.not_begun(requester, 101)) << "the user's program has it";
  EXPECT_FALSE(tasks.not_begun(requester, 102)) << "a group has it";
  EXPECT_EQ(tasks.not_begun(requester, 103), 3U);
  EXPECT_EQ(tasks.not_begun(requester, 104), 4U);
  EXPECT_FALSE(tasks.not_begun(requester + 1, 104));
}

TEST(OpenTasks, CanBeReadWhenTheyHaveBeenGivenBackAndForth) {
  OpenTasks tasks = inbox_of(1);
  tasks.take();
  tasks.held(1)->message.numbers = {3};
  tasks.queue(1, any_worker);
  const OpenTask& given = tasks.give(1);
  EXPECT_EQ(given.message.worker, any_worker);
  EXPECT_EQ(given.message.numbers, std::vector<std::int64_t>{3});
  tasks.remove(1);
  EXPECT_EQ(tasks.find(1), nullptr);
  EXPECT_TRUE(tasks.empty());
  tasks.remove(1);  // nothing happens
}

// Each task is in one place, whatever is done with it.
TEST(OpenTasks, CountWhatWaitsAfterAnyMoves) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    OpenTasks tasks = inbox_of(8);
    std::map<std::uint64_t, int> places;  // 0: inbox, 1: hand, 2: queue, 3: group
    for (std::uint64_t id = 1; id <= 8; ++id) {
      places[id] = 0;
    }
    for (int step = 0; step < 40 && !places.empty(); ++step) {
      const auto chosen = std::next(places.begin(), static_cast<std::ptrdiff_t>(random() % places.size()));
      const auto [id, place] = *chosen;
      if (random() % 8 == 0) {
        tasks.remove(id);
        places.erase(chosen);
      } else if (place == 0 && random() % 2 == 0 && tasks.first_of_inbox() == id) {
        EXPECT_EQ(tasks.take(), id);
        chosen->second = 1;
      } else if (place <= 1) {
        tasks.queue(id, static_cast<std::int32_t>(random() % 3) - 1);
        chosen->second = 2;
      } else if (place == 2) {
        tasks.give(id);
        chosen->second = 3;
      } else {
        tasks.queue_again(id);
        chosen->second = 2;
      }
      std::uint64_t waiting = 0;
      bool all_held = true;
      for (const auto& [each, where] : places) {
        waiting += where == 0 || where == 2 ? 1U : 0U;
        all_held = all_held && where == 1;
        EXPECT_EQ(tasks.held(each) != nullptr, where == 1);
        EXPECT_EQ(tasks.not_begun(requester, 100 + each).has_value(), where == 0 || where == 2);
      }
      ASSERT_EQ(tasks.waiting(), waiting);
      ASSERT_EQ(tasks.all_held(), all_held);
      ASSERT_EQ(tasks.count(), places.size());
    }
  }
}

}  // namespace
}  // namespace couplet::task
