#include "engine/peer_patience.hpp"

#include <fmt/format.h>

#include <new>
#include <utility>

#include "engine/engine.hpp"
#include "os/clock.hpp"

namespace couplet::engine {
namespace {

constexpr std::uint64_t look_interval_ns = 100'000'000;

}  // namespace

PeerPatience::PeerPatience(std::uint64_t limit_ns, std::function<std::uint64_t()> taken)
    : limit_ns_(limit_ns), taken_(std::move(taken)), seen_(taken_()) {}

Status PeerPatience::wait(Engine& engine, const std::function<bool()>& done,
                          const std::function<std::string()>& what) noexcept {
  try {
    for (;;) {
      Status status = engine.wait(done, os::now_ns() + look_interval_ns, what);
      if (status.code() != Code::timeout) {
        return status;
      }
      if (engine.user_interrupts()) {
        return Code::interrupted;
      }
      if (has_ended()) {
        return fail(Code::timeout, "waited for {}; for {:.3g} s no peer has taken anything", what(),
                    static_cast<double>(limit_ns_) * 1e-9);
      }
    }
  } catch (const std::bad_alloc&) {
    return Code::memory;
  }
}

bool PeerPatience::has_ended() {
  if (const std::uint64_t taken = taken_(); taken != seen_) {
    seen_ = taken;
    still_ = {};
  }
  still_.look(os::now_ns());
  return still_.total_ns() >= limit_ns_;
}

}  // namespace couplet::engine
