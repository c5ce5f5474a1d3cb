// Opens lanes over UCX. Two processes meet over tcp: the one that dials calls the listener of the other one, both make
// the handshake, and then tell each other how UCX reaches them (link/ucx/ucx_meeting). Both ends of a pair may dial at
// once: the dial of the lower number is used (channel::connection_wins).
// Invariants: no lane is made before bytes have come through UCX in both directions; a process that does not use UCX
// opens nothing; this process sleeps until UCX, a socket or a time limit wakes it.
// Tests: tests/conformance/connecting, tests/universe/test_ucx_link.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/retry.hpp"
#include "base/status.hpp"
#include "channel/handshake.hpp"
#include "link/transport.hpp"
#include "link/ucx/ucx_worker.hpp"
#include "runtime/tcp_transport.hpp"

namespace couplet::runtime {

struct UcxTransportOptions {
  // The limit for one dial, until there is a lane.
  std::uint64_t max_connecting_ns = 5'000'000'000;
  // When the worker has so many endpoints that nothing uses, the next meeting takes place at a new worker. UCX keeps
  // some megabytes for each peer that has ended, as long as the worker that has met it.
  std::size_t max_unused_endpoints = 4;
};

class UcxTransport final : public link::Transport, public TcpGuests {
 public:
  // `self` is the identity of this process; `listens_at` is where its listener is, with port 0 if it has none. host
  // outlives the transport. `worker` may be an error: then each dial, and each peer that dials, is told it.
  static Result<std::unique_ptr<UcxTransport>> open(link::TransportHost& host,
                                                    Result<std::shared_ptr<link::UcxWorker>> worker,
                                                    const channel::Secret& secret, const channel::HandshakeSelf& self,
                                                    const os::Endpoint& listens_at,
                                                    const UcxTransportOptions& options = {});
  ~UcxTransport() override;

  [[nodiscard]] std::string_view name() const noexcept override { return "ucx"; }
  [[nodiscard]] link::Contact contact() const override { return link::tcp_contact(listens_at_); }
  [[nodiscard]] std::string_view contact_name() const noexcept override { return link::tcp_transport_name; }
  [[nodiscard]] bool may_break() const noexcept override { return true; }
  [[nodiscard]] Result<std::unique_ptr<link::Lane>> dial(const link::Address& peer, link::Purpose purpose) override;
  void cancel(std::uint32_t peer) override;
  int poll(std::uint64_t now_ns) override;
  [[nodiscard]] bool ready() const override;
  void tick(std::uint64_t now_ns) override;

  [[nodiscard]] Status consider(const link::Offer& offer) override;
  void take(const link::Offer& offer, const channel::HandshakePeer& peer, os::Descriptor socket) override;

  // Returns the worker of the next meeting, or nullptr if there is none.
  [[nodiscard]] const std::shared_ptr<link::UcxWorker>& worker() const noexcept { return worker_; }
  // Returns how many workers there are: that one, and earlier ones, whose lanes still work.
  [[nodiscard]] std::size_t worker_count() const noexcept { return earlier_.size() + (worker_ ? 1 : 0); }

 private:
  // A dial of this process, or a guest, until there is a lane.
  struct Meeting;
  UcxTransport(link::TransportHost& host, std::shared_ptr<link::UcxWorker> worker, Status unavailable,
               const channel::Secret& secret, const channel::HandshakeSelf& self, const os::Endpoint& listens_at,
               const UcxTransportOptions& options);

  // A worker that meets nobody any longer. It ends when nothing uses it.
  struct Earlier {
    std::shared_ptr<link::UcxWorker> worker;
    LookedTime ending;
  };
  void renew_worker();
  void end_earlier(std::uint64_t now_ns);

  // Returns false if the meeting has ended, with or without success.
  bool drive(Meeting& meeting, std::uint64_t now_ns);
  Status advance(Meeting& meeting);
  Status connect(Meeting& meeting);
  Status meet(Meeting& meeting, const channel::HandshakePeer& peer, os::Descriptor socket);
  void conclude(Meeting& meeting);
  void give_up(Meeting& meeting, const Status& why);
  void watch(Meeting& meeting);
  void unwatch(Meeting& meeting);
  [[nodiscard]] Meeting* own_dial_to(std::uint32_t peer);

  link::TransportHost& host_;
  std::shared_ptr<link::UcxWorker> worker_;
  std::vector<Earlier> earlier_;
  Status unavailable_;  // why there is no worker
  channel::Secret secret_;
  channel::HandshakeSelf self_;
  os::Endpoint listens_at_;
  UcxTransportOptions options_;
  std::vector<std::unique_ptr<Meeting>> meetings_;
};

}  // namespace couplet::runtime
