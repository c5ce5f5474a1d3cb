// collective: turns barriers, broadcasts, reductions and the like over groups into messages. The choice of an algorithm
// is in cost/, the algorithms and plans are pure (algorithms.hpp, plan.hpp), Execution carries one call out, Session
// knows the calls of one group, and Collectives drives all of them. capi is above it; message and engine are below it.
// Invariants: data moves only in calls; a call that fails at one member is revoked at all that have not ended it, and
// never waits for ever for it; the members of a group are compared in every message; what is combined is combined in an
// order that only the arguments decide. Decision: docs/decisions/0029. Page: docs/formats/collective.md.
// Tests: tests/unit/collective, tests/conformance/collective, tests/universe/test_collectives.py.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collective/call.hpp"
#include "collective/execution.hpp"
#include "collective/former_groups.hpp"
#include "collective/plan.hpp"
#include "collective/session.hpp"
#include "collective/short_run.hpp"
#include "engine/engine.hpp"
#include "message/courier.hpp"

namespace couplet::collective {

// How a call of a group would be carried out, and why.
struct MethodChoice {
  cost::Method method = cost::Method::automatic;
  cost::CollectiveShape shape;
  bool is_agreed = false;  // the members have met; else it is what this member would propose
  std::string origin;      // where the table comes from; empty: the library
};

// A group whose members have met.
struct GroupTable {
  std::string group;
  std::int32_t size = 0;
  const Meeting* meeting = nullptr;  // valid until the next call
};

class Collectives;
// Returns the groups whose members have met.
[[nodiscard]] std::vector<GroupTable> tables_of(const Collectives& calls);

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
  // Makes a call that fails, here and at all other members: this one cannot make the call of that name. Returns `why`
  // with the name of the call before it; state if this process is no member.
  Status refuse(message::Group& group, std::string_view call, const Status& why);
  // Revokes the call that start() has begun with this request, if it has not ended: its caller was interrupted.
  void interrupt(const message::Request& request) noexcept;
  // Returns the method that a call of this member would use. The choice is final only once the members have met.
  [[nodiscard]] MethodChoice method_for(message::Group& group, cost::Collective kind, bool uneven, std::uint64_t bytes);
  // Called before the group is freed. Returns state if calls are under way.
  Status release(message::Group& group);
  // Ends all calls: the universe is being left. Afterwards the object can only be destroyed, after the messenger.
  void shut() noexcept;

  int poll(std::uint64_t now_ns, int budget) override;
  [[nodiscard]] bool ready() const override;
  void tick(std::uint64_t now_ns) override;

 private:
  friend std::vector<GroupTable> tables_of(const Collectives& calls);
  template <typename Make>
  Status make_next(message::Group& group, std::string_view call, const Make& make);
  Status begin(message::Group& group, const Arguments& given, bool is_awaited, Call*& begun);
  Call& enter(KnownGroup& known, std::uint64_t number, const Arguments& arguments, message::Group* promised_in);
  // Returns why this member cannot take part in the call; ok: it can.
  Status admit(KnownGroup& known, const Arguments& arguments);
  // Ends a call that has not begun, and tells the others.
  Status turn_away(KnownGroup& known, std::uint64_t number, std::string_view call, const Status& why);
  KnownGroup& known_of(message::Group& group);
  // Makes a call of the last group again that was made before, and is short. Returns nothing if that is not so, or if
  // anything is to be looked at first; the call was then not counted.
  std::optional<Status> run_short(const message::Group& group, const Arguments& given);
  Status finish_short(KnownGroup& known, const ShortCall& one, std::uint64_t number, const Arguments& arguments,
                      const Surroundings& around, Progress& progress);
  Status run_steps(Call& call);
  bool step(Call& call) noexcept;
  bool go_on(Call& call);
  bool take_notices(KnownGroup& known);
  void inquired(KnownGroup& known, const wire::CollectiveNotice& inquiry, std::int32_t source);
  void revoke(Call& call, const Status& why, bool first_hand) noexcept;

  message::Courier courier_;
  engine::Engine* engine_;
  PeerFacts facts_;
  Operations operations_;
  std::unordered_map<std::uint64_t, std::unique_ptr<KnownGroup>> known_;  // by the hash of the group
  FormerGroups former_;
  CallList calls_;
  KnownGroup* last_ = nullptr;  // that of the last call
  ShortRun short_run_;
  std::uint64_t looked_ticks_ = 0;  // when a call began last
  int busy_ = 0;                    // how many threads make a poll, a step or a call
};

}  // namespace couplet::collective
