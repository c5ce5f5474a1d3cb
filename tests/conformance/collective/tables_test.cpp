// The table of methods that members agree on: that of the first member, whatever the others have.
#include <gmock/gmock.h>

#include "conformance/collective/members.hpp"

namespace couplet::collective {
namespace {

using ::testing::HasSubstr;

// A table with one method of allreduce for any size.
PeerFacts facts_with(Method method, const std::string& origin) {
  PeerFacts facts = Member::facts(1);
  facts.table = {.pieces = {{.kind = Collective::allreduce, .method = method}}, .origin = origin};
  return facts;
}

void expect_sum(Member& member, std::size_t count, int size) {
  const std::vector<double> data(count, member.rank());
  std::vector<double> result(count);
  const Status status = member.run(allreduce(data, result, COUPLET_DOUBLE));
  ASSERT_TRUE(status.ok()) << status.text();
  for (const double number : result) ASSERT_EQ(number, size * (size - 1) / 2);
}

TEST(Tables, OfTheFirstMemberCountForAll) {
  for (const auto kind : {LaneKind::shm, LaneKind::tcp}) {
    for (const auto first : {Method::ring, Method::doubling}) {
      Parties parties(kind, 5);
      parties.run([first](Party& party) {
        const auto own = party.rank() == 0 ? first : Method::automatic;
        Member member(party, own == Method::automatic && party.rank() == 2
                                 ? Member::facts(1)
                                 : facts_with(own, fmt::format("file of {}", party.rank())));
        for (const std::size_t count : {1U, 3U, 100'000U}) {
          expect_sum(member, count, 5);
          for (const std::uint64_t bytes : {8U, 8'000'000U}) {
            const MethodChoice choice = member.calls.method_for(party.group(), Collective::allreduce, false, bytes);
            EXPECT_EQ(choice.method, first);
            EXPECT_EQ(choice.origin, "file of 0");
            EXPECT_TRUE(choice.is_agreed);
          }
        }
        ASSERT_EQ(tables_of(member.calls).size(), 1U);
        EXPECT_EQ(tables_of(member.calls).front().meeting->table().origin, "file of 0");
      });
    }
  }
}

TEST(Tables, OfMembersThatDifferAgreeInEachGroup) {
  Parties parties(LaneKind::shm, 3);
  parties.run([](Party& party) {
    const Method methods[] = {Method::ring, Method::doubling, Method::ring};
    Member member(party, facts_with(methods[party.rank()], fmt::format("file of {}", party.rank())));
    const MethodChoice before = member.calls.method_for(party.group(), Collective::allreduce, false, 8);
    EXPECT_EQ(before.method, methods[party.rank()]) << "what this member would propose";
    EXPECT_FALSE(before.is_agreed);
    expect_sum(member, 10, 3);
    EXPECT_EQ(member.calls.method_for(party.group(), Collective::allreduce, false, 8).method, Method::ring);
    const std::int32_t ranks[] = {1, 2, 0};
    const auto group = party.messenger->groups().create("turned", ranks);
    ASSERT_TRUE(group.ok());
    const std::vector<double> data(1, 1);
    std::vector<double> result(1);
    const Status status = member.calls.run(**group, allreduce(data, result, COUPLET_DOUBLE));
    ASSERT_TRUE(status.ok()) << status.text();
    const MethodChoice choice = member.calls.method_for(**group, Collective::allreduce, false, 8);
    EXPECT_EQ(choice.method, Method::doubling);
    EXPECT_EQ(choice.origin, "file of 1");
  });
}

TEST(Tables, AMethodThatIsAskedForCountsMore) {
  Parties parties(LaneKind::shm, 2);
  parties.run([](Party& party) {
    Member member(party, facts_with(Method::ring, "file"));
    const std::vector<double> data(4, 1);
    std::vector<double> result(4);
    Arguments arguments = allreduce(data, result, COUPLET_DOUBLE);
    arguments.method = Method::doubling;
    EXPECT_TRUE(member.run(arguments).ok());
    arguments.method = Method::linear;
    const Status refused = member.run(arguments);
    EXPECT_EQ(refused.code(), Code::argument);
    EXPECT_THAT(refused.text(), HasSubstr("the library would choose ring"));
  });
}

TEST(Tables, WithEntriesThatMakeNoSenseAreHarmless) {
  Parties parties(LaneKind::shm, 3);
  parties.run([](Party& party) {
    PeerFacts facts = Member::facts(1);
    facts.table.pieces = {{.kind = static_cast<Collective>(200), .method = static_cast<Method>(99)},
                          {.kind = Collective::allreduce, .method = static_cast<Method>(99)},
                          {.kind = Collective::allreduce, .method = Method::linear},
                          {.kind = Collective::allreduce, .min_systems = -5, .min_size = -5, .method = Method::ring}};
    facts.table.origin = std::string(5000, 'x');
    Member member(party, std::move(facts));
    expect_sum(member, 100, 3);
    EXPECT_EQ(member.calls.method_for(party.group(), Collective::allreduce, false, 8).method, Method::ring);
  });
}

}  // namespace
}  // namespace couplet::collective
