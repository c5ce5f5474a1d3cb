// task: requests that workers do, and memory that others read and write. Turns letters (wire/task_letter.hpp) into tasks and
// areas. Above: capi, runtime. Below: message (letters are messages in a context of the library), layout, os.
// This file: the post office of a process: one receive for letters of anybody, handed to whoever listens to their space.
// Invariants: letters of one sender keep their order; one for which nobody listens yet is kept until somebody does; they are
// looked at in whatever call the process makes, and only there; nothing here blocks; no letter is dropped in silence while
// its sender waits for an answer.
// Tests: tests/unit/task, tests/languages, tests/universe/test_tasks.py. Decision: docs/decisions/0007.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "task/environment.hpp"
#include "wire/task_letter.hpp"

namespace couplet::task {

// 64 bits that stand for a name, the same on every host.
[[nodiscard]] std::uint64_t space_of(std::string_view kind, std::string_view name);

// Who wants the letters of a space.
class Listener {
 public:
  Listener() = default;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  virtual ~Listener() = default;
  virtual void letter(channel::PeerId source, wire::Letter letter) = 0;
  // A rank has left or is lost; told once per incarnation.
  virtual void lost(channel::PeerId peer, const Status& why) = 0;
};

class Post final : public engine::Source {
 public:
  static constexpr std::uint64_t largest_kept_bytes = std::uint64_t{1} << 30;
  static constexpr std::uint64_t kept_letter_bytes = 256;  // what one costs beside what it holds

  explicit Post(Environment& environment);
  ~Post() override;
  Post(const Post&) = delete;
  Post& operator=(const Post&) = delete;

  // exists: somebody listens already.
  Status listen(std::uint64_t space, Listener& listener);
  void forget(std::uint64_t space);
  // The same for a coupler that is over: who comes later is told so, until somebody listens again.
  void end(std::uint64_t space);
  // Does not wait. A text is cut to what a letter can hold; limit: too many numbers; peer_lost.
  Status send(channel::PeerId target, const wire::Letter& letter);
  // For requests: never the same twice, so that a late answer finds nobody.
  [[nodiscard]] std::uint64_t next_number() noexcept { return next_number_++; }
  // From the membership.
  void lost(channel::PeerId peer, const Status& why);
  [[nodiscard]] Environment& environment() noexcept { return environment_; }

  int poll(std::uint64_t now_ns, int budget) override;
  [[nodiscard]] bool ready() const override { return request_ != nullptr && request_->done; }

 private:
  struct Kept {
    channel::PeerId source;
    wire::Letter letter;
  };
  void receive();
  void deliver(channel::PeerId source, wire::Letter letter);
  void turn_away(channel::PeerId source, const wire::Letter& letter, const Status& why);
  void lose(channel::PeerId peer, const Status& why);

  Environment& environment_;
  message::Request* request_ = nullptr;
  std::string image_;
  std::map<std::uint64_t, Listener*> listeners_;
  std::map<std::uint64_t, std::vector<Kept>> kept_;
  std::set<std::uint64_t> ended_;
  std::map<channel::PeerId, Status> senseless_;  // peers whose letters make no sense, and what the first one was
  std::uint64_t kept_bytes_ = 0;
  std::uint64_t next_number_ = 0;
};

}  // namespace couplet::task
