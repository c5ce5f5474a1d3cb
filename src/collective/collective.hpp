// collective: turns barriers, broadcasts, reductions and the like over groups into messages. The choice of an algorithm
// is in cost/, the algorithms and plans are pure (algorithms.hpp, plan.hpp), Execution carries one call out, Session
// knows the calls of one group, and Collectives drives all of them. capi is above it; message and engine are below it.
// Invariants: data moves only in calls; a call that fails at one member is revoked at all that have not ended it, and
// never waits for ever for it; the members of a group are compared in every message; what is combined is combined in an
// order that only the arguments decide. Decision: docs/decisions/0029. Page: docs/formats/collective.md.
// Tests: tests/unit/collective, tests/conformance/collective, tests/universe/test_collective*.py.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collective/execution.hpp"
#include "collective/plan.hpp"
#include "collective/session.hpp"
#include "engine/engine.hpp"
#include "message/courier.hpp"

namespace couplet::collective {

// The state of a call at this member.
enum class CallStage : std::uint8_t {
  idle,       // the object is free
  meeting,    // the members of the group meet
  running,    // its steps are carried out
  aborting,   // it has failed, and messages with memory of the user are still under way
  lingering,  // it has failed, and messages with memory of the library are still under way
};

class Collectives final : public engine::Source {
 public:
  // engine: nullptr if nothing waits, and the caller polls (tests). Both outlive this object, but for its destruction
  // after shut().
  Collectives(message::Messenger& messenger, engine::Engine* engine, PeerFacts facts);
  ~Collectives() override;
  Collectives(const Collectives&) = delete;
  Collectives& operator=(const Collectives&) = delete;

  [[nodiscard]] Operations& operations() noexcept { return operations_; }
  // Makes a call and waits for its end. Errors: as in couplet_collective.h.
  Status run(message::Group& group, const Arguments& arguments);
  // Begins a call. The memory of the arguments belongs to it until *request is done; arrays of counts are copied.
  Status start(message::Group& group, const Arguments& arguments, message::Request** request);
  // Returns the method that a call of this member would use: the members may have to meet before it is known.
  [[nodiscard]] cost::Method method_for(message::Group& group, cost::Collective kind, std::uint64_t bytes);
  // Called before the group is freed. Returns state if calls are under way.
  Status release(message::Group& group);
  // Ends all calls: the universe is being left. Afterwards the object can only be destroyed, after the messenger.
  void shut() noexcept;

  int poll(std::uint64_t now_ns, int budget) override;
  [[nodiscard]] bool ready() const override;
  void tick(std::uint64_t now_ns) override;

 private:
  struct Known;
  struct Call;

  Status begin(message::Group& group, const Arguments& arguments, Call*& begun);
  Status admit(Known& known, std::uint64_t number, const Arguments& arguments, const wire::CollectiveHead& head);
  Known& known_of(message::Group& group);
  Call& take_call();
  [[nodiscard]] wire::CollectiveHead head_of(const Arguments& arguments) const;
  Status run_steps(Call& call);
  bool step(Call& call);
  [[nodiscard]] std::shared_ptr<const Schedule> schedule_of(Known& known, const Arguments& arguments, Status& failure);
  bool take_notices(Known& known);
  void inquired(Known& known, const wire::CollectiveNotice& inquiry, std::int32_t source);
  void revoke(Call& call, const Status& why, bool first_hand);
  void tell(Call& call, const Status& why, bool first_hand);
  void conclude(Call& call, Status outcome);
  void settle(Call& call, std::uint64_t now_ns);
  void tidy() noexcept;
  [[nodiscard]] bool is_first(const Call& call) const noexcept;

  message::Courier courier_;
  engine::Engine* engine_;
  PeerFacts facts_;
  Operations operations_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Known>> known_;  // by the hash of the group
  std::vector<std::unique_ptr<Call>> calls_;                         // all that were ever needed at a time
  std::vector<Call*> active_;                                        // in the order in which they have begun
  std::vector<Call*> free_;
  bool busy_ = false;  // a poll or a step is being made
};

}  // namespace couplet::collective
