// Sharing: a large message is copied by both sides at the same time, piece by piece: its receiver reads from the
// sender's memory, its sender writes into the receiver's, and a word that both see says which pieces are taken. A
// sender that does not look leaves all of them to the receiver, who never waits for more than a piece that is being
// written.
#include <algorithm>
#include <atomic>
#include <optional>

#include "message/message.hpp"
#include "message/swap.hpp"
#include "os/process_memory.hpp"

namespace couplet::message {
namespace {

struct Piece {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

// none: all are taken, or the word has gone on to another message.
std::optional<Piece> claim_piece(std::atomic<std::uint64_t>& word, std::uint32_t round, std::uint64_t message_bytes,
                                 bool from_back) {
  const std::uint64_t bytes = wire::shared_piece_bytes(message_bytes);
  const std::uint64_t count = wire::shared_piece_count(message_bytes);
  std::uint64_t seen = word.load(std::memory_order_acquire);
  wire::SharedPieces pieces = wire::unpack_shared_pieces(seen);
  while (pieces.round == round && pieces.taken() < count) {
    const std::uint64_t number = from_back ? count - 1 - pieces.from_back : pieces.from_front;
    ++(from_back ? pieces.from_back : pieces.from_front);
    if (word.compare_exchange_weak(seen, wire::pack(pieces), std::memory_order_acq_rel, std::memory_order_acquire)) {
      return Piece{.offset = number * bytes, .bytes = std::min(bytes, message_bytes - number * bytes)};
    }
    pieces = wire::unpack_shared_pieces(seen);
  }
  return std::nullopt;
}

}  // namespace

// False: it was not written, or not all of it.
bool Messenger::write_piece(const os::ProcessMemory& memory, std::uint64_t address, const std::byte* source,
                            std::uint64_t bytes) noexcept {
  try {
    const os::ProcessRun run{.address = address, .bytes = bytes};
    return memory.write(std::span(&run, 1), source).ok();
  } catch (const std::bad_alloc&) {
    return false;  // there is no memory to say why
  }
}

// nullptr: this side copies alone. Where ranks exceed cores a sender that copies would only take the receiver's core.
std::atomic<std::uint64_t>* Messenger::word_to_share(const Flow& flow, std::uint64_t bytes) const noexcept {
  const bool worth = bytes >= wire::least_shared_bytes && bytes <= wire::most_shared_bytes && may_spin();
  if (!worth || !flow.helps || flow.sharing != nullptr || flow.channel == nullptr) return nullptr;
  return flow.channel->shared_word(link::Way::incoming);
}

void Messenger::share(Request& request, std::uint64_t cookie, std::uint64_t address,
                      std::atomic<std::uint64_t>& word) noexcept {
  Flow& flow = *request.flow;
  if (register_cookie(request) == 0) return give_up(request, cookie);
  const std::uint64_t bytes = request.result.bytes;
  flow.shared_round = std::max(flow.shared_round + 1, 1U);
  request.peer_cookie = cookie;
  word.store(wire::pack({.round = flow.shared_round}), std::memory_order_release);
  wire::FrameHeader header;
  header.kind = wire::message_frame_kind(wire::MessageKind::share);
  header.payload_bytes = wire::envelope_bytes;
  header.context = flow.shared_round;
  header.first = request.cookie;
  header.second = cookie;
  std::array<std::byte, wire::envelope_bytes> image;
  wire::encode_envelope(own_memory(request.data), image);
  post_control(flow, header, image);

  std::uint64_t own = 0;
  std::uint64_t own_bytes = 0;
  while (const auto piece = claim_piece(word, flow.shared_round, bytes, self_ > flow.peer)) {
    ++own;
    own_bytes += piece->bytes;
    const Status status = read_piece(*flow.memory, address + piece->offset, request.data + piece->offset, piece->bytes);
    if (!status.ok()) {
      refuse_reach(flow, status);
      request.whole = false;
      break;
    }
  }
  counters_.add(Counter::message_bytes_read_directly, own_bytes);
  const wire::SharedPieces pieces = wire::unpack_shared_pieces(word.exchange(0, std::memory_order_acq_rel));
  const bool sound = pieces.round == flow.shared_round && pieces.taken() >= own &&
                     (pieces.taken() == wire::shared_piece_count(bytes) || !request.whole);
  if (!sound) {  // the other side has broken the word
    flow.helps = false;
    return shared_copied(request, false);
  }
  if (pieces.taken() == own) return shared_copied(request, request.whole);
  request.moved = pieces.taken() - own;
  request.stage = Stage::shared;
  flow.sharing = &request;
  flow.active.push_back(request);
}

// All pieces were copied, or tried.
void Messenger::shared_copied(Request& request, bool whole) noexcept {
  if (!whole) return ask_for_pieces(request, request.peer_cookie);
  send_done(*request.flow, request.peer_cookie);
  if (request.swap) swap_numbers(request.data, request.result.bytes, request.type->swap_bytes);
  finish(request);
}

// The receiver of an own message has begun to copy it.
Status Messenger::share_arrived(Flow& flow, const wire::FrameHeader& header, std::span<const std::byte> payload) {
  const Request* request = find_cookie(header.second, flow, true);
  if (request == nullptr || request->stage != Stage::offered) {
    return fail(Code::protocol, "{} shares a message that was not offered", channels_.peer_name(flow.peer));
  }
  auto envelope = wire::decode_envelope(payload);
  if (!envelope.ok()) return envelope.status().within(channels_.peer_name(flow.peer));
  prove_reach(flow, *envelope);
  std::atomic<std::uint64_t>* word = flow.channel->shared_word(link::Way::outgoing);
  if (flow.reach != Reach::proven || word == nullptr || !may_spin()) return {};
  std::uint64_t claimed = 0;
  std::uint64_t copied = 0;
  while (const auto piece = claim_piece(*word, header.context, request->bytes, self_ > flow.peer)) {
    ++claimed;
    if (!write_piece(*flow.memory, envelope->address + piece->offset, request->data + piece->offset, piece->bytes)) {
      break;
    }
    ++copied;
    counters_.add(Counter::message_bytes_written_directly, piece->bytes);
  }
  if (claimed == 0) return {};
  wire::FrameHeader answer;
  answer.kind = wire::message_frame_kind(wire::MessageKind::shared);
  answer.first = copied;
  answer.second = header.first;
  post_control(flow, answer, {});
  return {};
}

// The sender has copied its pieces.
Status Messenger::shared_arrived(Flow& flow, const wire::FrameHeader& header) {
  Request* request = find_cookie(header.second, flow, false);
  if (request == nullptr || request->stage != Stage::shared) {
    return fail(Code::protocol, "{} has copied pieces of a message that is not shared", channels_.peer_name(flow.peer));
  }
  flow.active.remove(*request);
  flow.sharing = nullptr;
  flow.helps = header.first == request->moved;
  shared_copied(*request, request->whole && flow.helps);
  return {};
}

}  // namespace couplet::message
