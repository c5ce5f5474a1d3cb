// What a transport gives to the conformance suite of connecting: a name, and a place in which processes can open it. An
// implementation is a short file (see sim.cpp) that ends with COUPLET_TRANSPORT_CONFORMS(name, make_place).
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

// The part that the processes of one transport share. It outlives them.
class Place {
 public:
  virtual ~Place() = default;
  // Opens the transport of a process. An earlier incarnation of the process has been closed.
  virtual std::unique_ptr<link::Transport> open(link::TransportHost& host, const link::Party& self) = 0;
  // Ends the process. Its transport and lanes are gone already.
  virtual void close(const link::Party& /*self*/) {}
  // Lets something outside the transports happen: time passes, or the kernel works. May wait a millisecond.
  virtual void pause() {}
  // From now on, a process that is opened shows the ticket of this one. Returns false if processes show no tickets.
  virtual bool show_ticket_of(const link::Party& /*party*/) { return false; }
  // Returns true if a process can reach only itself.
  [[nodiscard]] virtual bool alone() const { return false; }
};

struct ConnectingCase {
  std::string name;
  std::function<std::unique_ptr<Place>()> make_place;
  bool faulty = false;  // dials and lanes are delayed
};

// A process, as far as its transport knows it. It decides by the table below, and records what it is told.
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
    bool died = false;
  };
  Process(Place& place, const link::Party& own, bool faulty);
  ~Process() override;

  void knows(const link::Address& peer) { known[peer.party.id] = peer; }
  [[nodiscard]] link::Address address() const { return {self, transport->contact()}; }
  void dial(const link::Address& peer, link::Purpose purpose = link::Purpose::first);
  void poll();
  // Returns true if the last dial has ended with a lane that both sides have, or with a reason.
  [[nodiscard]] bool settled() const;
  // Returns the reason for which the last dial failed, or ok.
  [[nodiscard]] Status refusal() const;

  [[nodiscard]] Status consider(link::Transport& asking, const link::Offer& offer) override;
  [[nodiscard]] Result<link::Address> address_of(const link::Transport& asking, std::uint32_t id) const override;
  void connected(link::Transport& telling, const link::Offer& offer, std::unique_ptr<link::Lane> lane,
                 link::Origin origin) override;
  void not_connected(link::Transport& telling, const link::Party& peer, const link::DialFailure& failure) override;
  [[nodiscard]] std::string name_of(std::uint32_t id) const override { return "process " + std::to_string(id); }
  [[nodiscard]] Status watch(link::Transport& /*asking*/, int /*descriptor*/, bool /*write*/) override { return {}; }
  void unwatch(int /*descriptor*/) override {}

  Place& place;
  const link::Party self;
  Status answer;  // the answer to offers
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
