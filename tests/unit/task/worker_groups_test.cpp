// Whether a coupler waits for workers, after each order of hello, opened, goodbye, loss and return.
#include "task/worker_groups.hpp"

#include "world.hpp"

namespace couplet::task {
namespace {

// A coupler's process, which hears of the ranks 2 and 3 only what a test says. Rank 2 leads.
class WorkerGroupsTest : public ::testing::Test {
 protected:
  static constexpr channel::PeerId leader = 2;
  static constexpr channel::PeerId member = 3;

  WorkerGroupsTest() : WorkerGroupsTest(Policy::first_idle) {}
  explicit WorkerGroupsTest(Policy policy)
      : parties_(test::LaneKind::shm, 1),
        rank_(parties_[0], programs_, directory_.path(), Mailbox::largest_kept_bytes),
        groups_(rank_.mailbox, "t", policy) {
    groups_.expect({leader, member});
  }

  static Life life(channel::PeerId rank, std::uint64_t incarnation, bool is_awaited = false) {
    return {rank, incarnation, is_awaited};
  }
  void greet(const std::vector<Life>& lives, std::int32_t worker = 0, channel::PeerId from = leader) {
    wire::TaskMessage hello;
    hello.kind = wire::TaskMessageKind::hello;
    hello.worker = worker;
    hello.number = (lives.front().incarnation << number_bits) + ++hellos_;
    for (const Life& each : lives) {
      hello.numbers.push_back(each.number());
    }
    groups_.greet(from, hello);
  }
  void close(channel::PeerId from = leader) {
    for (WorkerGroup& group : groups_) {
      group.gone = group.gone || group.leader == from;
    }
  }
  // What a coupler does with the news of a loss.
  void lose(channel::PeerId peer) {
    rank_.environment.gone_ = static_cast<int>(peer);
    for (WorkerGroup& group : groups_) {
      if (groups_.has_lost(group, peer) && group.leader == peer) {
        group.gone = true;
      }
    }
  }
  void come_back(channel::PeerId peer) {
    rank_.environment.gone_ = -1;
    rank_.environment.restarted_ = static_cast<int>(peer);
  }
  Code waits(std::int32_t worker = any_worker) { return groups_.find(worker).code(); }

  std::vector<universe::ProgramInfo> programs_{{"coupler", 1, 0, true}, {"work", 3, 1, true}};
  test::TemporaryDirectory directory_;
  test::Parties parties_;
  Rank rank_;
  WorkerGroups groups_;
  std::uint64_t hellos_ = 0;
};

TEST_F(WorkerGroupsTest, RanksThatHaveSaidNothingAreAwaited) {
  EXPECT_EQ(waits(), Code::ok);
  EXPECT_EQ(waits(4), Code::ok);
}

TEST_F(WorkerGroupsTest, AGroupThatIsThereIsAwaited) {
  greet({life(leader, 0), life(member, 0)}, 4);
  EXPECT_EQ(waits(4), Code::ok);
  EXPECT_EQ(waits(), Code::ok);
  EXPECT_EQ(waits(5), Code::not_found) << "all ranks have opened the tasks, with another id";
}

TEST_F(WorkerGroupsTest, NobodyIsAwaitedAfterGoodbye) {
  greet({life(leader, 0), life(member, 0)}, 4);
  close();
  EXPECT_EQ(waits(4), Code::peer_lost);
  EXPECT_EQ(waits(5), Code::not_found);
}

TEST_F(WorkerGroupsTest, ALostRankIsNotAwaitedAndItsNextLifeIs) {
  greet({life(leader, 0), life(member, 0)});
  close();
  lose(member);
  EXPECT_EQ(waits(), Code::peer_lost);
  come_back(member);
  EXPECT_EQ(waits(), Code::ok);
}

TEST_F(WorkerGroupsTest, ALostMemberEndsNoGroupAndALostLeaderDoes) {
  greet({life(leader, 0), life(member, 0)});
  lose(member);
  EXPECT_EQ(waits(), Code::ok);
  EXPECT_FALSE(groups_.begin()->gone);
  lose(leader);
  EXPECT_TRUE(groups_.begin()->gone);
  EXPECT_EQ(waits(), Code::peer_lost);
}

// The leader knew that its member was lost, and named the life that was to come.
TEST_F(WorkerGroupsTest, ALifeThatTheHelloAwaitsIsAwaitedAfterGoodbye) {
  come_back(member);
  greet({life(leader, 0), life(member, 1, true)});
  close();
  EXPECT_EQ(waits(), Code::ok);
}

TEST_F(WorkerGroupsTest, ALifeThatWasAwaitedAndHasOpenedIsNotAwaitedAfterGoodbye) {
  come_back(member);
  greet({life(leader, 0), life(member, 1, true)});
  groups_.note(life(member, 1));
  close();
  EXPECT_EQ(waits(), Code::peer_lost);
}

TEST_F(WorkerGroupsTest, OpenedMayComeBeforeTheNewsOfTheReturn) {
  greet({life(leader, 0), life(member, 1, true)});
  groups_.note(life(member, 1));
  close();
  EXPECT_EQ(waits(), Code::peer_lost);
  come_back(member);
  EXPECT_EQ(waits(), Code::peer_lost) << "that life has opened the tasks already";
}

TEST_F(WorkerGroupsTest, WhatIsNotedOfAnEarlierLifeComesLate) {
  come_back(member);
  greet({life(leader, 0), life(member, 1)});
  groups_.note(life(member, 0));
  close();
  EXPECT_EQ(waits(), Code::peer_lost);
}

TEST_F(WorkerGroupsTest, AHelloOfALeaderThatHasDiedMakesNoGroup) {
  rank_.environment.gone_ = leader;
  greet({life(leader, 0), life(member, 0)}, 4);
  EXPECT_EQ(waits(4), Code::peer_lost);
}

TEST_F(WorkerGroupsTest, AHelloThatIsNewerThanTheNewsOfItsSenderMakesAGroup) {
  rank_.environment.gone_ = leader;
  greet({life(leader, 1), life(member, 0)}, 4);
  EXPECT_EQ(waits(4), Code::ok);
}

TEST_F(WorkerGroupsTest, RanksThatWereLostBeforeAnyHelloMayHaveBeenWorkers) {
  greet({life(leader, 0)}, 4);
  rank_.environment.gone_ = member;
  EXPECT_EQ(waits(4), Code::ok);
  EXPECT_EQ(waits(5), Code::peer_lost);
}

TEST_F(WorkerGroupsTest, OldNewsOfALossEndNoGroupOfTheNextLife) {
  come_back(leader);
  greet({life(leader, 1), life(member, 0)});
  EXPECT_FALSE(groups_.has_lost(*groups_.begin(), leader));
  rank_.environment.gone_ = member;
  EXPECT_TRUE(groups_.has_lost(*groups_.begin(), member));
  EXPECT_FALSE(groups_.has_lost(*groups_.begin(), 9)) << "not a rank of it";
}

TEST_F(WorkerGroupsTest, AGroupThatIsGoneIsKeptOnlyForItsId) {
  for (int round = 0; round < 100; ++round) {
    greet({life(leader, 0), life(member, 0)}, round % 2);
    close();
  }
  EXPECT_EQ(std::distance(groups_.begin(), groups_.end()), 2);
}

// ---- which group does a task ----

OpenTasks tasks_for(const std::vector<std::int32_t>& workers) {
  OpenTasks tasks;
  for (std::uint64_t id = 0; id < workers.size(); ++id) {
    tasks.add(id, OpenTask());
    tasks.queue(id, workers[id]);
  }
  tasks.looked();
  tasks.looked();
  return tasks;
}

class IdleGroups : public WorkerGroupsTest {
 protected:
  IdleGroups() : IdleGroups(Policy::first_idle) {}
  // The group of rank 2 has the worker id 5, that of rank 3 has 4.
  explicit IdleGroups(Policy policy) : WorkerGroupsTest(policy) {
    greet({life(leader, 0)}, 5);
    greet({life(member, 0)}, 4, member);
  }
  // Gives the next task to the group whose turn it is, and returns its worker id, or -1.
  std::int32_t begin(OpenTasks& tasks) {
    WorkerGroup* const group = groups_.choose(tasks);
    if (group == nullptr) {
      return -1;
    }
    const std::uint64_t id = *tasks.next_for(group->worker);
    groups_.begin_task(*group, id, tasks.give(id));
    return group->worker;
  }
  void end(OpenTasks& tasks, channel::PeerId from) {
    for (WorkerGroup& group : groups_) {
      if (group.leader == from) {
        tasks.remove(*group.task);
        group.task.reset();
        groups_.become_idle(group);
      }
    }
  }
};

TEST_F(IdleGroups, TheOneThatHasBeenIdleLongestIsNext) {
  OpenTasks tasks = tasks_for({any_worker, any_worker, any_worker, any_worker});
  EXPECT_EQ(begin(tasks), 5);
  EXPECT_EQ(begin(tasks), 4);
  EXPECT_EQ(begin(tasks), -1) << "both are at work";
  end(tasks, member);
  end(tasks, leader);
  EXPECT_EQ(begin(tasks), 4);
}

TEST_F(IdleGroups, OneDoesOnlyWhatIsForIt) {
  OpenTasks tasks = tasks_for({4, 4});
  EXPECT_EQ(begin(tasks), 4);
  EXPECT_EQ(begin(tasks), -1);
  EXPECT_NE(groups_.with_task(member, 0), nullptr);
  EXPECT_EQ(groups_.with_task(member, 1), nullptr);
  EXPECT_EQ(groups_.with_task(leader, 0), nullptr);
}

TEST_F(IdleGroups, OneWithALostRankDoesNothing) {
  OpenTasks tasks = tasks_for({any_worker});
  rank_.environment.gone_ = leader;
  EXPECT_EQ(begin(tasks), 4);
}

TEST_F(IdleGroups, OneWithARankThatWasStartedAgainDoesNothingBeforeItsNextHello) {
  OpenTasks tasks = tasks_for({5});
  come_back(leader);
  EXPECT_EQ(begin(tasks), -1);
  close();
  greet({life(leader, 1)}, 5);
  EXPECT_EQ(begin(tasks), 5);
}

class GroupsInTurn : public IdleGroups {
 protected:
  GroupsInTurn() : IdleGroups(Policy::round_robin) {}
};

TEST_F(GroupsInTurn, FollowTheOrderOfTheirIds) {
  OpenTasks tasks = tasks_for({any_worker, any_worker, any_worker, any_worker});
  EXPECT_EQ(begin(tasks), 4);
  end(tasks, member);
  EXPECT_EQ(begin(tasks), 5);
  EXPECT_EQ(begin(tasks), 4);
  EXPECT_EQ(begin(tasks), -1);
}

}  // namespace
}  // namespace couplet::task
