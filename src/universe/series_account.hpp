// What this member would tell about series to a hub that was started again: which series it writes and reads, and the
// descriptions that it can give. Pure; a part of Member. Tests: tests/universe/test_hub_returns.py.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "universe/control.hpp"

namespace couplet::universe {

// The largest description of a series that is kept by a reader. The first writer rank keeps a description of any size.
inline constexpr std::size_t max_kept_description_bytes = 64U << 10U;

class SeriesAccount {
 public:
  using Description = std::shared_ptr<const std::string>;

  void writes(const std::string& name, std::uint64_t incarnation, Description description) {
    auto& entry = renew(name, incarnation);
    entry.claim.writes = true;
    if (description != nullptr) {
      entry.description = std::move(description);
    }
  }
  // Notes which incarnation was found. The next opened() means this one.
  void found(const std::string& name, std::uint64_t incarnation, Description description) {
    auto& entry = renew(name, incarnation);
    if (entry.description == nullptr && description->size() <= max_kept_description_bytes) {
      entry.description = std::move(description);
    }
  }
  void opened(const std::string& name, std::uint64_t incarnation, const OpenerRanks& openers) {
    auto& claim = entries_[name].claim;
    ++claim.opened;
    if (incarnation == claim.incarnation) {
      claim.openers = openers;
    }
  }
  void closed_reader(const std::string& name) {
    if (const auto found = entries_.find(name); found != entries_.end() && found->second.claim.opened > 0) {
      --found->second.claim.opened;
      forget_if_unused(found);
    }
  }
  void closed_writer(const std::string& name) {
    if (const auto found = entries_.find(name); found != entries_.end()) {
      found->second.claim.writes = false;
      forget_if_unused(found);
    }
  }

  // Returns at most max_claims claims.
  [[nodiscard]] std::vector<SeriesClaim> claims() const {
    std::vector<SeriesClaim> claims;
    for (const auto& [name, entry] : entries_) {
      if ((entry.claim.writes || entry.claim.opened > 0) && claims.size() < max_claims) {
        claims.push_back(entry.claim);
        claims.back().name = name;
        claims.back().has_record = entry.description != nullptr;
      }
    }
    return claims;
  }
  // Returns nullptr if this member does not have the description.
  [[nodiscard]] Description description(const std::string& name, std::uint64_t incarnation) const {
    const auto found = entries_.find(name);
    return found != entries_.end() && found->second.claim.incarnation == incarnation ? found->second.description
                                                                                     : nullptr;
  }

 private:
  struct Entry {
    SeriesClaim claim;
    Description description;
  };
  using Entries = std::map<std::string, Entry>;

  Entry& renew(const std::string& name, std::uint64_t incarnation) {
    auto& entry = entries_[name];
    if (entry.claim.incarnation != incarnation) {
      entry.claim.incarnation = incarnation;
      entry.claim.writes = false;
      entry.claim.openers = not_opened;
      entry.description = nullptr;
    }
    return entry;
  }
  void forget_if_unused(Entries::iterator entry) {
    if (!entry->second.claim.writes && entry->second.claim.opened == 0) {
      entries_.erase(entry);
    }
  }
  Entries entries_;
};

}  // namespace couplet::universe
