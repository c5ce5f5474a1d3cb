// Opens lanes from this process to itself.
#pragma once

#include "link/self/self_lane.hpp"
#include "link/transport.hpp"

namespace couplet::link {

class SelfTransport final : public Transport {
 public:
  explicit SelfTransport(const Party& own) : own_(own) {}

  [[nodiscard]] std::string_view name() const noexcept override { return "self"; }
  // Returns the contact: the process's own number, so that no other process is reached by it.
  static Contact contact_of(std::uint32_t id) { return Contact(std::as_bytes(std::span(&id, 1))); }
  [[nodiscard]] Contact contact() const override { return contact_of(own_.id); }
  [[nodiscard]] bool may_break() const noexcept override { return false; }
  [[nodiscard]] Result<std::unique_ptr<Lane>> dial(const Address& peer, Purpose /*purpose*/) override {
    if (peer.party != own_ || peer.contact.empty()) {
      return fail(Code::unsupported, "");  // other processes cannot be reached by it
    }
    return make_self_lane();
  }
  void cancel(std::uint32_t /*peer*/) override {}
  int poll(std::uint64_t /*now_ns*/) override { return 0; }
  [[nodiscard]] bool ready() const override { return false; }
  void tick(std::uint64_t /*now_ns*/) override {}

 private:
  Party own_;
};

}  // namespace couplet::link
