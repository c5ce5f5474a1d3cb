#include <algorithm>

#include "base/counted.hpp"
#include "base/scope_count.hpp"
#include "collective/call.hpp"
#include "collective/collective.hpp"
#include "os/clock.hpp"
#include "os/ticks.hpp"

namespace couplet::collective {
namespace {

constexpr std::uint64_t inquiry_after_ns = 1'000'000'000;  // without progress
constexpr std::uint64_t max_absence_ticks = 1'000 * os::ticks_per_us;

// A member that has computed for a while has to know what was revoked meanwhile before it uses data of others: what two
// peers have sent is in no order. looked: the ticks when this was called last.
void look_after_absence(engine::Engine* engine, std::uint64_t& looked) {
  const std::uint64_t now = os::ticks();
  if (engine != nullptr && now - looked > max_absence_ticks) engine->look_at_all();
  looked = now;
}

wire::CollectiveHead head_of(const Arguments& arguments, const Operations& operations) {
  wire::CollectiveHead head;
  head.uneven = arguments.uneven;
  head.kind = static_cast<std::uint8_t>(arguments.kind);
  head.method = static_cast<std::uint8_t>(arguments.method);
  head.type = static_cast<std::uint8_t>(arguments.type);
  head.operation = arguments.reduces() ? operations.mark_of(arguments.operation) : no_operation;
  head.root = arguments.has_root() ? arguments.root : -1;
  head.count = arguments.common_count();
  head.big_endian = std::endian::native == std::endian::big;
  return head;
}

// Does the work while nothing that is polled takes notices, or goes on with a call. Returns memory if there was none.
template <typename Work>
Status undisturbed(int& busy, const Work& work) noexcept {
  const ScopeCount undisturbed(busy);
  try {
    work();
  } catch (const std::bad_alloc&) {
    return Code::memory;
  }
  return {};
}

}  // namespace

Collectives::Collectives(message::Messenger& messenger, engine::Engine* engine, PeerFacts facts)
    : courier_(messenger), engine_(engine), facts_(std::move(facts)) {
  if (engine_ != nullptr) engine_->add(*this, engine::Rate::often);
}

Collectives::~Collectives() {
  if (engine_ != nullptr) engine_->remove(*this);
  engine_ = nullptr;
}

void Collectives::shut() noexcept {
  const Status why = engine::error_of(engine::Ending::left);
  ++busy_;
  for (Call* const call : calls_.active()) {
    if (!call->open()) continue;
    const std::int32_t own = call->known->session.group().rank();
    call->tell(fail(Code::peer_lost, "rank {} has left the universe before the call had ended", own), true);
    if (call->stage == CallStage::running) {
      try {
        call->execution.abort();
      } catch (const std::bad_alloc&) {
        static_cast<void>(0);  // what could not be copied is cut off below
      }
      if (!call->execution.memory_is_free()) call->execution.cut_off(why);
    }
    call->conclude(courier_, why);
  }
  for (const auto& [hash, known] : known_) known->session.mailbox().close();
  if (engine_ != nullptr) engine_->remove(*this);
  engine_ = nullptr;
}

// ---- calls ----

KnownGroup& Collectives::known_of(message::Group& group) {
  auto found = known_.find(group.hash());
  if (found == known_.end()) {
    const std::uint64_t creation = former_.next_creation(group.hash());
    auto made = std::make_unique<KnownGroup>(courier_, group, facts_, creation);  // it polls this object
    found = known_.emplace(group.hash(), std::move(made)).first;
  }
  KnownGroup& known = *found->second;
  courier_.messenger().groups().gather_uncounted(group);
  if (group.uncounted_calls > 0) take_notices(known);  // the calls count in the creation in which the others are
  for (; group.uncounted_calls > 0; --group.uncounted_calls) {
    static_cast<void>(turn_away(known, known.session.begin_call(), "a call", Code::memory));
  }
  return known;
}

Status Collectives::admit(KnownGroup& known, const Arguments& arguments) {
  Session& session = known.session;
  const message::Group& group = session.group();
  COUPLET_TRY(check(arguments, group.rank(), group.size(), operations_));
  if (session.meeting().met()) {
    COUPLET_TRY(method_of(arguments, shape_of(arguments, group.size(), session.meeting().systems(), operations_),
                          session.meeting().table().pieces)
                    .status());
  }
  return session.lost_member();
}

// The others would wait for this member.
Status Collectives::turn_away(KnownGroup& known, std::uint64_t number, std::string_view call, const Status& why) {
  Session& session = known.session;
  const message::Group& group = session.group();
  Status named = in_call(why, number, group, call);
  std::vector<std::int32_t> targets;
  try {
    if (group.size() > max_told) targets = session.meeting().neighbors();
  } catch (const std::bad_alloc&) {
    static_cast<void>(0);  // all are told
  }
  session.fail_call(number, named);
  if (group.size() > 1) session.tell(number, named, targets);
  return named;
}

// Counts one more call of the group, and lets make(known, number) make it, unless it has failed already. A failure that
// another member has told is passed on, since that one may not reach all others.
template <typename Make>
Status Collectives::make_next(message::Group& group, std::string_view call, const Make& make) {
  if (group.rank() < 0) {
    return fail(Code::state, "{}: this process is no member of group '{}', which has {}", call, group.name(),
                counted(group.size(), "member"));
  }
  KnownGroup* found = nullptr;
  if (!undisturbed(busy_, [&] { found = &known_of(group); }).ok()) {
    ++group.uncounted_calls;
    return Code::memory;
  }
  KnownGroup& known = *found;
  last_ = found;
  // A member that has left may be back. This takes notices, so the call must not have been counted yet.
  if (!known.session.losses().none(courier_)) looked_ticks_ = 0;
  look_after_absence(engine_, looked_ticks_);
  Status why = undisturbed(busy_, [&] { take_notices(known); });
  const ScopeCount busy(busy_);  // to tell others may take a question to the hub
  const std::uint64_t number = known.session.begin_call();
  try {
    Session::EarlyFailure early = known.session.failure_of(number);
    if (early.is_told) {
      known.session.fail_call(number, early.why);
      known.session.tell(number, early.why, known.session.meeting().neighbors());
      return early.why;
    }
    if (why.ok()) why = std::move(early.why);
    if (why.ok()) why = make(known, number);
  } catch (const std::bad_alloc&) {
    why = Code::memory;
  }
  return why.ok() ? why : turn_away(known, number, call, why);
}

Status Collectives::refuse(message::Group& group, std::string_view call, const Status& why) {
  return make_next(group, call, [&why](KnownGroup& /*known*/, std::uint64_t /*number*/) { return why; });
}

Status Collectives::begin(message::Group& group, const Arguments& given, bool is_awaited, Call*& begun) {
  return make_next(group, name_of(given), [&](KnownGroup& known, std::uint64_t number) -> Status {
    Arguments arguments = given;
    forget_unused(arguments, group.rank());
    COUPLET_TRY(admit(known, arguments));
    begun = &enter(known, number, arguments, is_awaited ? nullptr : &group);
    return {};
  });
}

// Makes a call that takes part from now on. promised_in: the group of a call for which nobody waits yet, else nullptr.
// Nothing is left of it if there is no memory.
Call& Collectives::enter(KnownGroup& known, std::uint64_t number, const Arguments& arguments,
                         message::Group* promised_in) {
  const message::Group& group = known.session.group();
  Call& call = calls_.next();
  call.known = &known;
  call.number = number;
  call.arguments = arguments;
  call.keep_counts(group.size());
  call.head = head_of(arguments, operations_);
  call.head.previous = known.session.past().signature_before(number);
  call.promise = nullptr;
  call.over = false;
  call.outcome = {};
  call.idle = {};
  call.deadline_ns = arguments.timeout_s < 0 ? os::never : os::deadline_after(arguments.timeout_s);
  if (promised_in != nullptr) {
    call.title = fmt::format("{} in group '{}'", name_of(arguments), group.name());
    call.promise = courier_.promise(*promised_in, call.title);
  }
  known.session.past().begin(number, call.head);
  call.stage = CallStage::meeting;
  calls_.begin(call);
  return call;
}

Status Collectives::start(message::Group& group, const Arguments& arguments, message::Request** request) {
  Call* call = nullptr;
  COUPLET_TRY(begin(group, arguments, false, call));
  message::Request* const promise = call->promise;
  step(*call);
  calls_.tidy();
  *request = promise;
  return {};
}

std::optional<Status> Collectives::run_short(const message::Group& group, const Arguments& given) {
  if (last_ == nullptr || last_->session.group().hash() != group.hash()) return {};
  if (!calls_.active().empty() || busy_ != 0) return {};
  KnownGroup& known = *last_;
  Session& session = known.session;
  const ShortCall* const one = known.short_calls.find(given);
  if (one == nullptr || !check_memory(given, group.rank(), group.size()).ok()) return {};
  look_after_absence(engine_, looked_ticks_);
  if (!session.is_undisturbed()) return {};
  const std::uint64_t number = session.begin_call();
  const wire::ShortHead head{.signature = one->signature,
                             .previous = session.past().signature_before(number) & wire::max_short_previous,
                             .big_endian = wire::own_big_endian};
  const Surroundings around = known.surroundings(courier_, operations_, number);
  try {
    Progress progress = [&] {
      const ScopeCount busy(busy_);  // a notice that comes now is taken afterwards
      return short_run_.run(given, head, *one->schedule, around);
    }();
    if (progress.done < one->schedule->steps.size() || session.has_notice()) [[unlikely]] {
      return finish_short(known, *one, number, given, around, progress);
    }
  } catch (const std::bad_alloc&) {
    return turn_away(known, number, name_of(given), Code::memory);
  }
  session.past().end(number, one->head, one->signature);
  return Status();
}

// Makes a Call of what run_short() has left.
Status Collectives::finish_short(KnownGroup& known, const ShortCall& one, std::uint64_t number,
                                 const Arguments& arguments, const Surroundings& around, Progress& progress) {
  const std::shared_ptr<const Schedule> schedule = one.schedule;
  Call* entered = nullptr;
  try {
    entered = &enter(known, number, arguments, nullptr);
    entered->execution.begin(arguments, entered->head, *schedule, around);
  } catch (const std::bad_alloc&) {
    if (progress.request != nullptr) courier_.abandon(progress.request, std::move(progress.incoming));
    if (entered == nullptr) throw;
    progress.failure = Code::memory;
  }
  Call& call = *entered;
  if (!progress.failure.ok()) {
    revoke(call, progress.failure, true);  // it has not begun to run
  } else {
    call.schedule = schedule;
    call.execution.take_over(progress);
    call.stage = CallStage::running;
  }
  step(call);
  Status outcome = call.over ? std::move(call.outcome) : run_steps(call);
  calls_.tidy();
  return outcome;
}

Status Collectives::run(message::Group& group, const Arguments& arguments) {
  if (std::optional<Status> outcome = run_short(group, arguments)) return *std::move(outcome);
  Call* call = nullptr;
  COUPLET_TRY(begin(group, arguments, true, call));
  step(*call);
  Status outcome = call->over ? std::move(call->outcome) : run_steps(*call);
  calls_.tidy();
  return outcome;
}

void Collectives::interrupt(const message::Request& request) noexcept {
  for (Call* const call : calls_.active()) {
    if (call->promise == &request && call->open()) return revoke(*call, Code::interrupted, true);
  }
}

// Waits for the end of the call. While it waits for one message, that channel is polled most.
Status Collectives::run_steps(Call& call) {
  const auto what = [&call] {
    return fmt::format("{} in group '{}'", name_of(call.arguments), call.known->session.group().name());
  };
  const auto over = [this, &call] {
    step(call);
    return call.over;
  };
  while (!call.over) {
    const message::Request* const awaited = call.stage == CallStage::running ? call.execution.awaited() : nullptr;
    if (awaited != nullptr && courier_.spin(*awaited)) {
      step(call);
      continue;
    }
    const std::uint64_t until_ns = call.open() ? call.deadline_ns : call.ending_ns;
    const Status waited = courier_.wait(over, until_ns, what);
    if (call.over || waited.ok()) continue;
    if (!call.open()) {
      call.settle(courier_, os::now_ns() + max_ending_ns);
      continue;
    }
    const message::Group& members = call.known->session.group();
    const Status why = waited.code() != Code::timeout
                           ? waited
                           : fail(Code::timeout, "rank {} ({}) has given up after {:.3g} s{}", members.rank(),
                                  courier_.name(members.peer(members.rank())), call.arguments.timeout_s,
                                  call.known->session.waited_for(call.number));
    revoke(call, why, true);
  }
  return std::move(call.outcome);
}

// ---- progress ----

bool Collectives::step(Call& call) noexcept {
  if (busy_ != 0) return false;
  const ScopeCount busy(busy_);
  try {
    return go_on(call);
  } catch (const std::bad_alloc&) {
    if (call.open()) revoke(call, Code::memory, true);
  }
  return true;
}

bool Collectives::go_on(Call& call) {
  bool moved = take_notices(*call.known);
  if (call.stage == CallStage::meeting) {
    Session& session = call.known->session;
    if (const Session::EarlyFailure early = session.failure_of(call.number); early.why.error()) {
      revoke(call, early.why, false);  // it came for the creation in which this member is now
      return true;
    }
    if (call.is_first_of(calls_.active())) session.meeting().meet(call.number, facts_.system_of, facts_.table);
    if (!session.meeting().met()) return moved;
    Status failure;
    call.schedule = call.known->schedule_for(call.arguments, operations_, failure);
    if (!failure.ok()) {
      revoke(call, failure, true);
      return true;
    }
    call.execution.begin(call.arguments, call.head, *call.schedule,
                         call.known->surroundings(courier_, operations_, call.number));
    call.stage = CallStage::running;
  }
  while (call.stage == CallStage::running) {
    Status failure;
    const bool advanced = call.execution.advance(failure);
    if (advanced) {
      moved = true;
      call.idle = {};
      take_notices(*call.known);
      if (call.stage != CallStage::running) break;
    }
    if (!failure.ok()) {
      revoke(call, failure, true);
    } else if (call.execution.is_done()) {
      call.known->session.past().end(call.number, call.head, call.head.signature());
      call.known->short_calls.remember(call.arguments, call.head, call.schedule);
      call.conclude(courier_, {});
      call.stage = CallStage::lingering;
    } else if (!advanced) {
      break;
    }
  }
  if (call.stage == CallStage::aborting) call.settle(courier_, 0);
  return moved;
}

int Collectives::poll(std::uint64_t /*now_ns*/, int /*budget*/) {
  if (busy_ != 0) return 0;
  int moved = 0;
  for (const auto& [hash, known] : known_) {
    if (!known->session.has_notice()) continue;
    static_cast<void>(undisturbed(busy_, [&] { take_notices(*known); }));  // without memory: the next time
    ++moved;
  }
  // A step may end other calls, but takes none out of the list.
  for (std::size_t index = 0; index < calls_.active().size(); ++index) moved += step(*calls_.active()[index]) ? 1 : 0;
  return moved;
}

bool Collectives::ready() const {
  for (const auto& [hash, known] : known_) {
    if (known->session.has_notice()) return true;
  }
  return std::any_of(calls_.active().begin(), calls_.active().end(), [](const Call* call) {
    return call->stage == CallStage::running && call->execution.could_advance();
  });
}

void Collectives::tick(std::uint64_t now_ns) {
  if (busy_ != 0) return;
  for (const auto& [hash, known] : known_) known->session.mailbox().look();
  for (std::size_t index = 0; index < calls_.active().size(); ++index) {
    Call& call = *calls_.active()[index];
    if (call.stage == CallStage::aborting) call.settle(courier_, now_ns);
    // What a member sent before it left may have come since the last step, and counts first.
    if (call.open()) step(call);
    if (!call.open()) continue;
    Session& session = call.known->session;
    session.mailbox().watch();
    if (call.stage == CallStage::running) call.execution.watch();
    Status failure = session.lost_member();
    const bool is_first = call.stage == CallStage::meeting && call.is_first_of(calls_.active());
    const bool may_be_absent = is_first && !session.has_notice();
    if (may_be_absent) session.watch_awaited(call.number);
    // A member may just have returned: what the hub says of it has been read since the last time.
    if (failure.ok() && may_be_absent && call.idle.since_ns != 0) failure = session.absent_member(call.number);
    // A member creates the group again when its call has failed. The reason may come here later than that, over another
    // connection (take_notices), or is the answer to an inquiry.
    const bool is_stuck = call.idle.since_ns != 0 && now_ns - call.idle.since_ns >= inquiry_after_ns;
    if (failure.ok() && is_stuck && call.idle.has_asked && (is_first || call.stage == CallStage::running)) {
      failure = session.created_again(call.number, call.partners());
    }
    if (!failure.ok()) {
      revoke(call, failure, true);
    } else if (now_ns >= call.deadline_ns) {
      revoke(call,
             fail(Code::timeout, "rank {} has given up after {:.3g} s{}", session.group().rank(),
                  call.arguments.timeout_s, session.waited_for(call.number)),
             true);
    } else if (call.idle.since_ns == 0) {
      call.idle.since_ns = now_ns;
    } else if (is_stuck) {
      call.idle.since_ns = now_ns;
      call.inquire();
    }
  }
}

// ---- groups ----

MethodChoice Collectives::method_for(message::Group& group, cost::Collective kind, bool uneven, std::uint64_t bytes) {
  const auto found = known_.find(group.hash());
  MethodChoice choice;
  cost::CollectiveShape& shape = choice.shape;
  shape.kind = kind;
  shape.uneven = uneven || kind == cost::Collective::reduce_scatter;
  shape.bytes = kind == cost::Collective::allgather ? bytes * static_cast<std::uint64_t>(group.size()) : bytes;
  shape.size = group.size();
  const Meeting* const meeting =
      found != known_.end() && found->second->session.meeting().met() ? &found->second->session.meeting() : nullptr;
  const MethodTable& table = meeting != nullptr ? meeting->table() : facts_.table;
  Systems systems;
  if (meeting != nullptr) {
    systems = meeting->systems();
  } else if (facts_.system_of) {
    std::vector<std::uint32_t> names;
    names.reserve(static_cast<std::size_t>(group.size()));
    for (std::int32_t rank = 0; rank < group.size(); ++rank) names.push_back(facts_.system_of(group.peer(rank)));
    systems = group_systems(names);
  }
  if (!systems.members.empty()) {
    shape.systems = static_cast<std::int32_t>(systems.members.size());
    shape.systems_in_order = systems.in_order;
  }
  choice.method = cost::choose_method(shape, table.pieces);
  choice.is_agreed = meeting != nullptr;
  choice.origin = table.origin;
  return choice;
}

std::vector<GroupTable> tables_of(const Collectives& calls) {
  std::vector<GroupTable> found;
  for (const auto& [hash, known] : calls.known_) {
    Session& session = known->session;
    if (session.meeting().met()) found.push_back({session.group().name(), session.group().size(), &session.meeting()});
  }
  return found;
}

Status Collectives::release(message::Group& group) {
  if (group.pending > 0) {
    return fail(Code::state, "group '{}' has {} not complete", group.name(),
                counted(group.pending, "request that is", "requests that are"));
  }
  if (group.uncounted_calls > 0) COUPLET_TRY(undisturbed(busy_, [&] { known_of(group); }));  // tells the others
  const auto found = known_.find(group.hash());
  if (found == known_.end() || courier_.messenger().groups().count_like(group) > 1) return {};
  KnownGroup& known = *found->second;
  look_after_absence(engine_, looked_ticks_);  // what failed at others decides which creation is the next one
  COUPLET_TRY(undisturbed(busy_, [&] { take_notices(known); }));
  calls_.tidy();
  for (const Call* const call : calls_.active()) {
    if (call->known == &known) {
      return fail(Code::state, "group '{}' has a collective call that has not ended", group.name());
    }
  }
  Session& session = known.session;
  COUPLET_TRY(undisturbed(busy_, [&] {
    std::vector<std::int32_t> lost;
    for (std::int32_t rank = 0; rank < group.size() && !session.losses().none(courier_); ++rank) {
      if (session.losses().has(courier_, rank)) lost.push_back(rank);
    }
    former_.note(group.hash(), session.meeting().creation(), session.next_creation(), session.past().failure(), lost);
  }));
  known.cached.clear();
  known.short_calls.clear();
  last_ = nullptr;
  if (!session.start_again() && session.mailbox().is_idle()) known_.erase(group.hash());
  return {};
}

}  // namespace couplet::collective
