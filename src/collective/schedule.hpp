// Schedule: the steps that one member takes in one collective call. A step sends, receives, combines or copies a range
// of elements; it may begin when the steps that it needs have ended. Pure: no I/O, no clock, no memory of users.
// The algorithms (algorithms.hpp) make schedules with a Builder, and Execution carries them out.
// Invariants: steps are in an order in which they could be carried out one by one; a step needs only earlier ones; the
// n-th message that one member sends to another is the n-th that the other receives from it.
// Tests: tests/unit/collective/schedule_test.cpp, against brute force.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace couplet::collective {

// The memory to which a range belongs.
enum class Space : std::uint8_t { input, output, scratch };

// A number of elements in one of the spaces.
struct Range {
  Space space = Space::input;
  std::uint64_t first = 0;
  std::uint64_t count = 0;

  [[nodiscard]] constexpr Range part(std::uint64_t offset, std::uint64_t length) const noexcept {
    return {space, first + offset, length};
  }
};

enum class Action : std::uint8_t {
  send,           // `from` to the peer
  receive,        // from the peer into `to`
  combine_left,   // to = from (operation) to
  combine_right,  // to = to (operation) from
  copy,           // to = from
};

struct Step {
  Action action = Action::copy;
  std::int32_t peer = -1;        // rank in the group
  std::uint32_t number = 0;      // send, receive: the ordinal of the message between the two in this direction
  std::uint32_t first_need = 0;  // place in Schedule::needs
  std::uint32_t need_count = 0;
  Range from;
  Range to;
};

struct Schedule {
  std::vector<Step> steps;
  std::vector<std::uint32_t> needs;
  std::uint64_t scratch_count = 0;  // elements

  [[nodiscard]] std::span<const std::uint32_t> needs_of(const Step& step) const noexcept {
    return std::span(needs).subspan(step.first_need, step.need_count);
  }
};

// Appends steps. What a step needs follows from the ranges: every earlier step that writes what this one reads or
// writes, or reads what this one writes.
class Builder {
 public:
  Builder(std::int32_t own, std::int32_t size) : own_(own), size_(size) {}

  // The caller's rank in the group, and the size of the group.
  [[nodiscard]] std::int32_t own() const noexcept { return own_; }
  [[nodiscard]] std::int32_t size() const noexcept { return size_; }

  // Returns new elements of the scratch space.
  [[nodiscard]] Range scratch(std::uint64_t count);
  void send(std::int32_t peer, Range from);
  void receive(std::int32_t peer, Range to);
  void combine_left(Range from, Range to);
  void combine_right(Range from, Range to);
  void copy(Range from, Range to);
  // The steps from here on, until the next call of join(), touch ranges that no other of them touches: each needs only
  // what came before. It saves the comparison of all with all.
  void fork() noexcept;
  void join() noexcept;

  [[nodiscard]] Schedule take() { return std::move(schedule_); }

 private:
  void add(Step step);

  std::int32_t own_;
  std::int32_t size_;
  Schedule schedule_;
  std::vector<std::uint32_t> sent_;      // messages to each member; empty: none yet
  std::vector<std::uint32_t> received_;  // messages from each member
  bool forked_ = false;
  std::size_t fork_ = 0;  // number of steps before fork()
};

}  // namespace couplet::collective
