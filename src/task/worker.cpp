#include "task/worker.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "base/counted.hpp"
#include "os/clock.hpp"

namespace couplet::task {

using wire::TaskMessage;
using wire::TaskMessageKind;

namespace {

constexpr std::uint64_t greeting_interval_ns = 100'000'000;  // between attempts to say hello
constexpr int looks_for_couplers = 3;

// Is a rank of the group lost, or has it closed the tasks? Then the group does no task before all open them again.
bool is_broken_by(const Status& why) noexcept {
  return why.code() == Code::peer_lost || why.code() == Code::state;
}

// Tells the couplers that lives which the hello has named as awaited have opened the tasks: they no longer wait.
// Called by the first rank when all ranks have met, and by another one of itself when it closes: the first rank may
// have closed or died before that.
// Returns an error if a coupler that lives was not told.
Status tell_opened(Mailbox& mailbox, std::uint64_t space, const std::vector<Life>& lives,
                   const std::vector<channel::PeerId>& couplers) {
  TaskMessage opened;
  opened.kind = TaskMessageKind::opened;
  opened.space = space;
  opened.number = mailbox.next_number();
  for (const Life& life : lives) {
    const std::uint64_t known = mailbox.environment().incarnation(life.rank);  // it may have died since
    opened.numbers.push_back(Life{life.rank, std::max(life.incarnation, known)}.number());
  }
  Status untold;
  for (const channel::PeerId coupler : couplers) {
    const Status sent = mailbox.send(coupler, opened);
    if (!sent.ok() && untold.ok() && !mailbox.is_gone(coupler) && !mailbox.is_cut_off(coupler)) {
      untold = sent;
    }
  }
  return untold;
}

// The error when no task is left and a coupler was lost. If it is started again, its tasks come again.
Status without_end(Mailbox& mailbox, const std::string& tasks, const std::map<channel::PeerId, Status>& lost) {
  std::string reasons;
  for (const auto& [coupler, why] : lost) {
    const std::string name = mailbox.environment().peer_name(coupler);
    const std::string text = why.text();
    reasons += reasons.empty() ? "" : "; ";
    reasons += text.find(name) == std::string::npos ? fmt::format("{}: {}", name, text) : text;
  }
  return fail(Code::peer_lost, "tasks '{}': no task is left here, but a coupler is lost that may have had more: {}",
              tasks, reasons);
}

}  // namespace

Worker::Worker(Mailbox& mailbox, std::string name, std::vector<channel::PeerId> couplers)
    : mailbox_(mailbox),
      name_(std::move(name)),
      space_(space_of("tasks", name_)),
      couplers_{.all = std::move(couplers)} {}

Result<std::unique_ptr<Worker>> Worker::open(Mailbox& mailbox, const std::string& name, const std::string& couplers,
                                             const WorkerOptions& options) {
  auto program = find_program(mailbox.environment(), couplers);
  if (!program) {
    return program.status().within(fmt::format("tasks '{}'", name));
  }
  std::unique_ptr<Worker> made(new Worker(mailbox, name, ranks_of(**program)));
  COUPLET_TRY(made->join_group(options));
  made->id_ = options.id;
  if (!mailbox.listen(made->space_, *made).ok()) {
    return fail(Code::exists, "tasks '{}': this process has opened them already", name);
  }
  made->closed_ = false;
  for (const channel::PeerId coupler : made->couplers_.all) {
    made->greet(coupler);
  }
  return made;
}

Status Worker::join_group(const WorkerOptions& options) {
  Environment& environment = mailbox_.environment();
  const universe::ProgramInfo* own = nullptr;
  for (const auto& program : environment.programs()) {
    const auto self = static_cast<std::int32_t>(environment.self());
    if (self >= program.first_rank && self < program.first_rank + program.size) {
      own = &program;
    }
  }
  if (own == nullptr) {
    return fail(Code::state, "tasks '{}': this process is no rank of a program", name_);
  }
  const std::int32_t size = options.group_size == 0 ? own->size : options.group_size;
  if (size < 1 || size > own->size || own->size % size != 0) {
    return fail(Code::argument, "tasks '{}': program '{}' has {}, which cannot be divided into groups of {}", name_,
                own->name, counted(own->size, "rank"), options.group_size);
  }
  COUPLET_TRY(check_worker(options.id, fmt::format("tasks '{}'", name_)));
  const std::int32_t index = (static_cast<std::int32_t>(environment.self()) - own->first_rank) / size;
  for (std::int32_t rank = 0; rank < size; ++rank) {
    ranks_.push_back(own->first_rank + index * size + rank);
  }
  if (size == 1) {
    team_ = std::make_unique<message::SoloTeam>();
    return {};
  }
  auto& messenger = environment.messenger();
  COUPLET_TRY_VALUE(
      message::Group * group,
      messenger.groups().create(fmt::format("workers of tasks {}, {} {}", name_, own->name, index), ranks_));
  COUPLET_TRY_VALUE(team_, message::MessageTeam::open(messenger, *group, "tasks " + name_));
  return {};
}

TaskMessage Worker::greeting() {
  std::int32_t program_id = 0;
  const auto& programs = mailbox_.environment().programs();
  for (std::size_t index = 0; index < programs.size(); ++index) {
    if (programs[index].first_rank <= ranks_.front()) {
      program_id = static_cast<std::int32_t>(index);
    }
  }
  TaskMessage hello;
  hello.kind = TaskMessageKind::hello;
  hello.space = space_;
  hello.number = mailbox_.next_number();
  hello.worker = id_ == any_worker ? program_id : id_;
  named_.clear();
  for (const std::int32_t rank : ranks_) {
    const auto peer = static_cast<channel::PeerId>(rank);
    const std::uint16_t known = mailbox_.environment().incarnation(peer);
    if (has_met_) {  // what is lost after that is missing until the group opens again
      named_.push_back(met_[named_.size()]);
      hello.numbers.push_back(named_.back().number());
      continue;
    }
    // The ranks first meet after the hello, so for a rank that is gone the hello names its next incarnation.
    const bool is_gone = !mailbox_.environment().alive(peer, known).ok();
    named_.push_back({peer, std::uint64_t{known} + (is_gone ? 1 : 0), is_gone});
    owes_opened_ = owes_opened_ || is_gone;
    hello.numbers.push_back(named_.back().number());
  }
  return hello;
}

// A coupler that is lost when this worker opens the tasks has not said that no task comes, and may be started again.
void Worker::greet(channel::PeerId coupler) {
  if (team_->rank() != 0 || couplers_.open.contains(coupler)) {
    return;
  }
  const TaskMessage hello = greeting();
  couplers_.open.insert(coupler);  // first: what this process sends to itself arrives inside send()
  couplers_.greeted.insert_or_assign(coupler, mark_of(hello));
  const Status sent = mailbox_.send(coupler, hello);
  if (sent.ok()) {
    couplers_.lost.erase(coupler);
    return;
  }
  couplers_.greeted.erase(coupler);
  const bool is_cut_off = mailbox_.is_cut_off(coupler);
  if (!is_cut_off && !mailbox_.is_gone(coupler)) {
    couplers_.untold.insert(coupler);
    return;
  }
  if (is_cut_off || mailbox_.environment().is_lost(coupler)) {
    couplers_.lost.insert_or_assign(coupler, sent);  // first: there may be no memory
  }
  couplers_.open.erase(coupler);
}

// Greets the couplers to which no message could be sent, for example because no descriptor was left, or that have to
// hear of a rank's next life. After another hello, a coupler gives out again what it had given to the group.
void Worker::greet_again() {
  for (const channel::PeerId coupler : std::exchange(couplers_.untold, {})) {
    std::erase_if(orders_, [coupler](const Order& order) { return order.coupler == coupler; });
    couplers_.open.erase(coupler);
    greet(coupler);
  }
}

// All ranks have made a call together. If it cannot be told now, the next call does.
void Worker::note_meeting() {
  if (!has_met_) {
    met_.clear();
    for (const std::int32_t rank : ranks_) {
      const auto peer = static_cast<channel::PeerId>(rank);
      met_.push_back({peer, mailbox_.environment().incarnation(peer), false});
    }
  }
  has_met_ = true;
  if (owes_opened_) {
    owes_opened_ = !tell_opened(mailbox_, space_, named_, couplers_.all).ok();
  }
}

Worker::~Worker() {
  try {
    static_cast<void>(close());
  } catch (const std::bad_alloc&) {
    static_cast<void>(0);  // a coupler hears of this process's end
  }
}

// Takes the next task into current_. For the first rank of the group.
Status Worker::take(const Expectation& expected, std::uint64_t deadline_ns) {
  // A coupler may have been started again, or have requesters again. A look hears of it from the hub or the coupler,
  // and the next one reports it to this object; one more, since not everything is due in each look.
  message::Courier courier(mailbox_.environment().messenger());
  for (int looks = 0; looks < looks_for_couplers && couplers_.open.empty(); ++looks) {
    mailbox_.environment().engine().look_at_all();
    for (const channel::PeerId coupler : couplers_.all) courier.watch(coupler);  // the hub may have told of its return
  }
  greet_again();
  for (const std::int32_t rank : ranks_) {  // asks the hub whether a lost rank is back
    static_cast<void>(mailbox_.is_gone(static_cast<channel::PeerId>(rank)));
  }
  const auto something = [this] { return !orders_.empty() || couplers_.open.empty() || !group_failure().ok(); };
  while (!something()) {
    const std::uint64_t until_ns =
        couplers_.untold.empty() ? deadline_ns : std::min(deadline_ns, os::now_ns() + greeting_interval_ns);
    const auto more_untold = [this, count = couplers_.untold.size()] { return couplers_.untold.size() > count; };
    Status waited = mailbox_.environment().engine().wait([&] { return something() || more_untold(); }, until_ns,
                                                         [] { return std::string("a task"); }, nullptr, true);
    if (!waited.ok() && waited.code() != Code::timeout) {
      return waited;
    }
    if (!waited.ok() && until_ns == deadline_ns) {
      return Code::not_yet;
    }
    greet_again();
  }
  Status failure = group_failure();  // the others wait for this rank, and hear of it in share()
  if (!failure.ok()) {
    hand_back(failure);
    return failure;
  }
  if (orders_.empty()) {
    return couplers_.lost.empty() ? Status(Code::end) : without_end(mailbox_, name_, couplers_.lost);
  }
  current_ = std::move(orders_.front());
  orders_.pop_front();
  working_ = true;
  const Status fits = check_expectation(view_of(current_.message, current_.message.number), expected);
  if (!fits.ok()) {
    const auto source = static_cast<channel::PeerId>(current_.message.source);
    Status named = fits.within(fmt::format("tasks '{}': task of {}", name_, mailbox_.environment().peer_name(source)));
    report(current_, named);
    working_ = false;
    return named;
  }
  return {};
}

// Returns why the group's next call would fail, if that is known: it has lost a rank, or a rank has closed. The team
// may hear later than the membership that a rank is back, so before the ranks have met, the membership is asked, too.
Status Worker::group_failure() const {
  if (team_->size() == 1) {
    return {};
  }
  COUPLET_TRY(team_->disturbance());
  if (has_met_) {
    return team_->broken_up();
  }
  for (const std::int32_t rank : ranks_) {
    const auto peer = static_cast<channel::PeerId>(rank);
    if (mailbox_.environment().is_lost(peer)) {
      return fail(Code::peer_lost, "tasks '{}': {} of the worker group is lost", name_,
                  mailbox_.environment().peer_name(peer));
    }
  }
  return {};
}

// Shares what the first rank has found: the others' current_ becomes the same.
Status Worker::share(const Status& found) {
  if (team_->size() == 1) {
    return found;
  }
  std::string image;
  if (team_->rank() == 0) {
    TaskMessage message = found.ok() ? current_.message : TaskMessage{};
    message.code = static_cast<std::int32_t>(found.code());
    message.text = found.error() ? found.text() : std::string();
    image = wire::encode_task_message(message);
  }
  const auto images = team_->gather(image, os::never);
  if (!images.ok()) {
    if (is_broken_by(images.status()) && working_ && team_->rank() == 0) {  // no rank has the task
      orders_.push_front(std::move(current_));
      working_ = false;
      hand_back(images.status());
    }
    give_up(images.status());
    return images.status();
  }
  note_meeting();
  COUPLET_TRY(find_refusal(images.value()));
  if (team_->rank() == 0) {
    return found;
  }
  COUPLET_TRY_VALUE(current_.message, wire::decode_task_message(images.value().front()));
  working_ = current_.message.code == COUPLET_OK;
  return working_ ? Status() : current_.message.status();
}

// Returns the error of the first rank that has refused the call: only rank 0 says something else. A task that rank 0
// has just taken is put back.
Status Worker::find_refusal(const std::vector<std::string>& images) {
  for (std::size_t rank = 1; rank < images.size(); ++rank) {
    if (images[rank].empty()) {
      continue;
    }
    COUPLET_TRY_VALUE(const TaskMessage said, wire::decode_task_message(images[rank]));
    if (working_ && team_->rank() == 0) {
      orders_.push_front(std::move(current_));
    }
    working_ = false;
    return said.status();
  }
  return {};
}

Status Worker::refuse(const Status& why) {
  if (closed_ || working_ || team_->size() == 1) {
    return why;
  }
  const Status named = why.within(fmt::format("tasks '{}': rank {} of the worker group", name_, team_->rank()));
  return told_to_all([&]() -> Status {
    TaskMessage message;
    message.code = static_cast<std::int32_t>(named.code());
    message.text = named.text();
    const auto images = team_->gather(wire::encode_task_message(message), os::never);
    if (!images.ok()) {
      return images.status();
    }
    note_meeting();
    return why;
  });
}

Status Worker::next(const Expectation& expected, std::uint64_t deadline_ns, Incoming& incoming) {
  if (closed_) {
    return fail(Code::state, "tasks '{}' are closed", name_);
  }
  if (working_) {
    return fail(Code::state, "tasks '{}': the task in hand has to be completed first", name_);
  }
  COUPLET_TRY(told_to_all([&] { return share(team_->rank() == 0 ? take(expected, deadline_ns) : Status()); }));
  own_byte_order(current_.message);
  incoming = view_of(current_.message, current_.message.number);
  return {};
}

void Worker::report(const Order& order, const Status& outcome, Group group) {
  TaskMessage done;
  done.kind = TaskMessageKind::done;
  done.space = space_;
  done.number = order.message.number;
  done.code = static_cast<std::int32_t>(outcome.code());
  done.text = outcome.error() ? outcome.text() : std::string();
  if (group != Group::whole) {
    done.numbers.push_back(1);
  }
  if (group == Group::broken_before_the_task) {
    done.numbers.push_back(1);
  }
  static_cast<void>(mailbox_.send(order.coupler, done));  // a coupler that is gone need not know
}

// The group cannot do tasks: gives back those that it has not begun. If the ranks have not met yet, the rank that is
// missing may still come, and the next call says hello again.
void Worker::hand_back(const Status& why) {
  while (team_->rank() == 0 && !orders_.empty()) {
    const Order& order = orders_.front();
    if (!has_met_ && why.code() == Code::peer_lost) {
      couplers_.untold.insert(order.coupler);
    }
    report(order, why, Group::broken_before_the_task);
    orders_.pop_front();  // last: without memory, the next call reports it
  }
}

// The ranks of the group have not agreed on the task in hand, if there is one: its coupler is told. The next call takes
// the next task, unless a rank is lost: then the coupler sends none until the group opens again.
void Worker::give_up(const Status& why) {
  if (working_ && team_->rank() == 0) {
    report(current_, why, why.code() == Code::peer_lost ? Group::broken : Group::whole);
  }
  working_ = false;
}

// Makes this rank's part of a collective call; without memory for it, the other ranks are told.
template <typename Body>
Status Worker::told_to_all(const Body& body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    Status why =
        fail(Code::memory, "tasks '{}': rank {} of the worker group has not enough memory", name_, team_->rank());
    team_->leave(why);
    give_up(why);
    return why;
  }
}

Status Worker::complete(const Status& outcome) {
  if (closed_ || !working_) {
    return fail(Code::state, "tasks '{}': there is no task in hand to complete", name_);
  }
  return told_to_all([&] { return complete_together(outcome); });
}

Status Worker::complete_together(const Status& outcome) {
  Status worst = outcome;
  if (team_->size() > 1) {
    TaskMessage own;
    own.code = static_cast<std::int32_t>(outcome.code());
    own.text = outcome.error() ? outcome.text() : std::string();
    const auto images = team_->gather(wire::encode_task_message(own), os::never);
    if (!images.ok()) {
      give_up(images.status());
      return images.status();
    }
    for (const std::string& image : images.value()) {
      COUPLET_TRY_VALUE(const TaskMessage said, wire::decode_task_message(image));
      if (worst.ok() && said.code < 0) {
        worst = said.status();
      }
    }
  }
  if (team_->rank() == 0) {
    report(current_, worst);
  }
  working_ = false;
  return {};
}

Status Worker::close() {
  if (closed_) {
    return {};
  }
  closed_ = true;
  mailbox_.forget(space_);  // first: there may be no memory for what follows
  const auto greeted = std::exchange(couplers_.greeted, {});
  try {
    return say_goodbye(greeted);
  } catch (const std::bad_alloc&) {  // a coupler would send tasks, and wait for their end
    for (const auto& [coupler, mark] : greeted) {
      task::give_up(mailbox_.environment(), coupler, Code::memory);
    }
    throw;
  }
}

// Returns an error if a coupler may go on waiting for this rank.
Status Worker::say_goodbye(const std::map<channel::PeerId, std::int32_t>& greeted) {
  team_->leave(fail(Code::state, "tasks '{}': rank {} of the group has closed them", name_, team_->rank()));
  if (team_->rank() == 0) {
    if (working_) {
      report(current_, fail(Code::peer_lost, "{} has closed before it completed the task",
                            mailbox_.environment().peer_name(mailbox_.environment().self())));
      working_ = false;
    }
    TaskMessage goodbye;
    goodbye.kind = TaskMessageKind::goodbye;
    goodbye.space = space_;
    goodbye.number = mailbox_.next_number();
    // Also to those that have said that no task comes: they may have requesters again.
    for (const auto& [coupler, mark] : greeted) {
      static_cast<void>(mailbox_.send(coupler, goodbye));
    }
    return {};
  }
  const channel::PeerId self = mailbox_.environment().self();
  const std::uint64_t own_life = mailbox_.environment().incarnation(self);
  if (has_met_ && own_life == 0) {
    return {};
  }
  named_ = {{self, own_life}};  // the hello may have named it as awaited, or there was none
  return tell_opened(mailbox_, space_, named_, couplers_.all);
}

void Worker::message(channel::PeerId source, TaskMessage message) {
  const auto greeted = couplers_.greeted.find(source);
  const bool is_for_this_opening = greeted != couplers_.greeted.end() && greeted->second == message.code;
  if (message.kind == TaskMessageKind::work && is_for_this_opening) {
    message.code = COUPLET_OK;
    couplers_.open.insert(source);  // it may have said that no task comes, and have requesters again
    orders_.push_back({source, std::move(message)});
  } else if (message.kind == TaskMessageKind::end && is_for_this_opening) {
    couplers_.open.erase(source);
  } else if (message.kind == TaskMessageKind::hello && source != mailbox_.environment().self()) {
    returned(source);  // it had closed the tasks, and has opened them again
  }
}

// Drops what a lost coupler has ordered, since no process waits for it. One that has left in good order sends no task
// either, also if it has never heard of this worker and so did not say that this is the end.
void Worker::lost(channel::PeerId peer, const Status& why) {
  couplers_.greeted.erase(peer);
  couplers_.untold.erase(peer);
  const bool has_left = mailbox_.is_gone(peer) && !mailbox_.environment().is_lost(peer);
  if (has_left) {
    couplers_.lost.erase(peer);  // the connection to it may have failed before
  }
  if (couplers_.open.contains(peer) && !has_left && why.code() != Code::end) {
    couplers_.lost.insert_or_assign(peer, why);  // first: there may be no memory
  }
  couplers_.open.erase(peer);
  std::erase_if(orders_, [peer](const Order& order) { return order.coupler == peer; });
  const bool is_in_group = std::find(ranks_.begin(), ranks_.end(), static_cast<std::int32_t>(peer)) != ranks_.end();
  if (is_in_group && !has_met_ && team_->rank() == 0) {  // a later life of it may be the one that the group meets
    owes_opened_ = true;
    for (const auto& [coupler, mark] : couplers_.greeted) {  // also those that have said that no task comes
      couplers_.untold.insert(coupler);
    }
  }
}

// A coupler that was started again knows no workers yet, except those that have opened the tasks since.
void Worker::returned(channel::PeerId peer) {
  const bool is_coupler = std::find(couplers_.all.begin(), couplers_.all.end(), peer) != couplers_.all.end();
  if (is_coupler) {
    greet(peer);
  }
}

}  // namespace couplet::task
