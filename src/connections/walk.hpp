// Which transport is dialed next for one peer, and when: pure decisions over the ordered list of transports and what
// has come of each so far. Tests: tests/unit/connections/walk_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/retry.hpp"
#include "base/status.hpp"

namespace couplet::connections {

// What the failure of a dial means for the walk.
enum class Verdict : std::uint8_t {
  never,  // this transport will not reach that peer: go on with the next one
  later,  // nobody answers, or something has run out: try again, and ask the peer to dial
  // There is a connection, or the peer's own dial comes first: wait for it, and try again if it does not come.
  theirs_comes,
};
[[nodiscard]] Verdict verdict_of(const Status& failure) noexcept;

struct WalkOptions {
  std::uint64_t min_delay_ns = 100'000'000;
  std::uint64_t max_delay_ns = 2'000'000'000;
  std::uint64_t patience_ns = 60'000'000'000;  // of looking; os::never: as long as both live
  // A dial that has been under way for longer was taken by the peer's system, and waits for a process that computes:
  // the patience begins anew if it fails after all.
  std::uint64_t max_unanswered_ns = 10'000'000'000;
};

class Walk {
 public:
  // names: of the transports in order. seed: differs from process to process.
  Walk(std::vector<std::string> names, const WalkOptions& options, std::uint64_t seed);

  enum class Action : std::uint8_t { dial, wait, give_up };
  struct Step {
    Action action = Action::wait;
    std::size_t transport = 0;  // to dial
  };
  // What to do now. wait: a dial is under way, or the time of the next one has not come.
  [[nodiscard]] Step next(std::uint64_t now_ns);
  // The dial that next() asked for has begun.
  void dialing(std::size_t transport);
  // The dial has ended without a lane, or a lane that it had given was refused. Returns what that means.
  Verdict failed(std::size_t transport, const Status& why, std::uint64_t now_ns);
  // No dial before that time.
  void pause_until(std::uint64_t time_ns) noexcept;
  // No more dials: next() says so.
  void end() noexcept;
  // The times of the next dials have come.
  void hurry() noexcept;
  // A dial from here is of no use: the transport is switched off, cannot break, ...
  void leave_out(std::size_t transport, std::string why);
  [[nodiscard]] std::optional<std::size_t> under_way() const noexcept { return under_way_; }
  // How many dials in a row have found nobody.
  [[nodiscard]] int unanswered() const noexcept { return unanswered_; }
  // How many dials in a row were refused by a system on which nobody listens there.
  [[nodiscard]] int refused() const noexcept { return refused_; }
  // Why each transport was not taken: "shm: another node; tcp: 10.0.0.1:4711: connection refused". Empty: none was
  // tried.
  [[nodiscard]] std::string reasons() const;
  // The failure that ends the walk: that of the last transport, which is what a caller can do something about.
  [[nodiscard]] Code code() const noexcept { return code_; }

 private:
  struct Entry {
    std::string name;
    std::string why;
    bool open = true;  // worth a dial
    std::uint64_t not_before_ns = 0;
    BackOff back_off;
  };
  std::vector<Entry> entries_;
  WalkOptions options_;
  LookedTime looked_;
  std::optional<std::size_t> under_way_;
  std::uint64_t dialed_ns_ = 0;  // of looked_, when the last dial began
  int unanswered_ = 0;
  int refused_ = 0;
  Code code_ = Code::unsupported;
};

}  // namespace couplet::connections
