#include <unistd.h>

#include <algorithm>

#include "connecting_case.hpp"
#include "hub_of_place.hpp"
#include "runtime/tcp_transport.hpp"

namespace couplet::conformance {

struct TcpPlace final : Place {
  channel::Secret secret;
  HubOfPlace hub;
  std::unique_ptr<link::Transport> open(link::TransportHost& host, const link::Party& self) override {
    channel::HandshakeSelf speaker;
    speaker.id = self.id;
    speaker.incarnation = self.incarnation;
    speaker.run_id = 4711;
    speaker.credentials = hub.credentials_of(self);
    auto listener = link::TcpListener::open(os::resolve("127.0.0.1:0").value()).value();
    return runtime::TcpTransport::open(host, std::move(listener), secret, speaker).value();
  }
  bool show_ticket_of(const link::Party& party) override {
    hub.shown = party;
    return true;
  }
  void pause() override { ::usleep(200); }
};

// A process whose descriptors are looked at one by one, as an engine does that sleeps until one of them is ready.
struct WokenProcess final : link::TransportHost {
  WokenProcess(TcpPlace& place, std::uint32_t id) : party{.id = id, .incarnation = 1} {
    transport = place.open(*this, party);
  }
  Status consider(link::Transport& /*asking*/, const link::Offer& /*offer*/) override { return {}; }
  Result<link::Address> address_of(const link::Transport& /*asking*/, std::uint32_t /*id*/) const override {
    return Code::not_yet;
  }
  void connected(link::Transport& /*telling*/, const link::Offer& /*offer*/, std::unique_ptr<link::Lane> lane,
                 link::Origin /*origin*/) override {
    lanes.push_back(std::move(lane));
  }
  void not_connected(link::Transport& /*telling*/, const link::Party& /*peer*/,
                     const link::DialFailure& failure) override {
    ADD_FAILURE() << failure.why.text();
  }
  std::string name_of(std::uint32_t id) const override { return "process " + std::to_string(id); }
  Status watch(link::Transport& /*asking*/, int descriptor, bool /*write*/) override {
    if (std::find(watched.begin(), watched.end(), descriptor) == watched.end()) {
      watched.push_back(descriptor);
    }
    return {};
  }
  void unwatch(int /*descriptor*/) override {}

  const link::Party party;
  std::vector<int> watched;  // in the order in which they came: first the listener
  std::vector<std::unique_ptr<link::Lane>> lanes;
  std::unique_ptr<link::Transport> transport;
};

// The caller has cancelled its first dial, but the callee has not read all of it.
TEST(TcpTransport, TakesTheConnectionThatWasDialedLast) {
  constexpr int looks = 5;
  TcpPlace place;
  WokenProcess callee(place, 1);
  WokenProcess caller(place, 2);
  const link::Address address{.party = callee.party, .contact = callee.transport->contact()};
  const auto come_to_callee = [&] {
    for (int look = 0; look < looks; ++look) {
      caller.transport->poll(0);
      callee.transport->woken(callee.watched.front(), 0);
      place.pause();
    }
  };
  ASSERT_EQ(caller.transport->dial(address, link::Purpose::first).code(), Code::not_yet);
  come_to_callee();
  ASSERT_EQ(callee.watched.size(), 2U) << "the first connection";
  ASSERT_EQ(callee.lanes.size(), 0U);
  caller.transport->cancel(callee.party.id);
  ASSERT_EQ(caller.transport->dial(address, link::Purpose::again).code(), Code::not_yet);
  for (int look = 0; look < 1000 && caller.lanes.empty(); ++look) {
    come_to_callee();
    callee.transport->woken(callee.watched.back(), 0);
  }
  ASSERT_EQ(callee.watched.size(), 3U) << "the second connection";
  ASSERT_EQ(caller.lanes.size(), 1U);
  ASSERT_EQ(callee.lanes.size(), 1U);
  for (int look = 0; look < looks; ++look) {
    callee.transport->poll(0);
  }
  EXPECT_EQ(callee.lanes.size(), 1U) << "the first connection came after the second one";
}

COUPLET_TRANSPORT_CONFORMS(tcp, [] { return std::unique_ptr<Place>(std::make_unique<TcpPlace>()); });

}  // namespace couplet::conformance
