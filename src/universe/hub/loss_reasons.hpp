// Why the last losses happened, for members that are told the states of all peers at once: those that join, come back,
// or had not read for long. Pure; a part of ChangeBatch. Tests: tests/unit/universe/loss_reasons_test.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "universe/control.hpp"

namespace couplet::universe {

class LossReasons {
 public:
  static constexpr std::size_t max_reasons = 256;  // older ones are forgotten

  // The state of a peer has changed. why: the reason, if it is lost.
  void note(channel::PeerId peer, const PeerInfo& info, const std::string& why) {
    std::erase_if(reasons_, [peer](const Reason& reason) { return reason.run.first == peer; });
    if (info.state == PeerState::lost && !why.empty()) {
      reasons_.push_back({{peer, 1, info.state, info.incarnation, info.node}, why});
      if (reasons_.size() > max_reasons) {
        reasons_.pop_front();
      }
    }
  }
  // Returns the losses that have reasons, one group for each reason.
  [[nodiscard]] std::vector<StateGroup> groups() const {
    std::map<std::string, std::vector<PeerRun>> by_reason;
    for (const Reason& reason : reasons_) {
      by_reason[reason.why].push_back(reason.run);
    }
    std::vector<StateGroup> groups;
    groups.reserve(by_reason.size() + 1);  // the caller adds the table
    for (auto& [why, runs] : by_reason) {
      groups.push_back({why, std::move(runs)});
    }
    return groups;
  }

 private:
  struct Reason {
    PeerRun run;
    std::string why;
  };
  std::deque<Reason> reasons_;  // the newest one last
};

}  // namespace couplet::universe
