// Rounds of several clients: what is counted, in which order clients are called, and that the same bits come out
// whatever is merged.
#include <atomic>
#include <random>

#include "coalesce_case.hpp"

namespace couplet::conformance {
namespace {

using Numbers = std::vector<double>;

constexpr coalesce::Switches all_switches[] = {{true, true}, {true, false}, {false, true}, {false, false}};

// One client of one rank, which has a ring to both neighbours.
struct RingClient {
  Numbers to_left, to_right, from_left, from_right;
  RingClient() : to_left(100), to_right(100), from_left(100), from_right(100) {}
  void declare(Rank& rank, std::size_t client, int size) {
    const int left = (rank.rank() + size - 1) % size;
    const int right = (rank.rank() + 1) % size;
    rank.send(client, left, 1, to_left);
    rank.send(client, right, 2, to_right);
    rank.receive(client, right, 1, from_right);
    rank.receive(client, left, 2, from_left);
  }
};

TEST(CoalescedRounds, MessagesAreThoseOfDistinctPeersAndThereIsOneWaitForEachPhase) {
  const test::TemporaryDirectory directory;
  for (const int size : {2, 3}) {
    for (const auto switches : all_switches) {
      Parties parties(LaneKind::shm, size);
      parties.run([&](Party& party) {
        constexpr std::uint64_t rounds = 7;
        constexpr std::size_t clients = 4;
        Rank rank(party, directory.path(), {.switches = switches});
        std::vector<RingClient> data(clients);
        for (std::size_t client = 0; client < clients; ++client) {
          rank.add("client " + std::to_string(client));
          data[client].declare(rank, client, size);
        }
        COALESCE_MUST(rank.manager->freeze());
        for (std::uint64_t round = 0; round < rounds; ++round) COALESCE_MUST(rank.round());
        const coalesce::Counts counts = rank.manager->communications().counts();
        const std::uint64_t peers = size == 2 ? 1 : 2;
        ASSERT_EQ(counts.peers.size(), peers);
        for (const coalesce::PeerCounts& peer : counts.peers) {
          EXPECT_EQ(peer.sent_messages, rounds * (switches.shares_messages() ? 1 : clients));
          EXPECT_EQ(peer.received_messages, peer.sent_messages);
          EXPECT_EQ(peer.sent_bytes, rounds * clients * 200 * 8 / peers);
        }
        EXPECT_EQ(counts.phases[0].waits, rounds * (switches.merges_waits ? 1 : clients));
        for (const coalesce::ClientCounts& client : counts.clients) {
          EXPECT_EQ(client.sent_parts, 2 * rounds);
          EXPECT_EQ(client.sent_bytes, rounds * 200 * 8);
          EXPECT_EQ(client.received_bytes, rounds * 200 * 8);
        }
      });
    }
  }
}

TEST(CoalescedRounds, ClientsAreCalledInOrderOfRegistrationInEachStage) {
  const test::TemporaryDirectory directory;
  Parties parties(LaneKind::shm, 2);
  parties.run([&](Party& party) {
    Rank rank(party, directory.path(), {.phase_count = 2});
    std::string said;
    const auto say = [&](const char* what) {
      return [&said, what](const Moment& moment) {
        said += what + std::to_string(moment.phase) + (moment.peer < 0 ? "" : "p") + ' ';
        return Status();
      };
    };
    Numbers out(1), in(1);
    const std::size_t one =
        rank.add("one", {say("fill1:"), say("overlap1:"), say("arrived1:"), say("use1:"), say("end1:")});
    rank.add("two", {say("fill2:"), say("overlap2:"), say("arrived2:"), say("use2:"), say("end2:")});
    rank.send(one, 1 - rank.rank(), 0, out, {.phase = 1});
    rank.receive(one, 1 - rank.rank(), 0, in, {.phase = 1});
    COALESCE_MUST(rank.manager->freeze());
    COALESCE_MUST(rank.round());
    EXPECT_EQ(said,
              "fill1:0 fill2:0 overlap1:0 overlap2:0 use1:0 use2:0 "
              "fill1:1 fill2:1 overlap1:1 overlap2:1 arrived1:1p use1:1 use2:1 end1:0 end2:0 ");
  });
}

TEST(CoalescedRounds, AClientHearsOfEachPeerBeforeAllHaveCome) {
  const test::TemporaryDirectory directory;
  std::atomic<bool> was_heard{false};
  Parties parties(LaneKind::shm, 3);
  parties.run([&](Party& party) {
    Rank rank(party, directory.path());
    Numbers out(4, party.rank()), from_one(4), from_two(4);
    std::vector<int> heard;
    const auto hear = [&](const Moment& moment) {
      heard.push_back(moment.peer);
      was_heard = was_heard || moment.peer == 1;
      return Status();
    };
    const std::size_t client = rank.add("one", {.arrived = hear});
    if (party.rank() == 0) {
      rank.receive(client, 1, 0, from_one);
      rank.receive(client, 2, 0, from_two);
    } else {
      rank.send(client, 0, 0, out);
    }
    COALESCE_MUST(rank.manager->freeze());
    // The rank 2 sends only after the rank 0 has used what the rank 1 has sent.
    while (party.rank() == 2 && !was_heard) party.engine->look_at_all();
    COALESCE_MUST(rank.round());
    EXPECT_EQ(heard, party.rank() == 0 ? std::vector<int>({1, 2}) : std::vector<int>());
  });
}

TEST(CoalescedRounds, OptionalAndVariablePartsSayInEachRoundWhatTheyHave) {
  const test::TemporaryDirectory directory;
  Parties parties(LaneKind::shm, 2);
  parties.run([&](Party& party) {
    Rank rank(party, directory.path());
    auto& manager = rank.manager->communications();
    Numbers maybe(4, 1.0), some(4, 2.0), in_maybe(4), in_some(4);
    RequestId optional = 0, variable = 0, in_optional = 0, in_variable = 0;
    const auto fill = [&](const Moment& moment) -> Status {
      if (moment.round % 3 == 1) COUPLET_TRY(manager.set_length(optional, 32));
      return moment.round == 0 ? Status() : manager.set_length(variable, 8 * (moment.round % 4));
    };
    const auto use = [&](const Moment& moment) -> Status {
      COUPLET_TRY_VALUE(const std::uint64_t maybe_bytes, manager.length(in_optional));
      COUPLET_TRY_VALUE(const std::uint64_t some_bytes, manager.length(in_variable));
      EXPECT_EQ(maybe_bytes, moment.round % 3 == 1 ? 32U : 0U);
      EXPECT_EQ(some_bytes, moment.round == 0 ? 32U : 8 * (moment.round % 4));
      return {};
    };
    const std::size_t client = rank.add("one", {.fill = fill, .use = use});
    const int other = 1 - rank.rank();
    optional = rank.send(client, other, 0, maybe, {.is_optional = true});
    in_optional = rank.receive(client, other, 0, in_maybe, {.is_optional = true});
    Request with_length;
    with_length.edge.is_variable = true;
    variable = rank.send(client, other, 1, some, with_length);
    in_variable = rank.receive(client, other, 1, in_some, with_length);
    COALESCE_MUST(rank.manager->freeze());
    for (int round = 0; round < 12; ++round) COALESCE_MUST(rank.round());
    EXPECT_EQ(in_some, (Numbers{2, 2, 2, 2}));
    EXPECT_EQ(manager.counts().clients[0].sent_parts, 12U + 4U);
    expect_error(manager.set_length(variable, 8), Code::state, {"in the fill of its phase only"});
    expect_error(manager.set_length(in_variable, 8), Code::argument, {"no length that this rank gives"});
  });
}

// ---- the same bits ----

struct RandomEdge {
  int client, from, to, phase;
  std::int64_t tag;
  std::size_t count;
  std::uint64_t every, offset;
  bool is_optional, is_variable;
};

struct RandomRun {
  int size, clients, phases;
  std::vector<RandomEdge> edges;
};

RandomRun random_run(unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](unsigned bound) { return static_cast<int>(random() % bound); };
  RandomRun run{.size = 2 + below(3), .clients = 1 + below(5), .phases = 1 + below(2), .edges = {}};
  const int edges = 1 + below(30);
  for (int number = 0; number < edges; ++number) {
    const std::uint64_t every = 1 + random() % 4;
    run.edges.push_back({.client = below(static_cast<unsigned>(run.clients)),
                         .from = below(static_cast<unsigned>(run.size)),
                         .to = below(static_cast<unsigned>(run.size)),
                         .phase = below(static_cast<unsigned>(run.phases)),
                         .tag = number - 5,
                         .count = static_cast<std::size_t>(below(200)),
                         .every = below(2) == 0 ? 1 : every,
                         .offset = static_cast<std::uint64_t>(below(5)),
                         .is_optional = below(4) == 0,
                         .is_variable = below(4) == 0});
  }
  return run;
}

// A client whose numbers depend on all that it has received, so that one wrong bit changes all that follow.
class Mixing {
 public:
  Mixing(const RandomRun& run, Rank& rank, int client) : rank_(rank), sum_(1.0 + client + 0.1 * rank.rank()) {
    place_ = rank.add("client " + std::to_string(client), {.fill = [this](const Moment& now) { return fill(now); },
                                                           .use = [this](const Moment& now) { return use(now); }});
    for (const RandomEdge& edge : run.edges) {
      if (edge.client != client) continue;
      Request request{.phase = edge.phase, .is_optional = edge.is_optional, .edge = {}};
      request.edge.every = edge.every;
      request.edge.offset = edge.offset;
      request.edge.is_variable = edge.is_variable;
      if (edge.from == rank.rank()) {
        Part& part = out_.emplace_back(Part{edge, std::make_unique<Numbers>(edge.count), 0});
        part.id = rank.send(place_, edge.to, edge.tag, *part.data, request);
      }
      if (edge.to == rank.rank()) {
        Part& part = in_.emplace_back(Part{edge, std::make_unique<Numbers>(edge.count), 0});
        part.id = rank.receive(place_, edge.from, edge.tag, *part.data, request);
      }
    }
  }
  [[nodiscard]] double sum() const { return sum_; }

 private:
  struct Part {
    RandomEdge edge;
    std::unique_ptr<Numbers> data;
    RequestId id;
  };
  Status fill(const Moment& now) {
    for (Part& part : out_) {
      if (part.edge.phase != now.phase) continue;
      for (std::size_t place = 0; place < part.data->size(); ++place) {
        (*part.data)[place] = sum_ / (1.0 + static_cast<double>(place + now.round));
      }
      const std::uint64_t bytes = part.data->size() * sizeof(double);
      const std::uint64_t choice = (now.round * 7 + static_cast<std::uint64_t>(part.edge.tag + 5)) % 5;
      auto& manager = rank_.manager->communications();
      if (part.edge.is_variable) {
        COUPLET_TRY(manager.set_length(part.id, bytes / 8 * choice / 5 * 8));
      } else if (part.edge.is_optional && choice < 2) {
        COUPLET_TRY(manager.set_length(part.id, bytes));
      }
    }
    return {};
  }
  Status use(const Moment& now) {
    for (const Part& part : in_) {
      if (part.edge.phase != now.phase) continue;
      COUPLET_TRY_VALUE(const std::uint64_t bytes, rank_.manager->communications().length(part.id));
      for (std::size_t place = 0; place < bytes / 8; ++place) sum_ = 0.999 * sum_ + (*part.data)[place] * 1e-3;
    }
    return {};
  }

  Rank& rank_;
  double sum_;
  std::size_t place_ = 0;
  std::vector<Part> out_;
  std::vector<Part> in_;
};

std::vector<double> outcome_of(const RandomRun& run, const coalesce::Switches& switches) {
  const test::TemporaryDirectory directory;
  std::vector<double> sums(static_cast<std::size_t>(run.size) * static_cast<std::size_t>(run.clients));
  Parties parties(LaneKind::shm, run.size);
  parties.run([&](Party& party) {
    Rank rank(party, directory.path(), {.phase_count = run.phases, .switches = switches});
    std::vector<std::unique_ptr<Mixing>> clients;
    clients.reserve(static_cast<std::size_t>(run.clients));
    for (int client = 0; client < run.clients; ++client) {
      clients.push_back(std::make_unique<Mixing>(run, rank, client));
    }
    COALESCE_MUST(rank.manager->freeze());
    for (int round = 0; round < 25; ++round) COALESCE_MUST(rank.round());
    for (int client = 0; client < run.clients; ++client) {
      const std::size_t first = static_cast<std::size_t>(party.rank()) * static_cast<std::size_t>(run.clients);
      sums[first + static_cast<std::size_t>(client)] = clients[static_cast<std::size_t>(client)]->sum();
    }
    COALESCE_MUST(rank.manager->close());
  });
  return sums;
}

TEST(CoalescedRounds, RandomClientsGetTheSameBitsWhateverIsMerged) {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    const RandomRun run = random_run(seed);
    const std::vector<double> merged = outcome_of(run, all_switches[0]);
    for (const auto& switches : all_switches) EXPECT_EQ(outcome_of(run, switches), merged) << "seed " << seed;
  }
}

}  // namespace
}  // namespace couplet::conformance
