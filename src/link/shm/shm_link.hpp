// shm: lanes between processes that share memory. Turns a node directory and a peer's nonce into a lane over a mapped ring.
// Used by runtime. How two meet: whoever wants a lane makes the ring file of the pair, complete, under a temporary name,
// links it to the pair's name (when that is taken, it uses the other's), and knocks at the peer's page. The file's name
// goes as soon as both have mapped it, or one has refused it. docs/formats/shm-ring.md; tests/unit/link.
// Invariants: frames that were pushed into a ring stay there for a peer that lives and has not looked at it yet, also when
// the pusher has ended; the memory of all rings that this process has made is bounded.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.hpp"
#include "link/link.hpp"
#include "os/descriptor.hpp"
#include "os/process_page.hpp"
#include "wire/ring.hpp"

namespace couplet::link {

struct ShmOptions {
  wire::RingShape ring;                       // of each direction, at most: later ones are smaller (see ring_shape_for)
  std::uint64_t max_ring_bytes = 64U << 20U;  // of all rings that this process has made and that are in use
  std::uint32_t largest_payload = 1U << 20U;  // of one frame
  std::uint64_t eager_bytes = 16U << 10U;
};

// A process as its page and the universe know it.
struct ShmPeer {
  std::uint32_t peer = 0;
  std::uint32_t incarnation = 0;
  std::uint64_t memory_nonce = 0;
};

// The shape of the next ring of a process whose other rings take `used_bytes`: the largest one, up to options.ring, that takes
// at most 1/64 of what is left of max_ring_bytes, so that rings get smaller before there is none. limit: there is no room
// even for the smallest ring.
Result<wire::RingShape> ring_shape_for(const ShmOptions& options, std::uint64_t used_bytes);

class ShmLink {
 public:
  // directory: the node directory, where the own page (os::ProcessPage) is already. limit: the options are out of bounds.
  static Result<std::unique_ptr<ShmLink>> open(const std::string& directory, const ShmPeer& own,
                                               const ShmOptions& options = {});
  ShmLink(const ShmLink&) = delete;
  ShmLink& operator=(const ShmLink&) = delete;

  // A lane to that peer, usable at once: joins the ring that the peer has made, or makes one and knocks. Does not wait for
  // the peer. unsupported: no memory is shared with it (use another link); limit: no descriptor, or no room for a ring;
  // no_space, system.
  Result<std::unique_ptr<Lane>> connect(const ShmPeer& peer);
  // The answer to a knock (os::ProcessPage::take_knocks; the rest as the universe knows it). Also for a peer that has left
  // since: its ring holds what it sent before. not_found: the ring is gone again, or this side has joined it already by
  // connect(): forget the knock. limit: no descriptor just now.
  Result<std::unique_ptr<Lane>> accept(const ShmPeer& peer);
  // The other answer to a knock: the peer's lane gets `why` as its refusal(). Works without a free descriptor.
  // not_found: there is no ring (any more). state: the peer is ending, so that its ring has to be accepted.
  Status refuse(const ShmPeer& peer, const Status& why);

 private:
  ShmLink(std::string directory, const ShmPeer& own, const ShmOptions& options, os::Descriptor spare)
      : directory_(std::move(directory)), own_(own), options_(options), spare_(std::move(spare)) {}
  struct OpenRing;
  [[nodiscard]] Result<std::unique_ptr<os::PeerPage>> open_page(const ShmPeer& peer) const;
  Result<OpenRing> open_ring(const ShmPeer& peer) const;
  Result<std::unique_ptr<Lane>> join_ring(const ShmPeer& peer, std::unique_ptr<os::PeerPage> page);
  Result<std::unique_ptr<Lane>> make_ring(const ShmPeer& peer, std::unique_ptr<os::PeerPage> page);
  [[nodiscard]] std::string ring_path(const ShmPeer& peer) const;

  std::string directory_;
  ShmPeer own_;
  ShmOptions options_;
  os::Descriptor spare_;  // given up for a moment to refuse a ring when no other descriptor is left
  std::shared_ptr<std::uint64_t> used_bytes_ =
      std::make_shared<std::uint64_t>(0);  // of rings in use that were made here
};

}  // namespace couplet::link
