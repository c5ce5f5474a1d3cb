// SentShare: the share of the steps (wire/step_share.hpp) that a subscription sends. It is pure.
#pragma once

#include <cstdint>

#include "series/needed_steps.hpp"
#include "wire/step_share.hpp"

namespace couplet::relay {

class SentShare {
 public:
  void ask_for(std::uint32_t share) noexcept { share_ = share; }
  [[nodiscard]] bool whole() const noexcept { return share_ == wire::whole_share; }
  [[nodiscard]] bool has(std::uint64_t ordinal) const noexcept { return wire::in_share(ordinal, share_); }

  // Returns the first needed ordinal from `next` on that is in the share. It is searched for only if something changed.
  [[nodiscard]] std::uint64_t first(std::uint64_t next, const series::NeededSteps& needed) const noexcept {
    if (found_.next != next || found_.share != share_ || found_.needed != needed) {
      std::uint64_t ordinal = needed.first(next);
      while (!has(ordinal)) {
        ++ordinal;
      }
      found_ = {next, share_, needed, ordinal};
    }
    return found_.ordinal;
  }

  // Returns true if none of the steps [next, there) is in the share, and they are kept, since the reader may ask for a
  // larger one: if the writer pauses now, nothing else can be sent. They are kept as long as the credit, which ends at
  // `limit`, reaches the next step of the share; then only the newest one is. REQUIRES: next < there.
  [[nodiscard]] bool keeps(std::uint64_t next, std::uint64_t there, std::uint64_t limit,
                           const series::NeededSteps& needed) const noexcept {
    if (whole()) {
      return false;
    }
    const std::uint64_t wanted = first(next, needed);
    return wanted >= there && (wanted < limit || next + 1 == there);
  }

 private:
  std::uint32_t share_ = wire::whole_share;
  struct Found {
    std::uint64_t next = UINT64_MAX;
    std::uint32_t share = 0;
    series::NeededSteps needed;
    std::uint64_t ordinal = 0;
  };
  mutable Found found_;
};

}  // namespace couplet::relay
