// Who is alive: the one place that decides that a peer has left or is lost, that keeps the text which says so, and that
// tells the layers above. It turns proofs (the lock of a page in the node directory, the hub's word) into a state of
// the peer table. Used by member. Below: os (locks). docs/liveness.md says which death is noticed by which proof and
// within what time. Invariants: nobody is declared dead by age, silence or a number; a peer is lost at most once for
// each incarnation; a loss is kept until somebody listens. Tests: tests/unit/universe/liveness_test.cpp,
// tests/universe/test_deaths.py.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/status.hpp"
#include "channel/handshake.hpp"
#include "os/lock.hpp"
#include "universe/membership.hpp"

namespace couplet::universe {

class Liveness {
 public:
  // What Liveness needs of the process whose peers it watches. None of these blocks.
  class Host {
   public:
    virtual ~Host() = default;
    // The peer's entry in the table; nullptr if the universe has no such peer.
    [[nodiscard]] virtual PeerInfo* find_peer(channel::PeerId id) noexcept = 0;
    [[nodiscard]] virtual std::string peer_name(channel::PeerId id) const = 0;
    // Takes everything that the hub has said until now; may call back into hub_says().
    virtual void hear() = 0;
    [[nodiscard]] virtual bool hub_answers() const noexcept = 0;
    // Everybody present on `node`, relays too.
    [[nodiscard]] virtual std::vector<channel::PeerId> peers_on(std::uint16_t node) const = 0;
  };
  using Handler = std::function<void(channel::PeerId, const Status&)>;

  // host: outlives this object.
  explicit Liveness(Host& host) noexcept : host_(host) {}
  Liveness(const Liveness&) = delete;
  Liveness& operator=(const Liveness&) = delete;
  ~Liveness() = default;

  // From now on locks of `node_directory` count as proofs. Called once, when the own place is known.
  void enter(const std::string& node_directory, channel::PeerId self, std::uint16_t node);
  // No peer is looked at any longer: this process leaves.
  void stop_looking() noexcept {
    probes_.clear();
    round_.clear();
    node_directory_.clear();
  }

  // Adds a handler of losses: called once for each incarnation that has left or is lost, from tell().
  void on_lost(Handler handler) { handlers_.push_back(std::move(handler)); }
  // ok while `id` may still answer; otherwise peer_lost with its name and how that was found out. If it is on this
  // node, its lock is looked at now, and again in each tick.
  Status alive(channel::PeerId id);
  // The same for one incarnation: peer_lost also if the universe knows a later one. An incarnation that the hub has not
  // told of yet counts as alive, unless its page in the node directory proves that it has ended.
  Status alive(channel::PeerId id, std::uint16_t incarnation);
  // To be called about ten times a second while somebody waits. Looks again at the locks of the peers that somebody has
  // asked about, and in turn at those of all others on this node: nobody needs to know for whom a wait waits, also
  // without a hub.
  void tick(std::uint64_t now_ns);
  // The hub describes `id` anew. entry: where the table stores it. text: why it is lost, or empty.
  void hub_says(channel::PeerId id, PeerInfo& entry, const PeerInfo& info, const std::string& text);
  // Tells the handlers about the losses that they have not heard of. Without a handler they are kept.
  void tell();
  // Would tell() call a handler?
  [[nodiscard]] bool has_news() const noexcept { return !losses_.empty() && !handlers_.empty(); }

 private:
  struct Loss {
    channel::PeerId id;
    Status why;
  };

  void lose(channel::PeerId id, PeerState state, const std::string& text);
  void look_at_lock(channel::PeerId id, PeerInfo& entry, bool keep_probe);
  void look_around(std::uint64_t now_ns);
  [[nodiscard]] bool lock_is_free(channel::PeerId id, bool keep_probe);

  Host& host_;
  std::string node_directory_;
  channel::PeerId self_ = channel::no_peer;
  std::uint16_t node_ = 0;
  std::unordered_map<channel::PeerId, std::string> loss_texts_;
  std::unordered_map<channel::PeerId, std::unique_ptr<os::LockProbe>> probes_;  // of peers that somebody asked about
  std::unordered_map<channel::PeerId, std::uint64_t> page_gone_since_ns_;       // the hub has not said why
  std::vector<channel::PeerId> round_;                                          // on this node, to be looked at
  std::uint64_t next_round_ns_ = 0;
  std::vector<Loss> losses_;  // not yet told
  std::vector<Handler> handlers_;
};

}  // namespace couplet::universe
