// Members that have no connection to the hub although nothing proves that their processes have ended: it was reset, or
// their hosts fell silent, or the hub was started again. Decides which of them count as lost, and when. Pure; a part of
// HubState. Invariants: a member that holds its lock, or accepts connections at its port, is never due; one whose
// system refuses them is due after the patience for those; all others, of which nothing can be found out, only after
// the long patience. Tests: tests/unit/universe/absences_test.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "channel/channel.hpp"
#include "os/clock.hpp"

namespace couplet::universe {

class Absences {
 public:
  enum class Cause : std::uint8_t { broken_connection, restart_of_the_hub };
  struct Patience {
    Cause cause = Cause::broken_connection;
    double refusing_s = 0;     // for a member at whose port no process listens
    double unreachable_s = 0;  // for one of which nothing can be found out
  };
  struct Ended {
    channel::PeerId peer = 0;
    std::string why;
  };

  void add(channel::PeerId peer, std::string why, const Patience& patience, std::uint64_t now_ns) {
    Absence& absence = members_[peer];
    absence.patience = patience;
    absence.unreachable_since_ns = now_ns;
    absence.why = std::move(why);
  }
  // It is back, or it is known what has become of it.
  void remove(channel::PeerId peer) { members_.erase(peer); }
  [[nodiscard]] bool was_cut_off(channel::PeerId peer) const {
    const auto found = members_.find(peer);
    return found != members_.end() && found->second.patience.cause == Cause::broken_connection;
  }
  // Returns true if it is absent, and nothing has shown since a certain time that its process may live.
  [[nodiscard]] bool is_in_doubt(channel::PeerId peer, std::uint64_t since_ns) const {
    const auto found = members_.find(peer);
    return found != members_.end() && found->second.seen_ns < since_ns;
  }
  // Another member cannot reach it.
  void doubt(channel::PeerId peer) {
    if (const auto found = members_.find(peer); found != members_.end()) {
      found->second.doubted = true;
    }
  }
  // Returns true if more speaks for its end than that it has not come back after a restart of the hub: it may compute.
  [[nodiscard]] bool doubted(channel::PeerId peer) const {
    const auto found = members_.find(peer);
    return found != members_.end() && (found->second.doubted || was_cut_off(peer));
  }
  [[nodiscard]] std::vector<channel::PeerId> peers() const {
    std::vector<channel::PeerId> peers;
    peers.reserve(members_.size());
    for (const auto& [peer, absence] : members_) {
      peers.push_back(peer);
    }
    return peers;
  }

  // Its port has accepted a connection. After a restart of the hub this may be the port of another process by now, so
  // it does not make the patience longer: the member may have ended long ago.
  void seen_listening(channel::PeerId peer, std::uint64_t now_ns) {
    const auto found = members_.find(peer);
    if (found == members_.end()) {
      return;
    }
    found->second.seen_ns = now_ns;
    if (found->second.patience.cause == Cause::broken_connection) {
      seen_alive(peer, now_ns);
    } else {
      found->second.refusing_until_ns = os::never;
    }
  }
  // Its lock is held.
  void seen_alive(channel::PeerId peer, std::uint64_t now_ns) {
    if (const auto found = members_.find(peer); found != members_.end()) {
      found->second.unreachable_since_ns = now_ns;
      found->second.refusing_until_ns = os::never;
      found->second.seen_ns = now_ns;
      found->second.told = false;
    }
  }
  // Its system lives, and says that no process listens at its port.
  void seen_refusing(channel::PeerId peer, std::uint64_t now_ns) {
    if (const auto found = members_.find(peer); found != members_.end()) {
      found->second.unreachable_since_ns = now_ns;
      found->second.refusing_until_ns =
          std::min(found->second.refusing_until_ns, os::deadline_after(found->second.patience.refusing_s, now_ns));
    }
  }
  // Returns the members for which the hub has waited long enough. It does not remove them from the list.
  [[nodiscard]] std::vector<Ended> due(std::uint64_t now_ns) const {
    std::vector<Ended> due;
    for (const auto& [peer, absence] : members_) {
      if (now_ns >= absence.refusing_until_ns) {
        due.push_back({peer, absence.why + ", and no process listens at its port"});
      } else if (now_ns >= os::deadline_after(absence.patience.unreachable_s, absence.unreachable_since_ns)) {
        due.push_back({peer, absence.why});
      }
    }
    return due;
  }
  // Returns the members whose connection has broken and whose port has neither accepted nor refused a call for
  // `seconds`. Each is returned once, and again only after it was seen alive.
  [[nodiscard]] std::vector<channel::PeerId> newly_unreachable(double seconds, std::uint64_t now_ns) {
    std::vector<channel::PeerId> peers;
    for (auto& [peer, absence] : members_) {
      const bool broken = absence.patience.cause == Cause::broken_connection;
      if (broken && !absence.told && absence.refusing_until_ns == os::never &&
          now_ns >= os::deadline_after(seconds, absence.unreachable_since_ns)) {
        absence.told = true;
        peers.push_back(peer);
      }
    }
    return peers;
  }

 private:
  struct Absence {
    Patience patience;
    std::uint64_t unreachable_since_ns = 0;
    std::uint64_t refusing_until_ns = os::never;  // never: its port has not refused a call
    std::uint64_t seen_ns = 0;                    // at its port, or by its lock; 0: it was not, since it is absent
    bool told = false;                            // newly_unreachable() has returned it
    bool doubted = false;
    std::string why;
  };
  std::map<channel::PeerId, Absence> members_;
};

}  // namespace couplet::universe
