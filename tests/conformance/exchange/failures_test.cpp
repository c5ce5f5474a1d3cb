// Bad plans, and members that fail, leave or die: a named error at every member concerned, within the deadline.
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "exchange/mapped.hpp"
#include "exchange/mixed.hpp"
#include "exchange/two_sided.hpp"
#include "exchange_case.hpp"
#include "message/courier.hpp"

namespace couplet::conformance {
namespace {

using Numbers = std::vector<double>;

void expect(const Status& status, Code code, std::initializer_list<const char*> parts) {
  EXPECT_EQ(status.code(), code) << status.text();
  for (const char* const part : parts) EXPECT_NE(status.text().find(part), std::string::npos) << status.text();
}

// Three members of which each has edges with the next one. Returns where the messages of each will be.
std::vector<Numbers> join_chain(Member& member, Numbers& out) {
  std::vector<Numbers> arrived(3, Numbers(out.size()));
  for (const int other : {member.rank() - 1, member.rank() + 1}) {
    if (other < 0 || other > 2) continue;
    member.send(other, 0, out);
    member.receive(other, 0, arrived[static_cast<std::size_t>(other)]);
  }
  return arrived;
}

TEST_P(ExchangeMethod, OtherSizesAreAnErrorAtBothThatNamesEdgeRanksAndSizes) {
  run(3, [](Member& member) {
    Numbers out(10), in(12);
    if (member.rank() == 0) member.send(1, 7, out, {.title = "face +x"});
    if (member.rank() == 1) member.receive(0, 7, in, {.title = "face +x"});
    const Status frozen = member.exchange->freeze();
    expect(frozen, Code::mismatch, {"'test'", "'face +x'", "tag 7", "rank 0", "rank 1", "80", "96"});
    expect(member.exchange->start(), Code::mismatch, {"face +x"});
  });
}

TEST_P(ExchangeMethod, AnEdgeThatOnlyOneSideHasIsAnErrorAtBoth) {
  run(2, [](Member& member) {
    Numbers in(12);
    if (member.rank() == 1) member.receive(0, 3, in);
    expect(member.exchange->freeze(), Code::mismatch, {"tag 3", "from rank 0", "to rank 1", "the sender has not"});
  });
}

TEST_P(ExchangeMethod, OtherFrequenciesAreAnErrorAtBoth) {
  run(2, [](Member& member) {
    Numbers data(2);
    if (member.rank() == 0) member.send(1, 3, data, {.every = 2});
    if (member.rank() == 1) member.receive(0, 3, data, {.every = 2, .offset = 1});
    expect(member.exchange->freeze(), Code::mismatch, {"every 2 and offset 0", "every 2 and offset 1"});
  });
}

// Its neighbour hears of the end while it waits in an earlier round, to which it does not matter.
TEST_P(ExchangeMethod, AMemberThatHasClosedIsFoundByTests) {
  std::atomic<bool> has_closed{false};
  Parties parties(LaneKind::shm, 3);
  parties.run([&](Party& party) {
    // A method whose members close together waits for rank 2 until then.
    Member member(GetParam(), party, directory_.path(), "test", party.rank() == 0 ? 3 : 30);
    std::vector<Numbers> out(3, Numbers(4)), in(3, Numbers(4));
    for (int peer = 0; peer < 3; ++peer) {
      if (peer == party.rank() || peer + party.rank() == 2) continue;  // 0 and 2 have no edges with each other
      member.send(peer, 0, out[static_cast<std::size_t>(peer)]);
      member.receive(peer, 0, in[static_cast<std::size_t>(peer)]);
    }
    MUST(member.exchange->freeze());
    if (party.rank() == 2) {
      while (!has_closed) party.engine->look_at_all();
    }
    MUST(member.exchange->start());
    bool is_over = false;
    while (party.rank() == 1 && !has_closed && !is_over) {
      is_over = member.exchange->wait(os::deadline_after(0.01)).ok();
    }
    if (party.rank() == 0) {
      MUST(member.exchange->wait(os::deadline_after(30)));
      static_cast<void>(member.exchange->close());
      has_closed = true;
      return;
    }
    if (!is_over) MUST(member.exchange->wait(os::deadline_after(30)));
    if (party.rank() == 2) return;
    Status status = member.exchange->start();
    bool is_done = false;
    const std::uint64_t deadline_ns = os::deadline_after(30);
    while (status.ok() && !is_done && os::now_ns() < deadline_ns) status = member.exchange->test(is_done);
    EXPECT_TRUE(status.error()) << status.text();
  });
}

// Makes a method at all members but the first one, which has no memory.
class PoorMaker final : public exchange::Maker {
 public:
  PoorMaker(exchange::Maker& inner, bool is_poor) : inner_(inner), is_poor_(is_poor) {}
  [[nodiscard]] std::string_view name() const noexcept override { return inner_.name(); }
  Result<std::unique_ptr<exchange::Method>> make(const exchange::Setting& setting, exchange::Talk& talk) override {
    if (is_poor_) throw std::bad_alloc();
    return inner_.make(setting, talk);
  }

 private:
  exchange::Maker& inner_;
  bool is_poor_;
};

TEST(ExchangeFailures, AMemberWithoutMemoryInAFreezeIsToldToAll) {
  const test::TemporaryDirectory directory;
  Parties parties(LaneKind::shm, 3);
  parties.run([&](Party& party) {
    exchange::MappedMaker mapped;
    PoorMaker maker(mapped, party.rank() == 0);
    exchange::Surroundings around{.messenger = party.messenger.get(),
                                  .engine = party.engine.get(),
                                  .run_directory = directory.path(),
                                  .makers = {&maker}};
    auto made = Exchange::create(around, party.group(), "poor", {.method = "auto", .timeout_s = 600});
    ASSERT_TRUE(made.ok());
    std::vector<Numbers> data(6, Numbers(4));
    for (int peer = 0; peer < 3; ++peer) {
      if (peer == party.rank()) continue;
      for (const Direction direction : {Direction::out, Direction::in}) {
        auto& numbers = data[static_cast<std::size_t>(peer + (direction == Direction::out ? 3 : 0))];
        EXPECT_OK((*made)
                      ->add({.direction = direction,
                             .peer = peer,
                             .regions = {{.memory = reinterpret_cast<std::byte*>(numbers.data()), .run_bytes = 32}}})
                      .status());
      }
    }
    const Status frozen = (*made)->freeze();  // not after 600 s
    expect(frozen, Code::memory, {});
    static_cast<void>((*made)->close());
    if (!(*made)->is_idle()) bury(party, std::move(*made));
  });
}

// A program may have nothing to do: then one member closes the exchange while another one still ends its freeze.
TEST_P(ExchangeMethod, CanBeClosedRightAfterTheFreeze) {
  for (int attempt = 0; attempt < 20; ++attempt) {
    run(3, [](Member& member) {
      std::vector<Numbers> out(3, Numbers(4)), in(3, Numbers(4));
      for (int peer = 0; peer < 3; ++peer) {
        if (peer == member.rank()) continue;
        member.send(peer, 0, out[static_cast<std::size_t>(peer)]);
        member.receive(peer, 0, in[static_cast<std::size_t>(peer)]);
      }
      MUST(member.exchange->freeze());
      EXPECT_OK(member.exchange->close());
    });
  }
}

TEST_P(ExchangeMethod, AMemberThatNeverFreezesIsNamedByATimeout) {
  std::atomic<bool> is_over{false};
  Parties parties(LaneKind::shm, 2);
  parties.run([&](Party& party) {
    while (party.rank() == 1 && !is_over) party.engine->look_at_all();
    if (party.rank() == 1) return;
    Member member(GetParam(), party, directory_.path(), "test", 0.3);
    Numbers data(2);
    member.send(1, 3, data);
    expect(member.exchange->freeze(), Code::timeout, {"'test'", "party 1"});
    is_over = true;
  });
}

TEST_P(ExchangeMethod, AnErrorInThePlanOfOneMemberIsToldToAll) {
  run(3, [](Member& member) {
    Numbers data(20);
    if (member.rank() == 2) {
      member.receive(0, 0, data);
      member.receive(0, 1, data);
    }
    if (member.rank() == 0) {
      member.send(2, 0, data);
      member.send(2, 1, data);
    }
    expect(member.exchange->freeze(), Code::argument, {"receive into the same memory"});
  });
}

TEST_P(ExchangeMethod, MisuseIsNamed) {
  run(2, [](Member& member) {
    Numbers data(4), received(4);
    const int other = 1 - member.rank();
    Exchange& exchange = *member.exchange;
    expect(exchange.start(), Code::state, {"starting a round cannot be done", "not frozen yet"});
    expect(exchange.wait(os::never), Code::state, {"not frozen"});
    expect(exchange.add({.peer = 9}).status(), Code::argument, {"9", "0 to 1"});
    expect(exchange.add({.peer = other, .every = 0}).status(), Code::argument, {"every must be at least 1"});
    expect(exchange.add({.peer = other, .regions = {{.run_bytes = 8}}}).status(), Code::argument, {"NULL"});
    member.send(other, 0, data);
    member.receive(other, 1, received);
    expect(exchange.add({.peer = other, .tag = 0, .is_variable = true}).status(), Code::mismatch,
           {"another kind of length"});
    const Status frozen = exchange.freeze();
    expect(frozen, Code::mismatch, {"tag"});
  });
  run(2, [](Member& member) {
    Numbers out(4), in(4);
    const int other = 1 - member.rank();
    Exchange& exchange = *member.exchange;
    const auto sent = member.send(other, 0, out);
    member.receive(other, 0, in);
    MUST(exchange.freeze());
    expect(exchange.add({.peer = other}).status(), Code::state, {"frozen"});
    expect(exchange.arrived(sent).status(), Code::argument, {"does not receive"});
    expect(exchange.arrived(99).status(), Code::argument, {"no edge 99"});
    expect(exchange.set_length(sent, 8), Code::argument, {"no length"});
    MUST(exchange.start());
    expect(exchange.start(), Code::state, {"a round is under way"});
    MUST(exchange.wait(os::deadline_after(30)));
    expect(exchange.wait(os::deadline_after(30)), Code::state, {"frozen"});
    EXPECT_OK(exchange.close());
    EXPECT_OK(exchange.close());
    expect(exchange.start(), Code::state, {"closed"});
  });
}

TEST_P(ExchangeMethod, AWaitThatTimesOutNamesItsRanksAndMayGoOn) {
  std::atomic<bool> has_timed_out{false};
  run(2, [&](Member& member) {
    Numbers out(4, 5), in(4);
    const int other = 1 - member.rank();
    member.send(other, 0, out);
    member.receive(other, 0, in);
    MUST(member.exchange->freeze());
    if (member.rank() == 0) {
      MUST(member.exchange->start());
      const Status waited = member.exchange->wait(os::deadline_after(0.05));
      expect(waited, Code::timeout, {"round 0", "rank 1 (party 1)"});
      has_timed_out = true;
    } else {
      while (!has_timed_out) member.party.engine->look_at_all();
      MUST(member.exchange->start());
    }
    MUST(member.exchange->wait(os::deadline_after(30)));
    EXPECT_EQ(in, out);
  });
}

TEST_P(ExchangeMethod, AMemberThatClosesEndsTheWaitsOfOthers) {
  run(3, [](Member& member) {  // a chain: what 2 does reaches 0 by 1
    Numbers out(4), in(8);
    std::vector<Numbers> arrived = join_chain(member, out);
    MUST(member.exchange->freeze());
    for (int round = 0; round < 3; ++round) MUST(member.round());
    if (member.rank() == 2) {
      EXPECT_OK(member.exchange->close());
      return;
    }
    Status status = member.round();
    if (status.ok()) status = member.round();  // 0 may have been in time for one
    expect(status, Code::state, {"rank 2", "has closed it after 3 rounds"});
  });
}

// More members than cores: then nothing spins, and a wait without time has to do what can be done all the same.
int crowd() {
  return static_cast<int>(std::max(3L, ::sysconf(_SC_NPROCESSORS_ONLN) + 1));
}

TEST_P(ExchangeMethod, WaitsWithoutTimeEndALongRound) {
  run(crowd(), [](Member& member) {
    Numbers out(200'000, member.rank()), in(200'000);
    const int peer = member.rank() ^ 1;
    if (member.rank() < 2) {
      member.send(peer, 0, out);
      member.receive(peer, 0, in);
    }
    MUST(member.exchange->freeze());
    if (member.rank() > 1) return;
    for (int round = 0; round < 3; ++round) {
      MUST(member.exchange->start());
      Status waited = Code::timeout;
      while (waited.code() == Code::timeout) waited = member.exchange->wait(os::now_ns());
      MUST(waited);
      EXPECT_EQ(in.back(), peer);
    }
  });
}

// How a member may look for the end of a round without ever giving it time.
Status look_by_waits(Exchange& exchange, std::uint32_t /*edge*/) {
  return exchange.wait(os::now_ns());
}
Status look_by_arrivals(Exchange& exchange, std::uint32_t edge) {
  const auto arrived = exchange.arrived(edge);
  if (!arrived.ok()) return arrived.status();
  return *arrived ? Status() : Status(Code::timeout);
}

TEST_P(ExchangeMethod, ANeighborThatEndsIsHeardOfWithoutAWait) {
  for (const auto look : {look_by_waits, look_by_arrivals}) {
    for (const bool dies : {false, true}) {
      Parties parties(LaneKind::shm, crowd());
      parties.run(
          [&](Party& party) {
            Member member(GetParam(), party, directory_.path());
            Numbers out(4), in(4);
            const int peer = party.rank() ^ 1;
            std::uint32_t edge = 0;
            if (party.rank() < 2) {
              member.send(peer, 0, out);
              edge = member.receive(peer, 0, in);
            }
            MUST(member.exchange->freeze());
            if (party.rank() == 1 && dies) {
              bury(party, std::move(member.exchange));
              party.die();
            }
            if (party.rank() != 0) return;
            MUST(member.exchange->start());
            Status status = Code::timeout;
            while (status.code() == Code::timeout) status = look(*member.exchange, edge);
            EXPECT_EQ(status.code(), dies ? Code::peer_lost : Code::state) << status.text();
          },
          false);
    }
  }
}

TEST_P(ExchangeMethod, AMemberThatDiesEndsTheWaitsOfOthers) {
  Parties parties(LaneKind::shm, 3);
  parties.run(
      [&](Party& party) {
        Member member(GetParam(), party, directory_.path());
        Numbers out(4);
        std::vector<Numbers> arrived = join_chain(member, out);
        MUST(member.exchange->freeze());
        if (member.rank() == 2) {
          for (int round = 0; round < 3; ++round) MUST(member.round());
          bury(party, std::move(member.exchange));
          party.die();
          return;
        }
        Status status;
        for (int round = 0; round < 6 && status.ok(); ++round) status = member.round();
        expect(status, Code::peer_lost, {"'test'", "party 2"});
      },
      false);
}

// It has told why. That counts, and not that it cannot be sent to any more.
TEST_P(ExchangeMethod, ANeighborThatLeavesAfterADeathHasNamedTheDead) {
  Parties parties(LaneKind::shm, 3);
  parties.run(
      [&](Party& party) {
        Member member(GetParam(), party, directory_.path());
        Numbers out(4);
        std::vector<Numbers> arrived = join_chain(member, out);
        MUST(member.exchange->freeze());
        Status status;
        for (int round = 0; round < 3 && status.ok(); ++round) status = member.round();
        if (member.rank() == 2) {
          EXPECT_OK(status);
          bury(party, std::move(member.exchange));
          party.die();
          return;
        }
        const message::Courier courier(*party.messenger);
        const std::uint64_t until_ns = os::deadline_after(30);
        while (member.rank() == 0 && !courier.has_left(1) && os::now_ns() < until_ns) party.engine->look_at_all();
        for (int round = 0; round < 3 && status.ok(); ++round) status = member.round();
        expect(status, Code::peer_lost, {"'test'", "party 2"});
        if (member.rank() == 0) return;
        bury(party, std::move(member.exchange));
        party.end();
      },
      false);
}

// It has not said that it closes the exchange; but what it has sent is here, and the round waits for another one.
TEST_P(ExchangeMethod, AMemberThatHasLeftAfterItsLastRoundDoesNotFailASlowerOne) {
  constexpr int last = 3;
  std::atomic<bool> has_left{false};
  Parties parties(LaneKind::shm, 3);
  parties.run([&](Party& party) {
    Member member(GetParam(), party, directory_.path());
    Numbers out(4);
    std::vector<Numbers> arrived = join_chain(member, out);
    MUST(member.exchange->freeze());
    const int early = member.rank() == 0 ? last : last - 1;
    for (int round = 0; round < early; ++round) MUST(member.round());
    if (member.rank() == 0) return bury(party, std::move(member.exchange));
    if (member.rank() == 1) {
      MUST(member.exchange->start());
      const message::Courier courier(*party.messenger);
      while (!courier.has_left(0)) party.engine->look_at_all();
      has_left = true;
      MUST(member.exchange->wait(os::deadline_after(30)));
      const Status next = member.round();  // the last one closes its exchange in good order
      EXPECT_TRUE(next.code() == Code::peer_lost || next.code() == Code::state) << next.text();
    } else {
      while (!has_left) party.engine->look_at_all();
      ::usleep(50'000);  // the other one waits, and hears that the first one has left
      MUST(member.round());
    }
  });
}

// Its edge took part in the first round only. A receive from it looks at all that there is to poll, in the middle of
// what ends the round: the exchange itself must not go on with the round meanwhile.
TEST_P(ExchangeMethod, AMemberThatHasLeftAfterItsLastMessageLosesNoMessageOfOthers) {
  constexpr int rounds = 4;
  Parties parties(LaneKind::shm, 3);
  parties.run([&](Party& party) {
    // A method whose members close together waits for rank 0, which has not closed, for so long.
    Member member(GetParam(), party, directory_.path(), "test", 5);
    Numbers from_early(4), out(4), in(4);
    const Edge once{.every = 100};
    if (member.rank() == 0) member.send(1, 7, out, once);
    if (member.rank() == 1) member.receive(0, 7, from_early, once);
    const int other = 3 - member.rank();
    if (member.rank() > 0) {
      member.send(other, 0, out);
      member.receive(other, 0, in);
    }
    MUST(member.exchange->freeze());
    const message::Courier courier(*party.messenger);
    const std::uint64_t until_ns = os::deadline_after(1);  // with a barrier in each round, nobody gets ahead
    while (member.rank() == 1 && !courier.has_left(0) && os::now_ns() < until_ns) party.engine->look_at_all();
    for (int round = 0; round < rounds; ++round) {
      out.assign(4, 10.0 * member.rank() + round);
      MUST(member.round());
      if (member.rank() > 0) {
        EXPECT_EQ(in, Numbers(4, 10.0 * other + round)) << "round " << round;
      }
    }
    if (member.rank() == 0)
      bury(party, std::move(member.exchange));  // some methods wait for their readers when they close
  });
}

// A method that fails at one member after some rounds.
class Failing : public exchange::Method {
 public:
  Failing(std::unique_ptr<exchange::Method> inner, int rounds) : inner_(std::move(inner)), rounds_(rounds) {}
  [[nodiscard]] std::string_view name() const noexcept override { return inner_->name(); }
  Status begin(std::span<const std::uint32_t> sending, std::span<const std::uint32_t> receiving) override {
    return inner_->begin(sending, receiving);
  }
  std::byte* outgoing(std::uint32_t port) override { return inner_->outgoing(port); }
  Status send(std::uint32_t port, std::uint64_t bytes) override { return inner_->send(port, bytes); }
  Status all_sent() override { return inner_->all_sent(); }
  Status poll() override {
    if (rounds_ == 0) return fail(Code::system, "the substrate is broken");
    return inner_->poll();
  }
  [[nodiscard]] bool has_arrived(std::uint32_t port) const override { return inner_->has_arrived(port); }
  [[nodiscard]] std::span<const std::byte> incoming(std::uint32_t port) const override {
    return inner_->incoming(port);
  }
  [[nodiscard]] bool is_complete() const override { return inner_->is_complete(); }
  Status end() override {
    --rounds_;
    return inner_->end();
  }
  bool before_sleep(exchange::Sleep& sleep) override { return inner_->before_sleep(sleep); }
  void after_sleep() noexcept override { inner_->after_sleep(); }
  Result<bool> close() override { return inner_->close(); }
  bool abandon() noexcept override { return inner_->abandon(); }

 private:
  std::unique_ptr<exchange::Method> inner_;
  int rounds_;
};

class FailingMaker final : public exchange::Maker {
 public:
  FailingMaker(std::unique_ptr<exchange::Maker> inner, int rounds) : inner_(std::move(inner)), rounds_(rounds) {}
  [[nodiscard]] std::string_view name() const noexcept override { return inner_->name(); }
  Result<std::unique_ptr<exchange::Method>> make(const exchange::Setting& setting, exchange::Talk& talk) override {
    COUPLET_TRY_VALUE(auto made, inner_->make(setting, talk));
    return std::unique_ptr<exchange::Method>(std::make_unique<Failing>(std::move(made), rounds_));
  }

 private:
  std::unique_ptr<exchange::Maker> inner_;
  int rounds_;
};

// A method that cannot go on at one member: what a signal, or the deadline, does in a trial.
class Stopping final : public Failing {
 public:
  Stopping(std::unique_ptr<exchange::Method> inner, Code code) : Failing(std::move(inner), -1), code_(code) {}
  Status poll() override { return code_ == Code::ok ? Failing::poll() : Status(code_); }

 private:
  Code code_;
};

class StoppingMaker final : public exchange::Maker {
 public:
  StoppingMaker(exchange::Maker& inner, Code code) : inner_(inner), code_(code) {}
  [[nodiscard]] std::string_view name() const noexcept override { return inner_.name(); }
  Result<std::unique_ptr<exchange::Method>> make(const exchange::Setting& setting, exchange::Talk& talk) override {
    COUPLET_TRY_VALUE(auto made, inner_.make(setting, talk));
    return std::unique_ptr<exchange::Method>(std::make_unique<Stopping>(std::move(made), code_));
  }

 private:
  exchange::Maker& inner_;
  Code code_;
};

TEST(ExchangeFailures, AMemberThatIsStoppedInATrialEndsTheFreezeOfAll) {
  for (const Code code : {Code::interrupted, Code::timeout, Code::memory}) {
    const test::TemporaryDirectory directory;
    Parties parties(LaneKind::shm, 3);
    parties.run([&](Party& party) {
      exchange::MappedMaker mapped;
      exchange::TwoSidedMaker two_sided(*party.messenger);
      StoppingMaker maker(mapped, party.rank() == 0 ? code : Code::ok);
      exchange::Surroundings around{.messenger = party.messenger.get(),
                                    .engine = party.engine.get(),
                                    .run_directory = directory.path(),
                                    .makers = {&maker, &two_sided}};
      auto made = Exchange::create(around, party.group(), "stopped", {.method = "auto", .timeout_s = 600});
      ASSERT_TRUE(made.ok());
      Numbers out(4), in(4);
      if (party.rank() != 2) {  // one has no neighbours, and waits for what the others agree on
        Edge edge{.peer = 1 - party.rank(),
                  .regions = {{.memory = reinterpret_cast<std::byte*>(out.data()), .run_bytes = 32}}};
        EXPECT_OK((*made)->add(edge).status());
        edge.direction = Direction::in;
        edge.regions.front().memory = reinterpret_cast<std::byte*>(in.data());
        EXPECT_OK((*made)->add(edge).status());
      }
      const Status frozen = (*made)->freeze();  // not after 600 s
      EXPECT_EQ(frozen.code(), code == Code::memory ? Code::memory : Code::timeout) << frozen.text();
      static_cast<void>((*made)->close());
      if (!(*made)->is_idle()) bury(party, std::move(*made));
    });
  }
}

TEST_P(ExchangeMethod, AnErrorOfTheMethodAtOneMemberReachesAll) {
  ExchangeCase failing = GetParam();
  failing.make_makers = [inner = failing.make_makers](Party& party) {
    Makers makers = inner(party);
    if (party.rank() != 2) return makers;
    auto tested = std::move(makers.back());
    makers.back() = std::make_unique<FailingMaker>(std::move(tested), 3);
    return makers;
  };
  Parties parties(LaneKind::shm, 3);
  parties.run([&](Party& party) {
    Member member(failing, party, directory_.path());
    Numbers out(4);
    std::vector<Numbers> arrived = join_chain(member, out);
    MUST(member.exchange->freeze());
    Status status;
    for (int round = 0; round < 6 && status.ok(); ++round) status = member.round();
    expect(status, Code::system, {"the substrate is broken", "round 3"});
  });
}

TEST(ExchangeMapped, NeighborsWithoutCommonMemoryAreNamed) {
  const test::TemporaryDirectory directory;
  ExchangeCase one{.name = "mapped",
                   .make_makers =
                       [](Party&) {
                         Makers makers;
                         makers.push_back(std::make_unique<exchange::MappedMaker>());
                         return makers;
                       },
                   .shares_memory = [](int rank) { return rank == 0; }};
  Parties parties(LaneKind::shm, 2);
  parties.run([&](Party& party) {
    Member member(one, party, directory.path());
    Numbers out(4), in(4);
    member.send(1 - member.rank(), 0, out);
    member.receive(1 - member.rank(), 0, in);
    expect(member.exchange->freeze(), Code::unsupported, {"mapped", "shares no memory"});
  });
}

}  // namespace
}  // namespace couplet::conformance
