// Bad registrations, and clients that fail: a named error at every rank concerned, within the deadline.
#include <atomic>

#include "coalesce/phased.hpp"
#include "coalesce_case.hpp"

namespace couplet::conformance {
namespace {

using Numbers = std::vector<double>;

void run(int size, const std::function<void(Rank&)>& body, const Options& options = {}) {
  const test::TemporaryDirectory directory;
  Parties parties(LaneKind::shm, size);
  parties.run([&](Party& party) {
    Rank rank(party, directory.path(), options);
    body(rank);
  });
}

TEST(CoalescedFailures, AnotherOrderOnOneRankNamesBothClientsAndRanks) {
  run(3, [](Rank& rank) {
    rank.add(rank.rank() == 2 ? "monitor" : "kernel");
    rank.add(rank.rank() == 2 ? "kernel" : "monitor");
    expect_error(rank.manager->freeze(), Code::mismatch,
                 {"coalesce 'test'", "rank 0 has registered client 'kernel' before 'monitor'",
                  "rank 2 has registered 'monitor' before 'kernel'"});
    expect_error(rank.round(), Code::mismatch, {"rank 2"});
  });
}

TEST(CoalescedFailures, AClientThatIsMissingOnOneRankIsNamedAtBoth) {
  for (const bool merged : {true, false}) {
    run(2,
        [](Rank& rank) {
          Numbers data(10), more(10);
          const std::size_t kernel = rank.add("kernel");
          if (rank.rank() == 0) {
            rank.send(kernel, 1, 0, data);
            rank.send(rank.add("viewer"), 1, 3, more);
          } else {
            rank.receive(kernel, 0, 0, data);
          }
          expect_error(rank.manager->freeze(), Code::mismatch,
                       {"client 'viewer', tag 3", "rank 0", "rank 1", "80 bytes", "the receiver has not"});
        },
        {.switches = {merged, merged}});
  }
}

TEST(CoalescedFailures, OtherSizesNameClientRanksAndSizes) {
  run(2, [](Rank& rank) {
    Numbers out(10), in(12);
    const std::size_t kernel = rank.add("kernel");
    Request titled;
    titled.edge.title = "face";
    if (rank.rank() == 0) rank.send(kernel, 1, 7, out, titled);
    if (rank.rank() == 1) rank.receive(kernel, 0, 7, in, titled);
    expect_error(rank.manager->freeze(), Code::mismatch,
                 {"client 'kernel', tag 7, 'face'", "rank 0", "rank 1", "80", "96"});
  });
}

TEST(CoalescedFailures, OtherSwitchesOnOneRankAreNamed) {
  const test::TemporaryDirectory directory;
  Parties parties(LaneKind::shm, 2);
  parties.run([&](Party& party) {
    Rank rank(party, directory.path(), {.switches = {.merges_waits = party.rank() == 0}});
    expect_error(rank.manager->freeze(), Code::mismatch, {"rank 0 has merge_waits true, and rank 1 has false"});
  });
}

TEST(CoalescedFailures, TwoClientsThatReceiveIntoTheSameMemoryAreNamedWhateverIsMerged) {
  for (const bool merged : {true, false}) {
    run(2,
        [](Rank& rank) {
          Numbers data(10);
          const std::size_t one = rank.add("one");
          const std::size_t two = rank.add("two");
          if (rank.rank() == 0) {
            rank.receive(one, 1, 0, data);
            rank.receive(two, 1, 0, data);
          } else {
            rank.send(one, 0, 0, data);
            rank.send(two, 0, 0, data);
          }
          expect_error(rank.manager->freeze(), Code::argument, {"client 'one'", "client 'two'", "same memory"});
        },
        {.switches = {merged, merged}});
  }
}

TEST(CoalescedFailures, AnErrorOfACallbackEndsTheRoundOfAllRanks) {
  for (const auto& stage : {"fill", "overlap", "arrived", "use"}) {
    for (const bool merged : {true, false}) {
      run(3,
          [stage](Rank& rank) {  // a chain: what happens at 2 reaches 0 by 1
            const auto fails = [&](const Moment& moment) {
              return moment.round == 4 && rank.rank() == 2 ? fail(Code::shape, "the mesh is torn") : Status();
            };
            Scripted::Stages stages;
            if (stage == std::string("fill")) stages.fill = fails;
            if (stage == std::string("overlap")) stages.overlap = fails;
            if (stage == std::string("arrived")) stages.arrived = fails;
            if (stage == std::string("use")) stages.use = fails;
            const std::size_t quiet = rank.add("quiet");
            const std::size_t kernel = rank.add("kernel", stages);
            std::vector<Numbers> out(6, Numbers(4)), in(6, Numbers(4));
            for (const int other : {rank.rank() - 1, rank.rank() + 1}) {
              if (other < 0 || other > 2) continue;
              const auto place = static_cast<std::size_t>(other);
              rank.send(quiet, other, 0, out[place]);
              rank.receive(quiet, other, 0, in[place]);
              rank.send(kernel, other, 0, out[place + 3]);
              rank.receive(kernel, other, 0, in[place + 3]);
            }
            COALESCE_MUST(rank.manager->freeze());
            Status status;
            for (int round = 0; round < 9 && status.ok(); ++round) status = rank.round();
            expect_error(status, Code::shape,
                         {"coalesce 'test': client 'kernel' has failed in ", stage, "phase 0, round 4, at rank 2",
                          "the mesh is torn"});
            expect_error(rank.round(), Code::shape, {"the mesh is torn"});
          },
          {.switches = {merged, merged}});
    }
  }
}

TEST(CoalescedFailures, ARankThatLeavesEarlyIsNamed) {
  run(2, [](Rank& rank) {
    Numbers out(4), in(4);
    const std::size_t kernel = rank.add("kernel");
    rank.send(kernel, 1 - rank.rank(), 0, out);
    rank.receive(kernel, 1 - rank.rank(), 0, in);
    COALESCE_MUST(rank.manager->freeze());
    for (int round = 0; round < 3; ++round) COALESCE_MUST(rank.round());
    if (rank.rank() == 1) {
      COALESCE_MUST(rank.manager->close());
      return;
    }
    const Status status = rank.round();
    EXPECT_TRUE(status.code() == Code::state || status.code() == Code::peer_lost) << status.text();
    EXPECT_NE(status.text().find("party 1"), std::string::npos) << status.text();
  });
}

TEST(CoalescedFailures, ARoundThatTimesOutGoesOnInTheNextCall) {
  std::atomic<bool> has_timed_out{false};
  run(2, [&](Rank& rank) {
    Numbers out(4, 3.0), in(4);
    int fills = 0, uses = 0;
    const auto count = [](int& number) { return [&number](const Moment&) { return ++number, Status(); }; };
    const std::size_t kernel = rank.add("kernel", {.fill = count(fills), .use = count(uses)});
    rank.send(kernel, 1 - rank.rank(), 0, out);
    rank.receive(kernel, 1 - rank.rank(), 0, in);
    COALESCE_MUST(rank.manager->freeze());
    if (rank.rank() == 0) {
      expect_error(rank.round(0.05), Code::timeout, {"rank 1"});
      has_timed_out = true;
    } else {
      while (!has_timed_out) rank.party.engine->look_at_all();
    }
    COALESCE_MUST(rank.round());
    EXPECT_EQ(fills, 1);
    EXPECT_EQ(uses, 1);
    EXPECT_EQ(rank.manager->round(), 1U);
    EXPECT_EQ(in, out);
  });
}

TEST(CoalescedFailures, AnExceptionInACallbackEndsTheRoundsOfAll) {
  run(2, [](Rank& rank) {
    const std::size_t one = rank.add("one", {.use = [&](const Moment&) -> Status {
                                       if (rank.rank() == 0) throw std::runtime_error("no such site");
                                       return {};
                                     }});
    Numbers out(2), in(2);
    rank.send(one, 1 - rank.rank(), 0, out);
    rank.receive(one, 1 - rank.rank(), 0, in);
    COALESCE_MUST(rank.manager->freeze());
    Status status;
    for (int round = 0; round < 3 && status.ok(); ++round) status = rank.round();
    expect_error(status, Code::state, {"client 'one' has failed in use", "at rank 0", "no such site"});
    expect_error(rank.round(), Code::state, {"no such site"});
    COALESCE_MUST(rank.manager->close());
  });
}

// What they send has the same size.
TEST(CoalescedFailures, AReductionWithAnotherOperationOrTypeAtOneRankIsNamed) {
  for (const bool other_type : {true, false}) {
    run(2, [&](Rank& rank) {
      coalesce::PhasedReduction::Values values;
      if (rank.rank() == 1 && other_type) values.type = COUPLET_INT64;
      if (rank.rank() == 1 && !other_type) values.operation = COUPLET_OPERATION_MAX;
      auto client = coalesce::PhasedReduction::make(
          rank.manager->communications(), {.name = "watch"}, values,
          [](std::uint64_t, std::byte*, std::uint64_t&) { return Result<bool>(false); },
          [](std::uint64_t, std::uint64_t, const std::byte*, std::uint64_t) { return Status(); });
      ASSERT_TRUE(client.ok()) << client.status().text();
      auto& phased = **client;
      const auto place = rank.manager->add(std::move(*client));
      ASSERT_TRUE(place.ok()) << place.status().text();
      ASSERT_TRUE(phased.declare(*place).ok());
      expect_error(rank.manager->freeze(), Code::mismatch,
                   {"client 'watch'", "sum of 1 double", other_type ? "sum of 1 int64" : "max of 1 double"});
    });
  }
}

TEST(CoalescedFailures, MisuseIsNamed) {
  run(2, [](Rank& rank) {
    Numbers data(4), from_other(4), empty, other(4);
    auto& manager = rank.manager->communications();
    expect_error(rank.round(), Code::state, {"a round is run while it is not frozen"});
    Status inner;
    const auto again = [&](const Moment&) {
      inner = rank.round();
      return Status();
    };
    const std::size_t one = rank.add("one", {.fill = again});
    expect_error(rank.manager->add(std::make_unique<Scripted>("one", Scripted::Stages())).status(), Code::exists,
                 {"client 'one' already"});
    expect_error(rank.manager->add(std::make_unique<Scripted>("", Scripted::Stages())).status(), Code::argument,
                 {"1 to 128 bytes"});
    Request bad;
    bad.edge.peer = 9;
    expect_error(manager.add(one, bad).status(), Code::argument, {"client 'one'", "9", "0 to 1"});
    bad.edge.peer = 0;
    bad.phase = 1;
    expect_error(manager.add(one, bad).status(), Code::argument, {"phase 1"});
    bad.phase = 0;
    bad.edge.every = 0;
    expect_error(manager.add(one, bad).status(), Code::argument, {"every must be at least 1"});
    expect_error(manager.add(7, bad).status(), Code::argument, {"no client with the number 7"});
    rank.send(one, 1 - rank.rank(), 0, data);
    rank.send(one, rank.rank(), 0, data);  // to itself
    rank.receive(one, rank.rank(), 0, other);
    rank.send(one, 1 - rank.rank(), 1, empty);  // without bytes
    rank.receive(one, 1 - rank.rank(), 1, empty);
    Request twice;
    twice.edge.peer = 1 - rank.rank();
    expect_error(manager.add(one, twice).status(), Code::exists, {"declared it already"});
    rank.receive(one, 1 - rank.rank(), 0, from_other);
    COALESCE_MUST(rank.manager->freeze());
    COALESCE_MUST(rank.round());
    expect_error(inner, Code::state, {"within a callback"});
    expect_error(manager.set_length(99, 0), Code::argument, {"no request 99"});
    COALESCE_MUST(rank.manager->close());
    COALESCE_MUST(rank.manager->close());
    expect_error(rank.round(), Code::state, {"closed"});
  });
}

// ---- amendments ----

TEST(CoalescedAmendments, ClientsComeAndGoAtTheAgreedRoundAndFrequenciesGoOn) {
  for (const bool merged : {true, false}) {
    run(2,
        [](Rank& rank) {
          const int other = 1 - rank.rank();
          Numbers out(3), in(3), late_out(2), late_in(2), old_out(1), old_in(1);
          std::vector<std::uint64_t> kept, added, gone;
          const auto note = [](std::vector<std::uint64_t>& rounds) {
            return [&rounds](const Moment& moment) { return rounds.push_back(moment.round), Status(); };
          };
          const auto fill = [&](const Moment& moment) {
            out.assign(3, static_cast<double>(moment.round));
            late_out.assign(2, static_cast<double>(moment.round));
            return Status();
          };
          const std::size_t kernel = rank.add("kernel", {.fill = fill, .use = note(kept)});
          const std::size_t old = rank.add("old", {.use = note(gone)});
          Request third;
          third.edge.every = 3;
          third.edge.offset = 1;
          rank.send(kernel, other, 0, out, third);
          const RequestId request = rank.receive(kernel, other, 0, in, third);
          rank.send(old, other, 0, old_out);
          rank.receive(old, other, 0, old_in);
          COALESCE_MUST(rank.manager->freeze());
          for (int round = 0; round < 4; ++round) COALESCE_MUST(rank.round());
          COALESCE_MUST(rank.manager->remove(old));
          const std::size_t late = rank.add("late", {.use = note(added)});
          rank.send(late, other, 0, late_out);
          rank.receive(late, other, 0, late_in);
          COALESCE_MUST(rank.manager->amend(6));
          expect_error(rank.manager->amend(7), Code::state, {"round 6 has not begun"});
          for (std::uint64_t round = 4; round < 12; ++round) {
            COALESCE_MUST(rank.round());
            const auto bytes = rank.manager->communications().length(request);
            ASSERT_TRUE(bytes.ok());
            EXPECT_EQ(*bytes, round % 3 == 1 ? 24U : 0U) << round;
            EXPECT_EQ(in[0], static_cast<double>(round - (round + 2) % 3)) << round;
            EXPECT_EQ(late_in[1], round < 6 ? 0.0 : static_cast<double>(round));
          }
          EXPECT_EQ(kept.size(), 12U);
          EXPECT_EQ(gone, (std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5}));
          EXPECT_EQ(added, (std::vector<std::uint64_t>{6, 7, 8, 9, 10, 11}));
          COALESCE_MUST(rank.manager->amend(12));
          COALESCE_MUST(rank.round());
        },
        {.switches = {merged, merged}});
  }
}

// A client that says when it is destroyed.
class Counted final : public coalesce::Client {
 public:
  explicit Counted(std::string name, int& alive) : name_(std::move(name)), alive_(alive) { ++alive_; }
  ~Counted() override { --alive_; }
  [[nodiscard]] std::string_view name() const noexcept override { return name_; }
  Status fill(const Moment& /*moment*/) override { return {}; }
  Status overlap(const Moment& /*moment*/) override { return {}; }
  Status use(const Moment& /*moment*/) override { return {}; }
  Status end_round(std::uint64_t /*round*/) override { return {}; }

 private:
  std::string name_;
  int& alive_;
};

TEST(CoalescedAmendments, ClientsThatNoPlanHasAreGivenBack) {
  run(2, [](Rank& rank) {
    int alive = 0;
    Numbers out(3), in(3);
    auto& communications = rank.manager->communications();
    std::size_t last = 0;
    for (std::uint64_t generation = 0; generation < 5; ++generation) {
      auto made = rank.manager->add(std::make_unique<Counted>(fmt::format("patch {}", generation), alive));
      ASSERT_TRUE(made.ok());
      if (generation > 0) COALESCE_MUST(rank.manager->remove(last));
      last = *made;
      rank.send(last, 1 - rank.rank(), 0, out);
      rank.receive(last, 1 - rank.rank(), 0, in);
      COALESCE_MUST(generation == 0 ? rank.manager->freeze() : rank.manager->amend(generation * 2));
      EXPECT_EQ(alive, generation == 0 ? 1 : 2);  // the plan before has the old one
      COALESCE_MUST(rank.round());
      EXPECT_EQ(alive, 1);
      COALESCE_MUST(rank.round());
    }
    const coalesce::Counts counts = communications.counts();
    ASSERT_EQ(counts.clients.size(), 2U);
    EXPECT_EQ(counts.clients[0].name, "patch 4");
    EXPECT_EQ(counts.clients[1].name, "(removed)");
    EXPECT_EQ(counts.clients[1].sent_parts, 8U);
    expect_error(communications.length(0).status(), Code::argument, {"no request 0"});
    expect_error(rank.manager->remove(0), Code::not_found, {"number 0"});
    // One that is removed after an amendment that has it is called until the next one.
    COALESCE_MUST(rank.manager->amend(11));
    COALESCE_MUST(rank.manager->remove(last));
    for (int round = 0; round < 3; ++round) COALESCE_MUST(rank.round());
    EXPECT_EQ(alive, 1);
    COALESCE_MUST(rank.manager->amend(13));
    COALESCE_MUST(rank.round());
    EXPECT_EQ(alive, 0);
  });
}

// Each was compared with all others: this took half an hour.
TEST(CoalescedAmendments, ManyRequestsAreAddedInATimeThatGrowsWithTheirNumber) {
  run(1, [](Rank& rank) {
    const std::size_t client = rank.add("many");
    Numbers out(100'000), in(out.size());
    Request one;
    one.edge.peer = 0;
    auto& communications = rank.manager->communications();
    for (std::size_t tag = 0; tag < out.size(); ++tag) {
      for (const Direction direction : {Direction::out, Direction::in}) {
        one.edge.direction = direction;
        one.edge.tag = static_cast<std::int64_t>(tag);
        Numbers& numbers = direction == Direction::out ? out : in;
        one.edge.regions = {{.memory = reinterpret_cast<std::byte*>(&numbers[tag]), .run_bytes = 8}};
        COALESCE_MUST(communications.add(client, one).status());
      }
    }
    expect_error(communications.add(client, one).status(), Code::exists, {"declared it already"});
  });
}

TEST(CoalescedAmendments, AnAmendmentThatRanksDoNotAgreeOnLeavesThePlanAsItIs) {
  run(2, [](Rank& rank) {
    Numbers out(3), in(3);
    const std::size_t kernel = rank.add("kernel");
    rank.send(kernel, 1 - rank.rank(), 0, out);
    rank.receive(kernel, 1 - rank.rank(), 0, in);
    COALESCE_MUST(rank.manager->freeze());
    COALESCE_MUST(rank.round());
    expect_error(rank.manager->amend(rank.rank() == 0 ? 5 : 6), Code::mismatch, {"first round 5", "rank 1 has 6"});
    expect_error(rank.manager->amend(0), Code::argument, {"round 0 has begun"});
    for (int round = 0; round < 8; ++round) COALESCE_MUST(rank.round());
  });
}

}  // namespace
}  // namespace couplet::conformance
