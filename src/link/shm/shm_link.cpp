#include "link/shm/shm_link.hpp"

#include <fcntl.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "link/ring.hpp"
#include "os/directory.hpp"
#include "os/fork.hpp"

namespace couplet::link {
namespace {

// Returns 0 for the side with the lower peer id, else 1.
std::size_t side_of(const ShmPeer& own, const ShmPeer& peer) noexcept {
  return own.peer < peer.peer ? 0 : 1;
}

// Returns the bit in a page's knocks: ranks first, then the relays of the nodes (peers from 0x80000000 on).
std::uint32_t knock_bit(std::uint32_t peer, const wire::PageHeader& page) noexcept {
  constexpr std::uint32_t first_relay = 0x80000000;
  return peer < first_relay ? peer : page.rank_count + (peer - first_relay);
}

// Counts the bytes of a ring that this process has made, for as long as the ring is in use.
class RingCharge {
 public:
  RingCharge() = default;
  RingCharge(std::shared_ptr<std::uint64_t> used_bytes, std::uint64_t bytes)
      : used_bytes_(std::move(used_bytes)), bytes_(bytes) {
    *used_bytes_ += bytes_;
  }
  RingCharge(RingCharge&&) = default;
  RingCharge& operator=(RingCharge&&) = delete;
  ~RingCharge() {
    if (used_bytes_) {
      *used_bytes_ -= bytes_;
    }
  }

 private:
  std::shared_ptr<std::uint64_t> used_bytes_;
  std::uint64_t bytes_ = 0;
};

// Keeps the ring and the page mapped for as long as the lane exists. `page` is nullptr for a peer that has left.
struct ShmMemory {
  ShmMemory(std::unique_ptr<os::MappedFile> ring, std::unique_ptr<os::PeerPage> peer_page, std::string bell_path,
            RingCharge ring_charge)
      : file(std::move(ring)), page(std::move(peer_page)), charge(std::move(ring_charge)) {
    if (page) {
      bell.emplace(std::move(bell_path), page->sleep_flag());
    }
  }
  std::unique_ptr<os::MappedFile> file;
  std::unique_ptr<os::PeerPage> page;
  std::optional<os::Bell> bell;
  RingCharge charge;
};

// Passes on whole frames.
class TakingBack final : public FrameReceiver {
 public:
  explicit TakingBack(const Lane::TakeBack& take) : take_(take) {}

 private:
  std::byte* place(const wire::FrameHeader& header) override {
    payload_.resize(header.payload_bytes);
    return payload_.data();
  }
  bool arrived(const wire::FrameHeader& header, std::span<const std::byte> payload) override {
    take_(header, payload);
    return true;
  }
  const Lane::TakeBack& take_;
  std::vector<std::byte> payload_;
};

class ShmLane final : private ShmMemory, public RingLane {
 public:
  ShmLane(std::unique_ptr<os::MappedFile> ring, std::unique_ptr<os::PeerPage> peer_page, std::string bell_path,
          RingCharge ring_charge, const LaneTraits& traits, const wire::RingMap& map, std::size_t side,
          std::string where)
      : ShmMemory(std::move(ring), std::move(peer_page), std::move(bell_path), std::move(ring_charge)),
        RingLane(traits, map.direction(side), map.direction(1 - side), bell ? &*bell : nullptr, std::move(where)),
        generation_(os::fork_generation()),
        map_(map),
        side_(side) {}
  ~ShmLane() override {
    if (generation_ != os::fork_generation()) {
      return;  // the lane belongs to the parent
    }
    shut();
    // A ring that the peer has joined no longer has a name.
    const bool for_the_peer = pushed() && map_.keep(1 - side_) && page && page->owner_lives();
    if (map_.side(1 - side_) != wire::RingSide::joined && !for_the_peer) {
      static_cast<void>(file->remove());
    }
  }
  [[nodiscard]] std::atomic<std::uint64_t>* shared_word(Way way) noexcept override {
    return map_.direction(way == Way::incoming ? 1 - side_ : side_).shared;
  }
  [[nodiscard]] bool joined() const noexcept override { return map_.side(1 - side_) == wire::RingSide::joined; }
  [[nodiscard]] Status refusal() const override {
    return map_.side(1 - side_) == wire::RingSide::refused ? map_.refusal(1 - side_) : Status();
  }
  [[nodiscard]] bool leave_behind() noexcept override { return map_.keep(1 - side_); }
  // Reads this side's own direction, as the peer would have done.
  void take_back(const TakeBack& take) override {
    TakingBack taking(take);
    RingLane unread(traits(), map_.direction(1 - side_), map_.direction(side_), nullptr, "refused shm ring");
    while (unread.poll(taking, 1) > 0) {
    }
  }

 private:
  std::uint64_t generation_;
  wire::RingMap map_;
  std::size_t side_;
};

LaneTraits traits_of(const ShmOptions& options) noexcept {
  return {.name = "shm",
          .checked = false,
          .same_memory = true,
          .largest_payload = options.largest_payload,
          .eager_bytes = options.eager_bytes};
}

std::string where_of(const ShmPeer& peer) {
  return fmt::format("shm ring with peer {}", peer.peer);
}

bool belongs_to(const wire::RingHeader& header, const ShmPeer& owner, std::size_t side) noexcept {
  const bool is_known = owner.memory_nonce != ShmPeer::unknown_nonce;
  return header.peers[side] == owner.peer && header.incarnations[side] == owner.incarnation &&
         (!is_known || header.nonces[side] == owner.memory_nonce);
}

}  // namespace

struct ShmLink::OpenRing {
  std::unique_ptr<os::MappedFile> file;
  wire::RingMap map;
};

Result<wire::RingShape> ring_shape_for(const ShmOptions& options, std::uint64_t used_bytes) {
  constexpr std::uint64_t share_of_rest = 64;
  const std::uint64_t rest = options.max_ring_bytes - std::min(options.max_ring_bytes, used_bytes);
  wire::RingShape shape = options.ring;
  while (wire::ring_file_bytes(shape) > rest / share_of_rest && shape.bulk_bytes > wire::least_bulk_bytes) {
    shape.bulk_bytes /= 2;
  }
  if (wire::ring_file_bytes(shape) > rest) {
    return fail(Code::limit, "no room for another ring: the rings of this process take {} of at most {} bytes",
                used_bytes, options.max_ring_bytes);
  }
  return shape;
}

Result<std::unique_ptr<ShmLink>> ShmLink::open(const std::string& directory, const ShmPeer& own,
                                               const ShmOptions& options) {
  COUPLET_TRY(wire::check_ring_shape(options.ring));
  const int spare = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  return std::unique_ptr<ShmLink>(
      new ShmLink(directory, own, options, spare >= 0 ? os::Descriptor(spare) : os::Descriptor()));
}

std::string ShmLink::ring_path(const ShmPeer& peer) const {
  const bool first = side_of(own_, peer) == 0;
  const ShmPeer& low = first ? own_ : peer;
  const ShmPeer& high = first ? peer : own_;
  return fmt::format("{}/ring-{:08x}-{:08x}-{}-{}", directory_, low.peer, high.peer, low.incarnation, high.incarnation);
}

// The nonce proves that the peer can be reached: it is in the page of that very process, in memory that both have
// mapped.
Result<std::unique_ptr<os::PeerPage>> ShmLink::open_page(const ShmPeer& peer) const {
  auto page = os::PeerPage::open(directory_, peer.peer);
  if (!page.ok()) {
    const bool later = page.code() == Code::limit || page.code() == Code::memory;
    return fail(later ? page.code() : Code::unsupported, "no memory is shared with peer {}: {}", peer.peer,
                page.status().text());
  }
  const wire::PageHeader& header = (*page)->header();
  if (header.memory_nonce != peer.memory_nonce || header.peer != peer.peer || header.incarnation != peer.incarnation) {
    return fail(Code::unsupported, "no memory is shared with peer {}: the page of that name belongs to another process",
                peer.peer);
  }
  return page;
}

Result<std::unique_ptr<Lane>> ShmLink::accept(const ShmPeer& peer) {
  auto page = open_page(peer);
  if (!page.ok() && page.code() == Code::limit) {
    return page.status();
  }
  return join_ring(peer, page.ok() ? std::move(*page) : nullptr);  // without a page there is no process to wake
}

Status ShmLink::refuse(const ShmPeer& peer, const Status& why) {
  spare_.close();
  auto ring = open_ring(peer);
  const int spare = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  spare_ = spare >= 0 ? os::Descriptor(spare) : os::Descriptor();
  if (!ring.ok()) {
    return ring.status();
  }
  if (!ring->map.refuse(side_of(own_, peer), why)) {
    return ring->map.side(side_of(own_, peer)) == wire::RingSide::kept
               ? fail(Code::state, "peer {} has ended, and can no longer be refused", peer.peer)
               : Status();
  }
  COUPLET_TRY(ring->file->remove());
  if (const auto page = open_page(peer); page.ok()) {  // otherwise it sees the refusal at its next tick
    os::Bell(os::bell_path(directory_, peer.peer), (*page)->sleep_flag()).ring_if_asleep();
  }
  return {};
}

Result<std::unique_ptr<Lane>> ShmLink::connect(const ShmPeer& peer) {
  if (peer.peer == own_.peer) {
    return fail(Code::argument, "peer {} is this process itself", peer.peer);
  }
  // Each round either joins, makes a ring, or finds that the other side made or removed the file in between.
  for (int attempt = 0; attempt < 8; ++attempt) {
    COUPLET_TRY_VALUE(auto page, open_page(peer));
    if ((page->refused_links() & wire::page_refuses_rings) != 0) {
      return fail(Code::unsupported, "shared memory is switched off in peer {}", peer.peer);
    }
    auto joined = join_ring(peer, std::move(page));
    if (joined.ok() || joined.code() != Code::not_found) {
      return joined;
    }
    COUPLET_TRY_VALUE(page, open_page(peer));
    auto made = make_ring(peer, std::move(page));
    if (made.ok() || made.code() != Code::exists) {
      return made;
    }
  }
  return Code::full;
}

// Opens the ring that the peer has made for this process.
Result<ShmLink::OpenRing> ShmLink::open_ring(const ShmPeer& peer) const {
  const std::size_t side = side_of(own_, peer);
  COUPLET_TRY_VALUE(auto file, os::MappedFile::open(ring_path(peer), os::Access::read_write));
  auto map = wire::RingMap::inspect(file->bytes());
  if (!map.ok()) {
    return map.status().within(file->path());
  }
  if (!belongs_to(map->header(), own_, side) || !belongs_to(map->header(), peer, 1 - side)) {
    return fail(Code::protocol, "{} belongs to other processes", file->path());
  }
  return OpenRing{std::move(file), *map};
}

Result<std::unique_ptr<Lane>> ShmLink::join_ring(const ShmPeer& peer, std::unique_ptr<os::PeerPage> page) {
  const std::size_t side = side_of(own_, peer);
  COUPLET_TRY_VALUE(auto ring, open_ring(peer));
  if (!ring.map.join(side)) {
    return fail(Code::not_found, "{} is in use already", ring.file->path());
  }
  COUPLET_TRY(ring.file->remove());
  return std::unique_ptr<Lane>(new ShmLane(std::move(ring.file), std::move(page), os::bell_path(directory_, peer.peer),
                                           {}, traits_of(options_), ring.map, side, where_of(peer)));
}

Result<std::unique_ptr<Lane>> ShmLink::make_ring(const ShmPeer& peer, std::unique_ptr<os::PeerPage> page) {
  const std::size_t side = side_of(own_, peer);
  const std::string temporary = os::temporary_name(directory_, fmt::format("new-ring-{:08x}", own_.peer));
  COUPLET_TRY_VALUE(const wire::RingShape shape, ring_shape_for(options_, *used_bytes_));
  COUPLET_TRY_VALUE(auto file, os::MappedFile::create(temporary, wire::ring_file_bytes(shape)));
  wire::RingHeader header;
  for (const auto& [owner, index] : {std::pair(own_, side), std::pair(peer, 1 - side)}) {
    header.peers[index] = owner.peer;
    header.incarnations[index] = owner.incarnation;
    header.nonces[index] = owner.memory_nonce;
  }
  // Rings begin at different cells. Otherwise polling many idle ones would use the same set of the cache.
  header.first_cell = (own_.peer + peer.peer) * 5;
  auto map = wire::RingMap::lay_out(file->bytes(), shape, header);
  Status ready = map.status();
  if (ready.ok()) {
    static_cast<void>(map->join(side));
    ready = file->link_to(ring_path(peer));
  }
  if (ready.ok() && !page->knock(knock_bit(own_.peer, page->header()))) {
    ready = fail(Code::protocol, "the page of peer {} has no place for the knock of peer {}", peer.peer, own_.peer);
  }
  if (!ready.ok()) {
    static_cast<void>(file->remove());
    return ready;
  }
  os::Bell(os::bell_path(directory_, peer.peer), page->sleep_flag()).ring_if_asleep();
  return std::unique_ptr<Lane>(new ShmLane(std::move(file), std::move(page), os::bell_path(directory_, peer.peer),
                                           RingCharge(used_bytes_, wire::ring_file_bytes(shape)), traits_of(options_),
                                           *map, side, where_of(peer)));
}

}  // namespace couplet::link
