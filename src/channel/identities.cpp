#include "channel/identities.hpp"

#include <sodium.h>

#include <cstring>

namespace couplet::channel {
namespace {

constexpr std::string_view label_caller = "couplet identity of the caller";
constexpr std::string_view label_called = "couplet identity of the called";

}  // namespace

std::string peer_text(PeerId id) {
  if (id == hub_peer) {
    return "the hub";
  }
  if (id == no_peer) {
    return "a process that has not joined";
  }
  return id >= first_relay_peer ? fmt::format("relay {}", id - first_relay_peer) : fmt::format("rank {}", id);
}

void Identities::meet(const wire::Ticket& shown) noexcept {
  if (!own_ || shown.key == PublicKey{}) {
    return;
  }
  const auto key = shown.peer == hub_peer ? exchange_key_of_hub(shown.key) : std::optional<PublicKey>(shown.key);
  if (key) {
    shared_ = shared_value(own_->private_key, *key);
  }
}

void Identities::prove(Side side, std::span<const std::byte> transcript, Proof proof) const noexcept {
  if (!shared_) {
    return;
  }
  const std::string_view label = side == Side::caller ? label_caller : label_called;
  const auto& key = shared_->bytes();
  crypto_generichash_state state;
  crypto_generichash_init(&state, key.data(), key.size(), proof.size());
  crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(label.data()), label.size());
  crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(transcript.data()), transcript.size());
  crypto_generichash_final(&state, reinterpret_cast<unsigned char*>(proof.data()), proof.size());
  sodium_memzero(&state, sizeof(state));
}

Status Identities::check_proof(const wire::HandshakeHello& peer, Side side, std::span<const std::byte> transcript,
                               Proof proof) const {
  if (!own_) {
    return {};
  }
  std::array<std::byte, wire::handshake_mac_bytes> right{};
  prove(side, transcript, right);
  if (!shared_ || sodium_memcmp(right.data(), proof.data(), right.size()) != 0) {
    return fail(Code::authentication, "it shows the key of {} (incarnation {}), but does not have the private one",
                peer_text(peer.source), peer.source_incarnation);
  }
  return {};
}

Status Identities::check_hub(const wire::HandshakeHello& peer) const {
  const std::uint64_t run = run_of(peer.ticket.key);
  if (peer.ticket.peer != hub_peer || run != peer.run_id) {
    return fail(Code::authentication,
                "it presents itself as the hub of run {:016x}, but its key is that of the hub of run {:016x}",
                peer.run_id, run);
  }
  if (own_->hub_key && *own_->hub_key != peer.ticket.key) {
    return fail(Code::authentication, "it is the hub of run {:016x}, but this process belongs to run {:016x}", run,
                run_of(*own_->hub_key));
  }
  return {};
}

Status Identities::check_ticket(const wire::HandshakeHello& peer) const {
  if (!own_) {
    return {};
  }
  const wire::Ticket& ticket = peer.ticket;
  const auto refuse = [&](std::string_view but) {
    return fail(Code::authentication, "it presents itself as {} (incarnation {}), but {}", peer_text(peer.source),
                peer.source_incarnation, but);
  };
  if (ticket.key == PublicKey{}) {
    return refuse("it shows no key");
  }
  if (peer.source == hub_peer) {
    return check_hub(peer);
  }
  if (peer.source == no_peer) {  // it does not claim to be anybody
    return ticket.peer == no_peer ? Status() : refuse(fmt::format("its ticket is that of {}", peer_text(ticket.peer)));
  }
  if (!ticket.is_signed) {
    return refuse("it shows no ticket of the hub");
  }
  if (ticket.peer != peer.source || ticket.incarnation != peer.source_incarnation) {
    return refuse(fmt::format("its ticket is that of {} (incarnation {})", peer_text(ticket.peer), ticket.incarnation));
  }
  if (!own_->hub_key || !is_signed_by(*own_->hub_key, run_of(*own_->hub_key), ticket)) {
    return refuse("the hub of this universe has not signed its ticket");
  }
  return {};
}

}  // namespace couplet::channel
