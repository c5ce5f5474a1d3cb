// Courier: sends and receives for parts of the library that keep many messages under way at a time, in contexts of
// their own (collective). What the Messenger offers to users waits for one request; the caller of this looks at
// request->done itself, and may withdraw what has not begun. collective is above it.
// Invariants: no call waits unless it says so; every request that is made is given back by end(), withdraw() or
// detach(). Tests: tests/conformance/collective.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "message/message.hpp"

namespace couplet::message {

class Courier {
 public:
  explicit Courier(Messenger& messenger) : messenger_(messenger) {}

  // Begins to send `count` elements, which must not change until the request is done.
  Result<Request*> send(Group& group, std::uint32_t context, std::int32_t tag, const void* data, std::uint64_t count,
                        const TypeInfo& type, std::int32_t target);
  // Begins to receive exactly that message.
  [[nodiscard]] Request* receive(Group& group, std::uint32_t context, std::int32_t tag, void* data, std::uint64_t count,
                                 const TypeInfo& type, std::int32_t source);
  // Does the same with `bytes`, which is resized for what arrives and must keep its address.
  [[nodiscard]] Request* receive_bytes(Group& group, std::uint32_t context, std::int32_t tag, std::string& bytes,
                                       std::int32_t source);
  // Sends a short message if that can be done at once. Returns false if nothing was sent. The bytes are copied.
  bool send_at_once(Group& group, std::uint32_t context, std::int32_t tag, std::span<const std::byte> bytes,
                    std::int32_t target) noexcept;
  // Begins to receive a message of at most bytes.size() bytes, and spins for it: it may be done when this returns.
  // `bytes` must keep the address of its characters.
  [[nodiscard]] Request* receive_soon(Group& group, std::uint32_t context, std::int32_t tag, std::string& bytes,
                                      std::int32_t source);
  // Makes a request that nothing completes but keep(): a call of the user that stands for many messages. what: its
  // name in texts, which outlives the request.
  [[nodiscard]] Request* promise(Group& group, const std::string& what);
  void keep(Request& promise, Status status) noexcept;
  // Takes back a request that is done, and returns its status.
  Status end(Request*& request);
  // Takes back a receive that no message has met. Returns false if one has, or if the request is a send.
  bool withdraw(Request*& request) noexcept;
  // Takes a receive back, however far it has come. It gets its memory, and ends by itself if its message is under way.
  void abandon(Request*& request, std::unique_ptr<OwnMemory> memory) noexcept;
  // Moves the message of a request that cannot be withdrawn to memory of its own, so that the caller's memory is free,
  // and takes the request back: it ends by itself, however late the peer makes its next call. Returns false if the
  // request is done, if it grows with what arrives, if the peer may be writing into the caller's memory, or if there is
  // no memory.
  bool detach(Request*& request) noexcept;

  // Polls the channel of `request` for a short time. Returns true if it is done.
  bool spin(const Request& request) noexcept {
    return messenger_.waiting_.has_engine() && messenger_.waiting_.spin(request);
  }
  // Polls the channel of `request` once, for a caller that polls many. Returns true if the request is done.
  bool poll(const Request& request) noexcept;
  // Waits until done() returns true. Returns timeout, interrupted or state as Engine::wait does.
  Status wait(const std::function<bool()>& done, std::uint64_t deadline_ns, const std::function<std::string()>& what);
  // Called while this process waits for `request`: the death of its source is noticed without a hub, too.
  void watch(const Request& request) noexcept;
  // The same for a process that waits for something of `peer`, which has to send it unasked.
  void watch(channel::PeerId peer) noexcept;
  // Takes in what has come from the peer.
  void look(channel::PeerId peer) noexcept;

  // Returns a message that has arrived from the peer with this tag, without receiving it; nothing if there is none, or
  // if only its envelope has come.
  [[nodiscard]] std::span<const std::byte> arrived(channel::PeerId peer, std::uint32_t context,
                                                   std::int32_t tag) const noexcept;
  // Drops what has arrived from the peer in a context that has ended, and what any peer sends in it later. A sender
  // that has offered a large message is told that it is not needed.
  void drop(channel::PeerId peer, std::uint32_t context) noexcept;
  // How often the peer was lost so far; without a peer: how often any was.
  [[nodiscard]] std::uint64_t losses(std::optional<channel::PeerId> peer = std::nullopt) const noexcept;
  // Had the peer left in good order when it was last lost? It may be back since.
  [[nodiscard]] bool has_left(channel::PeerId peer) const noexcept;
  // Is the peer lost, and not back?
  [[nodiscard]] bool is_lost(channel::PeerId peer) const noexcept;
  // Is there a channel to the peer?
  [[nodiscard]] bool is_connected(channel::PeerId peer) const noexcept;
  // Why the peer was last lost; ok: it never was.
  [[nodiscard]] Status loss(channel::PeerId peer) const;
  [[nodiscard]] std::string name(channel::PeerId peer) const { return messenger_.peers_.name(peer); }
  [[nodiscard]] Messenger& messenger() const noexcept { return messenger_; }

 private:
  Messenger& messenger_;
};

}  // namespace couplet::message
