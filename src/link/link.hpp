// link: moves the bytes of frames to one address. A link knows nothing of programs, tags or steps. channel is above it
// (order, queues, checks); os and wire are below it. There is one folder for each link: self, shm, tcp, file, ucx, sim,
// and fault, which wraps any of them.
// Invariants: nothing here blocks; nothing here queues more than the operating system or the mapped ring takes; a lane
// delivers frames in the order in which they were pushed; after a failure a lane only reports that failure.
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

// The properties on which the layer above may rely.
struct LaneTraits {
  std::string_view name;                       // "shm", "tcp", ...
  bool checked = true;                         // bytes could be damaged or lost on the way, so frames carry check sums
  std::uint32_t checked_payload_bytes = 4096;  // the check sums also cover payloads up to this size
  bool same_memory = false;                    // the peer's memory may be reachable by process_vm_readv
  std::uint32_t largest_payload = 0;           // for one frame
  // A good default for the size below which a message is sent without asking.
  std::uint64_t eager_bytes = 0;
  // The lane can end while both processes are alive (a cut cable, a reset), so a channel may have to continue over
  // another one.
  bool may_break = false;
};

inline constexpr std::uint32_t most_unplaced_bytes = 1023;

// Memory that is about to be given back, and where its bytes were copied to.
struct Relocation {
  std::span<const std::byte> from;
  std::byte* to = nullptr;

  // Returns where that byte is now; `place` itself if it is not in the memory.
  [[nodiscard]] std::byte* now(std::byte* place) const noexcept {
    const std::less<const std::byte*> before;
    const bool inside = place != nullptr && !before(place, from.data()) && before(place, from.data() + from.size());
    return inside ? to + (place - from.data()) : place;
  }
};

// Receives the frames that arrive. channel implements it.
class FrameReceiver {
 public:
  virtual ~FrameReceiver() = default;
  // A header has arrived: it is decoded, but not verified. A lane calls this once for each frame with a payload, before
  // it takes the payload. It does not call it for a payload of at most most_unplaced_bytes that the lane has in one
  // piece anyway. Returns memory for header.payload_bytes bytes, which the lane fills and passes to arrived(), or
  // nullptr: then the lane passes the payload in its own memory, in one piece. Must not block.
  [[nodiscard]] virtual std::byte* place(const wire::FrameHeader& header) = 0;
  // A whole frame has arrived. `payload` is the memory that place() gave, or the lane's own memory, and is valid during
  // the call. Returns false to stop polling this lane now: the receiver has failed or is being closed.
  [[nodiscard]] virtual bool arrived(const wire::FrameHeader& header, std::span<const std::byte> payload) = 0;
};

// The direction, seen from this side of a lane.
enum class Way : std::uint8_t { incoming, outgoing };

// One link in use between this process and one peer. Only the channel that owns it uses it.
class Lane {
 public:
  Lane() = default;
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  virtual ~Lane() = default;

  [[nodiscard]] virtual const LaneTraits& traits() const noexcept = 0;
  // Takes bytes of the frame, beginning with byte `offset` of header and payload together, and returns how many it has
  // taken: as many as fit now, 0 if there is no room now, and -1 if it has failed, see failure(). Call it again with
  // the same frame until the frame is fully accepted. The caller keeps ownership of the payload; bytes that were taken
  // are no longer needed. It wakes the peer if that is the lane's task. Never blocks.
  [[nodiscard]] virtual std::int64_t push(const wire::FrameHeader& header, std::span<const std::byte> payload,
                                          std::uint64_t offset) = 0;
  // Delivers up to `budget` whole frames, and returns how many. Returns -1 if it has failed and everything that had
  // arrived was delivered.
  [[nodiscard]] virtual int poll(FrameReceiver& receiver, int budget) = 0;
  // What place() gave may be moved: the rest of the payload goes to the new place then, and arrived() is given that.
  void relocate(const Relocation& memory) noexcept { place_ = memory.now(place_); }
  // The check before sleeping: would poll() take something? It reads memory only. A lane with a descriptor may return
  // false, since the descriptor wakes it.
  [[nodiscard]] virtual bool readable() const noexcept = 0;
  // Returns the file descriptor to sleep on, or -1 if there is none. want_write: the last push was not taken as a
  // whole.
  [[nodiscard]] virtual int descriptor() const noexcept { return -1; }
  [[nodiscard]] virtual bool want_write() const noexcept { return false; }
  // The check of a sender whose last push was not taken as a whole: would more be taken now? It reads memory only. A
  // lane with a descriptor may return false, since want_write wakes it. A lane that does not know returns true, which
  // means: do not sleep.
  [[nodiscard]] virtual bool writable() const noexcept { return true; }
  // Returns true if the peer has its end of the lane. Until then, the bytes that this end has accepted are lost if it
  // is destroyed.
  [[nodiscard]] virtual bool joined() const noexcept { return true; }
  // Returns why the peer has refused this lane, or ok. A peer that has refused it has taken nothing from it, and never
  // will.
  [[nodiscard]] virtual Status refusal() const { return {}; }
  // Tells the lane that this process is about to end: from now on the peer can no longer refuse what was pushed.
  // Returns false if it has refused already.
  [[nodiscard]] virtual bool leave_behind() noexcept { return true; }
  // Only for a refused lane: passes every frame that push() has taken as a whole to `take`, in the order of pushing.
  // The spans are valid during the call.
  using TakeBack = std::function<void(const wire::FrameHeader& header, std::span<const std::byte> payload)>;
  virtual void take_back(const TakeBack& /*take*/) {}
  // Frames over this lane are likely, since another lane of the same channel says so. A lane that looks for them from
  // time to time looks soon.
  virtual void look_soon() noexcept {}
  // Returns a number in memory that both sides see, for the layer above. There is one for each way, and it begins with
  // 0. Returns nullptr if there is none.
  [[nodiscard]] virtual std::atomic<std::uint64_t>* shared_word(Way /*way*/) noexcept { return nullptr; }
  // Returns a number that grows as the peer takes what was pushed, as far as memory shows it; otherwise 0.
  [[nodiscard]] virtual std::uint64_t taken() const noexcept { return 0; }
  // Tells the other side that nothing further comes. push() then fails, and poll() goes on. The peer's poll() ends with
  // `end`.
  virtual void shut() noexcept = 0;
  // Returns why push() or poll() has returned -1: end (the peer has shut its lane in good order), peer_lost, protocol,
  // system, or no_space and limit (a resource of this side was missing for long).
  [[nodiscard]] virtual const Status& failure() const noexcept = 0;

 protected:
  std::byte* place_ = nullptr;  // memory for the payload of the frame that is arriving
};

}  // namespace couplet::link
