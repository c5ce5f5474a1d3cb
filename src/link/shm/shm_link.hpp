// shm: lanes between processes that share memory. Turns a node directory and a peer's nonce into a lane over a mapped
// ring. runtime uses it. A process that wants a lane writes the complete ring file of the pair under a temporary name,
// and links it to the name of the pair. If that name is taken, it uses the other process's file. Then it knocks at the
// peer's page. The file's name is removed as soon as both have mapped the file, or one has refused it.
// docs/formats/shm-ring.md; tests/unit/link.
// Invariants: frames in a ring stay there for a live peer that has not read them yet, even if the sender has ended; the
// memory of all rings that this process has made is bounded.
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
  // The largest shape of each direction. Later rings are smaller (see ring_shape_for).
  wire::RingShape ring;
  std::uint64_t max_ring_bytes = 64U << 20U;  // for all rings in use that this process has made
  std::uint32_t largest_payload = 1U << 20U;  // for one frame
  std::uint64_t eager_bytes = 16U << 10U;
};

// A process, as its page and the universe describe it.
struct ShmPeer {
  std::uint32_t peer = 0;
  std::uint32_t incarnation = 0;
  // Of a peer that has ended before this process was told of it. Its page is gone, and only its ring can be read.
  static constexpr std::uint64_t unknown_nonce = 0;
  std::uint64_t memory_nonce = unknown_nonce;
};

// Returns the shape of the next ring of a process whose other rings take `used_bytes`: the largest one, up to
// options.ring, that takes at most 1/64 of what is left of max_ring_bytes. So rings get smaller before there is no
// room. Returns limit if there is no room even for the smallest ring.
Result<wire::RingShape> ring_shape_for(const ShmOptions& options, std::uint64_t used_bytes);

class ShmLink {
 public:
  // Opens the link. `directory` is the node directory, which has this process's page already (os::ProcessPage). Returns
  // limit if the options are out of bounds.
  static Result<std::unique_ptr<ShmLink>> open(const std::string& directory, const ShmPeer& own,
                                               const ShmOptions& options = {});
  ShmLink(const ShmLink&) = delete;
  ShmLink& operator=(const ShmLink&) = delete;

  // Makes a lane to that peer, which can be used at once: joins the ring that the peer has made, or makes one and
  // knocks. Does not wait for the peer. Returns unsupported if no memory is shared with it (use another link); limit if
  // there is no descriptor, or no room for a ring; no_space or system.
  Result<std::unique_ptr<Lane>> connect(const ShmPeer& peer);
  // Answers a knock (os::ProcessPage::take_knocks; the rest as the universe knows it) with a lane. Also for a peer that
  // has left since: its ring holds what it sent before. Returns not_found if the ring is gone again, or connect() has
  // joined it already: forget the knock. Returns limit if there is no descriptor at present.
  Result<std::unique_ptr<Lane>> accept(const ShmPeer& peer);
  // Answers a knock with a refusal: `why` is the refusal() of the peer's lane. It works without a free descriptor.
  // Returns not_found if there is no ring, and state if the peer is ending, so that its ring must be accepted.
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
  // It is given up for a moment to refuse a ring if no other descriptor is left.
  os::Descriptor spare_;
  // Bytes of the rings in use that were made here.
  std::shared_ptr<std::uint64_t> used_bytes_ = std::make_shared<std::uint64_t>(0);
};

}  // namespace couplet::link
