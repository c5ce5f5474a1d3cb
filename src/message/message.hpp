// message: turns tagged sends and receives over groups into frames, and frames into completed requests, by MPI's rules.
// Above: series, relay, runtime, capi. Below: channel (through Channels), engine, wire; os for a peer's memory.
// Invariants: messages of one (source, tag, group) match in the order in which they were sent; messages of a peer that
// no receive has asked for take at most payload_credit_bytes here, and further ones wait at their sender as envelopes;
// a lost peer ends every request that only it could complete, with a text that names it; a short message needs no
// allocation and no system call here; data moves only in calls; a request cannot be cancelled. Tests:
// tests/unit/message, tests/conformance/message, tests/sim/message.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "channel/channel.hpp"
#include "channel/channels.hpp"
#include "counters/counters.hpp"
#include "engine/engine.hpp"
#include "engine/peer_patience.hpp"
#include "message/flow.hpp"
#include "message/group.hpp"
#include "message/pool.hpp"

namespace couplet::message {

using channel::Channels;

// A part of the format: a receiver never keeps more for one peer.
inline constexpr std::uint64_t largest_payload_credit = wire::max_payload_credit;
inline constexpr std::uint64_t largest_envelope_count = 65536;
// The largest message of the library itself (agreements, tasks). Its receiver makes room for as much as the sender
// announces, up to this bound.
inline constexpr std::uint64_t max_internal_message_bytes = std::uint64_t{1} << 30;

// The limits of one link, if they are not those of its lanes.
struct LinkLimits {
  std::string link;                          // the name of its lanes
  std::optional<std::uint64_t> eager_bytes;  // up to this size, messages are sent without asking
  std::optional<std::uint64_t> piece_bytes;  // the size of the pieces in which large messages are sent
};

struct MessengerOptions {
  std::uint64_t payload_credit_bytes = largest_payload_credit;  // may only be lowered
  std::uint64_t envelope_limit = largest_envelope_count;        // may only be lowered
  // The credit that all peers together may be given, as they use it, beyond the credit with which they begin.
  std::uint64_t max_grown_credit_bytes = wire::max_total_credit_bytes;
  std::optional<std::uint64_t> eager_bytes;  // for all links
  std::optional<std::uint64_t> piece_bytes;  // for all links
  std::vector<LinkLimits> link_limits;       // for what is not set for all
  // Called before a call fails because of lost peers: waits for news of peers that are back. May be empty.
  std::function<void()> ask_for_news;
  bool read_memory = true;  // use process_vm_readv if it is proven to work
  // How many times one channel is polled before Engine::wait; 0: never. Not used while Engine::spin_ns is 0.
  int spin_rounds = 4000;
  std::uint64_t retained_bytes = std::uint64_t{8} << 20;  // kept blocks for messages that no receive has asked for
  bool foreign_byte_order = false;  // for tests: claims that sent numbers have the other byte order
  // The counters of the process page, which outlive the messenger. If not set, the messenger counts for itself.
  counters::Counters* counters = nullptr;
};

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

// The contexts of the library that have ended, as far as they are remembered: messages that arrive in them are dropped.
// Only the last `kept` ones are remembered. A message in an older one is stored like any message without a receive.
class EndedContexts {
 public:
  static constexpr std::size_t kept = 256;
  void add(std::uint32_t context) noexcept { ring_[next_++ % kept] = context; }
  [[nodiscard]] bool has(std::uint32_t context) const noexcept {
    return (context & internal_context) != 0 && std::find(ring_.begin(), ring_.end(), context) != ring_.end();
  }

 private:
  std::array<std::uint32_t, kept> ring_{};  // 0: none
  std::size_t next_ = 0;
};

class Courier;
class Probe;

class Messenger final : public channel::FrameHandler {
 public:
  // self: the own rank in the universe. size: the size of the universe. engine: nullptr if only non-blocking calls are
  // made, and the caller polls the channels (tests). channels and engine outlive the messenger; all channels have ended
  // before it is destroyed.
  Messenger(Channels& channels, engine::Engine* engine, channel::PeerId self, std::int32_t size,
            const MessengerOptions& options);
  ~Messenger() override;
  Messenger(const Messenger&) = delete;
  Messenger& operator=(const Messenger&) = delete;

  // ---- groups ----
  [[nodiscard]] Group& universe_group() noexcept { return *universe_group_; }
  // Returns the group of the ranks [first, first + count), with the program's name. Called once, by runtime.
  Result<Group*> program_group(std::string_view program, std::int32_t first, std::int32_t count);
  // Returns argument; or exists, if another group of this process has the same context.
  Result<Group*> create_group(std::string_view name, std::span<const std::int32_t> ranks);
  // Returns state if requests of the group are pending.
  Status free_group(Group& group);

  // ---- messages: as in couplet.h; text of errors names rank, tag and group ----
  Status send(Group& group, const void* data, std::uint64_t count, couplet_type type, std::int32_t target,
              std::int32_t tag);
  // message may be nullptr.
  Status recv(Group& group, void* data, std::uint64_t count, couplet_type type, std::int32_t source, std::int32_t tag,
              couplet_message* message);
  Status isend(Group& group, const void* data, std::uint64_t count, couplet_type type, std::int32_t target,
               std::int32_t tag, Request** request);
  Status irecv(Group& group, void* data, std::uint64_t count, couplet_type type, std::int32_t source, std::int32_t tag,
               Request** request);
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

  // ---- for the library itself: contexts with the bit internal_context ----
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
  // Ends every request with `why`, and all channels: the universe is being left while other threads wait.
  void abandon(const Status& why) noexcept;
  // There is no memory to send a member something for which it waits. Its channel fails, with a text that names the
  // peer.
  void give_up_peer(Group& group, std::int32_t rank, const Status& why) noexcept;

  // ---- peers ----
  // The membership says that the peer is gone, whether or not there was a channel.
  void peer_lost(channel::PeerId peer, const Status& why);
  // The peer has a new incarnation, to which all calls from now on refer.
  void peer_returned(channel::PeerId peer);
  // Sets the size up to which messages are sent without asking, for one peer or, if none is given, for all.
  void set_eager_bytes(std::uint64_t bytes, std::optional<channel::PeerId> peer = std::nullopt);
  [[nodiscard]] std::vector<PeerReport> report() const;
  // Waits until the peers have received everything that was sent; over a lane that cannot break, it is enough that the
  // lane has taken it. When `patience` has ended, it is enough if the system has taken everything; otherwise returns
  // timeout.
  Status flush(engine::PeerPatience& patience);
  // Returns the number of sends and receives that are not complete.
  [[nodiscard]] std::size_t pending() const noexcept { return pending_; }
  // Returns the bytes of the blocks that hold messages which no receive has asked for.
  [[nodiscard]] std::uint64_t stored_bytes() const noexcept { return blocks_.used_bytes(); }

  // ---- FrameHandler ----
  [[nodiscard]] std::byte* place(channel::Channel& channel, const wire::FrameHeader& header) override;
  Status arrived(channel::Channel& channel, const wire::FrameHeader& header,
                 std::span<const std::byte> payload) override;
  void lost(channel::Channel& channel, const Status& why) override;

 private:
  friend class Courier;
  friend class Probe;
  using Counter = counters::Counter;
  struct CookieSlot {
    Request* request = nullptr;
    std::uint32_t generation = 1;
  };
  // Gives a request back to the pool, unless it is released before.
  class RequestHold {
   public:
    explicit RequestHold(Messenger& messenger) : messenger_(messenger), request_(messenger.take_request()) {}
    RequestHold(const RequestHold&) = delete;
    RequestHold& operator=(const RequestHold&) = delete;
    ~RequestHold() {
      if (request_ != nullptr) messenger_.give_request(request_);
    }
    Request& operator*() const noexcept { return *request_; }
    Request* operator->() const noexcept { return request_; }
    Request* release() noexcept { return std::exchange(request_, nullptr); }

   private:
    Messenger& messenger_;
    Request* request_;
  };

  // messenger.cpp: groups, peers, requests
  Flow& flow_to(channel::PeerId peer);
  Flow* flow_of(channel::Channel& channel);
  void adopt(Flow& flow, channel::Channel& channel);
  Status settle(Flow& flow);
  void set_limit(Flow& flow);
  Result<Group*> keep_group(Result<Group> made);
  void lose(Flow& flow, const Status& why) noexcept;
  void lose_any_source();
  [[nodiscard]] Status all_others_lost(const Group& group) const;
  [[nodiscard]] Status senders_left(const Request& request) const;
  bool take_arrived(Request& request) noexcept;
  void look_for_returned() noexcept;
  [[nodiscard]] Status loss_of(const Flow& flow, const Status& why) const noexcept;
  [[nodiscard]] Status loss_text(const Flow& flow, const Status& why) const;
  Request* take_request();
  void give_request(Request* request) noexcept;
  // The message was sent, or has arrived.
  void finish(Request& request) noexcept {
    count(request);
    end(request);
  }
  void finish(Request& request, Status status) noexcept;
  void end(Request& request) noexcept {
    request.done = true;
    request.stage = Stage::finished;
    --pending_;
    --request.group->pending;
    if (request.cookie != 0) release_cookie(request);
    if (request.detached) give_request(&request);
  }
  // Messages of the library itself are not counted.
  void count(const Request& request) noexcept {
    if (request.uncounted || request.text != nullptr || request.owned != nullptr) return;
    if (request.sending) {
      const bool announced = request.stage == Stage::offered || request.stage == Stage::moving;
      count_sent(*request.flow, request.bytes, announced ? Counter::messages_rendezvous : Counter::messages_eager);
    } else {
      counters_.add(counters::of_link(Counter::messages_received_self, request.flow->link));
      counters_.add(counters::of_link(Counter::message_bytes_received_self, request.flow->link), request.result.bytes);
    }
  }
  void count_sent(const Flow& flow, std::uint64_t bytes, counters::Counter how) noexcept {
    counters_.add(counters::of_link(Counter::messages_sent_self, flow.link));
    counters_.add(counters::of_link(Counter::message_bytes_sent_self, flow.link), bytes);
    counters_.add(how);
  }
  std::uint64_t register_cookie(Request& request) noexcept;
  void release_cookie(Request& request) noexcept;
  Request* find_cookie(std::uint64_t cookie, const Flow& flow, bool sending) const noexcept;
  [[nodiscard]] std::string describe(const Request& request) const;

  // send.cpp
  Status misused_send(const Group& group, const void* data, std::uint64_t count, couplet_type type, std::int32_t target,
                      std::int32_t tag) const;
  // Sends an eager message if credit and lane allow it now. Returns false if nothing was sent.
  bool sent_at_once(Flow& flow, std::uint32_t context, std::int32_t tag, std::span<const std::byte> bytes);
  Status begin_send(Request& request);
  void queue_eager(Request& request) noexcept;
  void offer(Request& request) noexcept;
  void pump(Request& request) noexcept;
  void taken(Request& request, const Status& status) noexcept;
  bool try_send(Flow& flow, wire::FrameHeader& header, std::span<const std::byte> payload) noexcept;
  void hand_over(Flow& flow, channel::Outgoing& outgoing) noexcept;
  void end_moving(Request& request) noexcept;
  void conclude(Request& request) noexcept;
  channel::Outgoing* free_piece(Request& request) noexcept;
  static void outgoing_finished(channel::Outgoing& outgoing, const Status& status) noexcept;
  static void piece_finished(channel::Outgoing& outgoing, const Status& status) noexcept;
  static void control_finished(channel::Outgoing& outgoing, const Status& status) noexcept;
  void post_control(Flow& flow, wire::FrameHeader& header, std::span<const std::byte> payload) noexcept;
  Status finish_blocking_send(Request& request);

  // receive.cpp
  void prepare_receive(Request& request, Group& group, void* data, std::uint64_t count, const TypeInfo& type,
                       std::int32_t source, std::int32_t tag);
  Status misused_receive(const Group& group, const void* data, std::uint64_t count, couplet_type type,
                         std::int32_t source, std::int32_t tag) const;
  // From here on a receive is either in a list or done, whatever fails. Nothing below throws.
  void begin_receive(Request& request) noexcept;
  void post(Request& request) noexcept;
  void unpost(Request& request) noexcept;
  Arrival* find_arrival(const Request& request) noexcept;
  void take_arrival(Request& request, Arrival& arrival) noexcept;
  void forget_arrival(Arrival& arrival) noexcept;
  void release_storage(Arrival& arrival) noexcept;
  void set_source(Request& request, Flow& flow, std::int32_t tag, std::uint64_t bytes) const noexcept;
  bool prepare_buffer(Request& request, std::uint64_t bytes) noexcept;
  [[nodiscard]] Status misfit(const Request& request, std::uint64_t bytes) const;
  [[nodiscard]] Status grow_text(Request& request, std::uint64_t bytes) const;
  void deliver(Request& request, const std::byte* payload, bool swap) noexcept;
  void begin_rendezvous(Request& request, std::uint64_t bytes, std::uint64_t cookie, std::uint64_t address) noexcept;
  static Status read_piece(const os::ProcessMemory& memory, std::uint64_t address, std::byte* target,
                           std::uint64_t bytes) noexcept;
  bool read_memory(Request& request, std::uint64_t address) noexcept;
  static void refuse_reach(Flow& flow, const Status& why) noexcept;
  void ask_for_pieces(Request& request, std::uint64_t cookie) noexcept;
  void give_up(Request& request, std::uint64_t cookie) noexcept;
  void send_done(Flow& flow, std::uint64_t cookie) noexcept;
  Status finish_blocking_receive(Request& request, std::uint64_t deadline_ns);

  // arrive.cpp
  bool taken_at_once(channel::Channel& channel, const wire::FrameHeader& header, std::span<const std::byte> payload);
  static Request* first_posted(const Flow& flow, std::uint32_t context, std::int32_t tag) noexcept;
  Request* match(Flow& flow, std::uint32_t context, std::int32_t tag);
  std::byte* place_in(Flow& flow, const wire::FrameHeader& header);
  Arrival* store(Flow& flow, const wire::FrameHeader& header, bool envelope);
  Status dispatch(channel::Channel& channel, const wire::FrameHeader& header, std::span<const std::byte> payload);
  void return_credit(Flow& flow, std::uint64_t bytes) noexcept {
    flow.owed += bytes;
    if (flow.owed >= flow.granted / 4 && flow.channel != nullptr) send_credit(flow);
  }
  [[nodiscard]] std::uint64_t first_credit() const noexcept {
    const std::uint64_t first = wire::first_payload_credit(static_cast<std::uint64_t>(size_));
    return first < options_.payload_credit_bytes ? first : options_.payload_credit_bytes;
  }
  [[nodiscard]] std::uint64_t grow_credit(Flow& flow) noexcept;
  void reset_credit(Flow& flow) noexcept;
  void send_credit(Flow& flow) noexcept;
  Status eager_arrived(Flow& flow, const wire::FrameHeader& header, std::span<const std::byte> payload);
  Status envelope_arrived(Flow& flow, const wire::FrameHeader& header, std::span<const std::byte> payload);
  Status clear_arrived(Flow& flow, const wire::FrameHeader& header);
  Status data_arrived(Flow& flow, const wire::FrameHeader& header, std::span<const std::byte> payload);
  Status done_arrived(Flow& flow, const wire::FrameHeader& header);
  Status credit_arrived(Flow& flow, std::uint64_t bytes);
  void prove_reach(Flow& flow, const wire::Envelope& envelope) const noexcept;
  [[nodiscard]] std::string prove(Flow& flow, const wire::Envelope& envelope) const;
  [[nodiscard]] bool swaps(const wire::FrameHeader& header) const noexcept {
    return ((header.kind & wire::message_big_endian) != 0) != wire::own_big_endian;
  }

  // share.cpp
  [[nodiscard]] std::atomic<std::uint64_t>* word_to_share(const Flow& flow, std::uint64_t bytes) const noexcept;
  void share(Request& request, std::uint64_t cookie, std::uint64_t address, std::atomic<std::uint64_t>& word) noexcept;
  void shared_copied(Request& request, bool whole) noexcept;
  Status share_arrived(Flow& flow, const wire::FrameHeader& header, std::span<const std::byte> payload);
  Status shared_arrived(Flow& flow, const wire::FrameHeader& header);
  [[nodiscard]] wire::Envelope own_memory(const void* data) const noexcept;

  // wait.cpp
  [[nodiscard]] int rounds_for(const Request& request) const noexcept;
  [[nodiscard]] bool may_spin() const noexcept {
    return options_.spin_rounds > 0 && (engine_ == nullptr || engine_->spin_ns() > 0);
  }
  bool spin(const Request& request) noexcept;
  int poll_channel(channel::Channel& channel, int budget) noexcept;
  Status block(Request& request, std::uint64_t deadline_ns) noexcept;
  Status wait_until(const std::function<bool()>& done, std::uint64_t deadline_ns,
                    const std::function<std::string()>& what, bool interruptible) noexcept;
  Status finish_wait(Request& request, std::uint64_t deadline_ns) noexcept;
  Status collect(Request** request, couplet_message* message);

  Channels& channels_;
  engine::Engine* engine_;
  channel::PeerId self_;
  std::int32_t size_;
  MessengerOptions options_;
  counters::Counters own_counters_;
  counters::Counters& counters_;
  std::vector<std::unique_ptr<Flow>> flows_;  // by rank in the universe; made on first use
  std::uint64_t posted_order_ = 0;
  RequestChain any_source_;
  ArrivalsOfAll arrivals_;
  std::uint32_t rounds_ = 0;
  std::size_t pending_ = 0;
  struct Losses {
    std::size_t peers = 0;    // that are lost now
    std::uint64_t count = 0;  // how often any peer was lost
  } losses_;
  std::uint64_t grown_credit_bytes_ = 0;  // beyond the credit with which peers begin
  bool big_endian_ = false;               // the byte order that sent frames claim
  Group* universe_group_ = nullptr;
  std::vector<std::unique_ptr<Group>> groups_;
  Pool<Request> requests_;
  Pool<Arrival> arrival_pool_;
  Pool<ControlFrame> controls_;
  Pool<PieceFrame> pieces_;
  BlockPool blocks_;
  std::vector<CookieSlot> cookies_;
  std::vector<std::uint32_t> free_cookies_;
  std::unique_ptr<std::array<std::uint8_t, 16>> nonce_;
  EndedContexts ended_;
};

}  // namespace couplet::message
