// Decides which peers are alive. This is the one place that decides that a peer has left or is lost, that keeps the
// text which says so, and that tells the layers above. It turns proofs (the lock of a page in the node directory, a
// message of the hub, without a hub a port that refuses calls) into a state in the table of peers. Used by member.
// Below: os (locks). docs/liveness.md says which death is noticed by which proof and within what time. Invariants: no
// peer is declared dead because of age, silence or a number; a peer is lost at most once in each incarnation; a loss is
// kept until a handler has been told; the handlers are told of a loss while the table still shows the incarnation that
// was lost, so that a peer that was started again at once is first lost for all layers, and then returns for all; this
// holds for each incarnation, also for one that has come and gone before this process heard of it, since what it has
// sent must arrive.
// Tests: tests/unit/universe/liveness_test.cpp, tests/universe/test_deaths.py.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/status.hpp"
#include "channel/handshake.hpp"
#include "os/lock.hpp"
#include "universe/control.hpp"
#include "universe/membership.hpp"

namespace couplet::universe {

class Liveness {
 public:
  // What Liveness needs of the process whose peers it watches. No function of it blocks.
  class Host {
   public:
    virtual ~Host() = default;
    // The peer's entry in the table; nullptr if the universe has no such peer.
    [[nodiscard]] virtual PeerInfo* find_peer(channel::PeerId id) noexcept = 0;
    [[nodiscard]] virtual std::string peer_name(channel::PeerId id) const = 0;
    // Takes all messages of the hub that have arrived. May call hub_says().
    virtual void hear() = 0;
    [[nodiscard]] virtual bool hub_answers() const noexcept = 0;
    // All peers that are present on `node`, relays included.
    [[nodiscard]] virtual std::vector<channel::PeerId> peers_on(std::uint16_t node) const = 0;
  };
  using Handler = std::function<void(channel::PeerId, const Status&)>;
  using StillSends = std::function<bool(channel::PeerId)>;

  // host: outlives this object.
  explicit Liveness(Host& host) noexcept : host_(host) {}
  Liveness(const Liveness&) = delete;
  Liveness& operator=(const Liveness&) = delete;
  ~Liveness() = default;

  // From now on, locks in `node_directory` count as proofs. Called once, when the node of this process is known.
  void enter(const std::string& node_directory, channel::PeerId self, std::uint16_t node);
  // From now on, no peer is checked: this process leaves.
  void stop_looking() noexcept {
    probes_.clear();
    round_.clear();
    node_directory_.clear();
  }

  // Adds a handler of losses. tell() calls it once for each incarnation that has left or is lost. still_sends: is asked
  // about a peer that has left; as long as it returns true, something that the peer sent before is on its way, and no
  // handler is told. Empty: nothing is.
  void on_lost(Handler handler, StillSends still_sends) {
    handlers_.push_back(std::move(handler));
    if (still_sends) {
      still_sends_.push_back(std::move(still_sends));
    }
  }
  // Returns ok while `id` may still answer, and otherwise peer_lost, with its name and the proof. If `id` is on this
  // node, its lock is checked now, and again in each tick.
  Status alive(channel::PeerId id);
  // Does the same for one incarnation, and also returns peer_lost if the universe knows a later one. An incarnation
  // that the hub has not told of yet counts as alive, unless its page in the node directory proves that it has ended.
  Status alive(channel::PeerId id, std::uint16_t incarnation);
  // Checks locks again: those of the peers that were asked about in each call, and those of all other peers on this
  // node in turn. So a wait need not say for which peer it waits, also without a hub. To be called about ten times a
  // second during a wait.
  void tick(std::uint64_t now_ns);
  // Takes what the hub says of `id`. entry: where the table stores it. text: why the peer is lost, or empty. If this
  // process could not hear the hub for a while, the hub tells the newest incarnation only: each one before it of which
  // this process has not heard is lost, too.
  void hub_says(channel::PeerId id, PeerInfo& entry, const PeerInfo& info, const std::string& text);
  // Takes the address of an incarnation. Returns false if that incarnation is not present, and is not to be entered
  // into the table later.
  bool hub_says_contact(channel::PeerId id, PeerInfo& entry, std::uint16_t incarnation, const Contact& contact);
  // That incarnation counts as lost if no hub answers (Membership::cannot_reach).
  void cannot_reach(channel::PeerId id, std::uint16_t incarnation, const Status& why_lost);
  // It is proven that this incarnation has ended without leaving.
  void has_died(channel::PeerId id, std::uint16_t incarnation);
  // Tells the handlers about the losses that they have not been told yet, and then puts later incarnations of these
  // peers into the table. If there is no handler, the losses are kept.
  void tell();
  // Would tell() call a handler?
  [[nodiscard]] bool has_news() const noexcept { return !losses_.empty() && !handlers_.empty(); }

 private:
  struct Loss {
    channel::PeerId id;
    PeerState state;  // left or lost
    Status why;
  };

  // What the hub has said last of an incarnation after one whose loss is not told yet.
  struct Later {
    PeerInfo info;
    std::string text;
  };

  void lose(channel::PeerId id, PeerState state, const std::string& text);
  void take(channel::PeerId id, PeerInfo& entry, const PeerInfo& info, const std::string& text);
  void enter(channel::PeerId id, PeerInfo& entry, const PeerInfo& info, const std::string& text);
  void enter_later(channel::PeerId id);
  [[nodiscard]] bool is_present(channel::PeerId id, std::uint16_t incarnation) const;
  [[nodiscard]] bool is_untold(channel::PeerId id) const noexcept;
  [[nodiscard]] bool still_sends(const Loss& loss) const;
  void look_at_lock(channel::PeerId id, PeerInfo& entry, bool keep_probe);
  void look_around(std::uint64_t now_ns);
  [[nodiscard]] bool has_no_page(channel::PeerId id) const;
  [[nodiscard]] bool lock_is_free(channel::PeerId id, bool keep_probe);

  Host& host_;
  std::string node_directory_;
  channel::PeerId self_ = channel::no_peer;
  std::uint16_t node_ = 0;
  std::unordered_map<channel::PeerId, std::string> loss_texts_;
  std::unordered_map<channel::PeerId, std::unique_ptr<os::LockProbe>> probes_;  // for the peers that were asked about
  // Since when the page is missing, while the hub has not said why.
  std::unordered_map<channel::PeerId, std::uint64_t> page_gone_since_ns_;
  std::vector<channel::PeerId> round_;  // the peers on this node that are still to be checked
  std::uint64_t next_round_ns_ = 0;
  std::deque<Loss> losses_;                                       // not yet told
  std::deque<Loss> leaving_;                                      // losses of peers that still send
  std::unordered_map<channel::PeerId, std::deque<Later>> later_;  // none is empty
  bool telling_ = false;
  std::vector<Handler> handlers_;
  std::vector<StillSends> still_sends_;
};

}  // namespace couplet::universe
