// Decides which lanes a connection has beside its first one (hybrid connections, several streams over tcp), and when a
// lane that is missing is dialed. Pure. Tests: tests/unit/connections/more_lanes_test.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/retry.hpp"
#include "base/status.hpp"

namespace couplet::connections {

// The settings `hybrid` and `tcp_streams`. The names of links outlive the plan.
struct LanePlan {
  // Short messages go over the first link, and long ones over the second. Empty: connections are not hybrid.
  std::string_view short_link;
  std::string_view long_link;
  unsigned tcp_streams = 1;
};

// A connection is to have `count` lanes over `link`.
struct WantedLanes {
  std::string_view link;
  unsigned count = 1;
  friend bool operator==(const WantedLanes&, const WantedLanes&) = default;
};

// Returns the lanes of a connection that has begun over `first_link`; nothing: one lane is all that it has.
[[nodiscard]] std::vector<WantedLanes> wanted_lanes(const LanePlan& plan, std::string_view first_link);

// Dials the lanes that one connection lacks, one after the other.
class MoreLanes {
 public:
  // prefers_to_dial: exactly one of the two sides dials at once. The other side dials if nothing has come for a while.
  MoreLanes(std::vector<WantedLanes> wanted, bool prefers_to_dial, std::uint64_t seed);

  // Returns how many lanes over this link the settings of this process want. 0: none.
  [[nodiscard]] unsigned wanted(std::string_view link) const noexcept;
  [[nodiscard]] const std::vector<WantedLanes>& all() const noexcept { return wanted_; }

  // Says how many lanes there are over the links of all(), in their order, and returns the link to dial now, if any.
  [[nodiscard]] std::optional<std::string_view> next(const std::vector<unsigned>& present, std::uint64_t now_ns);
  void dialing(std::string_view link) noexcept;
  [[nodiscard]] bool is_dialing(std::string_view link) const noexcept { return dialing_ == link; }
  // A lane over that link was made, by either side.
  void made(std::string_view link);
  void failed(std::string_view link, const Status& why, std::uint64_t now_ns);
  // All dials were cancelled.
  void cancelled() noexcept { dialing_ = {}; }
  // Returns why lanes are missing, for example "file: it has no inbox". Empty: nothing has failed.
  [[nodiscard]] std::string reasons() const;

 private:
  struct Entry {
    BackOff back_off;
    std::uint64_t not_before_ns = 0;
    std::uint64_t missing_since_ns = 0;  // 0: all lanes are there
    unsigned present = 0;                // lanes, the last time that it was said
    unsigned dialed_with = 0;            // lanes, when the last dial began
    unsigned max_count = UINT32_MAX;     // the peer has refused to take more
    std::string why;
  };
  [[nodiscard]] Entry* entry_of(std::string_view link) noexcept;

  std::vector<WantedLanes> wanted_;
  std::vector<Entry> entries_;
  bool prefers_to_dial_;
  std::string_view dialing_;
};

}  // namespace couplet::connections
