// What message keeps per request, per message that nobody has asked for yet, and per peer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/status.hpp"
#include "base/types.hpp"
#include "channel/channel.hpp"
#include "counters/counters.hpp"
#include "couplet/couplet.h"
#include "message/chain.hpp"
#include "message/group.hpp"
#include "message/match_list.hpp"
#include "os/process_memory.hpp"
#include "wire/message.hpp"

namespace couplet::message {

class Messenger;
struct Flow;

enum class Stage : std::uint8_t {
  posted,      // receive: in a list of posted receives
  placing,     // receive: matched an eager message that is still arriving
  collecting,  // receive: matched an envelope, pieces are coming
  shared,      // receive: matched an envelope, own pieces are there, the sender copies the others
  queued,      // send: an eager frame that waits for room
  offered,     // send: an envelope is out
  moving,      // send: pieces are going
  finished,
};

// A send or a receive. Lives on the stack of a blocking call or in the pool.
struct Request {
  bool done = false;
  Stage stage = Stage::posted;
  bool sending = false;
  bool in_channel = false;  // `outgoing` is the channel's
  bool pumping = false;
  std::uint8_t more_pieces = 0;  // send: of ours that are the channel's, beside `outgoing`
  bool pooled = false;
  bool swap = false;               // what arrives has the other byte order
  bool detached = false;           // goes back to the pool by itself
  bool whole = true;               // shared: the own pieces are there
  std::uint8_t element_shift = 0;  // an element has 1 << element_shift bytes
  std::uint32_t context = 0;
  std::int32_t tag = 0;
  Request* next = nullptr;
  Request* previous = nullptr;
  Request* next_alike = nullptr;  // posted receives: of the same context and tag
  Request* previous_alike = nullptr;
  Flow* flow = nullptr;  // receive: nullptr: any source
  Group* group = nullptr;
  const TypeInfo* type = nullptr;
  std::byte* data = nullptr;
  std::uint64_t bytes = 0;             // of the buffer
  std::string* text = nullptr;         // receive of the library itself: grows to what arrives
  std::unique_ptr<std::string> owned;  // send of the library itself: what `data` points to
  std::uint64_t order = 0;             // of posting
  couplet_message result{};
  Status status;
  // rendezvous
  std::uint64_t cookie = 0;  // own; 0: none
  std::uint64_t peer_cookie = 0;
  std::uint64_t total = 0;
  std::uint64_t moved = 0;  // shared: pieces that the sender copies
  channel::Outgoing outgoing;
};
using RequestChain = Chain<Request, &Request::next, &Request::previous>;
using PostedList = MatchList<Request>;

// A message, or the envelope of one, that no receive has matched.
struct Arrival {
  static constexpr std::uint64_t inline_bytes = 64;

  Arrival* next = nullptr;  // of the same peer
  Arrival* previous = nullptr;
  Arrival* next_alike = nullptr;  // of the same peer, context and tag
  Arrival* previous_alike = nullptr;
  Arrival* next_of_all = nullptr;
  Arrival* previous_of_all = nullptr;
  Flow* flow = nullptr;
  std::uint32_t context = 0;
  std::int32_t tag = 0;
  std::uint64_t bytes = 0;
  std::uint64_t charge = 0;  // credit that it takes; 0: its sender was lost
  bool envelope = false;
  bool swap = false;
  bool arriving = false;         // the payload is not complete
  bool dead = false;             // envelope: its sender was lost
  Request* claimed = nullptr;    // who gets it when it is
  std::byte* storage = nullptr;  // of the payload: `small` or a block
  std::uint64_t cookie = 0;      // envelope: the sender's
  std::uint64_t address = 0;     // envelope: in the sender's memory
  std::array<std::byte, inline_bytes> small;
};
static_assert(sizeof(Arrival) <= wire::eager_overhead_bytes);
using ArrivalList = MatchList<Arrival>;
using ArrivalsOfAll = Chain<Arrival, &Arrival::next_of_all, &Arrival::previous_of_all>;

// Is the peer's memory read directly?
enum class Reach : std::uint8_t { unknown, proven, refused };

// One peer.
struct Flow {
  channel::Channel* channel = nullptr;
  bool fast = false;  // open, not lost, limits known
  bool lost = false;
  Reach reach = Reach::unknown;
  counters::LinkKind link = counters::LinkKind::other;
  std::uint32_t rounds_per_poll = 64;  // how often everything is polled while this one is looked at closely
  channel::PeerId peer = 0;
  Messenger* messenger = nullptr;
  // to the peer
  std::uint64_t eager_bytes = 0;
  std::uint64_t credit = 0;
  std::uint64_t offered = 0;  // envelopes without an answer
  // from the peer
  std::uint64_t granted = 0;  // credit that it has been given: what it holds, what is stored here, on the way and owed
  std::uint64_t owed = 0;     // credit to give back
  std::uint64_t stored = 0;   // credit taken by messages that nobody has asked for
  std::uint64_t envelopes = 0;  // that nobody has asked for
  PostedList posted;
  ArrivalList arrivals;
  Request* placed = nullptr;                  // an eager message is arriving straight in its buffer
  Arrival* placing = nullptr;                 // an eager message is arriving in the pool
  bool dropping = false;                      // an eager message is arriving that does not fit its receive
  RequestChain active;                        // matched receives and sends that are not complete
  std::unique_ptr<os::ProcessMemory> memory;  // while reach is proven
  // of the message from this peer that both sides copy; one at a time
  std::uint32_t shared_round = 0;
  Request* sharing = nullptr;
  bool helps = true;  // it has not failed to copy its pieces
  std::optional<std::uint64_t> wanted_eager_bytes;
  Status loss;  // of the last time it was lost
  std::string reach_reason;
};

// A piece of a large message that goes while another one is under way: a lane that may break gives pieces back only
// when the peer has them.
struct PieceFrame {
  channel::Outgoing outgoing;
  Request* request = nullptr;
};

// A frame of ours without a request: clear, done, credit, envelope.
struct ControlFrame {
  channel::Outgoing outgoing;
  std::array<std::byte, wire::envelope_bytes> payload{};
  Messenger* messenger = nullptr;
};

}  // namespace couplet::message
