#include <algorithm>

#include "collective/collective.hpp"
#include "os/clock.hpp"

namespace couplet::collective {
namespace {

constexpr std::size_t max_cached_schedules = 8;
constexpr std::int32_t max_told = 256;  // members of larger groups are told if they wait for a message
constexpr std::uint64_t inquiry_after_ns = 1'000'000'000;  // without progress
constexpr std::uint64_t max_ending_ns = 3'000'000'000;     // for a message that is being copied when its call fails
constexpr int max_notices_at_once = 64;

}  // namespace

struct Collectives::Known {
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

  Known(message::Courier& courier, const message::Group& group, const PeerFacts& facts)
      : session(courier, group, facts) {}
};

struct Collectives::Call {
  CallStage stage = CallStage::idle;
  Known* known = nullptr;
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
  std::uint64_t moved_ns = 0;   // when it last made progress, or has asked
  std::uint64_t ending_ns = 0;  // aborting: until then

  [[nodiscard]] bool open() const noexcept { return stage == CallStage::meeting || stage == CallStage::running; }
  void keep_counts(std::int32_t size) {
    const std::uint64_t** const given[] = {&arguments.input_counts, &arguments.input_offsets, &arguments.output_counts,
                                           &arguments.output_offsets};
    for (std::size_t which = 0; which < counts.size(); ++which) {
      if (*given[which] == nullptr) continue;
      counts[which].assign(*given[which], *given[which] + size);
      *given[which] = counts[which].data();
    }
  }
};

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
  busy_ = true;
  for (Call* const call : active_) {
    if (!call->open()) continue;
    try {
      tell(*call, why, true);
    } catch (const std::bad_alloc&) {
      static_cast<void>(0);  // the others hear of it when this process has left
    }
    if (call->stage == CallStage::running) {
      try {
        call->execution.abort();
      } catch (const std::bad_alloc&) {
        static_cast<void>(0);  // what could not be copied is cut off below
      }
      if (!call->execution.memory_is_free()) call->execution.cut_off(why);
    }
    conclude(*call, why);
  }
  for (const auto& [hash, known] : known_) known->session.mailbox().close();
  if (engine_ != nullptr) engine_->remove(*this);
  engine_ = nullptr;
}

// ---- calls ----

Collectives::Known& Collectives::known_of(message::Group& group) {
  auto& known = known_[group.hash()];
  if (known == nullptr) known = std::make_unique<Known>(courier_, group, facts_);
  return *known;
}

Collectives::Call& Collectives::take_call() {
  if (free_.empty()) {
    calls_.push_back(std::make_unique<Call>());
    free_.reserve(calls_.size());
    active_.reserve(calls_.size());
    free_.push_back(calls_.back().get());
  }
  Call& call = *free_.back();
  free_.pop_back();
  active_.push_back(&call);
  return call;
}

wire::CollectiveHead Collectives::head_of(const Arguments& arguments) const {
  constexpr std::uint8_t no_operation = 255;
  wire::CollectiveHead head;
  head.kind = static_cast<std::uint8_t>(arguments.kind);
  head.method = static_cast<std::uint8_t>(arguments.method);
  head.type = static_cast<std::uint8_t>(arguments.type);
  head.operation = arguments.reduces() ? operations_.mark_of(arguments.operation) : no_operation;
  head.root = arguments.has_root() ? arguments.root : -1;
  head.count = arguments.common_count();
  head.big_endian = std::endian::native == std::endian::big;
  return head;
}

// An error of this member alone is told to the others, which would wait for it.
Status Collectives::admit(Known& known, std::uint64_t number, const Arguments& arguments,
                          const wire::CollectiveHead& head) {
  Session& session = known.session;
  const message::Group& group = session.group();
  Status failure = session.failure_of(number);
  const bool is_told = !failure.ok();
  if (failure.ok()) failure = check(arguments, group.rank(), group.size(), operations_);
  if (failure.ok() && session.meeting().met()) {
    failure =
        method_of(arguments, shape_of(arguments, group.size(), session.meeting().systems(), operations_)).status();
  }
  if (failure.ok()) failure = session.lost_member();
  if (failure.ok()) return {};
  session.end_call(number, head, true);
  failure =
      failure.within(fmt::format("call {} of group '{}' ({})", number, group.name(), cost::name_of(arguments.kind)));
  if (!is_told && group.size() > 1) {
    const Status named = failure.within(fmt::format("rank {}", group.rank()));
    session.tell(number, named, group.size() <= max_told ? std::vector<std::int32_t>() : session.meeting().neighbors());
  }
  return failure;
}

Status Collectives::begin(message::Group& group, const Arguments& arguments, Call*& begun) {
  if (group.rank() < 0) {
    return fail(Code::state, "{}: this process is no member of group '{}', which has {} members",
                cost::name_of(arguments.kind), group.name(), group.size());
  }
  Known& known = known_of(group);
  take_notices(known);
  const std::uint64_t number = known.session.begin_call();
  wire::CollectiveHead head = head_of(arguments);
  head.previous = known.session.signature_before(number);
  COUPLET_TRY(admit(known, number, arguments, head));
  Call& call = take_call();
  call.stage = CallStage::meeting;
  call.known = &known;
  call.number = number;
  call.arguments = arguments;
  call.keep_counts(group.size());
  call.head = head;
  call.promise = nullptr;
  call.over = false;
  call.outcome = {};
  call.title.clear();
  call.moved_ns = 0;
  call.deadline_ns = arguments.timeout_s < 0 ? os::never : os::deadline_after(arguments.timeout_s);
  known.session.note_head(number, head);
  begun = &call;
  return {};
}

Status Collectives::start(message::Group& group, const Arguments& arguments, message::Request** request) {
  Call* call = nullptr;
  COUPLET_TRY(begin(group, arguments, call));
  call->title = fmt::format("{} in group '{}'", cost::name_of(arguments.kind), group.name());
  call->promise = courier_.promise(group, call->title);
  message::Request* const promise = call->promise;
  step(*call);
  tidy();
  *request = promise;
  return {};
}

Status Collectives::run(message::Group& group, const Arguments& arguments) {
  Call* call = nullptr;
  COUPLET_TRY(begin(group, arguments, call));
  step(*call);
  Status outcome = call->over ? std::move(call->outcome) : run_steps(*call);
  tidy();
  return outcome;
}

// Waits for the end of the call. While it waits for one message, that channel is polled most.
Status Collectives::run_steps(Call& call) {
  const auto what = [&call] {
    return fmt::format("{} in group '{}'", cost::name_of(call.arguments.kind), call.known->session.group().name());
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
      settle(call, os::now_ns() + max_ending_ns);
      continue;
    }
    const message::Group& members = call.known->session.group();
    const Status why = waited.code() != Code::timeout
                           ? waited
                           : fail(Code::timeout, "rank {} ({}) has given up after {:.3g} s", members.rank(),
                                  courier_.name(members.peer(members.rank())), call.arguments.timeout_s);
    revoke(call, why, true);
  }
  return std::move(call.outcome);
}

// ---- progress ----

// The members meet for the oldest call that is under way.
bool Collectives::is_first(const Call& call) const noexcept {
  for (const Call* const other : active_) {
    if (other->known == call.known && other->stage == CallStage::meeting) return other == &call;
  }
  return false;
}

std::shared_ptr<const Schedule> Collectives::schedule_of(Known& known, const Arguments& arguments, Status& failure) {
  Session& session = known.session;
  const auto shape = shape_of(arguments, session.group().size(), session.meeting().systems(), operations_);
  const auto method = method_of(arguments, shape);
  if (!method.ok()) {
    failure = method.status();
    return nullptr;
  }
  for (const Known::Cached& one : known.cached) {
    if (!arguments.uneven && one.kind == arguments.kind && one.method == *method && one.count == arguments.count &&
        one.root == arguments.root && one.operation == arguments.operation && one.may_reorder == shape.may_reorder) {
      return one.schedule;
    }
  }
  auto made = std::make_shared<const Schedule>(
      make_schedule(arguments, *method, session.group().rank(), session.meeting().systems(), operations_));
  if (!arguments.uneven) {
    if (known.cached.size() == max_cached_schedules) known.cached.pop_back();
    known.cached.insert(known.cached.begin(), {arguments.kind, *method, shape.may_reorder, arguments.operation,
                                               arguments.root, arguments.count, made});
  }
  return made;
}

bool Collectives::step(Call& call) {
  if (busy_) return false;
  struct Busy {
    bool& busy;
    explicit Busy(bool& flag) : busy(flag) { busy = true; }
    ~Busy() { busy = false; }
  } busy(busy_);
  bool moved = take_notices(*call.known);
  if (call.stage == CallStage::meeting) {
    Session& session = call.known->session;
    if (is_first(call)) session.meeting().meet(call.number, facts_.system_of);
    if (!session.meeting().met()) return moved;
    Status failure;
    call.schedule = schedule_of(*call.known, call.arguments, failure);
    if (!failure.ok()) {
      revoke(call, failure, true);
      return true;
    }
    call.execution.begin(call.arguments, call.head, *call.schedule,
                         {&courier_, &operations_, &session.group(),
                          session.mailbox().context_of(session.meeting().epoch(), call.number), call.number});
    call.stage = CallStage::running;
  }
  while (call.stage == CallStage::running) {
    Status failure;
    const bool advanced = call.execution.advance(failure);
    if (advanced) {
      moved = true;
      call.moved_ns = 0;
      take_notices(*call.known);
      if (call.stage != CallStage::running) break;
    }
    if (!failure.ok()) {
      revoke(call, failure, true);
    } else if (call.execution.is_done()) {
      call.known->session.end_call(call.number, call.head, false);
      conclude(call, {});
      call.stage = CallStage::lingering;
    } else if (!advanced) {
      break;
    }
  }
  if (call.stage == CallStage::aborting) settle(call, 0);
  return moved;
}

// The call has ended for its caller.
void Collectives::conclude(Call& call, Status outcome) {
  if (call.over) return;
  call.over = true;
  if (call.promise != nullptr) {
    courier_.keep(*std::exchange(call.promise, nullptr), std::move(outcome));
  } else {
    call.outcome = std::move(outcome);
  }
}

int Collectives::poll(std::uint64_t /*now_ns*/, int /*budget*/) {
  if (busy_) return 0;
  int moved = 0;
  for (const auto& [hash, known] : known_) {
    if (known->session.mailbox().has_notice()) {
      busy_ = true;
      moved += take_notices(*known) ? 1 : 0;
      busy_ = false;
    }
  }
  // A step may end other calls, but takes none out of the list.
  for (std::size_t index = 0; index < active_.size(); ++index) moved += step(*active_[index]) ? 1 : 0;
  return moved;
}

bool Collectives::ready() const {
  for (const auto& [hash, known] : known_) {
    if (known->session.mailbox().has_notice()) return true;
  }
  return std::any_of(active_.begin(), active_.end(), [](const Call* call) {
    return call->stage == CallStage::running && call->execution.could_advance();
  });
}

void Collectives::tick(std::uint64_t now_ns) {
  if (busy_) return;
  for (std::size_t index = 0; index < active_.size(); ++index) {
    Call& call = *active_[index];
    if (call.stage == CallStage::aborting) settle(call, now_ns);
    if (!call.open()) continue;
    Session& session = call.known->session;
    session.mailbox().watch();
    if (call.stage == CallStage::running) call.execution.watch();
    Status failure = session.lost_member();
    if (failure.ok() && call.stage == CallStage::running) {
      failure = session.meeting().created_again(call.number, call.execution.sources());
    }
    if (!failure.ok()) {
      revoke(call, failure, true);
    } else if (now_ns >= call.deadline_ns) {
      revoke(
          call,
          fail(Code::timeout, "rank {} has given up after {:.3g} s", session.group().rank(), call.arguments.timeout_s),
          true);
    } else if (call.moved_ns == 0) {
      call.moved_ns = now_ns;
    } else if (now_ns - call.moved_ns >= inquiry_after_ns && call.stage == CallStage::running) {
      call.moved_ns = now_ns;
      session.ask(call.number, call.head, call.execution.sources());
    }
  }
}

// ---- failures ----

bool Collectives::take_notices(Known& known) {
  Session::News news;
  bool any = false;
  for (int taken = 0; taken < max_notices_at_once && known.session.take_notice(news); ++taken) {
    any = true;
    if (news.inquiry) inquired(known, *news.inquiry, news.source);
    if (!news.revoked) continue;
    for (Call* const call : active_) {
      if (call->known == &known && call->number == *news.revoked && call->open()) revoke(*call, news.why, false);
    }
  }
  return any;
}

// A member waits in a call. If this one makes, or has made, another call of that number, both hear of it.
void Collectives::inquired(Known& known, const wire::CollectiveNotice& inquiry, std::int32_t source) {
  Session& session = known.session;
  if (inquiry.epoch != session.meeting().epoch()) {
    const Status why =
        fail(Code::mismatch, "rank {} ({}) waits in call {} of a group that was created before that of rank {}", source,
             courier_.name(session.group().peer(source)), inquiry.call, session.group().rank());
    for (Call* const call : active_) {
      if (call->known == &known && call->open()) return revoke(*call, why, true);
    }
    return;
  }
  const wire::CollectiveHead* const mine = session.head_of(inquiry.call);
  if (mine == nullptr || mine->agrees(inquiry.head)) return;
  const bool uneven = mine->kind == inquiry.head.kind && mine->count == 0 && inquiry.head.count == 0;
  if (uneven && mine->signature() == inquiry.head.signature()) return;
  const Status why = fail(Code::mismatch, "rank {} ({}) makes a {}, and rank {} a {}", source,
                          courier_.name(session.group().peer(source)), describe(inquiry.head), session.group().rank(),
                          describe(*mine));
  for (Call* const call : active_) {
    if (call->known == &known && call->number == inquiry.call && call->open()) return revoke(*call, why, true);
  }
  session.tell(inquiry.call, why, {source});
}

void Collectives::tell(Call& call, const Status& why, bool first_hand) {
  Session& session = call.known->session;
  const std::int32_t size = session.group().size();
  if (size == 1) return;
  if (first_hand && size <= max_told) return session.tell(call.number, why, {});
  std::vector<std::int32_t> targets;
  if (call.stage == CallStage::running) targets = call.execution.dependants();
  if (call.stage == CallStage::meeting || first_hand) {
    for (const std::int32_t neighbor : session.meeting().neighbors()) targets.push_back(neighbor);
  }
  if (!targets.empty()) session.tell(call.number, why, targets);
}

// first_hand: this member has found the error. Otherwise only those are told that may wait for a message of this one.
void Collectives::revoke(Call& call, const Status& why, bool first_hand) {
  Session& session = call.known->session;
  const Status named = first_hand && why.error()
                           ? why.within(fmt::format("call {} of group '{}' ({})", call.number, session.group().name(),
                                                    cost::name_of(call.arguments.kind)))
                           : why;
  tell(call, named, first_hand);
  session.end_call(call.number, call.head, true);
  const bool running = call.stage == CallStage::running;
  call.stage = CallStage::aborting;
  call.ending_ns = os::now_ns() + max_ending_ns;
  call.outcome = named;
  if (running) {
    call.execution.abort();
    settle(call, 0);
  } else {
    call.stage = CallStage::lingering;
    call.schedule.reset();
    conclude(call, named);
  }
}

// Ends the call when no message uses the memory of the user any more. now_ns: 0 if the clock was not read.
void Collectives::settle(Call& call, std::uint64_t now_ns) {
  if (call.stage != CallStage::aborting) return;
  if (!call.execution.memory_is_free()) {
    if (now_ns < call.ending_ns) return;
    call.execution.cut_off(call.outcome);
    if (!call.execution.memory_is_free()) return;
  }
  call.stage = CallStage::lingering;
  Status outcome = call.outcome;
  conclude(call, std::move(outcome));
}

// Puts the calls back that have ended.
void Collectives::tidy() noexcept {
  std::erase_if(active_, [this](Call* call) {
    if (call->stage != CallStage::lingering || !call->over) return false;
    if (call->schedule != nullptr && !call->execution.is_ended()) return false;
    call->stage = CallStage::idle;
    call->schedule.reset();
    free_.push_back(call);
    return true;
  });
}

// ---- groups ----

cost::Method Collectives::method_for(message::Group& group, cost::Collective kind, std::uint64_t bytes) {
  const auto found = known_.find(group.hash());
  cost::CollectiveShape shape;
  shape.kind = kind;
  shape.bytes = kind == cost::Collective::allgather ? bytes * static_cast<std::uint64_t>(group.size()) : bytes;
  shape.size = group.size();
  if (found != known_.end() && found->second->session.meeting().met()) {
    const Systems& systems = found->second->session.meeting().systems();
    shape.systems = static_cast<std::int32_t>(systems.members.size());
    shape.systems_in_order = systems.in_order;
  } else if (facts_.system_of) {
    std::vector<std::uint32_t> names;
    names.reserve(static_cast<std::size_t>(group.size()));
    for (std::int32_t rank = 0; rank < group.size(); ++rank) names.push_back(facts_.system_of(group.peer(rank)));
    const Systems systems = group_systems(names);
    shape.systems = static_cast<std::int32_t>(systems.members.size());
    shape.systems_in_order = systems.in_order;
  }
  return cost::choose_method(shape);
}

Status Collectives::release(message::Group& group) {
  if (group.pending > 0) {
    return fail(Code::state, "group '{}' has {} requests that are not complete", group.name(), group.pending);
  }
  const auto found = known_.find(group.hash());
  if (found == known_.end() || courier_.groups_like(group) > 1) return {};
  tidy();
  for (const Call* const call : active_) {
    if (call->known == found->second.get()) {
      return fail(Code::state, "group '{}' has a collective call that has not ended", group.name());
    }
  }
  found->second->cached.clear();
  Session& session = found->second->session;
  if (!session.start_again() && session.mailbox().is_idle()) known_.erase(found);
  return {};
}

}  // namespace couplet::collective
