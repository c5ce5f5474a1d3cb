// What members tell each other before there is a plan.
#include "exchange/assembly.hpp"

#include "exchange_case.hpp"

namespace couplet::conformance {
namespace {

using exchange::Assembly;
using exchange::Parcel;

TEST_P(ExchangeMethod, ParcelsComeToTheirMembersWhateverTheirNumber) {
  for (const int size : {1, 2, 3, 5, 8}) {
    run(size, [size](Member& member) {
      const Status held = member.exchange->confer([&](Assembly& assembly) -> Status {
        for (int time = 0; time < 3; ++time) {
          std::vector<Parcel> parcels;
          for (int to = 0; to < size; ++to) {
            for (int number = 0; number < (member.rank() + to + time) % 3; ++number) {
              parcels.push_back(
                  {.rank = to, .bytes = fmt::format("{} to {}, {}, {}", member.rank(), to, time, number)});
            }
          }
          COUPLET_TRY_VALUE(const auto arrived, assembly.deliver(std::move(parcels)));
          std::size_t next = 0;
          for (int from = 0; from < size; ++from) {
            for (int number = 0; number < (from + member.rank() + time) % 3; ++number, ++next) {
              if (next >= arrived.size()) return fail(Code::protocol, "a parcel is missing");
              EXPECT_EQ(arrived[next].rank, from);
              EXPECT_EQ(arrived[next].bytes, fmt::format("{} to {}, {}, {}", from, member.rank(), time, number));
            }
          }
          EXPECT_EQ(next, arrived.size());
        }
        COUPLET_TRY_VALUE(const bool all, assembly.all(member.rank() != 2));
        EXPECT_EQ(all, size < 3);
        return {};
      });
      EXPECT_OK(held);
    });
  }
}

TEST_P(ExchangeMethod, AnErrorOfOneMemberInAnAssemblyIsThatOfAll) {
  run(4, [](Member& member) {
    const Status held = member.exchange->confer([&](Assembly& assembly) -> Status {
      COUPLET_TRY(assembly.deliver({}).status());
      return member.rank() == 2 ? fail(Code::shape, "the mesh is torn") : Status();
    });
    EXPECT_EQ(held.code(), Code::shape) << held.text();
    EXPECT_NE(held.text().find("exchange 'test': the mesh is torn"), std::string::npos) << held.text();
    EXPECT_EQ(member.exchange->freeze().code(), Code::shape);
  });
}

TEST_P(ExchangeMethod, AMemberThatIsLostBeforeAnAssemblyIsToldToAll) {
  Parties parties(LaneKind::shm, 5);
  parties.run(
      [&](Party& party) {
        Member member(GetParam(), party, directory_.path(), "test", 600);
        if (party.rank() == 3) {
          bury(party, std::move(member.exchange));
          return party.die();
        }
        const Status held = member.exchange->confer([](Assembly& assembly) { return assembly.deliver({}).status(); });
        EXPECT_EQ(held.code(), Code::peer_lost) << held.text();
        EXPECT_NE(held.text().find("party 3"), std::string::npos) << held.text();
      },
      false);
}

}  // namespace
}  // namespace couplet::conformance
