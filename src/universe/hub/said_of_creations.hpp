// What each rank has said to the hub of creations of series: which it takes part in, and from which it has withdrawn.
// Pure; a part of SeriesBook. Tests: tests/unit/universe/failed_creations_test.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "universe/control.hpp"

namespace couplet::universe {

class SaidOfCreations {
 public:
  // The rank has come back, and has said everything.
  void rejoined(channel::PeerId rank, const RejoinMessage& message) {
    auto& pending = ranks_[rank].pending;
    pending.clear();
    for (const auto& each : message.pending) {
      pending[each.name] = each.creation;
    }
    for (const auto creation : message.withdrawn) {
      withdraws(rank, creation);
    }
  }
  // The rank, which is coming back, begins a creation. Returns limit if there are too many.
  Status begins(channel::PeerId rank, const std::string& name, std::uint64_t creation) {
    auto& pending = ranks_[rank].pending;
    if (pending.size() >= max_claims && !pending.contains(name)) {
      return fail(Code::limit, "universe rank {} takes part in {} creations at a time, the most that are possible",
                  rank, max_claims);
    }
    pending[name] = creation;
    return {};
  }
  // The rank has closed the series, or has withdrawn.
  void ends(channel::PeerId rank, const std::string& name, std::uint64_t creation) {
    if (takes_part(rank, name, creation)) {
      ranks_[rank].pending.erase(name);
    }
  }
  void withdraws(channel::PeerId rank, std::uint64_t creation) {
    if (has_withdrawn(rank, creation)) {
      return;
    }
    auto& withdrawn = ranks_[rank].withdrawn;
    withdrawn.push_back(creation);
    if (withdrawn.size() > max_withdrawals) {
      withdrawn.pop_front();
    }
  }
  void gone(channel::PeerId rank) {
    if (const auto found = ranks_.find(rank); found != ranks_.end()) {
      found->second.pending.clear();
    }
  }
  [[nodiscard]] bool takes_part(channel::PeerId rank, const std::string& name, std::uint64_t creation) const {
    const auto found = ranks_.find(rank);
    if (found == ranks_.end()) {
      return false;
    }
    const auto pending = found->second.pending.find(name);
    return pending != found->second.pending.end() && pending->second == creation;
  }
  [[nodiscard]] bool has_withdrawn(channel::PeerId rank, std::uint64_t creation) const {
    const auto found = ranks_.find(rank);
    if (found == ranks_.end()) {
      return false;
    }
    const auto& withdrawn = found->second.withdrawn;
    return std::find(withdrawn.begin(), withdrawn.end(), creation) != withdrawn.end();
  }

 private:
  struct Rank {
    // By name, the creations whose success it did not know yet when it came back. One that succeeds stays here until
    // the rank closes the series.
    std::map<std::string, std::uint64_t> pending;
    // The last withdrawals. They outlive the rank, since an announcement, or a description, may come after them.
    std::deque<std::uint64_t> withdrawn;
  };
  std::map<channel::PeerId, Rank> ranks_;
};

}  // namespace couplet::universe
