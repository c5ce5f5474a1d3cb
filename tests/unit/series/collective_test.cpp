// Collective calls over real teams. One rank fails: the others are told why within bounds, and the next call works
// (hostile review, faults 04 and 08). One rank sees more than the others: nothing is concluded that is not true for
// all.
#include "series/collective.hpp"

#include <array>
#include <atomic>
#include <barrier>
#include <functional>
#include <thread>
#include <utility>

#include "message/team.hpp"
#include "series/time_interpolation.hpp"
#include "support/parties.hpp"
#include "unit/message/memory.hpp"
#include "unit/series/fixture.hpp"

namespace couplet::series {
namespace {

using namespace testing_fixture;
using message::MessageTeam;
using test::Armed;
using test::FailingAllocation;
using test::LaneKind;
using test::Parties;
using test::Party;

layout::Box part_of(int rank) {
  return box_of(rank * 3, rank == 0 ? 3 : rows, 0, columns);
}

// Calls a function each time before its rank agrees with the others.
class WatchedTeam final : public message::Team {
 public:
  WatchedTeam(message::Team& team, std::function<void()> before) : team_(team), before_(std::move(before)) {}
  [[nodiscard]] int rank() const noexcept override { return team_.rank(); }
  [[nodiscard]] int size() const noexcept override { return team_.size(); }
  Status minimum(std::span<std::int64_t> values, std::uint64_t deadline_ns) override {
    before_();
    return team_.minimum(values, deadline_ns);
  }
  Result<std::vector<std::string>> gather(const std::string& bytes, std::uint64_t deadline_ns) override {
    return team_.gather(bytes, deadline_ns);
  }
  Status broadcast(std::string& bytes, std::uint64_t deadline_ns) override {
    return team_.broadcast(bytes, deadline_ns);
  }
  void leave(const Status& why) noexcept override { team_.leave(why); }

 private:
  message::Team& team_;
  std::function<void()> before_;
};

// Its first copy takes as long as a function that it calls.
class SlowFirstCopy final : public Copier {
 public:
  explicit SlowFirstCopy(std::function<void()> meanwhile) : meanwhile_(std::move(meanwhile)) {}
  void copy(const layout::CopyPlan& plan, std::byte* target, const std::byte* source,
            layout::CopyMethod method) noexcept override {
    layout::copy_racing(plan, target, source, method);
    if (auto first = std::exchange(meanwhile_, nullptr)) first();
  }

 private:
  std::function<void()> meanwhile_;
};

class Collective : public Series {
 protected:
  // Rank `rank` of two that read or write series eta together.
  struct Member {
    std::unique_ptr<MessageTeam> team;
    std::unique_ptr<FakeEnvironment> environment;
    std::unique_ptr<Reader> reader;
    std::unique_ptr<Writer> writer;
    Batch batch;
  };

  Member member(Party& party, const char* program) {
    auto opened = MessageTeam::open(*party.messenger, party.group(), "eta");
    EXPECT_TRUE(opened.ok()) << opened.status().text();
    Member made;
    made.team = std::move(*opened);
    const auto self = static_cast<channel::PeerId>(10 + party.rank());
    made.environment = std::make_unique<FakeEnvironment>(world, self, program);
    return made;
  }
  Member reading(Party& party) {
    Member made = member(party, "nowcast");
    ReaderOptions options;
    options.box = part_of(party.rank());
    auto reader = Reader::open(*made.environment, *made.team, "eta", options, soon());
    EXPECT_TRUE(reader.ok()) << reader.status().text();
    made.reader = reader.ok() ? std::move(*reader) : nullptr;
    return made;
  }
  Member writing(Party& party) {
    Member made = member(party, "ocean");
    WriterOptions options;
    options.slots = 4;
    options.collective = true;
    options.wait_timeout_s = 1;
    auto writer = Writer::create(*made.environment, *made.team, specification(party.rank()), options, soon());
    EXPECT_TRUE(writer.ok()) << writer.status().text();
    made.writer = writer.ok() ? std::move(*writer) : nullptr;
    return made;
  }
  static WriterSpecification specification(int rank) { return {"eta", COUPLET_INT32, {rows, columns}, part_of(rank)}; }
  static Status read_next(Member& member, const Status& refusal = {}) {
    member.batch = {};
    return member.reader->read(1, 1, os::deadline_after(1), {}, member.batch, refusal);
  }
  static void expect_told(const Status& status, Code code, const char* what) {
    EXPECT_EQ(status.code(), code) << status.text();
    EXPECT_NE(status.text().find("rank 1"), std::string::npos) << status.text();
    EXPECT_NE(status.text().find(what), std::string::npos) << status.text();
  }

  Parties parties{LaneKind::shm, 2};
};

TEST_F(Collective, AReadThatOneRankCannotMakeFailsOnAllAndTheNextOneWorks) {
  auto writer = create(8);
  for (std::int64_t step = 0; step < 3; ++step) {
    put(*writer, step);
  }
  parties.run([&](Party& party) {
    Member own = reading(party);
    ASSERT_TRUE(read_next(own).ok());
    const Status refusal = fail(Code::argument, "timeout is not a number");
    const Status refused = read_next(own, party.rank() == 1 ? refusal : Status());
    if (party.rank() == 0) {
      expect_told(refused, Code::argument, "not a number");
    } else {
      EXPECT_EQ(refused.text(), refusal.text());
    }
    const Status again = read_next(own);
    ASSERT_TRUE(again.ok()) << again.text();
    EXPECT_EQ(own.batch.steps[0], 1);
    EXPECT_EQ(own.reader->count().lost, 0U);
  });
}

TEST_F(Collective, AReadAtTimesThatOneRankCannotMakeFailsOnAll) {
  auto writer = create(8);
  put(*writer, 1);
  parties.run([&](Party& party) {
    Member own = reading(party);
    TimeInterpolation interpolation(*own.reader, *own.team, *own.environment, BeyondNewest::wait);
    const double times[] = {1.0};
    const Status refusal = fail(Code::argument, "times is NULL");
    const Status refused = party.rank() == 1 ? interpolation.read({}, os::now_ns(), {}, own.batch, refusal)
                                             : interpolation.read(times, os::deadline_after(1), {}, own.batch);
    EXPECT_FALSE(refused.ok());
  });
}

TEST_F(Collective, ARankThatClosesTheSeriesTellsTheOthersThatReadOn) {
  auto writer = create(8);
  put(*writer, 1);
  parties.run([&](Party& party) {
    Member own = reading(party);
    ASSERT_TRUE(read_next(own).ok());
    if (party.rank() == 1) {
      EXPECT_TRUE(own.reader->close(soon()).ok());
    } else {
      expect_told(read_next(own), Code::state, "has closed series 'eta'");
    }
  });
}

// Fault (chaos, seed 22300027): "one member gives 15 values, another 13".
TEST_F(Collective, ARankThatOpensTheSeriesAnewWhileOthersReadIsToldAndTellsThem) {
  auto writer = create(8);
  put(*writer, 1);
  parties.run([&](Party& party) {
    Member own = reading(party);
    ASSERT_TRUE(read_next(own).ok());
    Status status;
    if (party.rank() == 1) {
      ReaderOptions options;
      options.box = part_of(1);
      status = Reader::open(*own.environment, *own.team, "eta", options, soon()).status();
      EXPECT_NE(status.text().find("reader rank 1 opens the series, and another rank makes another call"),
                std::string::npos)
          << status.text();
    } else {
      status = read_next(own);
      EXPECT_NE(status.text().find("reader rank 0 reads the series, and another rank makes another call"),
                std::string::npos)
          << status.text();
    }
    EXPECT_EQ(status.code(), Code::mismatch) << status.text();
  });
}

TEST_F(Collective, APutThatOneRankCannotMakeFailsOnAllAndTheNextOneWorks) {
  parties.run([&](Party& party) {
    Member own = writing(party);
    const std::vector<std::int32_t> data(static_cast<std::size_t>(rows * columns));
    ASSERT_TRUE(own.writer->put(data.data(), 1).ok());
    const Status refused = party.rank() == 1 ? own.writer->refuse(fail(Code::argument, "arrays is NULL"), 2)
                                             : own.writer->put(data.data(), 2);
    if (party.rank() == 0) {
      expect_told(refused, Code::argument, "arrays is NULL");
    }
    EXPECT_FALSE(refused.ok());
    EXPECT_TRUE(own.writer->put(data.data(), 2).ok());
    if (party.rank() == 1) {
      EXPECT_TRUE(own.writer->close(soon()).ok());
    } else {
      expect_told(own.writer->put(data.data(), 3), Code::state, "has closed series 'eta'");
    }
  });
}

TEST_F(Collective, ASeriesThatOneRankSpecifiesWronglyIsCreatedOnNoneAndAllAreTold) {
  parties.run([&](Party& party) {
    Member own = member(party, "ocean");
    const Status refusal = party.rank() == 1 ? fail(Code::shape, "9 dimensions; 1 to 8 are possible") : Status();
    auto refused = Writer::create(*own.environment, *own.team, specification(party.rank()), {}, soon(), refusal);
    EXPECT_EQ(refused.code(), Code::shape) << refused.status().text();
    if (party.rank() == 0) {
      expect_told(refused.status(), Code::shape, "9 dimensions");
    }
    auto writer = Writer::create(*own.environment, *own.team, specification(party.rank()), {}, soon());
    EXPECT_TRUE(writer.ok()) << writer.status().text();
  });
}

// One writer has ended after three steps. The other one, which only rank 1 reads, is still at the first.
TEST_F(Collective, OneRankThatHasSeenItsEndDoesNotEndTheSeriesForTheOthers) {
  FakeEnvironment first_environment{world, 20, "ocean"};
  FakeEnvironment second_environment{world, 21, "ocean"};
  Parties writing_parties(LaneKind::shm, 2);
  std::array<std::unique_ptr<MessageTeam>, 2> teams;
  std::array<std::unique_ptr<Writer>, 2> writers;
  writing_parties.run(
      [&](Party& party) {
        const auto rank = static_cast<std::size_t>(party.rank());
        teams[rank] = std::move(MessageTeam::open(*party.messenger, party.group(), "eta")).value();
        WriterOptions options;
        options.slots = 8;
        auto writer = Writer::create(rank == 0 ? first_environment : second_environment, *teams[rank],
                                     specification(party.rank()), options, soon());
        ASSERT_TRUE(writer.ok()) << writer.status().text();
        writers[rank] = std::move(*writer);
      },
      false);
  const std::vector<std::int32_t> data(static_cast<std::size_t>(rows * columns));
  for (std::int64_t step = 0; step < 3; ++step) ASSERT_TRUE(writers[0]->put(data.data(), step).ok());
  ASSERT_TRUE(writers[1]->put(data.data(), 0).ok());
  static_cast<void>(writers[0]->close(soon()));
  std::barrier both(2);
  parties.run([&](Party& party) {
    Member own = reading(party);
    ASSERT_TRUE(read_next(own).ok());
    own.batch = {};
    const Status early = own.reader->read(3, 3, os::deadline_after(0.05), {}, own.batch);
    EXPECT_EQ(early.code(), Code::not_yet) << early.text();
    both.arrive_and_wait();
    if (party.rank() == 1) {
      ASSERT_TRUE(writers[1]->put(data.data(), 1).ok());
      ASSERT_TRUE(writers[1]->put(data.data(), 2).ok());
      static_cast<void>(writers[1]->close(soon()));
    }
    const Status last = own.reader->read(3, 3, soon(), {}, own.batch);
    EXPECT_TRUE(last.ok()) << last.text();
    EXPECT_EQ(own.batch.count, 2U);
    EXPECT_EQ(read_next(own).code(), Code::end);
    EXPECT_EQ(own.reader->count().pending, 0U);
  });
}

// Rank 1 copies slowly, waits for a fresh step and sees the end instead. Rank 0 has looked before the last steps came.
TEST_F(Collective, AFollowerThatSeesTheEndFirstLeavesNoStepUncounted) {
  auto writer = create(4);
  put(*writer, 0);
  std::int64_t newest = 0;  // of rank 1
  std::atomic<bool> rank_0_has_looked = false;
  std::barrier both(2);
  parties.run([&](Party& party) {
    Member own = member(party, "nowcast");
    bool watched = false;
    WatchedTeam watched_team(*own.team, [&] {
      if (watched) {
        rank_0_has_looked = true;
      }
    });
    SlowFirstCopy copier([&] {
      while (newest < 8) put(*writer, ++newest);
    });
    ReaderOptions options;
    options.mode = Mode::follow;
    options.box = part_of(party.rank());
    options.copier = party.rank() == 1 ? &copier : nullptr;
    auto reader = Reader::open(*own.environment, watched_team, "eta", options, soon());
    ASSERT_TRUE(reader.ok()) << reader.status().text();
    own.reader = std::move(*reader);
    const Status first = own.reader->read(1, 1, os::now_ns(), {}, own.batch);
    EXPECT_TRUE(first.ok() || first.code() == Code::not_yet) << first.text();
    both.arrive_and_wait();
    if (party.rank() == 0) {
      watched = true;
    } else {
      for (; !rank_0_has_looked; std::this_thread::yield()) put(*writer, ++newest);  // it may wait for a fresh one, too
      for (int more = 0; more < 4; ++more) put(*writer, ++newest);
      static_cast<void>(writer->close(soon()));
    }
    std::int64_t last = -1;
    Status status = own.reader->read(1, 4, soon(), {}, own.batch);
    for (; status.ok(); status = own.reader->read(1, 4, soon(), {}, own.batch)) {
      last = own.batch.steps[own.batch.count - 1];
    }
    EXPECT_EQ(status.code(), Code::end) << status.text();
    EXPECT_EQ(own.reader->count().pending, 0U);
    EXPECT_EQ(last, newest);
    expect_equation(own.reader->count());
  });
}

// Rank 0 has looked before the steps below from_step came. It took over that rank 1 had passed them, but counted them
// as lost, and held their slots for ever.
TEST_F(Collective, StepsBelowTheFirstWantedOneThatOnlyOneRankHasSeenAreSkippedByAll) {
  WriterOptions writing;
  writing.wait_timeout_s = 0;
  auto writer = create(4, writing);
  std::atomic<bool> rank_0_has_looked = false;
  std::barrier both(2);
  parties.run([&](Party& party) {
    Member own = member(party, "nowcast");
    bool watched = false;
    WatchedTeam watched_team(*own.team, [&] { rank_0_has_looked = rank_0_has_looked || watched; });
    ReaderOptions options;
    options.box = part_of(party.rank());
    options.from = From::step;
    options.from_step = 10;
    auto reader = Reader::open(*own.environment, watched_team, "eta", options, soon());
    ASSERT_TRUE(reader.ok()) << reader.status().text();
    both.arrive_and_wait();
    watched = party.rank() == 0;
    if (party.rank() == 1) {
      while (!rank_0_has_looked) std::this_thread::yield();
      for (std::int64_t step = 0; step < 4; ++step) put(*writer, step);
    }
    EXPECT_EQ((*reader)->read(1, 1, os::now_ns(), {}, own.batch).code(), Code::not_yet);
    both.arrive_and_wait();
    if (party.rank() == 1) {
      put(*writer, 10);
    }
    both.arrive_and_wait();
    const Status status = (*reader)->read(1, 1, soon(), {}, own.batch);
    ASSERT_TRUE(status.ok()) << status.text();
    EXPECT_EQ(own.batch.steps[0], 10);
    EXPECT_EQ((*reader)->count().lost, 0U);
    expect_equation((*reader)->count());
    static_cast<void>((*reader)->close(soon()));
  });
}

// Which rank has no memory, at which allocation of a read: all get an answer, and all read on afterwards.
TEST_F(Collective, AtEachAllocationOfAReadAllRanksGetAnAnswerAndReadOn) {
  auto writer = create(16);
  std::int64_t step = 0;
  for (const int poor : {0, 1}) {
    std::atomic<bool> failed = true;
    for (std::uint64_t number = 1; failed; ++number) {
      ASSERT_LT(number, 200U);
      put(*writer, ++step);
      put(*writer, ++step);
      put(*writer, ++step);
      std::array<std::atomic<int>, 2> good{};
      failed = false;
      parties.run(
          [&](Party& party) {
            Member own = reading(party);
            const auto rank = static_cast<std::size_t>(party.rank());
            FailingAllocation failing{.number = party.rank() == poor ? number : UINT64_MAX};
            Status status;
            {
              const Armed armed(failing);
              status = read_next(own);
            }
            EXPECT_TRUE(status.ok() || status.code() == Code::memory) << number << ": " << status.text();
            if (failing.failed()) failed = true;
            for (int attempt = 0; attempt < 3 && good[rank] < 1; ++attempt) {
              status = read_next(own);  // the first may be told of what was another rank's alone
              good[rank] += status.ok() || status.code() == Code::not_yet ? 1 : 0;
            }
            EXPECT_EQ(good[rank], 1) << number << ", rank " << rank << ": " << status.text();
            expect_equation(own.reader->count());
          },
          false);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace couplet::series
