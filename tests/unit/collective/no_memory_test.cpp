// The n-th allocation of one member fails, for every n: no exception passes a call, every call ends at both members,
// what ends well is right, and both have counted the same calls.
#include <gtest/gtest.h>

#include <new>

#include "conformance/collective/members.hpp"
#include "unit/message/memory.hpp"

namespace couplet::collective {
namespace {

using test::Armed;
using test::FailingAllocation;

Status answer(FailingAllocation* failing, const std::function<Status()>& body) {
  if (failing == nullptr) return body();
  const Armed armed(*failing);
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return Code::memory;
  }
}

// A member that has no memory for what comes ends the connection.
bool is_lost(const Status& status) {
  return status.code() == Code::peer_lost || status.code() == Code::protocol;
}

// Has the member given up the connection to the other one, since it had no memory for what it had to send?
bool has_given_up(Member& member) {
  member.party.messenger->move_until(os::now_ns());  // the end of a connection is told when it is polled
  const message::Courier courier(*member.party.messenger);
  return courier.is_lost(member.party.group().peer(1 - member.rank()));
}

// failing: of this member; nullptr at the other one. Returns false if the two have lost each other.
bool make_calls(Member& member, FailingAllocation* failing) {
  bool together = true;
  const auto check = [&](const Status& status, const std::vector<double>& result, double wanted) {
    if (is_lost(status) || (status.code() == Code::memory && has_given_up(member))) together = false;
    EXPECT_TRUE(status.ok() || status.code() == Code::memory || is_lost(status))
        << member.rank() << ": " << status.text();
    if (status.ok()) {
      EXPECT_EQ(result.front(), wanted);
      EXPECT_EQ(result.back(), wanted);
    }
  };
  double value = 1;
  for (const std::size_t size : {1U, 2000U, 40000U}) {
    const std::vector<double> data(size, value);
    std::vector<double> result(size);
    check(answer(failing, [&] { return member.run(allreduce(data, result, COUPLET_DOUBLE)); }), result, 2 * value);
    if (!together) return false;
    value *= 3;
  }
  const std::vector<double> data(500, value);
  std::vector<double> result(500);
  message::Messenger& messenger = *member.party.messenger;
  message::Request* request = nullptr;
  Status status = answer(failing, [&] {
    return member.calls.start(member.party.group(), allreduce(data, result, COUPLET_DOUBLE), &request);
  });
  const std::uint64_t limit_ns = os::deadline_after(20);
  while (status.ok() && request != nullptr) {
    status = answer(failing, [&] { return messenger.wait(&request, limit_ns, nullptr); });
    if (status.code() == Code::memory && request != nullptr) status = {};  // it waits again
  }
  EXPECT_EQ(request, nullptr);
  check(status, result, 2 * value);
  return together;
}

// Runs two members again and again, in which the first allocation fails, then the second, and so on to the last one.
// Each gets its number.
using Body = std::function<void(Party&, FailingAllocation&, std::uint64_t)>;
void at_each_allocation(const Body& body) {
  for (std::uint64_t number = 1;; ++number) {
    FailingAllocation failing;
    failing.number = number;
    Parties parties(LaneKind::shm, 2);
    parties.run([&](Party& party) { body(party, failing, number); });
    if (::testing::Test::HasFailure() || !failing.failed()) return;
    ASSERT_LT(number, 2000U);
  }
}

// rank: of the member that lacks memory. have_met: it lacks it only after the meeting.
void lack_memory(std::int32_t rank, bool have_met) {
  at_each_allocation([&](Party& party, FailingAllocation& failing, std::uint64_t number) {
    Member member(party);
    if (have_met) {
      ASSERT_TRUE(member.run(barrier()).ok());
    }
    if (!make_calls(member, party.rank() == rank ? &failing : nullptr)) return;
    // If a call had ended here before it failed there, the next one that begins fails at both.
    Status next;
    std::vector<std::int64_t> result(1);
    for (std::int64_t round = 1; round < 5; ++round) {
      const std::vector<std::int64_t> data = {round * (party.rank() + 1)};
      next = member.run(allreduce(data, result, COUPLET_INT64));
      if (next.ok() || is_lost(next)) {
        EXPECT_TRUE(!next.ok() || result[0] == 3 * round) << number << ": " << result[0];
        break;
      }
      EXPECT_EQ(next.code(), Code::memory) << number << ": " << next.text();
    }
    EXPECT_TRUE(next.ok() || is_lost(next)) << number << ": " << next.text();
  });
}

TEST(NoMemory, AtEachAllocationEveryCallEndsAndIsCounted) {
  lack_memory(0, true);
}

TEST(NoMemory, AtEachAllocationFromTheFirstCallOnTheMembersMeet) {
  lack_memory(0, false);
  lack_memory(1, false);
}

// After a failure, each member creates the group again. A later call must not take what was given to the first one.
TEST(NoMemory, AtEachAllocationOfTheFirstCallAGroupThatIsCreatedAgainMeets) {
  at_each_allocation([](Party& party, FailingAllocation& failing, std::uint64_t number) {
    Member member(party);
    std::vector<std::int64_t> result(1);
    const auto call = [&](std::int64_t value, FailingAllocation* lacking) {
      const std::vector<std::int64_t> data = {value};
      const Status status = answer(lacking, [&] { return member.run(allreduce(data, result, COUPLET_INT64)); });
      EXPECT_TRUE(!status.ok() || result[0] == 2 * value) << number << ": " << result[0];
      return status;
    };
    Status status = call(1, party.rank() == 0 ? &failing : nullptr);
    for (int round = 0; round < 5; ++round) {
      if (is_lost(status) || (status.code() == Code::memory && has_given_up(member))) return;
      if (!status.ok()) {
        EXPECT_TRUE(member.calls.release(party.group()).ok());
      }
      status = call(7, nullptr);
      if (status.ok()) break;
    }
    EXPECT_TRUE(status.ok() || is_lost(status)) << number << ": " << status.text();
  });
}

}  // namespace
}  // namespace couplet::collective
