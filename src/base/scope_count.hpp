// Counts how many scopes of a kind are open, also if exceptions leave them.
// Unlike a flag that is set and restored, it stays right if two threads leave in the order in which they have entered.
#pragma once

namespace couplet {

class ScopeCount {
 public:
  explicit ScopeCount(int& count) noexcept : count_(count) { ++count_; }
  ~ScopeCount() { --count_; }
  ScopeCount(const ScopeCount&) = delete;
  ScopeCount& operator=(const ScopeCount&) = delete;

 private:
  int& count_;
};

}  // namespace couplet
