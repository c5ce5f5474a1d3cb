// The one place where a process sleeps: an epoll set and a named datagram socket in the node directory, and a flag in mapped
// memory that says whether anybody needs to ring. Lost wake-ups are prevented by the caller's second look between
// raise_flag() and sleep(), and by the ringer's sequentially consistent fence between its store and its look at the flag.
// Tests: tests/unit/os.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/status.hpp"

namespace couplet::os {

// Shared between processes: lives in the owner's page of the node directory.
struct alignas(64) SleepFlag {
  std::atomic<std::uint32_t> sleeping{0};
};

class Doorbell {
 public:
  // Creates the socket `path` (removed again at the end). flag: in mapped memory, outlives the doorbell.
  static Result<std::unique_ptr<Doorbell>> open(const std::string& path, SleepFlag& flag);
  ~Doorbell();
  Doorbell(const Doorbell&) = delete;
  Doorbell& operator=(const Doorbell&) = delete;

  Status watch(int descriptor, bool write);
  void unwatch(int descriptor);
  // Tells ringers that we are about to sleep; the caller then takes its second look.
  void raise_flag() noexcept;
  void lower_flag() noexcept;
  // Sleeps until rung, a watched descriptor is ready or timeout_ns has passed; calls ready(descriptor) for each ready one.
  // Lowers the flag and drains the socket. 0 does not block.
  template <typename Ready>
  void sleep(std::uint64_t timeout_ns, Ready&& ready);
  int sleep_for(std::uint64_t timeout_ns, int* ready_descriptors, int most);  // returns how many descriptors are ready

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

// The ringer's side: the flag and socket of a peer. ring_if_asleep() does the fence and the look; at most one system call.
class Bell {
 public:
  Bell(std::string path, SleepFlag* flag);
  ~Bell();
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;
  void ring_if_asleep() noexcept;

 private:
  std::string path_;
  SleepFlag* flag_;
  int socket_ = -1;
};

}  // namespace couplet::os
