// Opens lanes over mapped rings: dials by making a ring and knocking, and answers the knocks of peers.
// Invariants: a knock is answered (joined or refused), or kept until it can be; a knock of a peer that has ended since
// is answered too, since its ring holds what it sent before.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "base/retry.hpp"
#include "link/shm/shm_link.hpp"
#include "link/transport.hpp"
#include "os/process_page.hpp"

namespace couplet::link {

class ShmTransport final : public Transport {
 public:
  // The time for which a knock waits for descriptors or memory before it is refused.
  static constexpr std::uint64_t max_wait_for_descriptor_ns = 30'000'000'000;

  // Opens the transport. host and page outlive it.
  static Result<std::unique_ptr<ShmTransport>> open(TransportHost& host, os::ProcessPage& page,
                                                    const std::string& directory, const ShmPeer& own,
                                                    const ShmOptions& options = {});
  // Returns the contact of a process whose page has this nonce.
  static Contact contact_of(std::uint64_t memory_nonce);

  [[nodiscard]] std::string_view name() const noexcept override { return "shm"; }
  [[nodiscard]] Contact contact() const override { return contact_of(own_.memory_nonce); }
  [[nodiscard]] bool may_break() const noexcept override { return false; }
  // Makes a lane that can be used at once. Lane::joined() and Lane::refusal() say whether the peer takes it.
  [[nodiscard]] Result<std::unique_ptr<Lane>> dial(const Address& peer, Purpose purpose) override;
  void cancel(std::uint32_t /*peer*/) override {}
  Result<std::unique_ptr<Lane>> left_by(const Address& peer) override;
  int poll(std::uint64_t now_ns) override;
  [[nodiscard]] bool ready() const override { return page_.knocked(); }
  void tick(std::uint64_t now_ns) override;

 private:
  // A knock that cannot be answered yet.
  struct Waiting {
    // The peer, as it was known when it had no ring: then the knock is void, or comes from an incarnation that is not
    // known yet.
    std::optional<Party> no_ring_as;
    LookedTime waited;  // how long the knock has waited for a descriptor or for memory
  };
  ShmTransport(TransportHost& host, os::ProcessPage& page, const ShmPeer& own, std::unique_ptr<ShmLink> link)
      : host_(host), page_(page), own_(own), link_(std::move(link)) {}
  // Returns true if the knock has been handled.
  bool answer(std::uint32_t peer, Waiting& waiting, std::uint64_t now_ns);

  TransportHost& host_;
  os::ProcessPage& page_;
  ShmPeer own_;
  std::unique_ptr<ShmLink> link_;
  std::map<std::uint32_t, Waiting> waiting_;
};

}  // namespace couplet::link
