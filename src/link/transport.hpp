// transport: opens lanes over a link. It turns a peer's number and contact into a lane, and accepts peers that dial
// this process. Lanes (link.hpp) then move bytes, and know nothing of how they were made. connections is above it
// (which transport for which peer, and when again); os and wire are below it. Implementations: self, shm and sim here,
// tcp in runtime/ (it needs the handshake of channel/); fault wraps any of them.
// Invariants: nothing here blocks; a dial has exactly one outcome (a lane, a refusal with a reason, a failure) unless
// it is cancelled; nothing that a peer sends is believed before it has proven its identity; a refused dialer is told
// why.
// Tests: tests/conformance/connecting (one suite for all).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.hpp"
#include "link/contacts.hpp"
#include "link/link.hpp"

namespace couplet::link {

// One incarnation of one process of the universe.
struct Party {
  std::uint32_t id = 0;
  std::uint16_t incarnation = 0;
  friend bool operator==(const Party&, const Party&) = default;
};

struct Address {
  Party party;
  Contact contact;
  bool on_other_node = false;  // it does not share the node directory of this process
  // For a dial with Purpose::more: how many lanes over this transport there are to the peer. The peer may be told.
  unsigned lanes = 0;
};

// first: the dialing side has had no connection to this incarnation. again: it has lost its connection. more: it has
// one, and adds a lane to it.
enum class Purpose : std::uint8_t { first, again, more };

struct Offer {
  Party peer;
  Purpose purpose = Purpose::first;
  // With Purpose::more: how many lanes over this transport the peer has to this process. Nothing: it has not said so.
  std::optional<unsigned> lanes{};
};

// dialed: the outcome of a dial of this process. offered: the peer has dialed.
enum class Origin : std::uint8_t { dialed, offered };

class Transport;

// A dial that has ended without a lane. `died` is true if it has proven that the peer's process ended without leaving.
struct DialFailure {
  // NOLINTNEXTLINE(google-explicit-constructor): most failures prove nothing
  DialFailure(Status status, bool has_died = false) : why(std::move(status)), died(has_died) {}
  Status why;
  bool died;
};

// Owns transports. Called from Transport::poll() and tick(), never from dial(). It may call dial() and cancel() from
// inside.
class TransportHost {
 public:
  virtual ~TransportHost() = default;
  // Decides about a peer that has proven its identity and offers a lane. A peer that has ended is accepted too, if the
  // lane holds what it sent before. Returns ok if the lane is accepted, which connected() then gets. Returns not_yet if
  // the universe has not yet told this process of that peer; it is asked again at a later poll. Returns an error if the
  // peer is refused; its dial ends with this code and text.
  [[nodiscard]] virtual Status consider(Transport& transport, const Offer& offer) = 0;
  // Returns the incarnation of the peer and its contact for `transport`, or not_yet if they are not known yet.
  [[nodiscard]] virtual Result<Address> address_of(const Transport& transport, std::uint32_t id) const = 0;
  // A lane is ready. The host owns it from now on.
  virtual void connected(Transport& transport, const Offer& offer, std::unique_ptr<Lane> lane, Origin origin) = 0;
  // A dial has ended without a lane. exists: there is a connection, or the peer's own dial comes first (wait for it);
  // limit, memory: no descriptor or memory at present; peer_lost, system, timeout: no process answers; state: the peer
  // has ended the connection; otherwise the peer's refusal, or the reason why this transport can never reach the peer.
  virtual void not_connected(Transport& transport, const Party& peer, const DialFailure& failure) = 0;
  // Returns, for texts, "program 'ocean' rank 1 (universe rank 1) on host n03".
  [[nodiscard]] virtual std::string name_of(std::uint32_t id) const = 0;
  // Asks to poll the transport when the descriptor can be read (and written, if `write`). Replaces an earlier watch of
  // it.
  [[nodiscard]] virtual Status watch(Transport& transport, int descriptor, bool write) = 0;
  virtual void unwatch(int descriptor) = 0;
};

class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  // Cancels all dials, and no longer watches its descriptors.
  virtual ~Transport() = default;

  // Returns the name in the setting `links`: "shm", "tcp".
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  // Returns the contact of this process.
  [[nodiscard]] virtual Contact contact() const = 0;
  // Returns the name under which processes publish the contact that this transport dials. A transport whose processes
  // find each other over another one has that one's name.
  [[nodiscard]] virtual std::string_view contact_name() const noexcept { return name(); }
  // Says whether lanes of this transport can end while both processes are alive, so that the peer may be dialed again.
  [[nodiscard]] virtual bool may_break() const noexcept = 0;
  // Begins to make a lane to the peer. Returns the lane if it is there at once; not_yet if poll() or tick() will report
  // the outcome to the host; or an error as in not_connected(). There is at most one dial to a peer at a time: cancel()
  // the earlier one first.
  [[nodiscard]] virtual Result<std::unique_ptr<Lane>> dial(const Address& peer, Purpose purpose) = 0;
  // Cancels the dial to the peer: the host hears nothing further of it. Does nothing if there is none.
  virtual void cancel(std::uint32_t peer) = 0;
  // Returns a lane that delivers what a peer that has ended has left for this process, or not_found.
  [[nodiscard]] virtual Result<std::unique_ptr<Lane>> left_by(const Address& /*peer*/) { return Code::not_found; }
  // Advances dials and offers. Returns the amount of work done, 0 if there was none. Never blocks.
  virtual int poll(std::uint64_t now_ns) = 0;
  // Does what poll() does, for a watched descriptor that is ready.
  virtual int woken(int /*descriptor*/, std::uint64_t now_ns) { return poll(now_ns); }
  // The check before sleeping: would poll() do something? A transport that descriptors wake may return false.
  [[nodiscard]] virtual bool ready() const = 0;
  // Called about every 100 ms while a call waits, for time limits and for what could not be done a moment ago.
  virtual void tick(std::uint64_t now_ns) = 0;
};

}  // namespace couplet::link
