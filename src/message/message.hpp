// message: turns tagged sends and receives over groups into frames, and frames into completed requests, by MPI's rules.
// Above: series, relay, runtime, capi. Below: channel (through Channels), engine, wire; os for a peer's memory.
// Invariants: messages of one (source, tag, group) match in the order in which they were sent; messages of a peer that
// no receive has asked for take at most payload_credit_bytes here, and further ones wait at their sender as envelopes;
// a lost peer ends every request that only it could complete, with a text that names it; a short message needs no
// allocation and no system call here; data moves only in calls; a request cannot be cancelled. Tests:
// tests/unit/message, tests/conformance/message, tests/sim/message.
//
// The Messenger is what the layers above call. Its parts, each in a header of its own: GroupSet; Peers (the state of
// each peer), Credit, Requests, Matching; FrameSender, PeerMemory and SharedCopy (how bytes go and come); Waiting; and
// on top of these Sending, Receiving, and Arriving, which gets the frames.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "channel/channel.hpp"
#include "channel/channels.hpp"
#include "counters/counters.hpp"
#include "engine/engine.hpp"
#include "engine/peer_patience.hpp"
#include "message/arriving.hpp"
#include "message/flow.hpp"
#include "message/group_set.hpp"
#include "message/options.hpp"

namespace couplet::message {

using channel::Channels;

// The facts about one peer, for `couplet explain`.
struct PeerReport {
  channel::PeerId peer = 0;
  std::string name;
  std::string link;  // the link of the first lane; empty: there was none
  std::uint64_t eager_bytes = 0;
  std::uint64_t piece_bytes = 0;
  std::string large_messages;  // "read from the sender's memory", "copied in pieces", ...
  std::string why;
  std::uint64_t credit_bytes = 0;  // the credit that is left to send eager messages
  std::uint64_t stored_bytes = 0;  // bytes of messages from the peer that no receive has asked for
  std::uint64_t envelopes = 0;     // envelopes from the peer that no receive has asked for
  bool lost = false;
};

class Messenger {
 public:
  // self: the own rank in the universe. size: the size of the universe. engine: nullptr if only non-blocking calls are
  // made, and the caller polls the channels (tests). channels and engine outlive the messenger; all channels have ended
  // before it is destroyed.
  Messenger(Channels& channels, engine::Engine* engine, channel::PeerId self, std::int32_t size,
            const MessengerOptions& options);
  Messenger(const Messenger&) = delete;
  Messenger& operator=(const Messenger&) = delete;

  [[nodiscard]] GroupSet& groups() noexcept { return groups_; }
  // What gets the frames of messages.
  [[nodiscard]] channel::FrameHandler& handler() noexcept { return arriving_; }

  // ---- messages: as in couplet.h; text of errors names rank, tag and group ----
  Status send(Group& group, const void* data, std::uint64_t count, couplet_type type, std::int32_t target,
              std::int32_t tag) {
    return sending_.send(group, data, count, type, target, tag);
  }
  // message may be nullptr.
  Status recv(Group& group, void* data, std::uint64_t count, couplet_type type, std::int32_t source, std::int32_t tag,
              couplet_message* message) {
    return receiving_.recv(group, data, count, type, source, tag, message);
  }
  Status isend(Group& group, const void* data, std::uint64_t count, couplet_type type, std::int32_t target,
               std::int32_t tag, Request** request) {
    return sending_.isend(group, data, count, type, target, tag, request);
  }
  Status irecv(Group& group, void* data, std::uint64_t count, couplet_type type, std::int32_t source, std::int32_t tag,
               Request** request) {
    return receiving_.irecv(group, data, count, type, source, tag, request);
  }
  // Sets *request to nullptr, unless the answer is timeout or interrupted.
  Status wait(Request** request, std::uint64_t deadline_ns, couplet_message* message);
  // Takes back a receive that no message has matched, and sets *request to nullptr. Any other request stays.
  void withdraw(Request** request);
  // Moves data once. Returns not_yet if the request is not done; *request then stays.
  Status test(Request** request, couplet_message* message);
  // statuses, messages: nullptr, or as many as requests. If the answer is interrupted, the requests that were done are
  // done, and the others stay.
  Status waitall(std::span<Request*> requests, std::uint64_t deadline_ns, couplet_status* statuses,
                 couplet_message* messages);
  // index: becomes -1 if all requests are nullptr.
  Status waitany(std::span<Request*> requests, std::uint64_t deadline_ns, std::int32_t* index,
                 couplet_message* message);

  // ---- for the library itself: contexts with the bit internal_context (see Courier, too) ----
  // Does not wait: the bytes are copied, and sent when that is possible.
  Status send_internal(Group& group, std::uint32_t context, std::string bytes, std::int32_t target, std::int32_t tag);
  // `bytes` is resized for what arrives. After timeout the receive is forgotten, unless its message is already
  // arriving.
  Status recv_internal(Group& group, std::uint32_t context, std::string& bytes, std::int32_t source, std::int32_t tag,
                       std::uint64_t deadline_ns);
  // Begins to receive from any rank of the group, with any tag. `bytes` is resized for what arrives, and must keep its
  // address. The message is there when request->done; wait() then takes it.
  Request* irecv_internal(Group& group, std::uint32_t context, std::string& bytes);
  // Drops what has arrived from that peer in a context that nobody receives in any more, and what still arrives.
  // Returns false, and does nothing, if `only_arrived` is set and nothing has arrived in it.
  bool end_internal(channel::PeerId peer, std::uint32_t context, bool only_arrived = false) noexcept;
  // Waits until then, and moves what can be moved meanwhile.
  void move_until(std::uint64_t until_ns) noexcept;

  // ---- peers ----
  // The membership says that the peer is gone, whether or not there was a channel.
  void peer_lost(channel::PeerId peer, const Status& why);
  // The peer has a new incarnation, to which all calls from now on refer.
  void peer_returned(channel::PeerId peer) { peers_.take_back(peer); }
  // There is no memory to send a member something for which it waits. Its channel fails, with a text that names the
  // peer.
  void give_up_peer(Group& group, std::int32_t rank, const Status& why) noexcept;
  // Ends every request with `why`, and all channels: the universe is being left while other threads wait.
  void abandon(const Status& why) noexcept;
  // Sets the size up to which messages are sent without asking, for one peer or, if none is given, for all.
  void set_eager_bytes(std::uint64_t bytes, std::optional<channel::PeerId> peer = std::nullopt) {
    peers_.set_eager_bytes(bytes, peer);
  }
  [[nodiscard]] std::vector<PeerReport> report() const;
  // Waits until the peers have received everything that was sent; over a lane that cannot break, it is enough that the
  // lane has taken it. When `patience` has ended, it is enough if the system has taken everything; otherwise returns
  // timeout. Returns the error of a send that has failed, if no call has asked about it.
  Status flush(engine::PeerPatience& patience);
  // Returns the number of sends and receives that are not complete.
  [[nodiscard]] std::size_t pending() const noexcept { return requests_.pending(); }
  // Returns the bytes of the blocks that hold messages which no receive has asked for.
  [[nodiscard]] std::uint64_t stored_bytes() const noexcept { return matching_.stored_bytes(); }

 private:
  friend class Courier;
  friend class Probe;

  Channels& channels_;
  MessengerOptions options_;
  counters::Counters own_counters_;
  Requests requests_;
  GroupSet groups_;
  Matching matching_;
  FrameSender frames_;
  Credit credit_;
  PeerMemory memory_;
  Waiting waiting_;
  SharedCopy sharing_;
  Peers peers_;
  Sending sending_;
  Receiving receiving_;
  Arriving arriving_;
};

}  // namespace couplet::message
