// The ranks of a required reader program that have opened a series. It is a set and not a number: a note that arrives
// twice, a rank that opens twice, and a rank that was started again count once. Pure; a part of SeriesBook. Tests:
// tests/unit/universe/openers_test.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include "channel/channel.hpp"
#include "universe/registry.hpp"

namespace couplet::universe {

class Openers {
 public:
  // openers: as in SeriesRegistry::reader_opened.
  void opened(channel::PeerId rank, const OpenerRanks& openers) {
    ranks_.insert(rank);
    if (openers.count <= 0) {
      team_opened_ = true;
    } else if (openers.runs.empty()) {
      needed_ = std::max(needed_, static_cast<std::size_t>(openers.count));
    }
    for (const RankRun& run : openers.runs) {
      if (std::find(runs_.begin(), runs_.end(), run) == runs_.end()) {
        runs_.push_back(run);
      }
    }
  }
  // The rank has left or is lost, and holds nothing any longer. If it returns, it is waited for like any other rank.
  void gone(channel::PeerId rank) { ranks_.erase(rank); }
  // Have all opened? living: the number of ranks of the program that are there or may still come; may_open says whether
  // a rank is one of them. If fewer ranks live than are needed, those that live are enough.
  [[nodiscard]] bool all_opened(std::size_t living, const std::function<bool(channel::PeerId)>& may_open) const {
    if (team_opened_ || ranks_.empty() || ranks_.size() < std::min(needed_, living)) {
      return team_opened_;
    }
    return std::all_of(runs_.begin(), runs_.end(), [&](const RankRun& run) {
      for (channel::PeerId rank = run.first; rank - run.first < run.count; ++rank) {
        if (!ranks_.contains(rank) && may_open(rank)) {
          return false;
        }
      }
      return true;
    });
  }

 private:
  std::set<channel::PeerId> ranks_;
  std::size_t needed_ = 0;
  std::vector<RankRun> runs_;  // the ranks that were named
  bool team_opened_ = false;
};

}  // namespace couplet::universe
