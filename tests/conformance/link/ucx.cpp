#include "support/ucx.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>

#include "link/ucx/ucx_meeting.hpp"
#include "link_case.hpp"
#include "support/child.hpp"

namespace couplet::conformance {

namespace {

struct UcxPair final : Connection {
  std::shared_ptr<link::UcxWorker> workers[2];  // outlive the lanes, as in a process
  ~UcxPair() override {
    first.reset();
    second.reset();
    pause();
  }
  void pause() override {
    workers[0]->progress();
    workers[1]->progress();
  }
};

std::unique_ptr<UcxPair> workers_over(const link::UcxOptions& options) {
  auto connection = std::make_unique<UcxPair>();
  for (auto& worker : connection->workers) {
    worker = link::UcxWorker::open(options).value();
  }
  return connection;
}

std::unique_ptr<Connection> connect(std::unique_ptr<UcxPair> connection,
                                    const std::optional<link::SessionKeys>& keys = std::nullopt) {
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
  auto reversed = keys;
  if (reversed) {
    std::swap(reversed->send, reversed->receive);
  }
  const auto first = link::UcxMeeting::open(connection->workers[0], os::Descriptor(ends[0]), keys).value().release();
  const std::unique_ptr<link::UcxMeeting> own_first(first);
  const auto second = link::UcxMeeting::open(connection->workers[1], os::Descriptor(ends[1]), reversed).value();
  Status at_first = Code::not_yet;
  Status at_second = Code::not_yet;
  EXPECT_TRUE(test::eventually([&] {
    at_first = at_first.ok() ? at_first : first->poll();
    at_second = at_second.ok() ? at_second : second->poll();
    return at_first.code() != Code::not_yet && at_second.code() != Code::not_yet;
  }));
  EXPECT_TRUE(at_first.ok() && at_second.ok()) << at_first.text() << "; " << at_second.text();
  connection->first = first->lane().value();
  connection->second = second->lane().value();
  return connection;
}

std::unique_ptr<Connection> connect_over(const link::UcxOptions& options,
                                         const std::optional<link::SessionKeys>& keys = std::nullopt) {
  return connect(workers_over(options), keys);
}

link::UcxOptions small_records() {
  link::UcxOptions options = test::ucx_over(test::ucx_memory);
  options.record_bytes = 2048;
  options.max_unread_bytes = 200'000;
  options.max_unread_records = 64;
  return options;
}

std::unique_ptr<Connection> connect_encrypted() {
  link::SessionKeys keys{.cipher = wire::Cipher::chacha20_poly1305};
  keys.send.fill(1);
  keys.receive.fill(2);
  return connect_over(test::ucx_over(test::ucx_memory), keys);
}

// There are none on a machine without UCX, which UcxLink.IsThere says.
std::vector<LinkCase> cases() {
  if (!test::ucx_is_there().ok()) {
    return {};
  }
  return {{"ucx_memory", [] { return connect_over(test::ucx_over(test::ucx_memory)); }},
          {"ucx_tcp", [] { return connect_over(test::ucx_over(test::ucx_network)); }},
          {"ucx_small_records", [] { return connect_over(small_records()); }},
          {"ucx_encrypted", connect_encrypted}};
}

// What is checked above the records is the same in all cases, and takes long.
std::vector<LinkCase> plain_cases() {
  std::vector<LinkCase> all = cases();
  all.resize(std::min<std::size_t>(all.size(), 1));
  return all;
}

std::vector<LinkCase> cases_with_faults() {
  std::vector<LinkCase> all = cases();
  const std::size_t count = all.size();
  for (std::size_t index = 0; index < count; ++index) {
    all.push_back(with_faults(all[index], all[index].name + "_with_delays", {.delay = 0.1}, 1));
  }
  return all;
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(ucx, LaneConformance, testing::ValuesIn(cases()), name_of);
INSTANTIATE_TEST_SUITE_P(ucx, FaultDetection, testing::ValuesIn(plain_cases()), name_of);
INSTANTIATE_TEST_SUITE_P(ucx, ChannelConformance, testing::ValuesIn(cases_with_faults()), name_of);

TEST(UcxLink, IsThere) {
  if (const Status is_there = test::ucx_is_there(); !is_there.ok()) {
    EXPECT_EQ(is_there.code(), Code::unsupported) << is_there.text();
    GTEST_SKIP() << "the suites of lanes over UCX are left out: " << is_there.text();
  }
}

TEST(UcxLink, TransportsThatDoNotExistAreNamed) {
  if (const Status is_there = test::ucx_is_there(); !is_there.ok()) {
    GTEST_SKIP() << is_there.text();
  }
  const auto worker = link::UcxWorker::open(test::ucx_over("carrier-pigeon"));
  EXPECT_EQ(worker.code(), Code::config);
  EXPECT_NE(worker.status().text().find("'carrier-pigeon'"), std::string::npos) << worker.status().text();
}

TEST(UcxLink, WithoutAWayBothSidesAreToldWhy) {
  if (const Status is_there = test::ucx_is_there(); !is_there.ok()) {
    GTEST_SKIP() << is_there.text();
  }
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
  std::unique_ptr<link::UcxMeeting> meetings[2];
  for (const int side : {0, 1}) {
    auto worker = link::UcxWorker::open(test::ucx_over(side == 0 ? test::ucx_memory : test::ucx_network)).value();
    meetings[side] = link::UcxMeeting::open(std::move(worker), os::Descriptor(ends[side]), {}).value();
  }
  Status outcomes[2] = {Code::not_yet, Code::not_yet};
  EXPECT_TRUE(test::eventually([&] {
    for (const int side : {0, 1}) {
      if (outcomes[side].code() == Code::not_yet) {
        outcomes[side] = meetings[side]->poll();
        if (outcomes[side].error()) meetings[side]->give_up(outcomes[side]);
      }
    }
    return outcomes[0].error() && outcomes[1].error();
  }));
  for (const Status& outcome : outcomes) {
    EXPECT_EQ(outcome.code(), Code::unsupported) << outcome.text();
    EXPECT_NE(outcome.text().find("UCX finds no way"), std::string::npos) << outcome.text();
  }
}

// Takes what arrives, and counts it.
class Counting final : public link::FrameReceiver {
 public:
  std::byte* place(const wire::FrameHeader& /*header*/) override { return nullptr; }
  bool arrived(const wire::FrameHeader& /*header*/, std::span<const std::byte> /*payload*/) override {
    ++frames;
    return true;
  }
  int frames = 0;
};

constexpr std::array<const char*, 2> both_transports = {test::ucx_memory, test::ucx_network};

// Pushes up to `count` frames, and returns how many were taken as a whole.
int push_frames(link::Lane& lane, int count) {
  const std::array<std::byte, 100> payload{};
  const auto header = wire::FrameHeader{.payload_bytes = payload.size()};
  int taken = 0;
  while (taken < count &&
         lane.push(header, payload, 0) == static_cast<std::int64_t>(wire::frame_header_bytes + payload.size())) {
    ++taken;
  }
  return taken;
}

void expect_frames(link::Lane& lane, int count, const char* transports) {
  Counting arrived;
  EXPECT_TRUE(test::eventually([&] { return lane.poll(arrived, 1) < 0 || arrived.frames == count; }))
      << arrived.frames << " of " << count << " frames have come over " << transports;
}

// A process that has sent a message may compute or read its input for as long as it likes.
TEST(UcxLink, AFirstFrameArrivesAlthoughItsSenderCallsNothingFurther) {
  if (const Status is_there = test::ucx_is_there(); !is_there.ok()) {
    GTEST_SKIP() << is_there.text();
  }
  for (const char* const transports : both_transports) {
    for (const bool from_second : {false, true}) {
      const auto pair = connect_over(test::ucx_over(transports));
      ASSERT_EQ(push_frames(from_second ? *pair->second : *pair->first, 1), 1);
      expect_frames(from_second ? *pair->first : *pair->second, 1, transports);
    }
  }
}

// The receiver computes while they are sent, so that its queue fills.
TEST(UcxLink, ManyFramesArriveAlthoughTheirSenderCallsNothingFurther) {
  if (const Status is_there = test::ucx_is_there(); !is_there.ok()) {
    GTEST_SKIP() << is_there.text();
  }
  for (const char* const transports : both_transports) {
    const auto pair = connect_over(test::ucx_over(transports));
    const int taken = push_frames(*pair->first, 1000);
    EXPECT_GT(taken, 10);
    expect_frames(*pair->second, taken, transports);
  }
}

// Both processes have dialed, and one of the two meetings is given up when only one side has made an endpoint.
TEST(UcxLink, ALongFrameArrivesAfterAMeetingThatOneSideHasGivenUp) {
  if (const Status is_there = test::ucx_is_there(); !is_there.ok()) {
    GTEST_SKIP() << is_there.text();
  }
  for (const char* const transports : both_transports) {
    for (const bool from_second : {false, true}) {
      auto workers = workers_over(test::ucx_over(transports));
      int ends[2];
      ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
      {
        const auto first = link::UcxMeeting::open(workers->workers[0], os::Descriptor(ends[0]), {}).value();
        const auto second = link::UcxMeeting::open(workers->workers[1], os::Descriptor(ends[1]), {}).value();
        ASSERT_EQ(first->poll().code(), Code::not_yet);
        ASSERT_EQ(second->poll().code(), Code::not_yet);  // it has got the other introduction, and says hello
      }
      const auto pair = connect(std::move(workers));
      link::Lane& sender = from_second ? *pair->second : *pair->first;
      const std::vector<std::byte> payload(300'000);
      const wire::FrameHeader header{.payload_bytes = static_cast<std::uint32_t>(payload.size())};
      ASSERT_EQ(sender.push(header, payload, 0), static_cast<std::int64_t>(wire::frame_header_bytes + payload.size()));
      expect_frames(from_second ? *pair->first : *pair->second, 1, transports);
    }
  }
}

// UCX keeps what leads to a peer that has ended, so the worker counts it, and can end without a wait.
TEST(UcxLink, AWorkerCountsTheEndpointsThatNothingUses) {
  if (const Status is_there = test::ucx_is_there(); !is_there.ok()) {
    GTEST_SKIP() << is_there.text();
  }
  constexpr std::size_t lives = 3;
  const auto survivor = link::UcxWorker::open(test::ucx_over(test::ucx_memory)).value();
  for (std::size_t life = 0; life < lives; ++life) {
    EXPECT_EQ(survivor->unused_endpoints(), life);
    auto workers = std::make_unique<UcxPair>();
    workers->workers[0] = survivor;
    workers->workers[1] = link::UcxWorker::open(test::ucx_over(test::ucx_memory)).value();
    const auto pair = connect(std::move(workers));
    EXPECT_EQ(survivor->unused_endpoints(), life) << "the new one is in use";
  }
  EXPECT_EQ(survivor->unused_endpoints(), lives);
  EXPECT_TRUE(test::eventually([&] { return survivor->prepare_end(); }));
}

TEST(UcxLink, OptionsWithoutSenseAreRefused) {
  link::UcxOptions options;
  options.max_unread_bytes = 1000;
  EXPECT_EQ(link::UcxWorker::open(options).code(), Code::limit);
}

}  // namespace couplet::conformance
