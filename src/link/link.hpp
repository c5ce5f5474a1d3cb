// link: moves the bytes of frames to one address; a link knows nothing of programs, tags or steps.
// Above: channel (order, queues, checks). Below: os, wire. One folder per link: self, shm, tcp, sim, fault (wraps any).
// Invariants: nothing here blocks; nothing here queues beyond what the operating system or the mapped ring takes; a lane
// delivers frames in the order they were pushed; after a failure a lane only reports that failure.
// Tests: tests/conformance/link (one suite for all), tests/unit/link.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "base/status.hpp"
#include "wire/frame.hpp"

namespace couplet::link {

// What a layer above may rely on.
struct LaneTraits {
  std::string_view name;                       // "shm", "tcp", ...
  bool checked = true;                         // bytes could be damaged or lost on the way: frames carry check sums
  std::uint32_t checked_payload_bytes = 4096;  // ... over the payload too, up to this size
  bool same_memory = false;                    // the peer's memory may be reachable by process_vm_readv
  std::uint32_t largest_payload = 0;           // of one frame
  std::uint64_t eager_bytes = 0;               // good default limit below which a message is sent without asking
  // The lane can end while both processes live (a cut cable, a reset), so that a channel may have to go on over another one.
  bool may_break = false;
};

inline constexpr std::uint32_t most_unplaced_bytes = 1023;

// Who takes what arrives. Implemented by channel.
class FrameReceiver {
 public:
  virtual ~FrameReceiver() = default;
  // A header has arrived (decoded, not verified). Called by a lane once per frame that has a payload, before the payload is
  // taken; not for one of at most most_unplaced_bytes that the lane holds in one piece anyway. Returns memory for
  // header.payload_bytes bytes that the lane fills and gives to arrived(), or nullptr: then the lane gives the payload in
  // its own memory, in one piece. Must not block.
  [[nodiscard]] virtual std::byte* place(const wire::FrameHeader& header) = 0;
  // A whole frame is here. payload is what place() gave or the lane's own memory, valid during the call. False: stop
  // polling this lane now (the receiver has failed or is being closed).
  [[nodiscard]] virtual bool arrived(const wire::FrameHeader& header, std::span<const std::byte> payload) = 0;
};

// Seen from this side of a lane.
enum class Way : std::uint8_t { incoming, outgoing };

// One link in use between this process and one peer. Used by the one channel that owns it.
class Lane {
 public:
  Lane() = default;
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  virtual ~Lane() = default;

  [[nodiscard]] virtual const LaneTraits& traits() const noexcept = 0;
  // Takes bytes of the frame from `offset` on (counted over header and payload), as many as go now, and says how many; 0:
  // no room now; -1: failed, see failure(). The caller comes again with the same frame until all is taken; the payload
  // stays his and is not needed any more for bytes that were taken. Wakes the peer where that is the lane's business.
  [[nodiscard]] virtual std::int64_t push(const wire::FrameHeader& header, std::span<const std::byte> payload,
                                          std::uint64_t offset) = 0;
  // Delivers up to `budget` whole frames; says how many; -1: failed and everything that had arrived was delivered.
  [[nodiscard]] virtual int poll(FrameReceiver& receiver, int budget) = 0;
  // The second look before sleeping: is there something that poll would take (memory only; a lane with a descriptor may
  // answer false and be woken by it).
  [[nodiscard]] virtual bool readable() const noexcept = 0;
  // The file descriptor to sleep on, -1 where there is none. want_write: the last push was not taken whole.
  [[nodiscard]] virtual int descriptor() const noexcept { return -1; }
  [[nodiscard]] virtual bool want_write() const noexcept { return false; }
  // The second look of a sender whose last push was not taken whole: would more go now (memory only; a lane with a
  // descriptor may answer false and be woken by want_write)? True for want of knowledge means: do not sleep.
  [[nodiscard]] virtual bool writable() const noexcept { return true; }
  // Whether the peer has its end of the lane: until then, what was taken is gone when this end is destroyed.
  [[nodiscard]] virtual bool joined() const noexcept { return true; }
  // Not ok: the peer has refused this lane and says why. It has taken nothing from the lane, and never will.
  [[nodiscard]] virtual Status refusal() const { return {}; }
  // This process is about to end: from here on the peer can no longer refuse what was pushed. False: it has refused already.
  [[nodiscard]] virtual bool leave_behind() noexcept { return true; }
  // Only for a refused lane: gives every frame that push() has taken whole to `take`, in the order of pushing. The spans are
  // valid during the call.
  using TakeBack = std::function<void(const wire::FrameHeader& header, std::span<const std::byte> payload)>;
  virtual void take_back(const TakeBack& /*take*/) {}
  // A number in memory that both sides see, for the layer above; one for each way, at first 0. nullptr: there is none.
  [[nodiscard]] virtual std::atomic<std::uint64_t>* shared_word(Way /*way*/) noexcept { return nullptr; }
  // Says to the other side that no more will come; push fails afterwards, poll goes on. peer's poll ends with `end`.
  virtual void shut() noexcept = 0;
  // Why push or poll answered -1: end (the peer shut its lane in good order), peer_lost, protocol, system.
  [[nodiscard]] virtual const Status& failure() const noexcept = 0;
};

}  // namespace couplet::link
