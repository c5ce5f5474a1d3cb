// What Collectives keeps while calls are made: KnownGroup for each group that is used, and Call for each call that is
// under way. Both are plain records with the functions that need nothing else; Collectives decides what happens.
// Tests: tests/conformance/collective.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "collective/execution.hpp"
#include "collective/plan.hpp"
#include "collective/session.hpp"
#include "collective/short_calls.hpp"
#include "message/courier.hpp"

namespace couplet::collective {

// The state of a call at this member.
enum class CallStage : std::uint8_t {
  idle,       // the object is free
  meeting,    // the members of the group meet
  running,    // its steps are carried out
  aborting,   // it has failed, and messages with memory of the user are still under way
  lingering,  // it is over for its caller, and messages with memory of the library may still be under way
};

// How long a call that has failed waits for a message that is being copied.
inline constexpr std::uint64_t max_ending_ns = 3'000'000'000;
// Members of larger groups are told of a failure only if they wait for a message, or are neighbors in the tree.
inline constexpr std::int32_t max_told = 256;

// A group that is used, and its schedules that were made last.
struct KnownGroup {
  struct Cached {
    cost::Collective kind;
    cost::Method method;
    bool may_reorder;
    couplet_operation operation;
    std::int32_t root;
    std::uint64_t count;
    std::shared_ptr<const Schedule> schedule;
  };
  Session session;
  std::vector<Cached> cached;  // the last one that was made is the first one
  ShortCalls short_calls;

  KnownGroup(message::Courier& courier, const message::Group& group, const PeerFacts& facts, std::uint64_t creation)
      : session(courier, group, facts, creation) {}

  std::shared_ptr<const Schedule> schedule_for(const Arguments& arguments, const Operations& operations,
                                               Status& failure);
  // Returns what the call of that number works with. REQUIRES: the members have met.
  [[nodiscard]] Surroundings surroundings(message::Courier& courier, const Operations& operations,
                                          std::uint64_t number) noexcept;
};

// Returns the error with the name of its call before it, or without that if there is no memory.
Status in_call(const Status& why, std::uint64_t number, const message::Group& group, std::string_view call) noexcept;

struct Call {
  CallStage stage = CallStage::idle;
  KnownGroup* known = nullptr;
  std::uint64_t number = 0;
  Arguments arguments;
  std::array<std::vector<std::uint64_t>, 4> counts;  // copies, to which the arguments point
  wire::CollectiveHead head;
  std::shared_ptr<const Schedule> schedule;
  Execution execution;
  message::Request* promise = nullptr;  // set if the caller does not wait
  bool over = false;                    // the caller need not wait any longer
  Status outcome;
  std::string title;
  std::uint64_t deadline_ns = 0;
  struct {
    std::uint64_t since_ns = 0;  // 0: it has moved since the last tick; else the tick that found no progress, or asked
    bool has_asked = false;      // since the last news of a member that has created the group again
  } idle;
  std::uint64_t ending_ns = 0;  // aborting: until then

  // Tells the other members that the call has failed. first_hand: this member has found the error. Otherwise only its
  // neighbors in the tree are told, and those that may wait for a message of it.
  void tell(const Status& why, bool first_hand) noexcept;
  // The members for which this one waits: to receive, or until they take a message.
  [[nodiscard]] std::vector<std::int32_t> partners() const;
  // Asks them whether they are in the same call: nothing has come for a while.
  void inquire();
  // The members of a group meet for the oldest call that is under way. Is it this one?
  [[nodiscard]] bool is_first_of(const std::vector<Call*>& calls) const noexcept;
  // The call has ended for its caller.
  void conclude(message::Courier& courier, Status why);
  // Ends a call that has failed when no message uses the memory of the user any more. now_ns: 0 if the clock was not
  // read.
  void settle(message::Courier& courier, std::uint64_t now_ns) noexcept;
  [[nodiscard]] bool open() const noexcept { return stage == CallStage::meeting || stage == CallStage::running; }
  // Copies the arrays of counts.
  void keep_counts(std::int32_t size);
};

// The calls that are under way, and the free ones.
class CallList {
 public:
  // Returns a call that is free, and stays so until begin().
  Call& next();
  // The call that next() has returned is under way.
  void begin(Call& call) noexcept;
  // Frees the calls that have ended.
  void tidy() noexcept;
  // Returns the calls that are under way, in the order in which they have begun.
  [[nodiscard]] const std::vector<Call*>& active() const noexcept { return active_; }

 private:
  std::vector<std::unique_ptr<Call>> calls_;  // all that were ever needed at a time
  std::vector<Call*> active_;
  std::vector<Call*> free_;
};

}  // namespace couplet::collective
