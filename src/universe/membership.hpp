// universe: programs, ranks, joining, liveness. Turns an environment and a hub into "who is who, where, and alive".
// Above: message, series, relay, runtime. Below: engine, channel (the connection to the hub), os. Invariants: ranks of
// the universe are programs in order of id, then rank; the table of peers costs at most 64 bytes a rank; a peer is lost
// once, by name, and comes back only as a new incarnation; what the hub sends is never trusted blindly. Tests:
// tests/unit/universe, tests/universe.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "channel/channel.hpp"
#include "channel/handshake.hpp"
#include "channel/secret.hpp"
#include "engine/engine.hpp"
#include "os/process_page.hpp"
#include "universe/registry.hpp"

namespace couplet::universe {

struct ProgramInfo {
  std::string name;
  std::int32_t size = 0;
  std::int32_t first_rank = 0;  // in the universe
  bool required = true;         // join waits for it
};

enum class PeerState : std::uint8_t { absent, present, left, lost };

// What is known of one rank (or relay). At most 64 bytes.
struct PeerInfo {
  std::array<std::uint8_t, 16> address{};  // IPv6 or IPv4-mapped
  std::uint16_t port = 0;
  std::uint16_t node = 0;          // index into Membership::node_name
  std::uint32_t process = 0;       // pid as the peer sees it
  std::uint64_t memory_nonce = 0;  // stands in the peer's page in its node directory: proof of reach
  std::uint16_t incarnation = 0;
  PeerState state = PeerState::absent;
  // If false, address, port, process and memory_nonce are not known (yet): Membership::ask_contact.
  bool contact_known = false;
};
static_assert(sizeof(PeerInfo) <= 64);

// How this process presents itself.
struct Identity {
  std::string program;
  std::int32_t rank = 0;  // in the program
  std::int32_t size = 1;
};

// Rank and size from the environment of Open MPI, Hydra (MPICH) or Slurm; not_found where there is none.
Result<Identity> identity_from_launcher();

// A process of the universe: a rank of a program, or a relay (rank and program are then -1).
class Membership {
 public:
  virtual ~Membership() = default;

  [[nodiscard]] virtual channel::PeerId id() const noexcept = 0;
  [[nodiscard]] virtual std::int32_t rank() const noexcept = 0;  // in the universe
  [[nodiscard]] virtual std::int32_t size() const noexcept = 0;
  [[nodiscard]] virtual std::int32_t program() const noexcept = 0;  // id of the own program
  [[nodiscard]] virtual const std::vector<ProgramInfo>& programs() const noexcept = 0;
  [[nodiscard]] virtual const PeerInfo& peer(channel::PeerId id) const noexcept = 0;
  // True if the contact of `id` is known (or nobody needs it any longer: it has left or is lost); otherwise asks the
  // hub for it and returns false: look again in a later tick. Never blocks. State, incarnation and node of each peer
  // are known without asking.
  virtual bool ask_contact(channel::PeerId id) = 0;
  [[nodiscard]] virtual std::string_view node_name(std::uint16_t node) const noexcept = 0;
  [[nodiscard]] virtual std::uint16_t node() const noexcept = 0;  // own
  // "program 'ocean' rank 1 (universe rank 1) on host n03"
  [[nodiscard]] virtual std::string peer_name(channel::PeerId id) const = 0;
  [[nodiscard]] virtual std::uint64_t run_id() const noexcept = 0;
  // <run directory>/<run id>, mode 0700: pages, rings, bells and series of this node.
  [[nodiscard]] virtual const std::string& node_directory() const noexcept = 0;
  // A setting of the universe (from the hub's configuration), overridden by the environment variable; empty: not set.
  // Key "series.eta.slots" <-> COUPLET_SERIES_ETA_SLOTS.
  [[nodiscard]] virtual std::string setting(std::string_view key) const = 0;
  [[nodiscard]] virtual SeriesRegistry& registry() noexcept = 0;

  // The own page in the node directory: knocks of peers, counters; and the doorbell to sleep on. They live as long as
  // this.
  [[nodiscard]] virtual os::ProcessPage& page() noexcept = 0;
  [[nodiscard]] virtual os::Doorbell& doorbell() noexcept = 0;
  // What the universe's processes prove to each other, and how they protect what goes over sockets.
  [[nodiscard]] virtual const channel::Secret& secret() const noexcept = 0;
  [[nodiscard]] virtual channel::Protection protection() const noexcept = 0;
  // From here on the engine polls the connection to the hub, and calls that wait let everything else move. nullptr: no
  // more.
  virtual Status attach(engine::Engine* engine) = 0;
  // ok while the hub answers; hub_lost and why.
  [[nodiscard]] virtual Status hub() const = 0;
  // The hub has said that the universe is over.
  [[nodiscard]] virtual bool over() const = 0;

  // The hub, or a lock in the node directory, says that a peer is gone (has left, or is lost): called once per
  // incarnation, from poll. Several handlers may be set; none is ever taken out.
  virtual void on_lost(std::function<void(channel::PeerId, const Status&)> handler) = 0;
  // Asks the hub to tell `id` that this process cannot reach it and waits for its call. May be lost: ask again, with
  // back-off.
  virtual void request_call_back(channel::PeerId id) = 0;
  // Called from poll when a peer, in its present incarnation, has asked for a call. One handler.
  virtual void on_call_back(std::function<void(channel::PeerId from)> handler) = 0;
  // ok while `id` may still answer; peer_lost with its name and how it was found out. Looks at its lock when on this
  // node.
  virtual Status alive(channel::PeerId id) = 0;
  // The same for one incarnation of it: peer_lost also if a later one is known.
  virtual Status alive(channel::PeerId id, std::uint16_t incarnation) = 0;
  // Says goodbye to the hub (the slots of a writer stay where the contract says so).
  virtual Status leave(std::uint64_t deadline_ns) = 0;
};

}  // namespace couplet::universe
