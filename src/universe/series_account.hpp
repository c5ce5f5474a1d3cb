// What this member does with series, as it tells the hub when it comes back: which series it writes, reads and creates,
// from which creations it has withdrawn, and the descriptions that it can give. That it begins, closes or withdraws is
// noted here before a message says it: if the connection breaks, the next `rejoin` says it. Pure; a part of Member.
// Tests: tests/unit/universe/series_account_test.cpp, tests/universe/test_hub_returns.py.
#pragma once

#include <cstdint>
#include <deque>
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

  // creation: SeriesRecord::creation. Returns exists if this member writes that name, or creates it already, and limit
  // if it takes part in too many creations.
  Status creates(const std::string& name, std::uint64_t creation) {
    if (is_written(name)) {
      return fail(Code::exists, "series '{}' is being written by this process", name);
    }
    if (pending_.contains(name)) {
      return fail(Code::exists, "series '{}' is being created by this process", name);
    }
    if (pending_.size() >= max_pending_creations) {
      return fail(Code::limit, "series '{}': this process creates {} series already, the most that are possible", name,
                  max_pending_creations);
    }
    pending_.emplace(name, creation);
    return {};
  }
  // The creation has ended.
  void creates_no_longer(const std::string& name, std::uint64_t creation) {
    if (const auto found = pending_.find(name); found != pending_.end() && found->second == creation) {
      pending_.erase(found);
    }
  }
  void writes(const std::string& name, std::uint64_t incarnation, std::uint64_t creation, Description description) {
    creates_no_longer(name, creation);
    auto& entry = renew(name, incarnation, creation);
    entry.claim.writes = entry.has_written = true;
    if (description != nullptr) {
      entry.description = std::move(description);
    }
  }
  // Returns SeriesRecord::creation of the incarnation that this member has found, or 0.
  [[nodiscard]] std::uint64_t creation_of(const std::string& name, std::uint64_t incarnation) const {
    const auto found = entries_.find(name);
    return found != entries_.end() && found->second.claim.incarnation == incarnation ? found->second.claim.creation : 0;
  }
  // Returns SeriesRecord::creation of what this member writes, or 0.
  [[nodiscard]] std::uint64_t creation(const std::string& name) const {
    const auto found = entries_.find(name);
    return found != entries_.end() && found->second.claim.writes ? found->second.claim.creation : 0;
  }
  [[nodiscard]] bool is_written(const std::string& name) const {
    const auto found = entries_.find(name);
    return found != entries_.end() && found->second.claim.writes;
  }
  // Notes which incarnation was found. The next opened() means this one.
  void found(const std::string& name, std::uint64_t incarnation, std::uint64_t creation, Description description) {
    auto& entry = renew(name, incarnation, creation);
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
  // That the member has opened this incarnation is still told: other ranks of its program may open it later, and the
  // writer waits until all have done so.
  void closed_reader(const std::string& name) {
    if (const auto found = entries_.find(name); found != entries_.end() && found->second.claim.opened > 0) {
      --found->second.claim.opened;
      forget_if_unused(found);
    }
  }
  // A program may still open the closed series and read its steps, and this member may be the only one left that can
  // describe it to a hub.
  void closed_writer(const std::string& name) {
    if (const auto found = entries_.find(name); found != entries_.end()) {
      found->second.claim.writes = false;
      forget_if_unused(found);
    }
  }
  // The creation has failed here. Another one may have made a series of that name meanwhile.
  void withdraws(const std::string& name, std::uint64_t creation) {
    creates_no_longer(name, creation);
    withdrawn_.push_back(creation);
    if (withdrawn_.size() > max_withdrawals) {
      withdrawn_.pop_front();
    }
    const auto found = entries_.find(name);
    if (found != entries_.end() && found->second.claim.writes && found->second.claim.creation == creation) {
      found->second.has_written = false;
      closed_writer(name);
    }
  }

  // Returns at most max_claims claims.
  [[nodiscard]] std::vector<SeriesClaim> claims() const {
    std::vector<SeriesClaim> claims;
    for (const bool in_use : {true, false}) {  // what is not in use matters less
      for (const auto& [name, entry] : entries_) {
        if (is_in_use(entry) == in_use && claims.size() < max_claims) {
          claims.push_back(entry.claim);
          claims.back().name = name;
          claims.back().closed = entry.has_written && !entry.claim.writes;
          // A series that was only found may be one whose creation has failed meanwhile.
          const bool was_used = is_in_use(entry) || entry.has_written || entry.claim.openers.count != not_opened;
          claims.back().has_record = entry.description != nullptr && was_used;
        }
      }
    }
    return claims;
  }
  [[nodiscard]] std::vector<PendingCreation> pending() const {
    std::vector<PendingCreation> pending;
    pending.reserve(pending_.size());
    for (const auto& [name, creation] : pending_) {
      pending.push_back({name, creation});
    }
    return pending;
  }
  [[nodiscard]] std::vector<std::uint64_t> withdrawn() const { return {withdrawn_.begin(), withdrawn_.end()}; }
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
    bool has_written = false;
  };
  using Entries = std::map<std::string, Entry>;

  // A hub that was started again may give a creation another incarnation.
  Entry& renew(const std::string& name, std::uint64_t incarnation, std::uint64_t creation) {
    auto& entry = entries_[name];
    entry.claim.incarnation = incarnation;
    if (entry.claim.creation != creation) {
      entry.claim.creation = creation;
      entry.claim.writes = entry.has_written = false;
      entry.claim.openers = not_opened;
      entry.description = nullptr;
    }
    return entry;
  }
  static bool is_in_use(const Entry& entry) noexcept { return entry.claim.writes || entry.claim.opened > 0; }
  void forget_if_unused(Entries::iterator entry) {
    if (is_in_use(entry->second)) {
      return;
    }
    auto& [claim, description, has_written] = entry->second;
    description = has_written ? description : nullptr;
    const bool says_nothing = claim.openers.count == not_opened && description == nullptr;
    if (says_nothing || entries_.size() > max_claims) {
      entries_.erase(entry);
    }
  }
  Entries entries_;
  std::map<std::string, std::uint64_t> pending_;  // creations of which it is not known whether they succeed, by name
  std::deque<std::uint64_t> withdrawn_;           // the last ones
};

}  // namespace couplet::universe
