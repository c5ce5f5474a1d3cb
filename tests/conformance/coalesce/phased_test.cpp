// Broadcasts and reductions that move one level of a tree in each round.
#include "coalesce/phased.hpp"

#include <cstring>

#include "coalesce_case.hpp"

namespace couplet::conformance {
namespace {

using coalesce::PhasedBroadcast;
using coalesce::PhasedOptions;
using coalesce::PhasedReduction;

template <typename T>
void put(std::byte* target, const T& value) {
  std::memcpy(target, &value, sizeof value);
}
template <typename T>
T taken(const std::byte* source) {
  T value;
  std::memcpy(&value, source, sizeof value);
  return value;
}

struct Heard {
  std::uint64_t began, came, givers;
  double value;
  bool operator==(const Heard&) const = default;
};

// Adds the client, and declares its requests.
template <typename Phased>
void enter(Rank& rank, std::unique_ptr<Phased> client) {
  Phased& phased = *client;
  const auto place = rank.manager->add(std::move(client));
  ASSERT_TRUE(place.ok()) << place.status().text();
  const Status declared = phased.declare(*place);
  ASSERT_TRUE(declared.ok()) << declared.text();
}

TEST(PhasedBroadcast, AValueComesToAllRanksInTheSameRoundAndSeveralAreUnderWay) {
  const test::TemporaryDirectory directory;
  for (const int size : {1, 2, 4}) {
    for (const std::uint64_t every : {1U, 3U}) {
      Parties parties(LaneKind::shm, size);
      parties.run([&](Party& party) {
        Rank rank(party, directory.path());
        std::vector<Heard> heard;
        const auto give = [](std::uint64_t round, std::byte* data, std::uint64_t& bytes) -> Result<bool> {
          if (round % 2 == 1) return false;  // irregular: only if there is something to say
          bytes = round == 6 ? 0 : 8;
          if (bytes > 0) put(data, 10.0 * static_cast<double>(round));
          return true;
        };
        const auto take = [&](std::uint64_t began, std::uint64_t givers, const std::byte* data, std::uint64_t bytes) {
          heard.push_back({began, rank.manager->round(), givers, bytes == 0 ? -1 : taken<double>(data)});
          return Status();
        };
        const PhasedOptions options{.name = "steer", .every = every, .root = size - 1};
        auto client = std::make_unique<PhasedBroadcast>(rank.manager->communications(), options, 8, give, take);
        const std::uint64_t latency = client->latency();
        EXPECT_EQ(latency, size == 4 ? 2U : 1U);
        enter(rank, std::move(client));
        COALESCE_MUST(rank.manager->freeze());
        for (int round = 0; round < 12; ++round) COALESCE_MUST(rank.round());
        std::vector<Heard> wanted;
        for (std::uint64_t round = 0; round + latency <= 12; round += every) {
          if (round % 2 == 1) continue;
          wanted.push_back({round, round + latency - 1, 1, round == 6 ? -1.0 : 10.0 * static_cast<double>(round)});
        }
        EXPECT_EQ(heard, wanted);
      });
    }
  }
}

TEST(PhasedReduction, ContributionsOfOneRoundAreCombinedAndAllRanksGetTheResultInTheSameRound) {
  const test::TemporaryDirectory directory;
  for (const int size : {1, 2, 4}) {
    for (const bool to_all : {false, true}) {
      Parties parties(LaneKind::shm, size);
      parties.run([&](Party& party) {
        Rank rank(party, directory.path());
        std::vector<Heard> heard;
        const auto value = [](std::uint64_t round, int of_rank) {
          return static_cast<double>(round) * 100 + static_cast<double>(of_rank);
        };
        const auto gives = [](std::uint64_t round, int of_rank) {
          return (static_cast<int>(round) + of_rank) % 3 != 0;
        };
        const auto give = [&](std::uint64_t round, std::byte* data, std::uint64_t&) -> Result<bool> {
          if (!gives(round, party.rank())) return false;
          put(data, value(round, party.rank()));
          return true;
        };
        const auto take = [&](std::uint64_t began, std::uint64_t givers, const std::byte* data, std::uint64_t) {
          heard.push_back({began, rank.manager->round(), givers, taken<double>(data)});
          return Status();
        };
        auto client = PhasedReduction::make(rank.manager->communications(), {.name = "watch"},
                                            {.count = 1, .to_all = to_all}, give, take);
        ASSERT_TRUE(client.ok()) << client.status().text();
        enter(rank, std::move(*client));
        COALESCE_MUST(rank.manager->freeze());
        constexpr std::uint64_t rounds = 14;
        for (std::uint64_t round = 0; round < rounds; ++round) COALESCE_MUST(rank.round());
        const std::uint64_t height = size == 1 ? 0 : size == 2 ? 1 : 2;
        const std::uint64_t latency = height == 0 ? 1 : to_all ? 2 * height : height;
        std::vector<Heard> wanted;
        for (std::uint64_t round = 0; round + latency <= rounds && (to_all || party.rank() == 0); ++round) {
          Heard one{round, round + latency - 1, 0, 0};
          for (int other = 0; other < size; ++other) {
            if (!gives(round, other)) continue;
            ++one.givers;
            one.value += value(round, other);
          }
          if (one.givers > 0) wanted.push_back(one);
        }
        EXPECT_EQ(heard, wanted) << "size " << size << (to_all ? ", to all" : "");
      });
    }
  }
}

// It costs no wait, and no message where there is one already.
TEST(PhasedReduction, TravelsInTheMessagesOfOthers) {
  const test::TemporaryDirectory directory;
  Parties parties(LaneKind::shm, 2);
  parties.run([&](Party& party) {
    Rank rank(party, directory.path());
    std::vector<double> out(10), in(10);
    const std::size_t kernel = rank.add("kernel");
    rank.send(kernel, 1 - rank.rank(), 0, out);
    rank.receive(kernel, 1 - rank.rank(), 0, in);
    const auto give = [](std::uint64_t, std::byte* data, std::uint64_t&) -> Result<bool> {
      put(data, 1.0);
      return true;
    };
    auto client = PhasedReduction::make(rank.manager->communications(), {.name = "watch"}, {.to_all = true}, give,
                                        [](auto, auto, auto, auto) { return Status(); });
    ASSERT_TRUE(client.ok());
    enter(rank, std::move(*client));
    COALESCE_MUST(rank.manager->freeze());
    for (int round = 0; round < 5; ++round) COALESCE_MUST(rank.round());
    const coalesce::Counts counts = rank.manager->communications().counts();
    EXPECT_EQ(counts.peers.at(0).sent_messages, 5U);
    EXPECT_EQ(counts.phases.at(0).waits, 5U);
  });
}

}  // namespace
}  // namespace couplet::conformance
