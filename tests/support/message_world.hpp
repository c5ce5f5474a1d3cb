// Messengers that can send to each other, driven by one thread. The tests are the same for every link.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include "message/message.hpp"

namespace couplet::test {

class MessageWorld {
 public:
  MessageWorld() = default;
  MessageWorld(const MessageWorld&) = delete;
  MessageWorld& operator=(const MessageWorld&) = delete;
  virtual ~MessageWorld() = default;

  virtual message::Messenger& operator[](int rank) = 0;
  [[nodiscard]] virtual int size() const noexcept = 0;
  // Polls everything once, and returns the work done.
  virtual int poll() = 0;
  // Polls until done(), or until it never will be (nothing moves any longer, or the watchdog). Returns true if it is
  // done.
  virtual bool run_until(const std::function<bool()>& done) = 0;
  // The rank is gone, as after kill -9.
  virtual void kill(int rank) = 0;

  // Polls until the request of `rank` is done. Returns not_yet if it never is.
  Status finish(int rank, message::Request** request, couplet_message* message = nullptr) {
    if (!run_until([&] { return *request == nullptr || (*request)->done; })) return Code::not_yet;
    return (*this)[rank].test(request, message);
  }
};

// Says how to make one: a new link adds this to the conformance suite.
struct WorldMaker {
  std::string name;
  bool several = true;  // more than one rank
  std::function<std::unique_ptr<MessageWorld>(std::uint64_t seed, int size, const message::MessengerOptions&)> make;
  friend void PrintTo(const WorldMaker& maker, std::ostream* stream) { *stream << maker.name; }
};

}  // namespace couplet::test
