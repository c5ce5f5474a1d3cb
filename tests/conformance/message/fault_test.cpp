// Messages over lanes that do damage: everything that completes is right, and the rest ends in an error that names the
// peer.
#include <gtest/gtest.h>

#include <deque>

#include "link/fault/fault_lane.hpp"
#include "support/parties.hpp"
#include "support/sim_messengers.hpp"

namespace couplet::message {
namespace {

using link::FaultCounts;
using link::FaultOptions;
using test::LaneKind;
using test::LaneMessengers;
using test::MessageWorld;
using test::SimMessengers;

struct Fault {
  std::string name;
  FaultOptions options;
  friend void PrintTo(const Fault& fault, std::ostream* stream) { *stream << fault.name; }
};

std::vector<Fault> faults() {
  return {{"drop", {.drop = 0.01}},
          {"duplicate", {.duplicate = 0.01}},
          {"swap", {.swap = 0.01}},
          {"corrupt_header", {.corrupt_header = 0.01}},
          {"corrupt_payload", {.corrupt_payload = 0.01}},
          {"truncate", {.truncate = 0.01}},
          {"die", {.die_after_frames = 40}},
          {"delay", {.delay = 0.2}}};
}

using Parameter = std::tuple<std::string, Fault>;
class UnderFault : public ::testing::TestWithParam<Parameter> {
 protected:
  std::unique_ptr<MessageWorld> make(std::uint64_t seed) {
    const auto& [link, fault] = GetParam();
    const auto wrap = [this, seed, options = fault.options](std::unique_ptr<link::Lane> lane) {
      return link::make_fault_lane(std::move(lane), options, seed * 1000 + made_++, &counts_.emplace_back());
    };
    MessengerOptions options;
    options.eager_bytes = 4000;
    if (link == "sim") {
      auto world = std::make_unique<SimMessengers>(seed, 2, options);
      world->wrap(wrap);
      return world;
    }
    return std::make_unique<LaneMessengers>(link == "tcp" ? LaneKind::tcp : LaneKind::shm, link == "self" ? 1 : 2,
                                            options, wrap);
  }
  [[nodiscard]] std::uint64_t damaged() const {
    std::uint64_t damage = 0;
    for (const FaultCounts& counts : counts_) damage += counts.damaged() + counts.died;
    return damage;
  }

 private:
  std::deque<FaultCounts> counts_;
  std::uint64_t made_ = 0;
};

struct Transfer {
  std::vector<std::uint8_t> data;
  std::vector<std::uint8_t> got;
  Request* sending = nullptr;
  Request* receiving = nullptr;
};

// Returns the errors, after it has checked that what completed is right.
std::vector<Status> finished(MessageWorld& world, int to, std::deque<Transfer>& transfers) {
  std::vector<Status> errors;
  for (Transfer& transfer : transfers) {
    if (transfer.receiving != nullptr && transfer.receiving->done) {
      const Status status = world[to].test(&transfer.receiving, nullptr);
      EXPECT_TRUE(!status.ok() || transfer.got == transfer.data) << "wrong data";
      if (!status.ok()) errors.push_back(status);
    }
    if (transfer.sending != nullptr && transfer.sending->done) {
      const Status status = world[0].test(&transfer.sending, nullptr);
      if (!status.ok()) errors.push_back(status);
    }
  }
  return errors;
}

TEST_P(UnderFault, NothingWrongIsDelivered) {
  const auto& [link, fault] = GetParam();
  int failed_runs = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    auto world = make(seed);
    const int to = world->size() - 1;
    const std::size_t sizes[] = {8, 0, 300, 3999, 4001, 200000};
    std::deque<Transfer> transfers;
    std::vector<Status> errors;
    for (unsigned index = 0; index < 400 && errors.empty(); ++index) {
      Transfer& transfer = transfers.emplace_back();
      transfer.data.resize(sizes[index % 6]);
      for (auto& byte : transfer.data) byte = static_cast<std::uint8_t>(index * 3 + (&byte - transfer.data.data()) * 5);
      transfer.got.resize(transfer.data.size());
      Messenger& receiver = (*world)[to];
      Messenger& sender = (*world)[0];
      ASSERT_TRUE(receiver
                      .irecv(receiver.groups().universe(), transfer.got.data(), transfer.got.size(), COUPLET_BYTE, 0, 1,
                             &transfer.receiving)
                      .ok());
      ASSERT_TRUE(sender
                      .isend(sender.groups().universe(), transfer.data.data(), transfer.data.size(), COUPLET_BYTE, to,
                             1, &transfer.sending)
                      .ok());
      // A lost frame is noticed when the next one comes, so no wait is endless.
      int polls = 0;
      world->run_until([&] { return (transfer.receiving->done && transfer.sending->done) || ++polls > 300; });
      errors = finished(*world, to, transfers);
    }
    for (const Status& error : errors) {
      EXPECT_TRUE(error.code() == Code::protocol || error.code() == Code::peer_lost || error.code() == Code::version ||
                  error.code() == Code::limit)
          << error.text();
      EXPECT_TRUE(error.text().find("rank ") != std::string::npos || error.text().find("party ") != std::string::npos ||
                  error.text().find("endpoint ") != std::string::npos)
          << error.text();
    }
    failed_runs += errors.empty() ? 0 : 1;
    if (fault.name == "delay") {
      EXPECT_TRUE(errors.empty()) << errors.front().text();
      EXPECT_TRUE(world->run_until([&] { return (*world)[0].pending() + (*world)[to].pending() == 0; }));
    }
  }
  if (fault.name != "delay") {
    EXPECT_GT(damaged(), 0U);
    EXPECT_GT(failed_runs, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Links, UnderFault,
                         ::testing::Combine(::testing::Values("self", "sim", "shm", "tcp"),
                                            ::testing::ValuesIn(faults())),
                         [](const auto& parameter) {
                           return std::get<0>(parameter.param) + "_" + std::get<1>(parameter.param).name;
                         });

}  // namespace
}  // namespace couplet::message
