// The ranks of a required reader program that have opened a series. It is a set and not a number: a note that arrives
// twice, a rank that opens twice, and a rank that was started again count once. Pure; a part of SeriesBook. Tests:
// tests/unit/universe/openers_test.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>

#include "channel/channel.hpp"

namespace couplet::universe {

class Openers {
 public:
  // openers: as in SeriesRegistry::reader_opened.
  void opened(channel::PeerId rank, std::int32_t openers) {
    ranks_.insert(rank);
    if (openers <= 0) {
      team_opened_ = true;
    } else {
      needed_ = std::max(needed_, static_cast<std::size_t>(openers));
    }
  }
  // The rank has left or is lost, and holds nothing any longer. If it returns, it is waited for like any other rank.
  void gone(channel::PeerId rank) { ranks_.erase(rank); }
  // Have all opened? living: the number of ranks of the program that are there or may still come. If fewer ranks live
  // than are needed, those that live are enough.
  [[nodiscard]] bool all_opened(std::size_t living) const {
    return team_opened_ || (!ranks_.empty() && ranks_.size() >= std::min(needed_, living));
  }

 private:
  std::set<channel::PeerId> ranks_;
  std::size_t needed_ = 0;
  bool team_opened_ = false;
};

}  // namespace couplet::universe
