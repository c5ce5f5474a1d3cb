#include "message/peer_memory.hpp"

#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <cstring>
#include <new>
#include <utility>

#include "os/process_memory.hpp"

namespace couplet::message {
namespace {

// Does what ProcessMemory::read does. Returns memory if the reading failed and there is no memory for the text of the
// error.
Status read_piece(const os::ProcessMemory& memory, std::uint64_t address, std::byte* target,
                  std::uint64_t bytes) noexcept {
  try {
    return memory.read(address, target, bytes);
  } catch (const std::bad_alloc&) {
    return Code::memory;
  }
}

}  // namespace

PeerMemory::PeerMemory(bool is_used, counters::Counters& counters)
    : is_used_(is_used), counters_(counters), process_(static_cast<std::uint32_t>(getpid())) {
  if (page_.data() == nullptr || getrandom(nonce_.data(), nonce_.size(), 0) != static_cast<ssize_t>(nonce_.size())) {
    is_used_ = false;  // without a nonce there is no proof
    return;
  }
  std::memcpy(page_.data(), nonce_.data(), nonce_.size());
}

wire::Envelope PeerMemory::own(const void* data) const noexcept {
  return {.address = reinterpret_cast<std::uintptr_t>(data),
          .nonce_address = reinterpret_cast<std::uintptr_t>(page_.data()),
          .nonce = nonce_,
          .process = process_};
}

wire::Envelope PeerMemory::offer_to(const Flow& flow, const void* data) const noexcept {
  const bool is_far = flow.channel->state() == channel::ChannelState::open && !flow.channel->traits().same_memory;
  return is_used_ && !is_far ? own(data) : wire::Envelope{};
}

void PeerMemory::prove(Flow& flow, const wire::Envelope& envelope) const noexcept {
  if (flow.reach != Reach::unknown) return;
  try {
    flow.reach_reason = attempt(flow, envelope);
    flow.reach = flow.memory != nullptr ? Reach::proven : Reach::refused;
  } catch (const std::bad_alloc&) {
    flow.memory.reset();
  }
}

// Tries to reach the peer's memory, and returns the result as a text. If it succeeds, flow.memory is set.
std::string PeerMemory::attempt(Flow& flow, const wire::Envelope& envelope) const {
  flow.memory.reset();
  if (!is_used_) return "reading the sender's memory is switched off";
  if (!flow.channel->traits().same_memory) {
    return fmt::format("link {} does not share memory", flow.channel->traits().name);
  }
  if (envelope.process == 0) return "the sender does not offer its memory";
  // The peer has the same system, which wipes the peer's page, too, when the peer forks.
  auto memory = os::ProcessMemory::open(
      envelope.process,
      {.address = envelope.nonce_address, .bytes = envelope.nonce, .survives_fork = !page_.is_wiped()});
  if (!memory.ok()) return fmt::format("its nonce could not be read: {}", memory.status().text());
  std::string found = fmt::format("its nonce was read from process {}", envelope.process);
  flow.memory = std::move(*memory);
  return found;
}

bool PeerMemory::read(const Request& request, std::uint64_t address) noexcept {
  Flow& flow = *request.flow;
  const Status status = read_piece(*flow.memory, address, request.data, request.result.bytes);
  if (status.ok()) {
    counters_.add(counters::Counter::message_bytes_read_directly, request.result.bytes);
    return true;
  }
  refuse(flow, status);
  return false;
}

void PeerMemory::refuse(Flow& flow, const Status& why) noexcept {
  flow.reach = Reach::refused;
  flow.memory.reset();
  try {
    flow.reach_reason = fmt::format("reading the sender's memory failed: {}", why.text());
  } catch (const std::bad_alloc&) {
    flow.reach_reason.clear();
  }
}

}  // namespace couplet::message
