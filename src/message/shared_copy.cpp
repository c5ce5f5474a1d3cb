#include "message/shared_copy.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <optional>

#include "os/clock.hpp"
#include "os/process_memory.hpp"

namespace couplet::message {
namespace {

struct Piece {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  bool late = false;         // at most one piece is left after it
  std::uint32_t others = 0;  // number of pieces that the other side has claimed
};

// The pieces of one message, as one side numbers them.
struct Pieces {
  counters::Counters& counters;
  std::atomic<std::uint64_t>& word;
  std::uint32_t round = 0;
  std::uint64_t message_bytes = 0;
  bool from_back = false;
};

// The result of copying on one side.
struct Copied {
  std::uint64_t claimed = 0;  // number of claimed pieces
  std::uint64_t pieces = 0;   // number of pieces that were copied
  Status status;
};

// If the receiver's frame is not older than this, the first piece is written without asking whether the receiver lives.
constexpr std::uint32_t max_frame_age_us = 100;
// The most pieces that are written without a sign that the receiver lives.
constexpr int max_silent_pieces = 2;

// Returns the node's clock in microseconds. It only tells how old a frame is, so it may wrap around.
std::uint32_t clock_us() noexcept {
  return static_cast<std::uint32_t>(os::now_ns() / 1000);
}

// Claims the next piece. Returns nothing if all are taken, or if the word is in use for another message.
std::optional<Piece> claim_piece(const Pieces& all) {
  auto& [counters, word, round, message_bytes, from_back] = all;
  const std::uint64_t bytes = wire::shared_piece_bytes(message_bytes);
  const std::uint64_t count = wire::shared_piece_count(message_bytes);
  std::uint64_t seen = word.load(std::memory_order_acquire);
  wire::SharedPieces pieces = wire::unpack_shared_pieces(seen);
  while (pieces.round == round && pieces.taken() < count) {
    const std::uint64_t number = from_back ? count - 1 - pieces.from_back : pieces.from_front;
    ++(from_back ? pieces.from_back : pieces.from_front);
    if (word.compare_exchange_weak(seen, wire::pack(pieces), std::memory_order_acq_rel, std::memory_order_acquire)) {
      return Piece{.offset = number * bytes,
                   .bytes = std::min(bytes, message_bytes - number * bytes),
                   .late = pieces.taken() + 1 >= count,
                   .others = from_back ? pieces.from_front : pieces.from_back};
    }
    pieces = wire::unpack_shared_pieces(seen);
  }
  return std::nullopt;
}

// Copies one piece. Returns memory if it fails and there is no memory for the text.
template <typename Copy>
Status attempt(const Copy& copy) noexcept {
  try {
    return copy();
  } catch (const std::bad_alloc&) {
    return Code::memory;
  }
}

// Copies pieces until none is left, or one fails, and counts their bytes.
template <typename Copy>
Copied copy_pieces(const Pieces& all, counters::Counter counter, const Copy& copy) noexcept {
  Copied copied;
  while (const auto piece = claim_piece(all)) {
    ++copied.claimed;
    copied.status = attempt([&] { return copy(*piece); });
    if (!copied.status.ok()) break;
    ++copied.pieces;
    all.counters.add(counter, piece->bytes);
  }
  return copied;
}

// Copies the receiver's pieces. It asks only once, after everything was read, whether the memory was that of the
// sender: with the last piece or, if the sender has taken that one, while the sender writes it.
Copied read_pieces(const Pieces& all, const os::ProcessMemory& memory, std::uint64_t address,
                   std::byte* target) noexcept {
  bool proven = true;
  Copied copied = copy_pieces(all, counters::Counter::message_bytes_read_directly, [&](const Piece& piece) {
    proven = piece.late;
    return piece.late ? memory.read(address + piece.offset, target + piece.offset, piece.bytes)
                      : memory.read_unchecked(address + piece.offset, target + piece.offset, piece.bytes);
  });
  if (copied.status.ok() && !proven) copied.status = attempt([&] { return memory.check(); });
  return copied;
}

// Copies the sender's pieces. The receiver lives if its frame has just arrived (frame_us: when it was sent), and while
// it claims pieces. Otherwise the system is asked, so that nothing is written into the memory of another process.
Copied write_pieces(const Pieces& all, const os::ProcessMemory& memory, std::uint64_t address, const std::byte* source,
                    std::uint32_t frame_us) noexcept {
  int silent = clock_us() - frame_us <= max_frame_age_us ? 0 : max_silent_pieces;
  std::optional<std::uint32_t> others;
  return copy_pieces(all, counters::Counter::message_bytes_written_directly, [&](const Piece& piece) -> Status {
    silent = others.value_or(piece.others) == piece.others ? silent + 1 : 1;
    others = piece.others;
    if (silent > max_silent_pieces) {
      COUPLET_TRY(memory.check());
      silent = 1;
    }
    return memory.write_unchecked(address + piece.offset, source + piece.offset, piece.bytes);
  });
}

}  // namespace

std::atomic<std::uint64_t>* SharedCopy::word(const Flow& flow, std::uint64_t bytes) const noexcept {
  const bool worth = bytes >= wire::least_shared_bytes && bytes <= wire::most_shared_bytes && waiting_.may_spin();
  if (!worth || !flow.helps || flow.sharing != nullptr || flow.channel == nullptr) return nullptr;
  return flow.channel->shared_word(link::Way::incoming);
}

SharedCopy::Outcome SharedCopy::receive(Request& request, std::uint64_t cookie, std::uint64_t address,
                                        std::atomic<std::uint64_t>& word) noexcept {
  Flow& flow = *request.flow;
  const std::uint64_t bytes = request.result.bytes;
  flow.shared_round = std::max(flow.shared_round + 1, 1U);
  request.peer_cookie = cookie;
  word.store(wire::pack({.round = flow.shared_round}), std::memory_order_release);
  wire::FrameHeader header;
  header.kind = wire::message_frame_kind(wire::MessageKind::share);
  header.payload_bytes = wire::envelope_bytes;
  header.context = flow.shared_round;
  header.tag = static_cast<std::int32_t>(clock_us());
  header.first = request.cookie;
  header.second = cookie;
  std::array<std::byte, wire::envelope_bytes> image;
  wire::encode_envelope(memory_.own(request.data), image);
  frames_.post(flow, header, image);

  const Copied own =
      read_pieces({counters_, word, flow.shared_round, bytes, self_ > flow.peer}, *flow.memory, address, request.data);
  if (!own.status.ok()) {
    PeerMemory::refuse(flow, own.status);
    request.whole = false;
  }
  const wire::SharedPieces pieces = wire::unpack_shared_pieces(word.exchange(0, std::memory_order_acq_rel));
  const bool sound = pieces.round == flow.shared_round && pieces.taken() >= own.claimed &&
                     (pieces.taken() == wire::shared_piece_count(bytes) || !request.whole);
  if (!sound) {  // the other side has written a wrong value into the word
    flow.helps = false;
    return Outcome::broken;
  }
  if (pieces.taken() == own.claimed) return request.whole ? Outcome::whole : Outcome::broken;
  request.moved = pieces.taken() - own.claimed;
  request.stage = Stage::shared;
  flow.sharing = &request;
  flow.active.push_back(request);
  return Outcome::under_way;
}

Status SharedCopy::help(Flow& flow, const Request& request, const wire::FrameHeader& header,
                        std::span<const std::byte> payload) {
  auto envelope = wire::decode_envelope(payload);
  if (!envelope.ok()) return envelope.status().within(flow.channel->peer_name());
  memory_.prove(flow, *envelope);
  std::atomic<std::uint64_t>* word = flow.channel->shared_word(link::Way::outgoing);
  if (flow.reach != Reach::proven || word == nullptr || !waiting_.may_spin()) return {};
  const Copied own = write_pieces({counters_, *word, header.context, request.bytes, self_ > flow.peer}, *flow.memory,
                                  envelope->address, request.data, static_cast<std::uint32_t>(header.tag));
  if (own.claimed == 0) return {};
  wire::FrameHeader answer;
  answer.kind = wire::message_frame_kind(wire::MessageKind::shared);
  answer.first = own.pieces;
  answer.second = header.first;
  frames_.post(flow, answer, {});
  return {};
}

bool SharedCopy::end(Flow& flow, const Request& request, std::uint64_t pieces) noexcept {
  flow.sharing = nullptr;
  flow.helps = pieces == request.moved;
  return request.whole && flow.helps;
}

}  // namespace couplet::message
