#include "link/shm/shm_link.hpp"

#include <algorithm>

#include "link/ring.hpp"
#include "os/directory.hpp"
#include "os/fork.hpp"

namespace couplet::link {
namespace {

// 0: the side with the lower peer id.
std::size_t side_of(const ShmPeer& own, const ShmPeer& peer) noexcept {
  return own.peer < peer.peer ? 0 : 1;
}

// The bit in a page's knocks: ranks first, then the relays of the nodes (peers from 0x80000000 on).
std::uint32_t knock_bit(std::uint32_t peer, const wire::PageHeader& page) noexcept {
  constexpr std::uint32_t first_relay = 0x80000000;
  return peer < first_relay ? peer : page.rank_count + (peer - first_relay);
}

// The ring and the page stay mapped as long as the lane.
struct ShmMemory {
  ShmMemory(std::unique_ptr<os::MappedFile> ring, std::unique_ptr<os::PeerPage> peer_page, std::string bell_path)
      : file(std::move(ring)), page(std::move(peer_page)), bell(std::move(bell_path), page->sleep_flag()) {}
  std::unique_ptr<os::MappedFile> file;
  std::unique_ptr<os::PeerPage> page;
  os::Bell bell;
};

class ShmLane final : private ShmMemory, public RingLane {
 public:
  ShmLane(std::unique_ptr<os::MappedFile> ring, std::unique_ptr<os::PeerPage> peer_page, std::string bell_path,
          const LaneTraits& traits, const wire::RingMap& map, std::size_t side, std::string where)
      : ShmMemory(std::move(ring), std::move(peer_page), std::move(bell_path)),
        RingLane(traits, map.direction(side), map.direction(1 - side), &bell, std::move(where)),
        generation_(os::fork_generation()),
        shared_in_(map.direction(1 - side).shared),
        shared_out_(map.direction(side).shared),
        peer_attached_(map.header().attached[1 - side]) {}
  ~ShmLane() override {
    if (generation_ != os::fork_generation()) {
      return;  // the lane belongs to the parent
    }
    shut();
    if (peer_attached_.load(std::memory_order_acquire) == 0) {
      static_cast<void>(file->remove());
    }
  }
  [[nodiscard]] std::atomic<std::uint64_t>* shared_word(Way way) noexcept override {
    return way == Way::incoming ? shared_in_ : shared_out_;
  }
  [[nodiscard]] bool joined() const noexcept override { return peer_attached_.load(std::memory_order_acquire) != 0; }

 private:
  std::uint64_t generation_;
  std::atomic<std::uint64_t>* shared_in_;
  std::atomic<std::uint64_t>* shared_out_;
  std::atomic<std::uint32_t>& peer_attached_;
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
  return header.peers[side] == owner.peer && header.incarnations[side] == owner.incarnation &&
         header.nonces[side] == owner.memory_nonce;
}

}  // namespace

Result<std::unique_ptr<ShmLink>> ShmLink::open(const std::string& directory, const ShmPeer& own,
                                               const ShmOptions& options) {
  COUPLET_TRY(wire::check_ring_shape(options.ring));
  return std::unique_ptr<ShmLink>(new ShmLink(directory, own, options));
}

std::string ShmLink::ring_path(const ShmPeer& peer) const {
  const bool first = side_of(own_, peer) == 0;
  const ShmPeer& low = first ? own_ : peer;
  const ShmPeer& high = first ? peer : own_;
  return fmt::format("{}/ring-{:08x}-{:08x}-{}-{}", directory_, low.peer, high.peer, low.incarnation, high.incarnation);
}

// Reach is proven by the nonce: it stands in the page of that very process, in memory that both have mapped.
Result<std::unique_ptr<os::PeerPage>> ShmLink::open_page(const ShmPeer& peer) const {
  auto page = os::PeerPage::open(directory_, peer.peer);
  if (!page.ok()) {
    return fail(Code::unsupported, "no memory is shared with peer {}: {}", peer.peer, page.status().text());
  }
  const wire::PageHeader& header = (*page)->header();
  if (header.memory_nonce != peer.memory_nonce || header.peer != peer.peer || header.incarnation != peer.incarnation) {
    return fail(Code::unsupported, "no memory is shared with peer {}: the page of that name belongs to another process",
                peer.peer);
  }
  return page;
}

Result<std::unique_ptr<Lane>> ShmLink::accept(const ShmPeer& peer) {
  COUPLET_TRY_VALUE(auto page, open_page(peer));
  return join_ring(peer, std::move(page));
}

Result<std::unique_ptr<Lane>> ShmLink::connect(const ShmPeer& peer) {
  if (peer.peer == own_.peer) {
    return fail(Code::argument, "peer {} is this process itself", peer.peer);
  }
  // Each round either joins, makes, or finds that the other one made or took away the file in between.
  for (int attempt = 0; attempt < 8; ++attempt) {
    COUPLET_TRY_VALUE(auto page, open_page(peer));
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

Result<std::unique_ptr<Lane>> ShmLink::join_ring(const ShmPeer& peer, std::unique_ptr<os::PeerPage> page) {
  const std::size_t side = side_of(own_, peer);
  COUPLET_TRY_VALUE(auto file, os::MappedFile::open(ring_path(peer), os::Access::read_write));
  auto map = wire::RingMap::inspect(file->bytes());
  if (!map.ok()) {
    return map.status().within(file->path());
  }
  wire::RingHeader& header = map->header();
  if (!belongs_to(header, own_, side) || !belongs_to(header, peer, 1 - side)) {
    return fail(Code::protocol, "{} belongs to other processes", file->path());
  }
  if (header.attached[side].exchange(1, std::memory_order_acq_rel) != 0) {
    return fail(Code::not_found, "{} is in use already", file->path());
  }
  COUPLET_TRY(file->remove());
  return std::unique_ptr<Lane>(new ShmLane(std::move(file), std::move(page), os::bell_path(directory_, peer.peer),
                                           traits_of(options_), *map, side, where_of(peer)));
}

Result<std::unique_ptr<Lane>> ShmLink::make_ring(const ShmPeer& peer, std::unique_ptr<os::PeerPage> page) {
  const std::size_t side = side_of(own_, peer);
  const std::string temporary = os::temporary_name(directory_, fmt::format("new-ring-{:08x}", own_.peer));
  COUPLET_TRY_VALUE(auto file, os::MappedFile::create(temporary, wire::ring_file_bytes(options_.ring)));
  wire::RingHeader header;
  for (const auto& [owner, index] : {std::pair(own_, side), std::pair(peer, 1 - side)}) {
    header.peers[index] = owner.peer;
    header.incarnations[index] = owner.incarnation;
    header.nonces[index] = owner.memory_nonce;
  }
  // Rings begin at different cells: polling many idle ones would else fight for one set of the cache.
  header.first_cell = (own_.peer + peer.peer) * 5;
  auto map = wire::RingMap::lay_out(file->bytes(), options_.ring, header);
  Status ready = map.status();
  if (ready.ok()) {
    map->header().attached[side].store(1, std::memory_order_release);
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
                                           traits_of(options_), *map, side, where_of(peer)));
}

}  // namespace couplet::link
