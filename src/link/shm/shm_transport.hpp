// Opens lanes over mapped rings: dials by making a ring and knocking, and answers the knocks of peers.
// Invariants: a knock is answered (joined or refused) or kept until it can be; a knock of a peer that has ended since is
// answered too, since its ring holds what it sent before.
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
  // Time in which a knock is not answered for lack of descriptors or memory before it is refused.
  static constexpr std::uint64_t max_wait_for_descriptor_ns = 30'000'000'000;

  // host and page outlive the transport.
  static Result<std::unique_ptr<ShmTransport>> open(TransportHost& host, os::ProcessPage& page,
                                                    const std::string& directory, const ShmPeer& own,
                                                    const ShmOptions& options = {});
  // The contact of a process whose page holds this nonce.
  static Contact contact_of(std::uint64_t memory_nonce);

  [[nodiscard]] std::string_view name() const noexcept override { return "shm"; }
  [[nodiscard]] Contact contact() const override { return contact_of(own_.memory_nonce); }
  [[nodiscard]] bool may_break() const noexcept override { return false; }
  // The lane is usable at once. Whether the peer takes it is known by Lane::joined() and Lane::refusal().
  [[nodiscard]] Result<std::unique_ptr<Lane>> dial(const Address& peer, Purpose purpose) override;
  void cancel(std::uint32_t /*peer*/) override {}
  Result<std::unique_ptr<Lane>> left_by(const Address& peer) override;
  int poll(std::uint64_t now_ns) override;
  [[nodiscard]] bool ready() const override { return page_.knocked(); }
  void tick(std::uint64_t now_ns) override;

 private:
  // A knock that cannot be answered yet.
  struct Waiting {
    // It had no ring for what the peer was known as: it is void, or of an incarnation that is not known yet.
    std::optional<Party> no_ring_as;
    LookedTime waited;  // for a descriptor or memory
  };
  ShmTransport(TransportHost& host, os::ProcessPage& page, const ShmPeer& own, std::unique_ptr<ShmLink> link)
      : host_(host), page_(page), own_(own), link_(std::move(link)) {}
  // True: the knock is dealt with.
  bool answer(std::uint32_t peer, Waiting& waiting, std::uint64_t now_ns);

  TransportHost& host_;
  os::ProcessPage& page_;
  ShmPeer own_;
  std::unique_ptr<ShmLink> link_;
  std::map<std::uint32_t, Waiting> waiting_;
};

}  // namespace couplet::link
