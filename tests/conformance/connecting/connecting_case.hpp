// What a transport gives to the conformance suite of connecting: a name, and a place in which processes can open it. An
// implementation is a short file (sim.cpp is one) that ends with COUPLET_TRANSPORT_CONFORMS(name, make_place).
#pragma once

#include <gmock/gmock.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "link/fault/fault_transport.hpp"
#include "link/transport.hpp"

namespace couplet::conformance {

// What the processes of one transport share. Outlives them.
class Place {
 public:
  virtual ~Place() = default;
  // Opens the transport of a process; an earlier incarnation of it has been closed.
  virtual std::unique_ptr<link::Transport> open(link::TransportHost& host, const link::Party& self) = 0;
  // The process ends; its transport and lanes are gone already.
  virtual void close(const link::Party& /*self*/) {}
  // Something outside the transports has to happen: time, the kernel. May wait a millisecond.
  virtual void pause() {}
  // A process can reach itself only.
  [[nodiscard]] virtual bool alone() const { return false; }
};

struct ConnectingCase {
  std::string name;
  std::function<std::unique_ptr<Place>()> make_place;
  bool faulty = false;  // dials and lanes are delayed
};

// A process as far as its transport knows: decides by the table below, and writes down what it is told.
class Process final : public link::TransportHost {
 public:
  struct Connection {
    link::Offer offer;
    std::unique_ptr<link::Lane> lane;
    link::Origin origin;
  };
  struct Failure {
    link::Party peer;
    Status why;
  };
  Process(Place& place, const link::Party& own, bool faulty);
  ~Process() override;

  void knows(const link::Address& peer) { known[peer.party.id] = peer; }
  [[nodiscard]] link::Address address() const { return {self, transport->contact()}; }
  void dial(const link::Address& peer, link::Purpose purpose = link::Purpose::first);
  void poll();
  // The last dial has come to an end: a lane that both sides have, or a reason.
  [[nodiscard]] bool settled() const;
  // Why the last dial came to nothing; ok: it did not.
  [[nodiscard]] Status refusal() const;

  [[nodiscard]] Status consider(link::Transport& asking, const link::Offer& offer) override;
  [[nodiscard]] Result<link::Address> address_of(const link::Transport& asking, std::uint32_t id) const override;
  void connected(link::Transport& telling, const link::Offer& offer, std::unique_ptr<link::Lane> lane,
                 link::Origin origin) override;
  void not_connected(link::Transport& telling, const link::Party& peer, const Status& why) override;
  [[nodiscard]] std::string name_of(std::uint32_t id) const override { return "process " + std::to_string(id); }
  [[nodiscard]] Status watch(link::Transport& /*asking*/, int /*descriptor*/, bool /*write*/) override { return {}; }
  void unwatch(int /*descriptor*/) override {}

  Place& place;
  const link::Party self;
  Status answer;  // to offers
  std::map<std::uint32_t, link::Address> known;
  std::vector<link::Offer> offers;
  std::vector<Connection> connections;
  std::vector<Failure> failures;
  std::unique_ptr<link::Transport> transport;
};

class Connecting : public testing::TestWithParam<ConnectingCase> {};

[[nodiscard]] inline std::string name_of_case(const testing::TestParamInfo<ConnectingCase>& info) {
  return info.param.name;
}

}  // namespace couplet::conformance

#define COUPLET_TRANSPORT_CONFORMS(name, make_place)                                                              \
  INSTANTIATE_TEST_SUITE_P(                                                                                       \
      name, Connecting,                                                                                           \
      testing::Values(ConnectingCase{#name, make_place}, ConnectingCase{#name "_under_fault", make_place, true}), \
      name_of_case)
