// Decides which transport is dialed next for one peer, and when, from the ordered list of transports and the results of
// the dials so far. Pure. Tests: tests/unit/connections/walk_test.cpp.
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
  never,  // this transport will not reach that peer: try the next one
  later,  // nothing answers, or a resource is missing: try again, and ask the peer to dial
  // There is a connection already, or the peer's own dial is preferred: wait for it, and try again if it does not come.
  theirs_comes,
};
[[nodiscard]] Verdict verdict_of(const Status& failure) noexcept;

struct WalkOptions {
  std::uint64_t min_delay_ns = 100'000'000;
  std::uint64_t max_delay_ns = 2'000'000'000;
  std::uint64_t patience_ns = 60'000'000'000;  // how long to try; os::never: as long as both processes live
  // If a dial has been under way for longer than this, the peer's system has accepted it, and it waits for a process
  // that computes. If such a dial fails after all, the patience begins anew, unless the failure is a timeout: then
  // nothing has shown that the peer lives.
  std::uint64_t max_unanswered_ns = 10'000'000'000;
};

class Walk {
 public:
  // names: of the transports, in order. seed: differs from process to process.
  Walk(std::vector<std::string> names, const WalkOptions& options, std::uint64_t seed);

  enum class Action : std::uint8_t { dial, wait, give_up };
  struct Step {
    Action action = Action::wait;
    std::size_t transport = 0;  // the one to dial
  };
  // Returns what to do now. wait: a dial is under way, or the time of the next one has not come.
  [[nodiscard]] Step next(std::uint64_t now_ns);
  // The dial that next() asked for has begun.
  void dialing(std::size_t transport);
  // The dial has ended without a lane, or the peer has refused the lane that it made. Returns what that means.
  Verdict failed(std::size_t transport, const Status& why, std::uint64_t now_ns);
  // From now on there is no dial before that time.
  void pause_until(std::uint64_t time_ns) noexcept;
  // Ends the walk: next() asks for no further dial.
  void end() noexcept;
  // The next dials may begin at once.
  void hurry() noexcept;
  // Leaves out a transport over which a dial is of no use, for example because it is switched off or cannot break.
  void leave_out(std::size_t transport, std::string why);
  [[nodiscard]] std::optional<std::size_t> under_way() const noexcept { return under_way_; }
  // Returns how many dials in a row had no answer.
  [[nodiscard]] int unanswered() const noexcept { return unanswered_; }
  // Returns how many dials in a row over one transport the peer's system has refused, because no process listens at the
  // port.
  [[nodiscard]] int refused() const noexcept;
  // Returns why each transport was not taken, for example "shm: another node; tcp: 10.0.0.1:4711: connection refused".
  // Empty: none was tried.
  [[nodiscard]] std::string reasons() const;
  // Returns the code of the failure that ends the walk. It is that of the last transport, about which a caller can do
  // something.
  [[nodiscard]] Code code() const noexcept { return code_; }

 private:
  struct Entry {
    std::string name;
    std::string why;
    bool open = true;  // another dial is worth trying
    std::uint64_t not_before_ns = 0;
    BackOff back_off;
    int refused = 0;
  };
  std::vector<Entry> entries_;
  WalkOptions options_;
  LookedTime looked_;
  std::optional<std::size_t> under_way_;
  std::uint64_t dialed_ns_ = 0;  // when the last dial began, as looked_ counts
  int unanswered_ = 0;
  Code code_ = Code::unsupported;
};

}  // namespace couplet::connections
