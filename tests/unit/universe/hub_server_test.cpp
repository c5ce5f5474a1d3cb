// The hub on real sockets, in threads of this process: what needs no processes of its own.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <thread>

#include "hub_thread.hpp"
#include "link/shm/shm_transport.hpp"

namespace couplet::universe {
namespace {

// A process that has not joined, with a key.
channel::HandshakeSelf newcomer() {
  channel::HandshakeSelf self;
  self.credentials = std::make_shared<const channel::Credentials>(channel::fresh_credentials());
  return self;
}

const LaneMaker lanes = runtime::tcp_control_lanes();

TEST_F(HubServerTest, TwoUniversesInOneProcess) {
  Hub first("solo:1", base_);
  Hub second("solo:1", base_, channel::Protection::encrypted);
  auto here = join(options(first, "solo"));
  auto there = join(options(second, "solo"));
  ASSERT_TRUE(here.ok()) << here.status().text();
  ASSERT_TRUE(there.ok()) << there.status().text();
  EXPECT_NE((*here)->run_id(), (*there)->run_id());
  EXPECT_NE((*here)->node_directory(), (*there)->node_directory());
  EXPECT_EQ((*here)->security().protection, channel::Protection::none);
  EXPECT_EQ((*there)->security().protection, channel::Protection::encrypted);
  leave(**here);
  EXPECT_TRUE((*there)->hub().ok());
  EXPECT_TRUE(universe::alive(**there, 0).ok());
  leave(**there);
}

TEST_F(HubServerTest, TwoRanksInOneProcessSeeEachOther) {
  Hub hub("ocean:2", base_);
  Result<std::unique_ptr<Membership>> other = Status(Code::internal);
  auto of_other = options(hub, "ocean", 1, 2);
  of_other.contacts = [](Membership& self, const os::Endpoint& /*local*/) -> Result<link::ContactList> {
    link::ContactList contacts;
    contacts.add("carrier", link::Contact(std::as_bytes(std::span("pigeon", 6))));  // no transport that the hub knows
    contacts.add("shm", link::ShmTransport::contact_of(self.page().memory_nonce()));
    return contacts;
  };
  std::thread thread([&] { other = join(std::move(of_other)); });
  auto member = join(options(hub, "ocean", 0, 2));
  thread.join();
  ASSERT_TRUE(member.ok()) << member.status().text();
  ASSERT_TRUE(other.ok()) << other.status().text();
  const auto page = os::PeerPage::open((*member)->node_directory(), 1);
  ASSERT_TRUE(page.ok());
  const auto& known = (*member)->peer(1).contacts;
  const auto offered = link::ShmTransport::contact_of((*page)->header().memory_nonce);
  EXPECT_TRUE(std::ranges::equal(known.find("shm").bytes(), offered.bytes()));
  EXPECT_EQ(known.find("carrier").bytes().size(), 6U) << "the hub passes on what it does not know";
  EXPECT_TRUE(known.find("tcp").empty());
  EXPECT_TRUE(universe::alive(**member, 1).ok());
  leave(**other);
  other = Status(Code::internal);
  EXPECT_TRUE(test::eventually([&] { return universe::alive(**member, 1).code() == Code::peer_lost; }));
  EXPECT_EQ(universe::alive(**member, 1).text().find("program 'ocean' rank 1 (universe rank 1)"), 0U);
  EXPECT_NE(universe::alive(**member, 1).text().find("has left"), std::string::npos);
  leave(**member);
}

TEST_F(HubServerTest, AWrongSecretIsAnAuthenticationError) {
  Hub hub("solo:1", base_);
  auto wrong = options(hub, "solo");
  wrong.secret = secret_of(8);
  const auto refused = join(std::move(wrong));
  EXPECT_EQ(refused.code(), Code::authentication) << refused.status().text();
}

// Speaks the handshake as a member of another version would.
TEST_F(HubServerTest, AnotherVersionIsToldBothRanges) {
  Hub hub("solo:1", base_);
  const auto target = os::resolve(hub.address());
  ASSERT_TRUE(target.ok());
  channel::HandshakeSelf self;
  self.credentials = newcomer().credentials;
  self.lowest_version = 40;
  self.highest_version = 41;
  auto connection =
      ControlConnection::initiate(os::connect_tcp(*target).value(), *target, secret_of(7), self, "the hub", lanes);
  EXPECT_TRUE(test::eventually([&] {
    connection->poll();
    return connection->state() == ControlConnection::State::ended;
  }));
  EXPECT_EQ(connection->failure().code(), Code::version) << connection->failure().text();
  EXPECT_NE(connection->failure().text().find("40"), std::string::npos) << connection->failure().text();
}

// A connection that has proven the secret and then talks nonsense.
TEST_F(HubServerTest, NonsenseFromAMemberEndsThatMember) {
  Hub hub("solo:1", base_);
  const auto target = os::resolve(hub.address());
  for (const auto* const nonsense : {"{", "[]", "\x01", "\x48 from the hub", ""}) {
    auto connection = ControlConnection::initiate(os::connect_tcp(*target).value(), *target, secret_of(7), newcomer(),
                                                  "the hub", lanes);
    connection->send(control_message, std::make_shared<const std::string>(nonsense));
    std::string answer;
    EXPECT_TRUE(test::eventually([&] {
      connection->poll();
      if (auto arrived = connection->take()) {
        answer = arrived->payload;
      }
      return connection->state() == ControlConnection::State::ended;
    }));
    const auto message = decode_hub_message(answer);
    ASSERT_TRUE(message.ok()) << answer;
    ASSERT_TRUE(std::holds_alternative<RefusedMessage>(*message));
    EXPECT_EQ(std::get<RefusedMessage>(*message).code, Code::protocol);
  }
  auto member = join(options(hub, "solo"));
  ASSERT_TRUE(member.ok()) << member.status().text();
  leave(**member);
}

TEST_F(HubServerTest, TheEndOfTheHubIsTold) {
  Hub hub("solo:1", base_);
  auto member = join(options(hub, "solo"));
  ASSERT_TRUE(member.ok()) << member.status().text();
  engine::Engine engine((*member)->doorbell(), {});
  ASSERT_TRUE((*member)->attach(&engine).ok());
  hub.stop();
  const auto gone = [&] { return !(*member)->hub().ok(); };
  EXPECT_TRUE(engine.wait(gone, os::deadline_after(20), [] { return "the hub"; }).ok());
  EXPECT_EQ((*member)->hub().code(), Code::hub_lost);
  EXPECT_NE((*member)->hub().text().find("the hub was told to end"), std::string::npos) << (*member)->hub().text();
  EXPECT_EQ((*member)->registry().find("eta", -1, os::deadline_after(20)).code(), Code::hub_lost);
  leave(**member);
}

// A hub in a process of its own, which can be stopped.
class StoppableHub {
 public:
  explicit StoppableHub(const std::string& base) : process_([&] { return run(base); }) {
    ::close(told_[1]);
    std::array<char, 64> text{};
    address_.assign(text.data(), static_cast<std::size_t>(std::max(::read(told_[0], text.data(), text.size()), 0L)));
    ::close(told_[0]);
  }
  [[nodiscard]] const std::string& address() const { return address_; }
  void send(int signal) const { ::kill(process_.process(), signal); }
  [[nodiscard]] int join() { return process_.join(); }

 private:
  int run(const std::string& base) {
    HubServerOptions options;
    options.hub.programs = *parse_programs("solo:1");
    options.secret = secret_of(7);
    options.make_lane = lanes;
    options.run_directory = base;
    auto server = HubServer::open(std::move(options));
    if (!server.ok()) return 1;
    const std::string text = os::endpoint_text((*server)->endpoint());
    if (::write(told_[1], text.data(), text.size()) < 0) return 1;
    return (*server)->run(-1).ok() ? 0 : 1;
  }

  std::array<int, 2> told_ = [] {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    return ends;
  }();
  test::Child process_;
  std::string address_;
};

// Whether a series exists is not known while the hub is stopped.
TEST_F(HubServerTest, AHubThatDoesNotAnswerIsToldFromASeriesThatIsNotThere) {
  StoppableHub hub(base_);
  auto member = join(options(hub.address(), "solo"));
  ASSERT_TRUE(member.ok()) << member.status().text();
  auto& registry = (*member)->registry();
  EXPECT_EQ(registry.find("eta", -1, os::deadline_after(0.2)).code(), Code::not_yet);
  EXPECT_EQ(registry.find("eta", -1, 0).code(), Code::not_yet);
  hub.send(SIGSTOP);
  const auto found = registry.find("eta", -1, os::deadline_after(0.5));
  EXPECT_EQ(found.code(), Code::timeout) << found.status().text();
  EXPECT_NE(found.status().text().find("the hub has not answered in time"), std::string::npos) << found.status().text();
  hub.send(SIGCONT);
  EXPECT_EQ(registry.find("eta", -1, os::deadline_after(5)).code(), Code::not_yet);
  leave(**member);
  EXPECT_EQ(hub.join(), 0);
}

TEST_F(HubServerTest, AnInterruptEndsJoining) {
  Hub hub("solo:1,other:1", base_);
  auto patient = options(hub, "solo");
  patient.timeout_s = -1;
  std::atomic<int> asked{0};
  patient.interrupted = [&] { return ++asked > 3; };
  EXPECT_EQ(join(std::move(patient)).code(), Code::interrupted);
}

TEST_F(HubServerTest, ALossBeforeAnybodyListensIsToldLater) {
  Hub hub("ocean:1,nowcast:1", base_);
  Result<std::unique_ptr<Membership>> other = Status(Code::internal);
  std::thread thread([&] { other = join(options(hub, "nowcast")); });
  auto member = join(options(hub, "ocean"));
  thread.join();
  ASSERT_TRUE(member.ok() && other.ok());
  other = Status(Code::internal);  // destroyed without leaving
  engine::Engine engine((*member)->doorbell(), {});
  ASSERT_TRUE((*member)->attach(&engine).ok());
  const auto known = [&] { return (*member)->peer(1).state == PeerState::lost; };
  EXPECT_TRUE(engine.wait(known, os::deadline_after(20), [] { return "a loss"; }).ok());
  std::vector<channel::PeerId> told;
  (*member)->on_lost([&](channel::PeerId id, const Status&) { told.push_back(id); }, {});
  EXPECT_TRUE(engine.wait([&] { return !told.empty(); }, os::deadline_after(20), [] { return "a loss"; }).ok());
  EXPECT_EQ(told, std::vector<channel::PeerId>{1});
  leave(**member);
}

TEST_F(HubServerTest, LossesAreToldOnceAndFromPoll) {
  Hub hub("ocean:1,nowcast:1", base_);
  Result<std::unique_ptr<Membership>> other = Status(Code::internal);
  std::thread thread([&] { other = join(options(hub, "nowcast")); });
  auto member = join(options(hub, "ocean"));
  thread.join();
  ASSERT_TRUE(member.ok() && other.ok());
  engine::Engine engine((*member)->doorbell(), {});
  ASSERT_TRUE((*member)->attach(&engine).ok());
  std::vector<std::string> told;
  (*member)->on_lost([&](channel::PeerId, const Status& why) { told.push_back(why.text()); }, {});
  other = Status(Code::internal);  // destroyed without leaving
  EXPECT_TRUE(engine.wait([&] { return !told.empty(); }, os::deadline_after(20), [] { return "a loss"; }).ok());
  for (int round = 0; round < 10; ++round) {
    engine.poll();
    EXPECT_FALSE(universe::alive(**member, 1).ok());
  }
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].find("program 'nowcast' rank 0 (universe rank 1) on host "), 0U) << told[0];
  leave(**member);
}

}  // namespace
}  // namespace couplet::universe
