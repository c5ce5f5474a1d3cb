// Execution: carries out the schedule of one collective call of this member, and compares what the others say about the
// call with what this member has been given. Collectives owns it and calls advance() until it has ended.
// Invariants: a step begins when the steps that it needs have ended; what arrives is used only if its head agrees; user
// memory is used until memory_is_free(), and not afterwards. Tests: tests/conformance/collective.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collective/plan.hpp"
#include "message/courier.hpp"
#include "wire/collective.hpp"

namespace couplet::collective {

// The messages of up to this size follow their heads at once; longer ones go from and to the memory of users.
inline constexpr std::uint64_t max_joined_bytes = 4096;

// What an execution works with, beside its arguments.
struct Surroundings {
  message::Courier* courier = nullptr;
  const Operations* operations = nullptr;
  message::Group* group = nullptr;
  std::uint32_t context = 0;
  std::uint64_t call = 0;  // number in the group
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

  [[nodiscard]] std::byte* memory(const Range& range) const noexcept;
  [[nodiscard]] std::uint64_t bytes_of(const Range& range) const noexcept { return range.count * type_->element_bytes; }
  [[nodiscard]] std::int32_t tag_of(const Step& step, bool payload) const noexcept;
  [[nodiscard]] wire::CollectiveHead head_of(const Step& step, const Range& range) const noexcept;
  [[nodiscard]] bool may_begin(const Step& step) const noexcept;
  Status start(std::size_t index);
  Status start_send(const Step& step, Work& work);
  void start_receive(const Step& step, Work& work);
  Status combine(const Step& step);
  // Sets work.phase to done if the step has ended.
  Status look(std::size_t index);
  Status take_head(const Step& step, Work& work);
  [[nodiscard]] Status compare(const wire::CollectiveHead& theirs, const Step& step) const;

  Arguments arguments_;
  wire::CollectiveHead head_;
  const Schedule* schedule_ = nullptr;
  Surroundings around_;
  const TypeInfo* type_ = nullptr;
  std::vector<Work> steps_;
  std::vector<std::byte> outgoing_;
  std::vector<std::byte> scratch_;
  std::size_t first_open_ = 0;  // steps before it are done
  bool must_check_ = false;     // a long message has come
};

// The operation of a head whose call combines nothing.
inline constexpr std::uint32_t no_operation = 255;

// Returns "allreduce of 10 double by sum (doubling)".
[[nodiscard]] std::string describe(const wire::CollectiveHead& head);

}  // namespace couplet::collective
