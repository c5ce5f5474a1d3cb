// The description of a series reaches the ranks of a reader over their team: one of them asks the hub. The register of
// these tests counts the questions, and the bytes that it answers. The tests: a description of several parts, ranks
// that die, wait too long or are interrupted while one asks, and a series that is created again meanwhile.
#include <array>
#include <atomic>
#include <functional>
#include <thread>

#include "message/team.hpp"
#include "support/parties.hpp"
#include "unit/series/fixture.hpp"
#include "universe/series_record.hpp"

namespace couplet::series {
namespace {

using namespace testing_fixture;
using message::MessageTeam;
using test::LaneKind;
using test::Parties;
using test::Party;

constexpr int readers = 16;

// What the ranks have asked for, and were told.
struct Asked {
  std::atomic<int> questions = 0;
  std::atomic<std::size_t> bytes = 0;    // of descriptions that the register has answered
  std::atomic<int> passed_on = 0;        // to ranks that have not asked
  std::atomic<std::size_t> longest = 0;  // bytes of a description that was passed on
};

// A register that counts. Before it looks, and before it answers, it calls functions, which may change what is there.
class CountingRegistry final : public testing::FileRegistry {
 public:
  struct Calls {
    std::function<void()> before;
    std::function<void()> after;
    int away = 0;                  // the number of questions that the hub does not answer since it is away
    bool silent = false;           // the hub is stopped: no question is answered in time
    std::size_t more_writers = 0;  // that write nothing, and make the description longer
  };
  CountingRegistry(const SeriesWorld& world, const FakeEnvironment& environment, Asked& asked, Calls calls)
      : FileRegistry(world.directory(), environment.self(), "nowcast", [](channel::PeerId) { return true; }),
        environment_(environment),
        asked_(asked),
        calls_(std::move(calls)) {}
  Result<universe::SeriesRecord> find(const std::string& name, std::int64_t newer_than,
                                      std::uint64_t deadline_ns) override {
    ++asked_.questions;
    if (environment_.interrupt_now) return Code::interrupted;
    if (asked_.questions <= calls_.away) return fail(Code::hub_lost, "the hub is away");
    if (calls_.silent) return unanswered(deadline_ns);
    if (calls_.before) calls_.before();
    auto record = FileRegistry::find(name, newer_than, deadline_ns);
    if (calls_.after) calls_.after();
    for (std::size_t more = 0; record && more < calls_.more_writers; ++more) {
      const auto writer = static_cast<channel::PeerId>(1000 + more);
      record->parts.push_back({writer, 0, 0, {{}}, std::string(250, 'f')});
    }
    if (record) asked_.bytes += universe::encode_record(*record).size();
    return record;
  }
  void learned(const universe::SeriesRecord& record, const std::string& description) override {
    EXPECT_EQ(description, universe::encode_record(record));
    ++asked_.passed_on;
    asked_.longest = description.size();
  }

 private:
  [[nodiscard]] Status unanswered(std::uint64_t deadline_ns) const {
    while (os::now_ns() < deadline_ns) {
      if (environment_.interrupt_now) return Code::interrupted;
      std::this_thread::yield();
    }
    return fail(Code::timeout, "the hub has not answered in time");
  }

  const FakeEnvironment& environment_;
  Asked& asked_;
  Calls calls_;
};

class CountingEnvironment final : public FakeEnvironment {
 public:
  CountingEnvironment(const SeriesWorld& world, channel::PeerId self, Asked& asked, CountingRegistry::Calls calls)
      : FakeEnvironment(world, self, "nowcast"), registry_(world, *this, asked, std::move(calls)) {}
  [[nodiscard]] universe::SeriesRegistry& registry() noexcept override { return registry_; }

 private:
  CountingRegistry registry_;
};

class PassingOn : public Series {
 protected:
  struct Member {
    std::unique_ptr<MessageTeam> team;
    std::unique_ptr<CountingEnvironment> environment;
    Result<std::unique_ptr<Reader>> reader = Code::not_yet;
  };
  Member member(Party& party, CountingRegistry::Calls calls = {}) {
    Member made;
    auto opened = MessageTeam::open(*party.messenger, party.group(), "series eta");
    EXPECT_TRUE(opened.ok()) << opened.status().text();
    made.team = std::move(*opened);
    const auto self = static_cast<channel::PeerId>(10 + party.rank());
    made.environment = std::make_unique<CountingEnvironment>(world, self, asked, std::move(calls));
    return made;
  }
  static void open(Member& own, std::uint64_t deadline_ns = soon()) {
    own.reader = Reader::open(*own.environment, *own.team, "eta", {}, deadline_ns);
  }
  [[nodiscard]] std::size_t described() {
    const auto record = writer_environment.registry().find("eta", -1, soon());
    EXPECT_TRUE(record.ok()) << record.status().text();
    return record ? universe::encode_record(*record).size() : 0;
  }
  Asked asked;
};

// Issue 8, fault 10: every reader rank asked the hub, which sent the whole description to each.
TEST_F(PassingOn, OneRankOfSixteenAsksTheHub) {
  auto writer = create(8);
  put(*writer, 1);
  Parties parties(LaneKind::shm, readers);
  parties.run([&](Party& party) {
    Member own = member(party);
    open(own);
    ASSERT_TRUE(own.reader.ok()) << own.reader.status().text();
    Batch batch;
    ASSERT_TRUE(read(**own.reader, 1, 1, batch).ok());
    expect_content(batch, box_of(0, rows, 0, columns));
  });
  EXPECT_EQ(asked.questions, 1);
  EXPECT_EQ(asked.bytes, described());
  EXPECT_EQ(asked.passed_on, readers - 1);
}

TEST_F(PassingOn, ADescriptionOfSeveralPartsArrivesWhole) {
  auto writer = create(8);
  put(*writer, 1);
  constexpr int ranks = 5;
  Parties parties(LaneKind::tcp, ranks);
  parties.run([&](Party& party) {
    Member own = member(party, {.more_writers = 10'000});
    open(own);
    ASSERT_TRUE(own.reader.ok()) << own.reader.status().text();
    Batch batch;
    ASSERT_TRUE(read(**own.reader, 1, 1, batch).ok());
    expect_content(batch, box_of(0, rows, 0, columns));
  });
  EXPECT_EQ(asked.questions, 1);
  EXPECT_EQ(asked.passed_on, ranks - 1);
  EXPECT_EQ(asked.longest.load(), asked.bytes.load());
  EXPECT_GT(asked.longest.load(), std::size_t{2} << 20U);  // more than two parts
}

// A read that finds a new incarnation asks once, too, however often it is repeated.
TEST_F(PassingOn, OneRankAsksForTheNextIncarnation) {
  auto writer = create(8);
  put(*writer, 1);
  constexpr int ranks = 4;
  Parties parties(LaneKind::shm, ranks);
  std::atomic<int> ended = 0;
  std::atomic<bool> again = false;
  parties.run([&](Party& party) {
    Member own = member(party);
    open(own);
    ASSERT_TRUE(own.reader.ok()) << own.reader.status().text();
    Batch batch;
    ASSERT_TRUE(read(**own.reader, 1, 1, batch).ok());
    if (party.rank() == 0) {
      ASSERT_TRUE(writer->close(soon()).ok());
    }
    EXPECT_EQ(read(**own.reader, 1, 1, batch).code(), Code::end);
    ++ended;
    if (party.rank() == 0) {
      while (ended < ranks) std::this_thread::yield();
      writer.reset();
      asked.questions = asked.passed_on = 0;
      writer = create(8);
      put(*writer, 2);
      again = true;
    }
    while (!again) std::this_thread::yield();
    EXPECT_EQ(read(**own.reader, 1, 1, batch).code(), Code::restarted);
    const Status status = read(**own.reader, 1, 1, batch);
    ASSERT_TRUE(status.ok()) << status.text();
    EXPECT_EQ(batch.steps[0], 2);
    EXPECT_EQ(batch.incarnation, 1U);
  });
  EXPECT_EQ(asked.questions, 1);
  EXPECT_EQ(asked.passed_on, ranks - 1);
}

// The hub answers the rank that asks with an incarnation that is superseded before the others hear of it.
TEST_F(PassingOn, AllRanksTakeTheIncarnationThatWasFound) {
  auto writer = create(8);
  put(*writer, 1);
  constexpr int ranks = 3;
  Parties parties(LaneKind::shm, ranks);
  std::array<std::uint64_t, ranks> incarnations{};
  parties.run([&](Party& party) {
    Member own = member(party, {.after = [&] {
                          if (asked.questions > 1) return;
                          ASSERT_TRUE(writer->close(soon()).ok());
                          writer.reset();
                          writer = create(8);
                          put(*writer, 2);
                        }});
    open(own);
    ASSERT_TRUE(own.reader.ok()) << own.reader.status().text();
    incarnations[static_cast<std::size_t>(party.rank())] = (*own.reader)->incarnation();
  });
  EXPECT_EQ(incarnations, (std::array<std::uint64_t, ranks>{1, 1, 1}));
  EXPECT_EQ(asked.questions, 2);
}

// The rank that asks dies while it waits for the hub: the others are told, by name, long before their deadline.
TEST_F(PassingOn, TheDeathOfTheRankThatAsksEndsTheOpeningOfAll) {
  constexpr int ranks = 5;
  Parties parties(LaneKind::tcp, ranks);
  parties.run(
      [&](Party& party) {
        struct Death {};
        Member own = member(party, {.before = [&] {
                              for (int peer = 1; peer < ranks; ++peer)
                                party.channel(peer).fail(Status(Code::peer_lost, "killed"));
                              party.poll(0, 1);
                              throw Death();
                            }});
        try {
          open(own, os::deadline_after(600));
        } catch (const Death&) {
          EXPECT_EQ(party.rank(), 0);
          return;
        }
        EXPECT_EQ(own.reader.code(), Code::peer_lost) << own.reader.status().text();
        EXPECT_NE(own.reader.status().text().find("party 0"), std::string::npos) << own.reader.status().text();
      },
      false);
  EXPECT_EQ(asked.questions, 1);
  EXPECT_EQ(asked.passed_on, 0);
}

// The rank that asks is stopped: the others wait until their deadline, and meet it again in the next call.
TEST_F(PassingOn, ARankThatAsksTooLongEndsInATimeoutForAllAndTheNextOpeningWorks) {
  auto writer = create(8);
  constexpr int ranks = 4;
  Parties parties(LaneKind::shm, ranks);
  std::atomic<int> ended = 0;
  parties.run([&](Party& party) {
    Member own = member(party, {.before = [&] {
                          while (ended < ranks - 1) std::this_thread::yield();
                        }});
    open(own, os::deadline_after(0.5));
    EXPECT_EQ(own.reader.code(), Code::timeout) << own.reader.status().text();
    ++ended;
    while (ended < ranks) std::this_thread::yield();
    open(own);
    EXPECT_TRUE(own.reader.ok()) << own.reader.status().text();
  });
  EXPECT_LE(asked.questions, 2);
}

// The shortest timeout of a rank counts, since one rank asks for all.
TEST_F(PassingOn, TheEarliestDeadlineOfARankEndsTheOpeningOfAll) {
  constexpr int ranks = 4;
  Parties parties(LaneKind::shm, ranks);
  parties.run([&](Party& party) {
    Member own = member(party);
    const bool hurries = party.rank() == 2;
    open(own, hurries ? os::deadline_after(0.1) : os::never);
    EXPECT_EQ(own.reader.code(), Code::timeout) << own.reader.status().text();
    const char* const why = hurries ? "no program has created it in time"
                                    : "another reader rank has given up: its time has passed, or it was interrupted";
    EXPECT_NE(own.reader.status().text().find(why), std::string::npos) << own.reader.status().text();
  });
}

// A series may exist although a stopped hub does not say so.
TEST_F(PassingOn, ASilentHubIsToldAsTheReason) {
  auto writer = create(8);
  for (const int ranks : {1, 3}) {
    Parties parties(LaneKind::shm, ranks);
    parties.run([&](Party& party) {
      Member own = member(party, {.silent = true});
      open(own, os::deadline_after(0.5));
      EXPECT_EQ(own.reader.code(), Code::timeout) << own.reader.status().text();
      const std::string& text = own.reader.status().text();
      EXPECT_NE(text.find("series 'eta'"), std::string::npos) << text;
      EXPECT_NE(text.find("the hub has not answered in time"), std::string::npos) << text;
      EXPECT_EQ(text.find("does not exist"), std::string::npos) << text;
    });
  }
}

// A rank that only waits for the one that asks can be interrupted, and so can that one. The others are told.
TEST_F(PassingOn, AnInterruptOfOneRankEndsTheOpeningOfAll) {
  constexpr int ranks = 3;
  for (const int interrupted : {0, 1, 2}) {
    Parties parties(LaneKind::shm, ranks);
    parties.run([&](Party& party) {
      Member own = member(party);
      own.environment->interrupt_now = party.rank() == interrupted;
      open(own, os::never);
      const Code expected = party.rank() == interrupted ? Code::interrupted : Code::timeout;
      EXPECT_EQ(own.reader.code(), expected) << own.reader.status().text();
    });
  }
}

// A hub that is away for a short time is waited for, as by a rank that asks for itself.
TEST_F(PassingOn, AHubThatIsAwayForAShortTimeIsWaitedFor) {
  auto writer = create(8);
  constexpr int ranks = 3;
  Parties parties(LaneKind::shm, ranks);
  parties.run([&](Party& party) {
    Member own = member(party, {.away = 2});
    open(own);
    EXPECT_TRUE(own.reader.ok()) << own.reader.status().text();
  });
  EXPECT_EQ(asked.questions, 3);
}

// What exists is opened, also if no rank wants to wait.
TEST_F(PassingOn, WithoutATimeoutWhatExistsIsOpened) {
  auto writer = create(8);
  constexpr int ranks = 3;
  Parties parties(LaneKind::shm, ranks);
  parties.run([&](Party& party) {
    Member own = member(party);
    open(own, os::now_ns());
    EXPECT_TRUE(own.reader.ok()) << own.reader.status().text();
  });
  EXPECT_EQ(asked.questions, 1);
}

}  // namespace
}  // namespace couplet::series
