// task: requests that workers do, and memory that others read and write. It turns task messages
// (wire/task_message.hpp) into tasks and areas. capi and runtime include it; it includes message (a task message is a
// message in a context of the library), layout and os. This file is the mailbox of a process: each peer sends its
// messages to it, and it hands each one to the listener of its space.
// Invariants: messages of one sender keep their order; a message that has no listener yet is kept until it has one;
// messages are handled only in the calls of the process, and never in the middle of a send, except for those that the
// process sends to itself; nothing here blocks; no
// message is dropped silently while its sender waits for an answer; a message that does not come to its end holds up
// only what its sender sends after it.
// Tests: tests/unit/task, tests/languages, tests/universe/test_tasks.py. Decisions: docs/decisions/0007, 0049.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "task/environment.hpp"
#include "task/withdrawals.hpp"
#include "wire/task_message.hpp"

namespace couplet::task {

// Returns 64 bits that stand for a name, the same on every host.
[[nodiscard]] std::uint64_t space_of(std::string_view kind, std::string_view name);

// Receives the messages of a space.
class Listener {
 public:
  Listener() = default;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  virtual ~Listener() = default;
  virtual void message(channel::PeerId source, wire::TaskMessage message) = 0;
  // Reports that a rank has left or is lost, once for each incarnation.
  virtual void lost(channel::PeerId peer, const Status& why) = 0;
  // Reports that a rank that was lost, or had left, is there again.
  virtual void returned(channel::PeerId /*peer*/) {}
  // Called at the end of each of the next two polls after look_again().
  virtual void looked() {}
};

constexpr unsigned number_bits = 40;  // each incarnation has so many bits for its numbers

// Returns the incarnation of the process that says this of itself.
[[nodiscard]] inline std::uint64_t life_of(const wire::TaskMessage& message) noexcept {
  return message.number >> number_bits;
}

// One process, as a message names it: a rank of the universe, and its incarnation.
struct Life {
  channel::PeerId rank = 0;
  std::uint64_t incarnation = 0;
  bool is_awaited = false;  // the sender knows that the rank is gone, and means the life that comes next

  [[nodiscard]] std::int64_t number() const noexcept {
    return static_cast<std::int64_t>(rank | (incarnation << 32U) | (is_awaited ? awaited_mark : 0));
  }
  [[nodiscard]] static Life of(std::int64_t number) noexcept {
    const auto bits = static_cast<std::uint64_t>(number);
    return {static_cast<channel::PeerId>(bits & 0xFFFF'FFFFU), (bits & ~awaited_mark) >> 32U,
            (bits & awaited_mark) != 0};
  }

 private:
  static constexpr std::uint64_t awaited_mark = std::uint64_t{1} << 62U;
};

// A group of workers can close the tasks and open them again while a task, or the word that none comes, is on its way
// to it. So a coupler sends with them this mark of the group's last hello, and what has an earlier one is dropped.
[[nodiscard]] inline std::int32_t mark_of(const wire::TaskMessage& hello) noexcept {
  return static_cast<std::int32_t>(hello.number & 0x7FFF'FFFF);
}

// Breaks the connection to a peer that waits for an answer for which there is no memory: it is told that this process
// is lost for it.
void give_up(Environment& environment, channel::PeerId peer, const Status& why) noexcept;

class Mailbox final : public engine::Source {
 public:
  static constexpr std::uint64_t largest_kept_bytes = std::uint64_t{1} << 30;
  static constexpr std::uint64_t kept_message_bytes = 256;  // cost of a message in addition to its content
  // While more is arriving, the next message waits at its sender.
  static constexpr std::uint64_t largest_arriving_bytes = std::uint64_t{1} << 30;
  static constexpr std::size_t most_arriving = 256;

  explicit Mailbox(Environment& environment, std::uint64_t max_kept_bytes = largest_kept_bytes);
  ~Mailbox() override;
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  // Registers the listener. Returns exists if the space has one already.
  Status listen(std::uint64_t space, Listener& listener);
  void forget(std::uint64_t space);
  // Ends listening for a coupler that has closed: later senders are told so, until the space has a listener again.
  // workers: the leaders of the worker groups that it has told that no task comes.
  void end(std::uint64_t space, const std::set<channel::PeerId>& workers);
  // Returns, once, the leaders of worker groups that have the tasks open and were told that no task comes: those of
  // end(), and those whose hello came after it.
  [[nodiscard]] std::set<channel::PeerId> take_ended_workers(std::uint64_t space);
  // Sends a message without waiting. No listener is called meanwhile, except for what this process sends to itself.
  // Returns limit if there are too many numbers, or peer_lost.
  Status send(channel::PeerId target, const wire::TaskMessage& message);
  // Returns a number for what the process asks others to do. It is never the same twice, also if the process was
  // started again, so that a late answer is not taken for another one. Numbers of one process grow. What a process says
  // of itself (hello, goodbye, closed) has one, too, so that it is not taken for what its next life says.
  [[nodiscard]] std::uint64_t next_number() noexcept { return next_number_++; }
  // Called by the membership when a rank has left or is lost. A poll reports it after what had come before.
  void lost(channel::PeerId peer, Status why);
  // Called by the membership when a rank that was lost, or had left, is there again. The next poll reports it.
  void returned(channel::PeerId peer) {
    breaks_.cut_off.erase(peer);
    breaks_.gone.erase(peer);
    withdrawals.lost(peer);
    due_.push_back(News{peer, std::nullopt});
  }
  // Returns true if nothing comes from that rank to this process, although it lives.
  [[nodiscard]] bool is_cut_off(channel::PeerId peer) const { return breaks_.cut_off.contains(peer); }
  // Returns true if that rank has left or is lost, as Environment::gone does. No listener is called meanwhile.
  [[nodiscard]] bool is_gone(channel::PeerId peer);
  // Asks for looked(). Called by a listener that has to know what comes right behind a message.
  void look_again() noexcept { looks_wanted_ = 2; }
  [[nodiscard]] Environment& environment() noexcept { return environment_; }

  Withdrawals withdrawals{*this};  // shared by all requesters of this process

  int poll(std::uint64_t now_ns, int budget) override;
  [[nodiscard]] bool ready() const override;

 private:
  struct Kept {
    channel::PeerId source;
    wire::TaskMessage message;
  };
  struct News {
    channel::PeerId peer = 0;
    std::optional<Status> loss;  // none: it is there again
  };
  struct Arriving {
    message::Request* request = nullptr;
    std::string image;
    [[nodiscard]] bool is_matched() const noexcept { return request->flow != nullptr; }
  };
  // A message that has come, or could not come.
  struct Arrived {
    std::int32_t sender = 0;
    std::uint64_t bytes = 0;
    Status status;
    std::unique_ptr<Arriving> arrival;
  };
  struct Arrivals : std::vector<std::unique_ptr<Arriving>> {
    // Returns the place of the first message that is complete and follows none of its sender that is still arriving.
    [[nodiscard]] std::size_t first_complete() const noexcept;
    // Is every receive matched, and is there room for what the next one gets?
    [[nodiscard]] bool has_room() const noexcept;
  };
  void receive();
  bool fetch();
  void handle_next();
  void take(const Arrived& arrived);
  template <typename Call>
  void tell(const Call& call);
  void tell_looked();
  void look_for_failed_connections();
  void deliver(channel::PeerId source, wire::TaskMessage message);
  void keep(channel::PeerId source, wire::TaskMessage message);
  void turn_away(channel::PeerId source, const wire::TaskMessage& message, const Status& why);
  void lose(channel::PeerId peer, const Status& why);

  Environment& environment_;
  // Receives for any source, in the order in which messages have matched them. None may have matched the last one yet.
  Arrivals arriving_;
  std::map<std::uint64_t, Listener*> listeners_;
  std::map<std::uint64_t, std::vector<Kept>> kept_;
  std::set<std::uint64_t> ended_;
  std::map<std::uint64_t, std::set<channel::PeerId>> ended_workers_;  // see take_ended_workers()
  struct {
    // The peers that live and are lost for this process, and why: no message of theirs is handled, and none is sent.
    std::map<channel::PeerId, Status> cut_off;
    std::set<channel::PeerId> gone;  // whose return has not been told yet, though the membership may know of it
    std::uint64_t losses = 0;        // how many connections had been lost at the last look
  } breaks_;
  const std::uint64_t max_kept_bytes_;
  std::uint64_t kept_bytes_ = 0;
  std::deque<std::variant<News, Arrived>> due_;  // not handled yet, in the order in which it came
  int looks_wanted_ = 0;                         // of how many polls the listeners are to be told
  int quiet_ = 0;                                // how many threads want that a poll does nothing
  int receiving_ = 0;                            // how many of them begin a receive
  std::uint64_t next_number_;
};

}  // namespace couplet::task
