// How two processes get a connection, the same for every transport: refused, no process at the address, both dial,
// duplicate, cancelled, late, other settings on the other side, wrong incarnation, restarted, broken and dialed again,
// death in the middle.
#include <algorithm>
#include <functional>

#include "channel/channel.hpp"
#include "connecting_case.hpp"
#include "os/clock.hpp"
#include "support/child.hpp"
#include "support/recorder.hpp"

namespace couplet::conformance {
namespace {

using link::Address;
using link::Offer;
using link::Origin;
using link::Party;
using link::Purpose;
using testing::HasSubstr;

constexpr Party low{.id = 3, .incarnation = 1};
constexpr Party high{.id = 8, .incarnation = 1};

// Receives what a lane delivers.
struct Receiver final : link::FrameReceiver {
  std::byte* place(const wire::FrameHeader& header) override {
    memory.resize(header.payload_bytes);
    return memory.data();
  }
  bool arrived(const wire::FrameHeader& header, std::span<const std::byte> /*payload*/) override {
    tags.push_back(header.tag);
    return true;
  }
  std::vector<std::byte> memory;
  std::vector<std::int64_t> tags;
};

class TwoProcesses {
 public:
  explicit TwoProcesses(const ConnectingCase& which) : faulty_(which.faulty), place_(which.make_place()) {
    first_ = std::make_unique<Process>(*place_, low, faulty_);
    if (!place_->alone()) {
      second_ = std::make_unique<Process>(*place_, high, faulty_);
      introduce();
    }
  }
  [[nodiscard]] Process& first() { return *first_; }
  [[nodiscard]] Process& second() { return *second_; }
  [[nodiscard]] Place& place() { return *place_; }
  void end_second() { second_.reset(); }
  void start_second(std::uint16_t incarnation) {
    second_.reset();
    second_ = std::make_unique<Process>(*place_, Party{high.id, incarnation}, faulty_);
    introduce();
  }
  void introduce() {
    first_->knows(second_->address());
    second_->knows(first_->address());
  }
  // Polls both until `done` returns true.
  [[nodiscard]] bool until(const std::function<bool()>& done) {
    return test::eventually([&] {
      first_->poll();
      if (second_) {
        second_->poll();
      }
      place_->pause();
      return done();
    });
  }
  // Sends a frame from one to the other.
  [[nodiscard]] bool carries(link::Lane& from, link::Lane& to, std::int64_t tag) {
    wire::FrameHeader header;
    header.magic = wire::frame_magic;
    header.version = wire::frame_version;
    header.tag = static_cast<decltype(header.tag)>(tag);
    wire::seal_frame(header, {}, false);
    Receiver receiver;
    bool pushed = false;
    return until([&] {
      pushed = pushed || from.push(header, {}, 0) > 0;
      static_cast<void>(to.poll(receiver, 1));
      return !receiver.tags.empty() && static_cast<std::int64_t>(receiver.tags.front()) == tag;
    });
  }

 private:
  bool faulty_;
  std::unique_ptr<Place> place_;
  std::unique_ptr<Process> first_;
  std::unique_ptr<Process> second_;
};

#define SKIP_IF_ALONE(both) \
  if ((both).place().alone()) GTEST_SKIP() << "a process that reaches only itself has no other side"

TEST_P(Connecting, ADialGivesBothALane) {
  TwoProcesses both(GetParam());
  if (both.place().alone()) {
    both.first().dial(both.first().address());
    ASSERT_TRUE(both.until([&] { return both.first().connections.size() == 1; }));
    auto& lane = *both.first().connections[0].lane;
    EXPECT_TRUE(both.carries(lane, lane, 7));
    return;
  }
  both.first().dial(both.second().address());
  ASSERT_TRUE(both.until([&] { return both.first().settled() && both.second().connections.size() == 1; }));
  EXPECT_TRUE(both.first().refusal().ok()) << both.first().refusal().text();
  EXPECT_EQ(both.first().connections[0].origin, Origin::dialed);
  EXPECT_EQ(both.second().connections[0].origin, Origin::offered);
  EXPECT_EQ(both.second().connections[0].offer.peer, low);
  EXPECT_EQ(both.second().connections[0].offer.purpose, Purpose::first);
  EXPECT_TRUE(both.carries(*both.first().connections[0].lane, *both.second().connections[0].lane, 7));
  EXPECT_TRUE(both.carries(*both.second().connections[0].lane, *both.first().connections[0].lane, 8));
}

TEST_P(Connecting, ARefusalReachesTheDialerWithItsReason) {
  TwoProcesses both(GetParam());
  SKIP_IF_ALONE(both);
  both.second().answer = fail(Code::unsupported, "switched off in process 8");
  both.first().dial(both.second().address());
  ASSERT_TRUE(both.until([&] { return both.first().settled(); }));
  EXPECT_EQ(both.first().refusal().code(), Code::unsupported);
  EXPECT_THAT(both.first().refusal().text(), HasSubstr("switched off in process 8"));
  EXPECT_TRUE(both.second().connections.empty());
}

TEST_P(Connecting, ARefusedDialerIsTakenLater) {
  TwoProcesses both(GetParam());
  SKIP_IF_ALONE(both);
  both.second().answer = fail(Code::limit, "no descriptor just now");
  both.first().dial(both.second().address());
  ASSERT_TRUE(both.until([&] { return both.first().settled(); }));
  EXPECT_EQ(both.first().refusal().code(), Code::limit);
  both.first().connections.clear();
  both.first().failures.clear();
  both.second().answer = {};
  both.first().dial(both.second().address());
  ASSERT_TRUE(both.until([&] { return both.first().settled() && !both.second().connections.empty(); }));
  EXPECT_TRUE(both.first().refusal().ok()) << both.first().refusal().text();
}

TEST_P(Connecting, NobodyIsThere) {
  TwoProcesses both(GetParam());
  SKIP_IF_ALONE(both);
  const Address address = both.second().address();
  both.end_second();
  both.first().dial(address);
  ASSERT_TRUE(both.until([&] { return both.first().settled(); }));
  EXPECT_TRUE(both.first().refusal().error());
  EXPECT_TRUE(both.first().connections.empty());
}

TEST_P(Connecting, AContactThatMeansNothingIsRefusedAtOnce) {
  TwoProcesses both(GetParam());
  both.first().dial({high, {}});
  ASSERT_EQ(both.first().failures.size(), 1U);
  EXPECT_EQ(both.first().failures[0].why.code(), Code::unsupported);
}

TEST_P(Connecting, BothDialAndHaveTheSameConnection) {
  TwoProcesses both(GetParam());
  SKIP_IF_ALONE(both);
  both.first().dial(both.second().address());
  both.second().dial(both.first().address());
  ASSERT_TRUE(both.until([&] { return !both.first().connections.empty() && !both.second().connections.empty(); }));
  EXPECT_EQ(both.first().connections.size(), 1U);
  EXPECT_EQ(both.second().connections.size(), 1U);
  EXPECT_TRUE(both.carries(*both.first().connections[0].lane, *both.second().connections[0].lane, 7));
  EXPECT_TRUE(both.carries(*both.second().connections[0].lane, *both.first().connections[0].lane, 8));
}

TEST_P(Connecting, ADuplicateIsRefusedAsOne) {
  TwoProcesses both(GetParam());
  SKIP_IF_ALONE(both);
  both.first().dial(both.second().address());
  ASSERT_TRUE(both.until([&] { return both.first().settled() && !both.second().connections.empty(); }));
  both.second().answer = fail(Code::exists, "there is a connection already");
  both.first().failures.clear();
  both.first().dial(both.second().address());
  // The first connection stays. The second one is a failure, or a lane that was refused.
  ASSERT_TRUE(both.until([&] { return both.first().refusal().error(); }));
  EXPECT_EQ(both.first().refusal().code(), Code::exists);
  EXPECT_EQ(both.second().connections.size(), 1U);
  EXPECT_TRUE(both.carries(*both.first().connections[0].lane, *both.second().connections[0].lane, 7));
}

TEST_P(Connecting, ACancelledDialIsNotHeardOfAgain) {
  TwoProcesses both(GetParam());
  SKIP_IF_ALONE(both);
  both.second().answer = Code::not_yet;
  both.first().dial(both.second().address());
  both.first().transport->cancel(high.id);
  both.first().connections.clear();
  both.first().failures.clear();
  ASSERT_TRUE(both.until([&, polls = 0]() mutable { return ++polls > 20; }));
  EXPECT_TRUE(both.first().connections.empty());
  EXPECT_TRUE(both.first().failures.empty());
  both.second().answer = {};
  both.second().connections.clear();
  both.first().dial(both.second().address());
  ASSERT_TRUE(both.until([&] { return both.first().settled() && !both.second().connections.empty(); }));
  EXPECT_TRUE(both.carries(*both.first().connections.back().lane, *both.second().connections.back().lane, 7));
}

TEST_P(Connecting, APeerThatIsNotKnownYetIsTakenOnceItIs) {
  TwoProcesses both(GetParam());
  SKIP_IF_ALONE(both);
  both.second().answer = Code::not_yet;
  both.first().dial(both.second().address());
  ASSERT_TRUE(both.until([&] { return both.second().offers.size() >= 2; })) << "asked again";
  EXPECT_TRUE(both.second().connections.empty());
  both.second().answer = {};
  ASSERT_TRUE(both.until([&] { return both.first().settled() && !both.second().connections.empty(); }));
  EXPECT_TRUE(both.first().refusal().ok()) << both.first().refusal().text();
  EXPECT_TRUE(both.carries(*both.first().connections[0].lane, *both.second().connections[0].lane, 7));
}

// Fault (simulator, seed 50112786): a peer that was lost, and of which no node was known, came back and dialed before
// that was known. It believed that it was connected, and nothing that it sent arrived.
TEST_P(Connecting, APeerOfWhichOldThingsAreKnownIsTakenOnceMoreIs) {
  TwoProcesses both(GetParam());
  SKIP_IF_ALONE(both);
  Address old = both.second().address();
  old.party.incarnation = 0;
  old.on_other_node = true;
  both.first().knows(old);
  both.second().dial(both.first().address());
  int looks = 0;
  ASSERT_TRUE(both.until([&] { return ++looks >= 20; }));
  both.first().knows(both.second().address());
  ASSERT_TRUE(both.until([&] { return both.second().settled() && !both.first().connections.empty(); }));
  EXPECT_TRUE(both.second().refusal().ok()) << both.second().refusal().text();
  EXPECT_TRUE(both.carries(*both.second().connections[0].lane, *both.first().connections[0].lane, 7));
}

// Before, each process that had the secret could present itself as any other one.
TEST_P(Connecting, AnImpostorIsRefused) {
  TwoProcesses both(GetParam());
  SKIP_IF_ALONE(both);
  if (!both.place().show_ticket_of({.id = 5, .incarnation = 1})) {
    GTEST_SKIP() << "processes prove nothing over this transport: the system separates users";
  }
  both.start_second(2);
  both.first().dial(both.second().address());
  ASSERT_TRUE(both.until([&] { return both.first().settled(); }));
  EXPECT_EQ(both.first().refusal().code(), Code::authentication);
  const auto why = "it presents itself as rank 8 (incarnation 2), but its ticket is that of rank 5 (incarnation 1)";
  EXPECT_THAT(both.first().refusal().text(), HasSubstr(why));
  both.second().connections.clear();  // the impostor itself may have taken the dial
  both.second().failures.clear();
  both.second().dial(both.first().address());
  ASSERT_TRUE(both.until([&] { return both.second().settled(); }));
  EXPECT_THAT(both.second().refusal().text(), HasSubstr(why));
  EXPECT_TRUE(both.first().connections.empty());
  EXPECT_TRUE(both.second().connections.empty());
}

TEST_P(Connecting, WhoDialsAnotherIncarnationIsNotTaken) {
  TwoProcesses both(GetParam());
  SKIP_IF_ALONE(both);
  Address address = both.second().address();
  address.party.incarnation = 2;
  both.first().dial(address);
  ASSERT_TRUE(both.until([&] { return both.first().settled(); }));
  EXPECT_TRUE(both.first().refusal().error());
  EXPECT_TRUE(both.second().connections.empty());
}

TEST_P(Connecting, ARestartedPeerIsReachedAsTheNewOne) {
  TwoProcesses both(GetParam());
  SKIP_IF_ALONE(both);
  both.first().dial(both.second().address());
  ASSERT_TRUE(both.until([&] { return both.first().settled(); }));
  const Address old = both.second().address();
  both.first().connections.clear();
  both.start_second(2);
  both.first().dial(old);
  ASSERT_TRUE(both.until([&] { return both.first().settled(); }));
  EXPECT_TRUE(both.first().refusal().error()) << "the old one is gone";
  both.first().failures.clear();
  both.first().connections.clear();
  both.first().dial(both.second().address());
  ASSERT_TRUE(both.until([&] { return both.first().settled() && !both.second().connections.empty(); }));
  EXPECT_TRUE(both.first().refusal().ok()) << both.first().refusal().text();
  EXPECT_TRUE(both.carries(*both.first().connections[0].lane, *both.second().connections[0].lane, 7));
}

TEST_P(Connecting, WhoHasLostItsConnectionSaysSoWhenItDialsAgain) {
  TwoProcesses both(GetParam());
  if (!both.first().transport->may_break()) {
    GTEST_SKIP() << "a lane of this transport does not end while both live";
  }
  both.first().dial(both.second().address());
  ASSERT_TRUE(both.until([&] { return both.first().settled() && !both.second().connections.empty(); }));
  both.first().connections.clear();
  both.second().connections.clear();
  both.first().dial(both.second().address(), Purpose::again);
  ASSERT_TRUE(both.until([&] { return both.first().settled() && !both.second().connections.empty(); }));
  EXPECT_EQ(both.second().connections[0].offer.purpose, Purpose::again);
  EXPECT_EQ(both.first().connections[0].offer.purpose, Purpose::again);
  EXPECT_TRUE(both.carries(*both.first().connections[0].lane, *both.second().connections[0].lane, 7));
}

TEST_P(Connecting, OneMoreLaneIsOfferedAsOneBesideTheFirst) {
  TwoProcesses both(GetParam());
  if (!both.first().transport->may_break()) {
    GTEST_SKIP() << "a connection over this transport has one lane";
  }
  both.first().dial(both.second().address());
  ASSERT_TRUE(both.until([&] { return both.first().settled() && !both.second().connections.empty(); }));
  both.second().dial(both.first().address(), Purpose::more);
  ASSERT_TRUE(
      both.until([&] { return both.second().connections.size() == 2 && both.first().connections.size() == 2; }));
  EXPECT_EQ(both.first().connections[1].offer.purpose, Purpose::more);
  EXPECT_EQ(both.second().connections[1].offer.purpose, Purpose::more);
  for (const std::size_t lane : {0U, 1U}) {
    EXPECT_TRUE(both.carries(*both.first().connections[lane].lane, *both.second().connections[lane].lane, 7));
  }
}

// One end of a channel over what the transport of a process has made.
struct End {
  explicit End(Process& where, std::uint64_t session) : process(where) {
    channel = std::make_unique<channel::Channel>(0, "the peer", recorder.handlers(),
                                                 channel::ChannelOptions{.session = session});
  }
  // As a table does for a peer that dials again.
  void take_lane() {
    channel->break_lanes({Code::peer_lost, "there is another one"});
    channel->attach(std::move(process.connections.back().lane));
    process.connections.clear();
  }
  void send(std::size_t count) {
    for (std::size_t n = 0; n < count; ++n) {
      const auto number = static_cast<std::int32_t>(sent.size());
      channel->send(*sent.emplace_back(std::make_unique<test::Sent>(std::string(sent.size() % 5 * 700, 'x'), number)));
    }
  }
  [[nodiscard]] bool has_all_of(const End& other) const { return recorder.frames.size() == other.sent.size(); }
  [[nodiscard]] bool in_order() const {
    std::int32_t due = 0;
    return std::all_of(recorder.frames.begin(), recorder.frames.end(), [&due](const auto& frame) {
      return frame.header.tag == due++ && frame.payload.size() == static_cast<std::size_t>(frame.header.tag % 5) * 700U;
    });
  }

  Process& process;
  test::Recorder recorder;
  std::vector<std::unique_ptr<test::Sent>> sent;
  std::unique_ptr<channel::Channel> channel;
};

TEST_P(Connecting, ABrokenConnectionIsResumedOverTheNextOne) {
  TwoProcesses both(GetParam());
  if (!both.first().transport->may_break()) {
    GTEST_SKIP() << "a lane of this transport does not end while both live";
  }
  constexpr int breaks = 6;
  constexpr std::size_t frames = 40;
  End first(both.first(), 17);
  End second(both.second(), 23);
  for (int count = 0; count <= breaks; ++count) {
    End& dialer = count % 2 == 0 ? first : second;
    End& other = count % 2 == 0 ? second : first;
    dialer.process.dial(other.process.address(), count == 0 ? Purpose::first : Purpose::again);
    ASSERT_TRUE(both.until([&] { return dialer.process.settled() && !other.process.connections.empty(); }));
    ASSERT_TRUE(dialer.process.refusal().ok()) << dialer.process.refusal().text();
    dialer.take_lane();
    other.take_lane();
    first.send(frames);
    second.send(frames);
    const std::size_t enough = second.recorder.frames.size() + static_cast<std::size_t>(count) * 5;
    ASSERT_TRUE(both.until([&] {
      first.channel->poll(3);
      second.channel->poll(3);
      return count < breaks ? second.recorder.frames.size() >= std::min(enough, first.sent.size())
                            : second.has_all_of(first) && first.has_all_of(second);
    })) << first.channel->failure().text()
        << second.channel->failure().text();
    if (count < breaks) {
      dialer.channel->break_lanes({Code::peer_lost, "the test says so"});
      dialer.channel->release_lanes();
    }
  }
  EXPECT_TRUE(first.in_order());
  EXPECT_TRUE(second.in_order());
}

TEST_P(Connecting, ADialToAPeerThatDiesInTheMiddleEnds) {
  TwoProcesses both(GetParam());
  SKIP_IF_ALONE(both);
  both.second().answer = Code::not_yet;
  both.first().dial(both.second().address());
  ASSERT_TRUE(both.until([&] { return !both.second().offers.empty(); }));
  both.end_second();
  if (both.first().connections.empty()) {
    ASSERT_TRUE(both.until([&] { return both.first().settled(); }));
    EXPECT_TRUE(both.first().refusal().error());
    EXPECT_FALSE(both.first().failures.back().died) << "it has ended its transport in good order";
  } else {
    EXPECT_FALSE(both.first().connections[0].lane->joined())
        << "a lane in memory waits for its peer until it is known to be dead";
  }
}

TEST_P(Connecting, ATransportMayEndWithDialsUnderWay) {
  TwoProcesses both(GetParam());
  SKIP_IF_ALONE(both);
  both.second().answer = Code::not_yet;
  both.first().dial(both.second().address());
  both.first().poll();
  both.second().poll();
  both.first().connections.clear();
  both.first().transport.reset();
}

}  // namespace

Process::Process(Place& where, const Party& own, bool faulty) : place(where), self(own) {
  if (faulty) {
    link::FaultDialOptions options;
    options.delay = 0.3;
    options.lane.delay = 0.1;
    transport = link::make_fault_transport(
        *this, [&](link::TransportHost& host) { return place.open(host, own); }, options, own.id);
  } else {
    transport = place.open(*this, own);
  }
}

Process::~Process() {
  connections.clear();
  transport.reset();
  place.close(self);
}

void Process::dial(const Address& peer, Purpose purpose) {
  auto lane = transport->dial(peer, purpose);
  if (lane.ok()) {
    connections.push_back({{peer.party, purpose}, std::move(*lane), Origin::dialed});
  } else if (lane.code() != Code::not_yet) {
    failures.push_back({peer.party, lane.status()});
  }
}

void Process::poll() {
  if (transport) {
    transport->poll(os::now_ns());
    transport->tick(os::now_ns());
  }
}

bool Process::settled() const {
  if (!failures.empty()) {
    return true;
  }
  return !connections.empty() && (connections.back().lane->joined() || connections.back().lane->refusal().error());
}

Status Process::refusal() const {
  if (!failures.empty()) {
    return failures.back().why;
  }
  return connections.empty() ? Status() : connections.back().lane->refusal();
}

Status Process::consider(link::Transport& /*asking*/, const Offer& offer) {
  offers.push_back(offer);
  return answer;
}

Result<Address> Process::address_of(const link::Transport& /*asking*/, std::uint32_t id) const {
  const auto found = known.find(id);
  return found == known.end() ? Result<Address>(Code::not_yet) : Result<Address>(found->second);
}

void Process::connected(link::Transport& /*telling*/, const Offer& offer, std::unique_ptr<link::Lane> lane,
                        Origin origin) {
  connections.push_back({offer, std::move(lane), origin});
}

void Process::not_connected(link::Transport& /*telling*/, const Party& peer, const link::DialFailure& failure) {
  failures.push_back({peer, failure.why, failure.died});
}

}  // namespace couplet::conformance
