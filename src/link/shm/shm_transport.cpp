#include "link/shm/shm_transport.hpp"

#include <array>
#include <vector>

namespace couplet::link {
namespace {

constexpr std::uint32_t first_relay_peer = 0x80000000;

// If the contact is empty, since the peer had ended before it was known, the nonce is unknown, too.
Result<ShmPeer> shm_peer(const Address& peer) {
  ShmPeer result{.peer = peer.party.id, .incarnation = peer.party.incarnation};
  if (peer.on_other_node) {
    return fail(Code::unsupported, "it is on another node, or has another byte order");
  }
  const auto bytes = peer.contact.bytes();
  if (bytes.empty()) {
    return result;
  }
  if (bytes.size() != sizeof result.memory_nonce) {
    return fail(Code::unsupported, "its contact has {} bytes, expected {}", bytes.size(), sizeof result.memory_nonce);
  }
  result.memory_nonce = 0;
  for (std::size_t index = 0; index < bytes.size(); ++index) {
    result.memory_nonce |= std::to_integer<std::uint64_t>(bytes[index]) << (8 * index);
  }
  return result;
}

bool for_lack_of_room(Code code) noexcept {
  return code == Code::limit || code == Code::memory;
}

}  // namespace

Result<std::unique_ptr<ShmTransport>> ShmTransport::open(TransportHost& host, os::ProcessPage& page,
                                                         const std::string& directory, const ShmPeer& own,
                                                         const ShmOptions& options) {
  COUPLET_TRY_VALUE(auto link, ShmLink::open(directory, own, options));
  return std::unique_ptr<ShmTransport>(new ShmTransport(host, page, own, std::move(link)));
}

Contact ShmTransport::contact_of(std::uint64_t memory_nonce) {
  std::array<std::byte, sizeof memory_nonce> bytes{};
  for (std::size_t index = 0; index < bytes.size(); ++index) {
    bytes[index] = static_cast<std::byte>(memory_nonce >> (8 * index));
  }
  return Contact(bytes);
}

Result<std::unique_ptr<Lane>> ShmTransport::dial(const Address& peer, Purpose /*purpose*/) {
  COUPLET_TRY_VALUE(const ShmPeer target, shm_peer(peer));
  if (target.memory_nonce == ShmPeer::unknown_nonce) {
    return fail(Code::unsupported, "it does not offer its memory");
  }
  return link_->connect(target);
}

Result<std::unique_ptr<Lane>> ShmTransport::left_by(const Address& peer) {
  COUPLET_TRY_VALUE(const ShmPeer target, shm_peer(peer));
  return link_->accept(target);
}

int ShmTransport::poll(std::uint64_t now_ns) {
  if (!page_.knocked()) {
    return 0;
  }
  const auto knocks = page_.take_knocks(first_relay_peer);
  for (const std::uint32_t peer : knocks) {
    Waiting waiting;
    if (!answer(peer, waiting, now_ns)) {
      waiting_.insert_or_assign(peer, waiting);
    }
  }
  return static_cast<int>(knocks.size());
}

void ShmTransport::tick(std::uint64_t now_ns) {
  std::vector<std::uint32_t> peers;
  peers.reserve(waiting_.size());
  for (const auto& [peer, waiting] : waiting_) {
    peers.push_back(peer);
  }
  for (const std::uint32_t peer : peers) {
    // The answer calls the host, which may do anything.
    const auto found = waiting_.find(peer);
    if (found == waiting_.end()) {
      continue;
    }
    Waiting waiting = found->second;
    const bool answered = answer(peer, waiting, now_ns);
    if (answered) {
      waiting_.erase(peer);
    } else {
      waiting_.insert_or_assign(peer, waiting);
    }
  }
}

bool ShmTransport::answer(std::uint32_t peer, Waiting& waiting, std::uint64_t now_ns) {
  const auto address = host_.address_of(*this, peer);
  if (!address.ok()) {
    return address.code() != Code::not_yet;
  }
  const auto target = shm_peer(*address);
  if (!target.ok()) {
    return false;  // it is here, and what is known of it is of an incarnation that was elsewhere, or of no known node
  }
  if (waiting.no_ring_as == address->party) {
    return false;  // nothing new is known
  }
  const Offer offer{.peer = address->party};
  const Status considered = host_.consider(*this, offer);
  if (considered.code() == Code::not_yet) {
    return false;
  }
  Status done = considered;
  if (considered.error()) {
    done = link_->refuse(*target, considered);
  }
  // A peer that is ending cannot be refused.
  if (considered.ok() || done.code() == Code::state) {
    auto lane = link_->accept(*target);
    if (lane.ok()) {
      host_.connected(*this, offer, std::move(*lane), Origin::offered);
      return true;
    }
    done = lane.status();
  }
  if (done.code() == Code::not_found || done.code() == Code::unsupported) {
    const bool twice = waiting.no_ring_as.has_value();
    waiting.no_ring_as = address->party;
    return twice;
  }
  if (for_lack_of_room(done.code())) {
    waiting.waited.look(now_ns);
    if (waiting.waited.total_ns() < max_wait_for_descriptor_ns) {
      return false;
    }
  }
  if (done.error()) {
    static_cast<void>(link_->refuse(*target, done.within(host_.name_of(own_.peer))));
  }
  return true;
}

}  // namespace couplet::link
