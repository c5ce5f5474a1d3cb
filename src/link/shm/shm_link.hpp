// shm: lanes between processes that share memory. Turns a node directory and a peer's nonce into a lane over a mapped ring.
// Used by runtime. How two meet: whoever wants a lane makes the ring file of the pair, complete, under a temporary name,
// links it to the pair's name (when that is taken, it uses the other's), and knocks at the peer's page. The file's name
// goes as soon as both have mapped it. docs/formats/shm-ring.md; tests/unit/link.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.hpp"
#include "link/link.hpp"
#include "os/process_page.hpp"
#include "wire/ring.hpp"

namespace couplet::link {

struct ShmOptions {
  wire::RingShape ring;                       // of each direction
  std::uint32_t largest_payload = 1U << 20U;  // of one frame
  std::uint64_t eager_bytes = 16U << 10U;
};

// A process as its page and the universe know it.
struct ShmPeer {
  std::uint32_t peer = 0;
  std::uint32_t incarnation = 0;
  std::uint64_t memory_nonce = 0;
};

class ShmLink {
 public:
  // directory: the node directory, where the own page (os::ProcessPage) is already. limit: the options are out of bounds.
  static Result<std::unique_ptr<ShmLink>> open(const std::string& directory, const ShmPeer& own,
                                               const ShmOptions& options = {});
  ShmLink(const ShmLink&) = delete;
  ShmLink& operator=(const ShmLink&) = delete;

  // A lane to that peer, usable at once: joins the ring that the peer has made, or makes one and knocks. Does not wait for
  // the peer. unsupported: no memory is shared with it (use another link); no_space, system.
  Result<std::unique_ptr<Lane>> connect(const ShmPeer& peer);
  // The answer to a knock (os::ProcessPage::take_knocks; the rest as the universe knows it). not_found: the ring is gone again, or this
  // side has joined it already by connect(): forget the knock.
  Result<std::unique_ptr<Lane>> accept(const ShmPeer& peer);

 private:
  ShmLink(std::string directory, const ShmPeer& own, const ShmOptions& options)
      : directory_(std::move(directory)), own_(own), options_(options) {}
  [[nodiscard]] Result<std::unique_ptr<os::PeerPage>> open_page(const ShmPeer& peer) const;
  Result<std::unique_ptr<Lane>> join_ring(const ShmPeer& peer, std::unique_ptr<os::PeerPage> page);
  Result<std::unique_ptr<Lane>> make_ring(const ShmPeer& peer, std::unique_ptr<os::PeerPage> page);
  [[nodiscard]] std::string ring_path(const ShmPeer& peer) const;

  std::string directory_;
  ShmPeer own_;
  ShmOptions options_;
};

}  // namespace couplet::link
