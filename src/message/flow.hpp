// The records of messages: for each request, for each message that no receive has asked for, and for each peer.
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
#include "layout/datatype.hpp"
#include "message/chain.hpp"
#include "message/group.hpp"
#include "message/match_list.hpp"
#include "os/process_memory.hpp"
#include "wire/message.hpp"

namespace couplet::message {

class FrameSender;
class Sending;
struct Flow;

enum class Stage : std::uint8_t {
  posted,      // receive: in a list of posted receives
  placing,     // receive: matched an eager message that is still arriving
  collecting,  // receive: matched an envelope, pieces are arriving
  // Receive: matched an envelope, this process has copied its own pieces, and the sender copies the others.
  shared,
  queued,   // send: an eager frame that waits for room
  offered,  // send: the envelope was sent
  moving,   // send: pieces are being sent
  finished,
};

// Memory that belongs to a request. Messages of the library itself may need it, and those whose elements do not lie in
// the caller's memory as they travel.
struct OwnMemory {
  std::string bytes;
  // A message of the user: how its items lie in the caller's memory. nullptr: a message of the library.
  std::shared_ptr<const layout::Datatype> datatype;
  std::uint64_t items = 0;             // receive: for so many there is room
  std::byte* caller_memory = nullptr;  // receive: where they are put when they have arrived
};

// A send or a receive. It is on the stack of a blocking call, or in the pool.
struct Request {
  bool done = false;
  Stage stage = Stage::posted;
  bool sending = false;
  bool in_channel = false;  // the channel still refers to `outgoing`
  bool pumping = false;
  std::uint8_t more_pieces = 0;    // send: of ours that are the channel's, beside `outgoing`
  bool pooled = false;             // in use, and from Requests::take()
  bool swap = false;               // what arrives has the other byte order
  bool detached = false;           // goes back to the pool by itself
  bool whole = true;               // shared: the own pieces are there
  bool uncounted = false;          // a message of the library itself, which no counter counts
  bool listed = false;             // during waitall and waitany: it is in the caller's list
  std::uint8_t element_shift = 0;  // an element has 1 << element_shift bytes
  std::uint32_t context = 0;
  std::int32_t tag = 0;
  Request* next = nullptr;
  Request* previous = nullptr;
  Request* next_alike = nullptr;  // posted receives: with the same context and tag
  Request* previous_alike = nullptr;
  Flow* flow = nullptr;  // receive: nullptr means any source
  Group* group = nullptr;
  const TypeInfo* type = nullptr;
  std::byte* data = nullptr;
  std::uint64_t bytes = 0;            // size of the buffer
  std::string* text = nullptr;        // receive of the library itself: grows to what arrives
  std::unique_ptr<OwnMemory> owned;   // the memory that `data` points to, unless it is the caller's
  std::uint64_t order = 0;            // the order in which receives were posted
  const std::string* what = nullptr;  // a promise (Courier): its name in texts
  couplet_message result{};
  Status status;
  // rendezvous
  std::uint64_t cookie = 0;  // this side's; 0: none
  std::uint64_t peer_cookie = 0;
  std::uint64_t total = 0;
  std::uint64_t moved = 0;  // shared: pieces that the sender copies
  channel::Outgoing outgoing;
};
// Does the channel have pieces of the message to send?
[[nodiscard]] inline bool is_under_way(const Request& request) noexcept {
  return request.in_channel || request.more_pieces != 0;
}
using RequestChain = Chain<Request, &Request::next, &Request::previous>;
using PostedList = MatchList<Request>;

// A message, or the envelope of one, that no receive has matched.
struct Arrival {
  static constexpr std::uint64_t inline_bytes = 64;

  Arrival* next = nullptr;  // the next message of this peer
  Arrival* previous = nullptr;
  Arrival* next_alike = nullptr;  // the next one that has the same context and tag, too
  Arrival* previous_alike = nullptr;
  Arrival* next_of_all = nullptr;
  Arrival* previous_of_all = nullptr;
  Flow* flow = nullptr;
  std::uint32_t context = 0;
  std::int32_t tag = 0;
  std::uint64_t bytes = 0;
  std::uint64_t charge = 0;  // credit that it takes; 0 if its sender was lost
  bool envelope = false;
  bool swap = false;
  bool arriving = false;         // the payload is not complete
  bool dead = false;             // envelope: its sender was lost
  std::uint32_t deaths = 0;      // how often the peer had died when it came
  Request* claimed = nullptr;    // the receive that gets it when it is complete
  std::byte* storage = nullptr;  // the payload's memory: `small` or a block
  std::uint64_t cookie = 0;      // envelope: the sender's
  std::uint64_t address = 0;     // envelope: the message's address in the sender's memory
  std::array<std::byte, inline_bytes> small;
};
static_assert(sizeof(Arrival) <= wire::eager_overhead_bytes);
using ArrivalList = MatchList<Arrival>;
using ArrivalsOfAll = Chain<Arrival, &Arrival::next_of_all, &Arrival::previous_of_all>;

// Can the peer's memory be read directly?
enum class Reach : std::uint8_t { unknown, proven, refused };

// To poll a socket is a system call.
inline constexpr std::uint32_t rounds_per_socket_poll = 64;

// The state of the messages from and to one peer.
struct Flow {
  channel::Channel* channel = nullptr;
  bool fast = false;  // the channel is open, the peer is not lost, and the limits are known
  bool lost = false;
  bool untold = false;  // it has died more often than the user knows: told_deaths < deaths
  Reach reach = Reach::unknown;
  counters::LinkKind link = counters::LinkKind::other;
  // While a wait polls this channel, everything is polled once in so many rounds.
  std::uint32_t rounds_per_poll = rounds_per_socket_poll;
  std::uint64_t polled_ticks = 0;  // when a call polled it last, if it is a socket
  channel::PeerId peer = 0;
  Sending* sending = nullptr;  // gets back the frames of messages
  // To the peer.
  std::uint64_t eager_bytes = 0;
  std::uint64_t credit = 0;
  std::uint64_t offered = 0;  // envelopes without an answer
  // From the peer. First, the credit that the peer was given: it is in the peer's hands, taken by messages that are
  // stored here, on its way, or owed.
  std::uint64_t granted = 0;
  std::uint64_t owed = 0;       // credit to give back
  std::uint64_t stored = 0;     // credit taken by messages that no receive has asked for
  std::uint64_t envelopes = 0;  // number of envelopes that no receive has asked for
  PostedList posted;
  ArrivalList arrivals;
  Request* placed = nullptr;                  // an eager message is arriving directly in its buffer
  Arrival* placing = nullptr;                 // an eager message is arriving in the pool
  bool dropping = false;                      // an eager message is arriving that does not fit its receive
  RequestChain active;                        // matched receives and sends that are not complete
  std::unique_ptr<os::ProcessMemory> memory;  // while reach is proven
  // For the message from this peer that both sides copy. There is one at a time.
  std::uint32_t shared_round = 0;
  Request* sharing = nullptr;
  bool helps = true;  // false after it has failed to copy its pieces
  std::optional<std::uint64_t> wanted_eager_bytes;
  std::uint64_t piece_bytes = UINT64_MAX;  // the most that is sent of a large message at a time
  Status loss;                             // why it was last lost
  std::uint32_t losses = 0;                // how often it was lost
  std::uint32_t deaths = 0;                // how often it was lost and had not left in good order
  std::uint32_t told_deaths = 0;           // of how many deaths a request of the user has told
  bool left = false;                       // the last time, it has left in good order
  std::string reach_reason;
};

// A piece of a large message that is sent while an earlier one is under way. A lane that may break gives a piece back
// only when the peer has it.
struct PieceFrame {
  channel::Outgoing outgoing;
  Request* request = nullptr;
};

// A frame of the library that belongs to no request: clear, done, credit, envelope.
struct ControlFrame {
  channel::Outgoing outgoing;
  std::array<std::byte, wire::envelope_bytes> payload{};
  FrameSender* sender = nullptr;
};

}  // namespace couplet::message
