// The one place in which a process sleeps: an epoll set, a named datagram socket in the node directory, and a flag in
// mapped memory that says whether a peer needs to ring. Two things prevent lost wake-ups: the caller checks again
// between raise_flag() and sleep(), and the ringer has a sequentially consistent fence between its store and its
// load of the flag.
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

// The flag is shared between processes: it is in the owner's page of the node directory.
struct alignas(64) SleepFlag {
  std::atomic<std::uint32_t> sleeping{0};
};

class Doorbell {
 public:
  // Creates the socket `path`, which the destructor removes. Returns exists if there is one. `flag` is in mapped memory
  // and outlives the doorbell.
  static Result<std::unique_ptr<Doorbell>> open(const std::string& path, SleepFlag& flag);
  ~Doorbell();
  Doorbell(const Doorbell&) = delete;
  Doorbell& operator=(const Doorbell&) = delete;

  // Wakes up when the descriptor can be read, and when it can be written if `write` is true. Replaces an earlier watch
  // of it.
  Status watch(int descriptor, bool write);
  // Wakes up only when the descriptor can be written or has broken. Replaces an earlier watch of it.
  Status watch_writing(int descriptor);
  void unwatch(int descriptor);
  // Tells ringers that this process is about to sleep. The caller then checks once more for work.
  void raise_flag() noexcept;
  void lower_flag() noexcept;
  // Sleeps until it is rung, a watched descriptor is ready, or timeout_ns has passed (0: does not block). Then lowers
  // the flag, drains the socket, and calls ready(descriptor) for each ready one.
  template <typename Ready>
  void sleep(std::uint64_t timeout_ns, Ready&& ready);
  // Does the same, and returns the number of ready descriptors.
  int sleep_for(std::uint64_t timeout_ns, int* ready_descriptors, int most);
  // Finds the watched descriptors that are ready now, and returns their number. Does not block. Changes neither flag
  // nor socket, since another thread may be asleep.
  int look(int* ready_descriptors, int most);
  // Returns the epoll set, so that another set can include it. It can be read while a watched descriptor is ready or a
  // ring was not cleared.
  [[nodiscard]] int descriptor() const noexcept;
  // Takes the rings that have come, as sleep does.
  void clear_rings() noexcept;
  // Lets wake() end a sleep of another thread of this process. Returns system if no descriptor is left.
  Status allow_wake();
  // Ends the sleep that is under way, or the next one. Any thread may call it.
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

// The ringer's side: the flag and the socket of a peer. ring_if_asleep() has the fence and loads the flag. It makes at
// most one system call, and none while the peer is awake. A peer that is gone is not an error here.
class Bell {
 public:
  // Opens nothing yet. `flag` is in mapped memory and outlives the bell.
  Bell(std::string path, SleepFlag& flag) : path_(std::move(path)), flag_(flag) {}
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;
  // Rings if the peer sleeps. Call it after the store for which the peer sleeps.
  void ring_if_asleep() noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with Doorbell::raise_flag
    if (flag_.sleeping.load(std::memory_order_relaxed) != 0) [[unlikely]] {
      ring();
    }
  }
  // Rings whether or not the peer sleeps. It lowers the flag, so that others need not ring too.
  void ring() noexcept;

 private:
  void send_ring();

  std::string path_;
  SleepFlag& flag_;
  Descriptor socket_;
};

}  // namespace couplet::os
