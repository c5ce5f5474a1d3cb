// transport: what opens lanes over a link. Turns a peer's number and contact into a lane, and takes in the peers that dial this
// process. Lanes (link.hpp) move bytes afterwards and know nothing of how they were made.
// Above: connections (which transport for which peer, and when again). Below: os, wire. Implementations: self, shm, sim here,
// tcp in runtime/ (it needs the handshake of channel/); fault wraps any of them.
// Invariants: nothing here blocks; a dial has exactly one outcome (a lane, a refusal with a reason, a failure) unless it is
// cancelled; nothing of a peer is believed before it has proven who it is; a refused dialer is told why.
// Tests: tests/conformance/connecting (one suite for all).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/assert.hpp"
#include "base/status.hpp"
#include "link/link.hpp"

namespace couplet::link {

// One incarnation of one process of the universe.
struct Party {
  std::uint32_t id = 0;
  std::uint16_t incarnation = 0;
  friend bool operator==(const Party&, const Party&) = default;
};

inline constexpr std::size_t max_contact_bytes = 64;

// How a process is dialed by one transport: bytes that only the transport of that name understands. The universe publishes
// them without looking at them. Empty: the process cannot be dialed by this transport.
class Contact {
 public:
  Contact() = default;
  // REQUIRES: at most max_contact_bytes.
  explicit Contact(std::span<const std::byte> bytes) : size_(static_cast<std::uint8_t>(bytes.size())) {
    COUPLET_ASSERT(bytes.size() <= max_contact_bytes);
    std::copy(bytes.begin(), bytes.end(), bytes_.begin());
  }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {bytes_.data(), size_}; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

 private:
  std::array<std::byte, max_contact_bytes> bytes_{};
  std::uint8_t size_ = 0;
};

struct Address {
  Party party;
  Contact contact;
};

// first: the dialing side has had no connection to this incarnation. again: it has lost the one that it had.
enum class Purpose : std::uint8_t { first, again };

struct Offer {
  Party peer;
  Purpose purpose = Purpose::first;
};

// dialed: the outcome of a dial from here. offered: the peer has dialed.
enum class Origin : std::uint8_t { dialed, offered };

class Transport;

// Who owns transports. Called from Transport::poll() and tick(), never from dial(). May call dial() and cancel() from inside.
class TransportHost {
 public:
  virtual ~TransportHost() = default;
  // A peer that has proven itself offers a lane. A peer that has ended is taken too, if the lane holds what it sent before.
  // ok: the lane is taken and given to connected(). not_yet: the universe has not
  // told this process of that peer so far; asked again at a later poll. An error: the peer is refused, and its dial ends with
  // this code and text.
  [[nodiscard]] virtual Status consider(Transport& transport, const Offer& offer) = 0;
  // Which incarnation the peer is and how `transport` dials it; not_yet: not known so far.
  [[nodiscard]] virtual Result<Address> address_of(const Transport& transport, std::uint32_t id) const = 0;
  // A lane is ready; it is the host's from here on.
  virtual void connected(Transport& transport, const Offer& offer, std::unique_ptr<Lane> lane, Origin origin) = 0;
  // A dial has ended without a lane: exists (there is a connection, or the peer's own dial comes first: wait for it); limit,
  // memory (no descriptor or memory just now); peer_lost, system, timeout (nobody answers); otherwise the peer's refusal, or
  // why this transport can never reach it.
  virtual void not_connected(Transport& transport, const Party& peer, const Status& why) = 0;
  // For texts: "program 'ocean' rank 1 (universe rank 1) on host n03".
  [[nodiscard]] virtual std::string name_of(std::uint32_t id) const = 0;
  // Poll the transport when the descriptor is readable (and writable, if `write`); replaces an earlier watch of it.
  [[nodiscard]] virtual Status watch(Transport& transport, int descriptor, bool write) = 0;
  virtual void unwatch(int descriptor) = 0;
};

class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  // Cancels all dials; unwatches its descriptors.
  virtual ~Transport() = default;

  // As in the setting `links`: "shm", "tcp".
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  // Of this process.
  [[nodiscard]] virtual Contact contact() const = 0;
  // Whether lanes of this transport can end while both processes live, so that the peer may be dialed again.
  [[nodiscard]] virtual bool may_break() const noexcept = 0;
  // Begins to make a lane to the peer. Returns the lane if it is there at once; not_yet: the host hears the outcome from
  // poll() or tick(); an error as for not_connected(). At most one dial to a peer at a time: cancel() the earlier one first.
  [[nodiscard]] virtual Result<std::unique_ptr<Lane>> dial(const Address& peer, Purpose purpose) = 0;
  // The dial to the peer is no longer wanted; the host hears nothing more of it. Nothing happens if there is none.
  virtual void cancel(std::uint32_t peer) = 0;
  // What a peer that has ended has left for this process: a lane that delivers it; not_found: nothing.
  [[nodiscard]] virtual Result<std::unique_ptr<Lane>> left_by(const Address& /*peer*/) { return Code::not_found; }
  // Moves dials and offers on; returns the work done. Never blocks.
  virtual int poll(std::uint64_t now_ns) = 0;
  // A watched descriptor is ready. As poll(), for what belongs to that descriptor.
  virtual int woken(int /*descriptor*/, std::uint64_t now_ns) { return poll(now_ns); }
  // A second look before sleeping: would poll() do something? A transport that is woken by descriptors may answer false.
  [[nodiscard]] virtual bool ready() const = 0;
  // Called about every 100 ms while somebody waits: time limits, and what could not be done a moment ago.
  virtual void tick(std::uint64_t now_ns) = 0;
};

}  // namespace couplet::link
