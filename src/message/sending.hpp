// Sending: eager where credit allows it, otherwise an envelope, and pieces when the receiver asks for them.
// Invariants: a short message needs no allocation and no system call; nothing throws once a request is counted; the
// channel gives every frame back, also after the peer is lost. Tests: tests/unit/message, tests/conformance/message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/status.hpp"
#include "message/frame_sender.hpp"
#include "message/options.hpp"
#include "message/peer_memory.hpp"
#include "message/peers.hpp"
#include "message/requests.hpp"
#include "message/waiting.hpp"

namespace couplet::message {

class Sending {
 public:
  // All of them outlive this.
  Sending(const MessengerOptions& options, Peers& peers, Requests& requests, FrameSender& frames, PeerMemory& memory,
          Waiting& waiting)
      : options_(options), peers_(peers), requests_(requests), frames_(frames), memory_(memory), waiting_(waiting) {}

  // As Messenger::send and Messenger::isend.
  Status send(Group& group, const void* data, std::uint64_t count, couplet_type type, std::int32_t target,
              std::int32_t tag);
  Status isend(Group& group, const void* data, std::uint64_t count, couplet_type type, std::int32_t target,
               std::int32_t tag, Request** request);
  // Does not wait: the bytes are copied, and sent when that is possible.
  Status send_copy(Group& group, std::uint32_t context, std::string bytes, std::int32_t target, std::int32_t tag);
  // Sends an eager message if credit and lane allow it now. Returns false if nothing was sent.
  bool send_at_once(Flow& flow, std::uint32_t context, std::int32_t tag, std::span<const std::byte> bytes);
  // Starts a request; an error, or an exception, means that it was never made.
  Status begin(Request& request);
  // Sends the pieces of a message that was offered. The receiver has asked for them under this cookie.
  void send_pieces(Request& request, std::uint64_t peer_cookie) noexcept;

 private:
  [[nodiscard]] Status prepare_items(Request& request, Group& group, const void* data, std::uint64_t count,
                                     couplet_type type, std::int32_t target, std::int32_t tag);
  Status send_items(Group& group, const void* data, std::uint64_t count, couplet_type type, std::int32_t target,
                    std::int32_t tag);
  Status isend_items(Group& group, const void* data, std::uint64_t count, couplet_type type, std::int32_t target,
                     std::int32_t tag, Request** request);
  bool send_eagerly(Flow& flow, std::uint32_t context, std::int32_t tag, std::span<const std::byte> bytes);
  void finish(Request& request);
  void queue_eager(Request& request) noexcept;
  void offer(Request& request) noexcept;
  channel::Outgoing* free_piece(Request& request) noexcept;
  void pump(Request& request) noexcept;
  void end_moving(Request& request) noexcept;
  void conclude(Request& request) noexcept;
  void taken(Request& request, const Status& status) noexcept;
  static void frame_finished(channel::Outgoing& outgoing, const Status& status) noexcept;
  static void piece_finished(channel::Outgoing& outgoing, const Status& status) noexcept;

  const MessengerOptions& options_;
  Peers& peers_;
  Requests& requests_;
  FrameSender& frames_;
  PeerMemory& memory_;
  Waiting& waiting_;
  Pool<PieceFrame> pieces_;
};

}  // namespace couplet::message
