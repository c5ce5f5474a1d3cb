// Opens lanes over tcp: dials peers and answers those that dial this process, makes handshakes without blocking, and
// hands over lanes. Both ends of a pair may dial at once: the dial of the lower number is used
// (channel::connection_wins).
// Invariants: nothing that a caller sends is believed before its handshake is done; callers that have not proven
// themselves are bounded, and give way to others in the order of channel::Unproven; a caller that waits for our
// handshake costs no system call until its descriptor is ready.
// Tests: tests/conformance/connecting, tests/universe/test_connecting.py.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/status.hpp"
#include "channel/handshake.hpp"
#include "channel/unproven.hpp"
#include "link/tcp/tcp_lane.hpp"
#include "link/tcp_contact.hpp"
#include "link/transport.hpp"

namespace couplet::runtime {

// Takes the connections to this listener that are for another transport.
class TcpGuests {
 public:
  virtual ~TcpGuests() = default;
  // Decides about a peer, as link::TransportHost::consider does.
  [[nodiscard]] virtual Status consider(const link::Offer& offer) = 0;
  // The handshake with a peer that was accepted is done.
  virtual void take(const link::Offer& offer, const channel::HandshakePeer& peer, os::Descriptor socket) = 0;
};

struct TcpTransportOptions {
  link::TcpOptions lane;
  std::size_t max_unproven_callers = 1024;
  // A caller that has not proven itself in this time is disconnected.
  std::uint64_t max_unproven_ns = 5'000'000'000;
  // The limit for one dial, until there is a connection.
  std::uint64_t max_connecting_ns = 5'000'000'000;
  // Callers with feature_ucx belong to it; it outlives the polls of the transport. nullptr: they are refused.
  TcpGuests* guests = nullptr;
};

class TcpTransport final : public link::Transport {
 public:
  // `self` is the identity of this process. Callers that came before have waited in the listener's backlog. host
  // outlives the transport.
  static Result<std::unique_ptr<TcpTransport>> open(link::TransportHost& host,
                                                    std::unique_ptr<link::TcpListener> listener,
                                                    const channel::Secret& secret, const channel::HandshakeSelf& self,
                                                    const TcpTransportOptions& options = {});
  ~TcpTransport() override;

  [[nodiscard]] std::string_view name() const noexcept override { return "tcp"; }
  [[nodiscard]] link::Contact contact() const override { return link::tcp_contact(listener_->endpoint()); }
  [[nodiscard]] bool may_break() const noexcept override { return true; }
  [[nodiscard]] Result<std::unique_ptr<link::Lane>> dial(const link::Address& peer, link::Purpose purpose) override;
  void cancel(std::uint32_t peer) override;
  int poll(std::uint64_t now_ns) override;
  int woken(int descriptor, std::uint64_t now_ns) override;
  [[nodiscard]] bool ready() const override { return false; }
  void tick(std::uint64_t now_ns) override;

 private:
  // A dial of this process, or a caller, until its handshake is done.
  struct Meeting;
  using Meetings = std::vector<std::unique_ptr<Meeting>>;
  TcpTransport(link::TransportHost& host, std::unique_ptr<link::TcpListener> listener, const channel::Secret& secret,
               const channel::HandshakeSelf& self, const TcpTransportOptions& options);

  int take_callers(std::uint64_t now_ns);
  Status take_caller(os::Descriptor socket, std::uint64_t now_ns);
  void send_away(channel::Unproven::Id caller);
  void listen(bool wanted);
  // Drives the meeting, and removes it from the unproven ones if it has ended. Returns the work done.
  int look_at(Meeting& meeting, std::uint64_t now_ns);
  // Returns false if the meeting has ended, with or without success.
  bool drive(Meeting& meeting, std::uint64_t now_ns);
  void note_progress(Meeting& meeting);
  [[nodiscard]] Status why_late(Meeting& meeting, std::uint64_t now_ns) const;
  Status connect(Meeting& meeting);
  void decide(Meeting& meeting);
  void conclude(Meeting& meeting);
  void give_up(Meeting& meeting, const Status& why);
  void unwatch(Meeting& meeting);
  [[nodiscard]] Meeting* own_dial_to(std::uint32_t peer);
  [[nodiscard]] std::string name_for(const Meeting& meeting) const;

  link::TransportHost& host_;
  std::unique_ptr<link::TcpListener> listener_;
  bool listening_ = false;  // callers wake this process
  std::uint64_t next_accept_ns_ = 0;
  channel::Secret secret_;
  channel::HandshakeSelf self_;
  TcpTransportOptions options_;
  channel::Unproven unproven_;
  channel::Unproven::Id next_caller_ = 1;
  // The last caller whose connection was taken, by peer. The end of an earlier dial of that peer may be read later.
  std::map<std::uint32_t, channel::Unproven::Id> newest_callers_;
  Meetings meetings_;
  std::size_t next_look_ = 0;  // the caller that poll() checks next
};

}  // namespace couplet::runtime
