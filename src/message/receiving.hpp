// Receiving: takes a message that has arrived already, or posts a receive for one that will. Large messages are read
// directly from the sender's memory, if that is possible, and otherwise asked for in pieces.
// Invariant: from begin() on a receive is either in a list or done, whatever fails; nothing after it throws.
// Tests: tests/unit/message, tests/conformance/message.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "message/credit.hpp"
#include "message/frame_sender.hpp"
#include "message/matching.hpp"
#include "message/peer_memory.hpp"
#include "message/peers.hpp"
#include "message/requests.hpp"
#include "message/shared_copy.hpp"
#include "message/waiting.hpp"

namespace couplet::message {

// Returns the error of a receive with such arguments. REQUIRES: one of them is wrong.
[[nodiscard]] Status misused_receive(const Group& group, const void* data, std::uint64_t count, couplet_type type,
                                     std::int32_t source, std::int32_t tag);

class Receiving {
 public:
  // All of them outlive this.
  Receiving(Peers& peers, Requests& requests, Matching& matching, FrameSender& frames, Credit& credit,
            PeerMemory& memory, SharedCopy& sharing, Waiting& waiting)
      : peers_(peers),
        requests_(requests),
        matching_(matching),
        frames_(frames),
        credit_(credit),
        memory_(memory),
        sharing_(sharing),
        waiting_(waiting) {}

  // As Messenger::recv and Messenger::irecv.
  Status recv(Group& group, void* data, std::uint64_t count, couplet_type type, std::int32_t source, std::int32_t tag,
              couplet_message* message);
  Status irecv(Group& group, void* data, std::uint64_t count, couplet_type type, std::int32_t source, std::int32_t tag,
               Request** request);
  // Fills in what a receive asks for.
  void prepare(Request& request, Group& group, void* data, std::uint64_t count, const TypeInfo& type,
               std::int32_t source, std::int32_t tag);
  // Looks among the messages that have arrived first. If none matches, posts the receive.
  void begin(Request& request) noexcept;
  // Removes a posted receive that no message has matched.
  void unpost(Request& request) noexcept {
    matching_.unpost(request);
    requests_.end(request);
  }
  // The same for one that ends with an error.
  void end_with(Request& request, const Status& why) noexcept {
    matching_.unpost(request);
    requests_.finish(request, why);
  }
  // Waits for a blocking receive. After timeout or interrupted, the receive is forgotten; otherwise it is done.
  Status finish(Request& request, std::uint64_t deadline_ns);

  // ---- a receive that a message has matched ----
  // Says whose message it is, and of which tag and size.
  static void set_source(Request& request, Flow& flow, std::int32_t tag, std::uint64_t bytes) noexcept;
  // Returns false if the message cannot be put into the buffer; the request is then finished.
  bool prepare_buffer(Request& request, std::uint64_t bytes) noexcept;
  // The message is complete: copies it to the buffer, or ends the request with an error if it does not fit.
  void deliver(Request& request, std::span<const std::byte> payload, bool swap) noexcept;
  // The same for a message that fits (prepare_buffer), and may already be in the buffer.
  void complete(Request& request, const std::byte* payload, bool swap) noexcept;
  // Called when the request has matched an envelope. cookie and address are the sender's.
  void begin_rendezvous(Request& request, std::uint64_t bytes, std::uint64_t cookie, std::uint64_t address) noexcept;
  // The sender has copied its pieces of a message that both copy.
  void end_shared(Request& request, bool is_whole) noexcept;
  // Frees a message that no receive has asked for, and gives its credit back.
  void forget(Arrival& arrival) noexcept;

 private:
  [[nodiscard]] Status prepare_items(Request& request, Group& group, void* data, std::uint64_t count, couplet_type type,
                                     std::int32_t source, std::int32_t tag);
  Status recv_items(Group& group, void* data, std::uint64_t count, couplet_type type, std::int32_t source,
                    std::int32_t tag, couplet_message* message);
  Status irecv_items(Group& group, void* data, std::uint64_t count, couplet_type type, std::int32_t source,
                     std::int32_t tag, Request** request);
  bool take_arrived(Request& request) noexcept;
  bool tells_of_loss(Request& request) noexcept;
  void take(Request& request, Arrival& arrival) noexcept;
  [[nodiscard]] Status misfit(const Request& request, std::uint64_t bytes) const;
  [[nodiscard]] Status grow_text(Request& request, std::uint64_t bytes) const;
  void share(Request& request, std::uint64_t cookie, std::uint64_t address, std::atomic<std::uint64_t>& word) noexcept;
  void ask_for_pieces(Request& request, std::uint64_t cookie) noexcept;
  void give_up(Request& request, std::uint64_t cookie) noexcept;

  Peers& peers_;
  Requests& requests_;
  Matching& matching_;
  FrameSender& frames_;
  Credit& credit_;
  PeerMemory& memory_;
  SharedCopy& sharing_;
  Waiting& waiting_;
};

}  // namespace couplet::message
