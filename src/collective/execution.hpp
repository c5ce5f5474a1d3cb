// Execution: carries out the schedule of one collective call of this member, and compares what the others say about the
// call with what this member has been given. Collectives owns it and calls advance() until it has ended.
// Invariants: a step begins when the steps that it needs have ended; what arrives is used only if its head agrees; user
// memory is used until memory_is_free(), and not afterwards. Tests: tests/conformance/collective.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "collective/plan.hpp"
#include "collective/short_calls.hpp"
#include "message/courier.hpp"
#include "message/member_losses.hpp"
#include "wire/collective.hpp"

namespace couplet::collective {

// The messages of up to this size follow their heads at once; longer ones go from and to the memory of users.
inline constexpr std::uint64_t max_joined_bytes = 4096;

// Where the elements are.
struct Spaces {
  const void* input = nullptr;
  void* output = nullptr;
  std::byte* scratch = nullptr;
  std::uint64_t element_bytes = 1;

  // The input is only read.
  [[nodiscard]] std::byte* at(const Range& range) const noexcept {
    const std::uint64_t offset = range.first * element_bytes;
    if (range.space == Space::scratch) return scratch + offset;
    if (range.space == Space::output) return static_cast<std::byte*>(output) + offset;
    return const_cast<std::byte*>(static_cast<const std::byte*>(input)) + offset;  // NOLINT
  }
  [[nodiscard]] std::uint64_t bytes_of(const Range& range) const noexcept { return range.count * element_bytes; }
};

// What an execution works with, beside its arguments.
struct Surroundings {
  message::Courier* courier = nullptr;
  const ShortCalls* short_calls = nullptr;  // those of `group`
  const Operations* operations = nullptr;
  message::Group* group = nullptr;
  const message::MemberLosses* losses = nullptr;  // of `group`
  std::uint32_t context = 0;
  std::uint64_t call = 0;  // number in the group
};

// How far a ShortRun has come.
struct Progress {
  std::size_t done = 0;                          // steps
  Status failure;                                // why the next step has failed
  message::Request* request = nullptr;           // that of the next step, a receive; nullptr: the step was not begun
  std::unique_ptr<message::OwnMemory> incoming;  // the memory of the request
  const std::byte* scratch = nullptr;            // what the scratch space contains
};

class Execution {
 public:
  enum class Stage : std::uint8_t { idle, running, ending, ended };

  Execution() = default;
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  // Takes the schedule of the call. The schedule, the arguments' memory and the surroundings outlive the execution.
  void begin(const Arguments& arguments, const wire::CollectiveHead& head, const Schedule& schedule,
             const Surroundings& surroundings);
  // Goes on where a ShortRun of the same call has stopped. REQUIRES: begin() was just called.
  void take_over(Progress& progress) noexcept;
  // Does what can be done now. Returns true if anything was. failure: set if this member has found an error; the caller
  // then calls abort().
  bool advance(Status& failure);
  [[nodiscard]] bool is_done() const noexcept { return first_open_ == steps_.size(); }
  // Gives up: withdraws what has not begun. It has ended when is_ended() returns true.
  void abort();
  // After abort(): looks again. Are all messages over that use memory of the user?
  bool memory_is_free();
  // After abort(): have all messages ended?
  bool is_ended();
  // After is_ended(): gives back the memory that it would use again.
  void free_memory() noexcept;
  // Ends the channels over which messages with memory of the user are still under way.
  void cut_off(const Status& why) noexcept;

  // A receive for which this member waits; nullptr: none.
  [[nodiscard]] const message::Request* awaited() const noexcept;
  // The members of which it has not heard what it waits for.
  [[nodiscard]] std::vector<std::int32_t> sources() const;
  // The members that may wait for a message of this one that they have not got.
  [[nodiscard]] std::vector<std::int32_t> dependants() const;
  // Returns true if a step that has begun could go on.
  [[nodiscard]] bool could_advance() const noexcept;
  // For liveness: what is awaited is watched.
  void watch() noexcept;

 private:
  enum class Phase : std::uint8_t { waiting, begun, done };
  struct Work {
    Phase phase = Phase::waiting;
    message::Request* head = nullptr;
    message::Request* payload = nullptr;
    std::string incoming;
    std::size_t outgoing = 0;  // place in outgoing_
  };

  [[nodiscard]] std::byte* memory(const Range& range) const noexcept { return spaces_.at(range); }
  [[nodiscard]] std::uint64_t bytes_of(const Range& range) const noexcept { return spaces_.bytes_of(range); }
  [[nodiscard]] wire::CollectiveHead head_of(const Step& step, const Range& range) const noexcept;
  [[nodiscard]] bool may_begin(const Step& step) const noexcept;
  Status start(std::size_t index);
  Status start_send(const Step& step, Work& work);
  void start_receive(const Step& step, Work& work);
  Status combine(const Step& step);
  // Sets work.phase to done if the step has ended.
  Status look(std::size_t index);
  Status take_head(const Step& step, Work& work);
  Status take_elements(const Step& step, std::string_view joined, bool big_endian) const;

  Arguments arguments_;
  wire::CollectiveHead head_;
  const Schedule* schedule_ = nullptr;
  Surroundings around_;
  const TypeInfo* type_ = nullptr;
  Spaces spaces_;
  std::vector<Work> steps_;
  std::vector<std::byte> outgoing_;
  std::vector<std::byte> scratch_;
  std::size_t first_open_ = 0;  // steps before it are done
  bool must_check_ = false;     // a long message has come
};

// Copies elements, of which the two places may be the same or overlap.
inline void copy_elements(std::byte* target, const std::byte* source, std::uint64_t bytes) noexcept {
  if (bytes == 8) {
    std::memcpy(target, source, 8);
  } else if (target != source && bytes > 0) {
    std::memmove(target, source, bytes);
  }
}

// The tag of a message of a call. It has the lower bits of the call's number, beside those of the context, since
// contexts are only 31 bits. number: that of the message between the two members.
[[nodiscard]] constexpr std::int32_t tag_of(std::uint64_t call, std::uint32_t number, bool payload) noexcept {
  return static_cast<std::int32_t>((call & 0x3FFU) << 21U | (std::uint64_t{number} & 0xFFFFFU) << 1U |
                                   (payload ? 1U : 0U));
}

// The operation of a head whose call combines nothing.
inline constexpr std::uint32_t no_operation = 255;

// Returns "allreduce of 10 double by sum (doubling)".
[[nodiscard]] std::string describe(const wire::CollectiveHead& head);

}  // namespace couplet::collective
