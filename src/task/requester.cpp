#include "task/requester.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "base/counted.hpp"

namespace couplet::task {

using wire::TaskMessage;
using wire::TaskMessageKind;

namespace {

constexpr std::int32_t wait_for_room = 1;  // used in TaskMessage::code of a submit

}  // namespace

Requester::Requester(Mailbox& mailbox, std::string name, std::vector<channel::PeerId> couplers)
    : mailbox_(mailbox), name_(std::move(name)), space_(space_of("tasks", name_)), couplers_(std::move(couplers)) {
  turn_ = mailbox_.environment().self() % couplers_.size();
}

Result<std::unique_ptr<Requester>> Requester::open(Mailbox& mailbox, const std::string& name,
                                                   const std::string& couplers) {
  const auto context = [&] { return fmt::format("tasks '{}'", name); };
  auto program = find_program(mailbox.environment(), couplers);
  if (!program) {
    return program.status().within(context());
  }
  std::unique_ptr<Requester> made(new Requester(mailbox, name, ranks_of(**program)));
  if (!mailbox.listen(made->space_, *made).ok()) {
    made->closed_ = true;
    return fail(Code::exists, "{}: this process has opened them already", context());
  }
  return made;
}

Requester::~Requester() {
  static_cast<void>(close());
}

// One that was started again may not have been heard of yet, if this process has made no call since.
Result<channel::PeerId> Requester::choose_coupler() {
  std::optional<channel::PeerId> cut_off;  // a send says what is wrong with it
  for (std::size_t tried = 0; tried < 2 * couplers_.size(); ++tried) {
    if (tried == couplers_.size()) {
      mailbox_.environment().engine().look_at_all();
    }
    const channel::PeerId coupler = couplers_[turn_++ % couplers_.size()];
    if (mailbox_.is_gone(coupler)) {
      continue;
    }
    if (!mailbox_.is_cut_off(coupler)) {
      return coupler;
    }
    cut_off = coupler;
  }
  if (cut_off) {
    return *cut_off;
  }
  return fail(Code::peer_lost, "tasks '{}': no coupler is left, {} was the last", name_,
              mailbox_.environment().peer_name(couplers_.back()));
}

Status Requester::wait_until(const std::function<bool()>& done, std::uint64_t deadline_ns, const std::string& what) {
  if (done()) {
    return {};
  }
  return mailbox_.environment().engine().wait(
      done, deadline_ns, [&] { return what; }, nullptr, true);
}

// Waits until the task may be sent to its coupler. If the coupler is gone, the task is done, with its error.
Status Requester::wait_for_coupler(Task& task, std::uint64_t deadline_ns) {
  const channel::PeerId coupler = task.coupler;
  task.coupler_life = mailbox_.environment().incarnation(coupler);
  const auto is_over = [&] { return task.done || mailbox_.withdrawals.answered(coupler); };
  // If the coupler is lost meanwhile, its withdrawals are forgotten, and its next life is asked.
  while (!task.done && !mailbox_.withdrawals.may_ask(coupler)) {
    COUPLET_TRY(mailbox_.withdrawals.ask(coupler, space_));
    COUPLET_TRY(wait_until(is_over, deadline_ns, "the answer of a coupler to a withdrawal"));
  }
  task.coupler_life = mailbox_.environment().incarnation(coupler);  // it may have been started again meanwhile
  return {};
}

// Offers the task until the coupler has taken it, has refused it, or is gone (then task.done is set, and not taken).
Status Requester::offer(Task& task, const TaskMessage& message, std::uint64_t deadline_ns) {
  const auto untaken = [&] {
    return fail(
        Code::timeout,
        "tasks '{}': {} has not taken the request in time; it must open tasks of this name, and call next or run",
        name_, mailbox_.environment().peer_name(task.coupler));
  };
  if (const Status waited = wait_for_coupler(task, deadline_ns); !waited.ok() || task.done) {
    return waited.code() == Code::timeout ? untaken() : waited;
  }
  COUPLET_TRY(mailbox_.send(task.coupler, message));
  task.sent = true;
  const auto answered = [&task, patient = message.code == wait_for_room] {
    return task.taken || task.done || (task.parked && !patient);
  };
  Status waited = wait_until(answered, deadline_ns, "a coupler");
  if (waited.ok() && (task.taken || task.done)) {
    return {};
  }
  static_cast<void>(mailbox_.withdrawals.send(task.coupler, space_, task.number));
  if (task.parked && (waited.ok() || waited.code() == Code::timeout)) {
    return Code::full;
  }
  if (waited.code() == Code::timeout) {
    return untaken();
  }
  return waited;
}

// If there is no memory, the request is withdrawn, and nothing is left of the task.
Status Requester::offer_or_forget(Task& task, const TaskMessage& message, std::uint64_t deadline_ns) {
  try {
    return offer(task, message, deadline_ns);
  } catch (const std::bad_alloc&) {
    const bool sent = task.sent;
    const channel::PeerId coupler = task.coupler;
    tasks_.erase(message.number);
    if (sent) {
      static_cast<void>(mailbox_.withdrawals.send(coupler, space_, message.number));
    }
    throw;
  }
}

Status Requester::submit(std::int32_t worker, const Content& content, std::uint64_t deadline_ns, Task** task) {
  if (closed_) {
    return fail(Code::state, "tasks '{}' are closed", name_);
  }
  COUPLET_TRY(check_content(content, worker, fmt::format("tasks '{}'", name_)));
  TaskMessage message;
  message.kind = TaskMessageKind::submit;
  message.space = space_;
  message.worker = worker;
  message.source = static_cast<std::int32_t>(mailbox_.environment().self());
  message.code = deadline_ns > os::now_ns() ? wait_for_room : 0;
  set_content(message, content);
  // A coupler that is asked not to wait for room still needs some time to answer.
  constexpr double answer_s = 10;
  const std::uint64_t until_ns = message.code == wait_for_room ? deadline_ns : os::deadline_after(answer_s);
  for (std::size_t attempt = 1;; ++attempt) {
    COUPLET_TRY_VALUE(const channel::PeerId coupler, choose_coupler());
    message.number = mailbox_.next_number();
    auto& made = tasks_[message.number] = std::make_unique<Task>();
    made->owner = this;
    made->number = message.number;
    made->coupler = coupler;
    made->kept = true;
    const Status offered = offer_or_forget(*made, message, until_ns);
    Status objection = offered.ok() && made->done && !made->taken ? made->status : offered;
    const bool may_be_done = made->sent && mailbox_.is_cut_off(coupler);  // it lives, and cannot answer
    const bool again = objection.code() == Code::peer_lost && !may_be_done;
    if (again || !objection.ok()) {
      tasks_.erase(message.number);
      if (again && attempt <= couplers_.size()) {
        continue;  // another coupler may take it, or this one, if it was started again
      }
      return objection;
    }
    if (task != nullptr) {
      *task = made.get();
    } else {
      made->kept = false;
      if (made->done) {
        conclude(*made, made->status);
      }
    }
    return {};
  }
}

void Requester::conclude(Task& task, Status status) {
  task.done = true;
  task.status = std::move(status);
  if (!task.kept) {
    if (unheard_.ok()) {
      unheard_ = task.status;
    }
    tasks_.erase(task.number);
  }
}

Status Requester::collect(Task** task) {
  Status status = std::move((*task)->status);
  tasks_.erase((*task)->number);
  *task = nullptr;
  return status;
}

Status Requester::wait(Task** task, std::uint64_t deadline_ns) {
  if (*task == nullptr) {
    return {};
  }
  const Task& waited = **task;
  COUPLET_TRY(wait_until([&waited] { return waited.done; }, deadline_ns,
                         fmt::format("task {} of tasks '{}'", waited.number, name_)));
  return collect(task);
}

Status Requester::test(Task** task) {
  if (*task == nullptr) {
    return {};
  }
  if (!(*task)->done) {
    mailbox_.environment().engine().poll();
  }
  return (*task)->done ? collect(task) : Status(Code::not_yet);
}

Status Requester::waitany(std::span<Task*> tasks, std::uint64_t deadline_ns, std::int32_t* index) {
  std::ptrdiff_t found = -1;
  const auto one_done = [&] {
    const auto place = std::find_if(tasks.begin(), tasks.end(), [](const Task* t) { return t != nullptr && t->done; });
    found = place == tasks.end() ? -1 : place - tasks.begin();
    return found >= 0;
  };
  *index = -1;
  if (std::all_of(tasks.begin(), tasks.end(), [](const Task* task) { return task == nullptr; })) {
    return {};
  }
  COUPLET_TRY(
      wait_until(one_done, deadline_ns, fmt::format("any of {} of tasks '{}'", counted(tasks.size(), "task"), name_)));
  *index = static_cast<std::int32_t>(found);
  return collect(&tasks[static_cast<std::size_t>(found)]);
}

Status Requester::close() {
  if (closed_) {
    return {};
  }
  closed_ = true;
  mailbox_.environment().engine().look_at_all();  // a coupler that was started again waits for this, too
  TaskMessage message;
  message.kind = TaskMessageKind::closed;
  message.space = space_;
  message.number = mailbox_.next_number();
  Status untold;
  for (const channel::PeerId coupler : couplers_) {
    const Status sent = mailbox_.send(coupler, message);
    if (!sent.ok() && !mailbox_.is_gone(coupler)) {  // one that is gone need not know
      untold = sent.within(
          fmt::format("tasks '{}': {} is not told that this rank has closed them, and will wait until this rank leaves "
                      "the universe",
                      name_, mailbox_.environment().peer_name(coupler)));
    }
  }
  mailbox_.forget(space_);
  COUPLET_TRY(untold);
  return unheard_.ok() ? Status() : unheard_.within(fmt::format("tasks '{}': a task without a handle", name_));
}

void Requester::message(channel::PeerId source, TaskMessage message) {
  const auto found = tasks_.find(message.number);
  if (found == tasks_.end() || found->second->coupler != source || found->second->done) {
    return;
  }
  Task& task = *found->second;
  if (message.kind == TaskMessageKind::finished) {
    conclude(task, message.status());
  } else if (message.kind == TaskMessageKind::taken && message.code == COUPLET_FULL) {
    task.parked = true;
  } else if (message.kind == TaskMessageKind::taken) {
    task.taken = message.code == COUPLET_OK;
    if (!task.taken) {
      conclude(task, message.status());
    }
  }
}

void Requester::lost(channel::PeerId peer, const Status& why) {
  // The news may be of the life before the one that was asked.
  const auto lives = [&](const Task& task) {
    return !mailbox_.is_cut_off(peer) && mailbox_.environment().alive(peer, task.coupler_life).ok();
  };
  std::vector<Task*> concerned;
  for (const auto& [number, task] : tasks_) {
    if (task->coupler == peer && !task->done && !lives(*task)) {
      concerned.push_back(task.get());
    }
  }
  const bool is_cut_off = mailbox_.is_cut_off(peer);  // it lives, but cannot answer: the task may be done or not
  for (Task* task : concerned) {
    conclude(*task, is_cut_off
                        ? fail(Code::peer_lost, "tasks '{}': the connection to the coupler of task {} failed: {}",
                               name_, task->number, why.text())
                        : fail(Code::peer_lost, "tasks '{}': the coupler of task {} is gone: {}", name_, task->number,
                               why.text()));
  }
}

}  // namespace couplet::task
