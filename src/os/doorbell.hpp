// The one place where a process sleeps: an epoll set and a named datagram socket in the node directory, and a flag in mapped
// memory that says whether anybody needs to ring. Lost wake-ups are prevented by the caller's second look between
// raise_flag() and sleep(), and by the ringer's sequentially consistent fence between its store and its look at the flag.
// Tests: tests/unit/os.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/status.hpp"
#include "os/descriptor.hpp"

namespace couplet::os {

// Shared between processes: lives in the owner's page of the node directory.
struct alignas(64) SleepFlag {
  std::atomic<std::uint32_t> sleeping{0};
};

class Doorbell {
 public:
  // Creates the socket `path` (removed again at the end; exists: there is one). flag: in mapped memory, outlives the doorbell.
  static Result<std::unique_ptr<Doorbell>> open(const std::string& path, SleepFlag& flag);
  ~Doorbell();
  Doorbell(const Doorbell&) = delete;
  Doorbell& operator=(const Doorbell&) = delete;

  // Wake up when the descriptor is readable (and writable, where write). Replaces an earlier watch of it.
  Status watch(int descriptor, bool write);
  void unwatch(int descriptor);
  // Tells ringers that we are about to sleep; the caller then takes its second look.
  void raise_flag() noexcept;
  void lower_flag() noexcept;
  // Sleeps until rung, a watched descriptor is ready or timeout_ns has passed; calls ready(descriptor) for each ready one.
  // Lowers the flag and drains the socket. 0 does not block.
  template <typename Ready>
  void sleep(std::uint64_t timeout_ns, Ready&& ready);
  // The same; returns how many descriptors are ready.
  int sleep_for(std::uint64_t timeout_ns, int* ready_descriptors, int most);
  // Which watched descriptors are ready now. Does not block, and leaves flag and socket alone: another thread may be asleep.
  int look(int* ready_descriptors, int most);
  // Lets wake() end a sleep of another thread of this process. system: no descriptor is left.
  Status allow_wake();
  // Ends the sleep that is under way, or the next one. Any thread.
  void wake() noexcept;

 private:
  struct State;
  explicit Doorbell(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

template <typename Ready>
void Doorbell::sleep(std::uint64_t timeout_ns, Ready&& ready) {
  int descriptors[64];
  const int count = sleep_for(timeout_ns, descriptors, 64);
  for (int index = 0; index < count; ++index) {
    ready(descriptors[index]);
  }
}

// The ringer's side: the flag and socket of a peer. ring_if_asleep() does the fence and the look; at most one system call,
// and none while the peer is awake. A peer that is gone is not an error here.
class Bell {
 public:
  // Opens nothing yet. flag: in mapped memory, outlives the bell.
  Bell(std::string path, SleepFlag& flag) : path_(std::move(path)), flag_(flag) {}
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;
  // To be called after the store that the peer sleeps for.
  void ring_if_asleep() noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with Doorbell::raise_flag
    if (flag_.sleeping.load(std::memory_order_relaxed) != 0) [[unlikely]] {
      ring();
    }
  }
  // Rings whether or not anybody sleeps; takes the flag down, so that others need not ring too.
  void ring() noexcept;

 private:
  void send_ring();

  std::string path_;
  SleepFlag& flag_;
  Descriptor socket_;
};

}  // namespace couplet::os
