// universe: programs, ranks, joining, liveness. Turns an environment and a hub into a table of all processes, which
// says where each one is and whether it is alive. Above: message, series, relay, runtime. Below: engine, channel (the
// connection to the hub), os. Invariants: the ranks of the universe are in the order of their programs' ids, then of
// their ranks in the program; the table of peers needs at most 64 bytes for each rank; a loss is told once, with the
// peer's name, and a lost peer returns only as a new incarnation; what the hub sends is always checked. Tests:
// tests/unit/universe, tests/universe.
#pragma once

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
#include "link/contacts.hpp"
#include "os/process_page.hpp"
#include "universe/registry.hpp"

namespace couplet::universe {

struct ProgramInfo {
  std::string name;
  std::int32_t size = 0;
  std::int32_t first_rank = 0;  // in the universe
  bool required = true;         // joining waits for this program
};

enum class PeerState : std::uint8_t { absent, present, left, lost };

// The facts about one rank (or relay). At most 64 bytes.
struct PeerInfo {
  link::ContactList contacts;  // how transports dial it
  std::uint32_t process = 0;   // pid as the peer sees it
  std::uint16_t node = 0;      // index into Membership::node_name
  std::uint16_t incarnation = 0;
  PeerState state = PeerState::absent;
  // If false, contacts and process are not known (yet). See Membership::ask_contact.
  bool contact_known = false;
};
static_assert(sizeof(PeerInfo) <= 64);

// How this process describes itself.
struct Identity {
  std::string program;
  std::int32_t rank = 0;  // in the program
  std::int32_t size = 1;
};

// Returns rank and size from the environment of Open MPI, Hydra (MPICH) or Slurm, or not_found if there is none of
// these.
Result<Identity> identity_from_launcher();

// How much a process does to hear what the hub knows: see Membership::catch_up.
enum class CatchUp : std::uint8_t { read, come_back, ask };

struct Security {
  const channel::Secret& secret;
  channel::Protection protection;
  channel::SharedCredentials credentials;  // how this process proves which one it is
};

// Whether a process that cannot reach a peer has a proof that the peer is lost.
enum class LossProof : std::uint8_t {
  none,
  // The system of the peer's host has refused several calls in a row, because no process listens at the port. While the
  // hub answers, its message is waited for, since it says more.
  without_hub,
  certain,  // the peer's process has ended without leaving
};

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
  // Returns true if the contact of `id` is known, or is no longer needed because the peer has left or is lost.
  // Otherwise asks the hub for it and returns false; ask again in a later tick. Never blocks. State, incarnation and
  // node of each peer are known without asking.
  virtual bool ask_contact(channel::PeerId id) = 0;
  [[nodiscard]] virtual std::string_view node_name(std::uint16_t node) const noexcept = 0;
  [[nodiscard]] virtual std::uint16_t node() const noexcept = 0;  // this process's
  // "program 'ocean' rank 1 (universe rank 1) on host n03"
  [[nodiscard]] virtual std::string peer_name(channel::PeerId id) const = 0;
  [[nodiscard]] virtual std::uint64_t run_id() const noexcept = 0;
  // The directory <run directory>/<run id>, mode 0700, with the pages, rings, bells and series of this node.
  [[nodiscard]] virtual const std::string& node_directory() const noexcept = 0;
  // Returns a setting of the universe: the environment variable if it is set, else the value from the hub, else "". The
  // key "series.eta.slots" belongs to the variable COUPLET_SERIES_ETA_SLOTS.
  [[nodiscard]] virtual std::string setting(std::string_view key) const = 0;
  [[nodiscard]] virtual SeriesRegistry& registry() noexcept = 0;

  // The page of this process in the node directory, with the knocks of peers and the counters; and the doorbell that
  // wakes this process. Both live as long as this object.
  [[nodiscard]] virtual os::ProcessPage& page() noexcept = 0;
  [[nodiscard]] virtual os::Doorbell& doorbell() noexcept = 0;
  // The secret that the processes of the universe prove to each other, and the protection of what is sent over sockets.
  [[nodiscard]] virtual Security security() const noexcept = 0;
  // From now on, the engine polls the connection to the hub, and calls that wait poll everything else meanwhile.
  // nullptr: from now on, it does not.
  virtual Status attach(engine::Engine* engine) = 0;
  // Returns ok while the hub answers, else hub_lost and the reason.
  [[nodiscard]] virtual Status hub() const = 0;
  // Has the hub said that the universe has ended?
  [[nodiscard]] virtual bool over() const = 0;

  // Adds a handler that is called from poll, once for each incarnation of a peer, when the hub or a lock in the node
  // directory says that the peer has left or is lost. Several handlers may be added; none can be removed. still_sends:
  // as long as it returns true for a peer that has left, something that the peer sent before is on its way, and the
  // handlers are called later. Empty: nothing is.
  virtual void on_lost(std::function<void(channel::PeerId, const Status&)> handler,
                       std::function<bool(channel::PeerId)> still_sends) = 0;
  // This process cannot reach that incarnation of `id`. Asks the hub to let `id` dial; the request may get lost: repeat
  // it, with growing pauses. why: what proves that it is lost; it is used if proof is LossProof::without_hub.
  virtual void cannot_reach(channel::PeerId id, std::uint16_t incarnation, LossProof proof, const Status& why) = 0;
  // Sets the one handler that is called from poll when a peer, in its present incarnation, asks this process to dial.
  virtual void on_call_back(std::function<void(channel::PeerId from)> handler) = 0;
  // Returns ok while that incarnation of `id` may still answer, else peer_lost, with its name and the proof; also if a
  // later one is known. Checks the lock of a peer on this node.
  virtual Status alive(channel::PeerId id, std::uint16_t incarnation) = 0;
  // Reads what the hub has sent, and waits for it, unless a poll has called this:
  // CatchUp::come_back: if the hub is away and answers again, for at most a fiftieth of the time since the last such
  // wait, and for at most 200 ms. For calls that do not wait otherwise: a process that makes one each minute would need
  // a minute for each message of the handshake.
  // CatchUp::ask: for at most a second, until this process knows all that the hub knew at the time of the call. If the
  // hub is away, it waits as above, for at most a tenth of the time and at most 200 ms. Ask before a call fails
  // because of a peer that is gone: the peer may be back, and a third process, which knew this earlier, may have sent
  // the message that led to the call.
  // Returns true if the handlers of on_lost have not been told of all losses yet.
  virtual bool catch_up(CatchUp extent) = 0;
  // Says goodbye to the hub. The slots of a writer stay as long as docs/formats/series.md says.
  virtual Status leave(std::uint64_t deadline_ns) = 0;
};

// Returns ok while `id` may still answer in its present incarnation, else peer_lost, with its name and the proof.
inline Status alive(Membership& membership, channel::PeerId id) {
  return membership.alive(id, membership.peer(id).incarnation);
}

}  // namespace couplet::universe
