#include "task/requester.hpp"

#include <algorithm>
#include <utility>

namespace couplet::task {

using wire::Letter;
using wire::LetterKind;

namespace {

constexpr std::int32_t wait_for_room = 1;  // used in Letter::code of a submit

}  // namespace

Requester::Requester(Post& post, std::string name, std::vector<channel::PeerId> couplers)
    : post_(post), name_(std::move(name)), space_(space_of("tasks", name_)), couplers_(std::move(couplers)) {
  turn_ = post_.environment().self() % couplers_.size();
}

Result<std::unique_ptr<Requester>> Requester::open(Post& post, const std::string& name, const std::string& couplers) {
  const auto context = [&] { return fmt::format("tasks '{}'", name); };
  auto program = find_program(post.environment(), couplers);
  if (!program) {
    return program.status().within(context());
  }
  std::unique_ptr<Requester> made(new Requester(post, name, ranks_of(**program)));
  if (!post.listen(made->space_, *made).ok()) {
    made->closed_ = true;
    return fail(Code::exists, "{}: this process has opened them already", context());
  }
  return made;
}

Requester::~Requester() {
  static_cast<void>(close());
}

Result<channel::PeerId> Requester::choose_coupler() {
  for (std::size_t tried = 0; tried < couplers_.size(); ++tried) {
    const channel::PeerId coupler = couplers_[turn_++ % couplers_.size()];
    if (!post_.environment().gone(coupler)) {
      return coupler;
    }
  }
  return fail(Code::peer_lost, "tasks '{}': no coupler is left, {} was the last", name_,
              post_.environment().peer_name(couplers_.back()));
}

Status Requester::wait_until(const std::function<bool()>& done, std::uint64_t deadline_ns, const std::string& what) {
  if (done()) {
    return {};
  }
  return post_.environment().engine().wait(
      done, deadline_ns, [&] { return what; }, nullptr, true);
}

// Offers the task until the coupler has taken it, has refused it, or is gone (then task.done is set, and not taken).
Status Requester::offer(Task& task, const Letter& letter, std::uint64_t deadline_ns) {
  COUPLET_TRY(post_.send(task.coupler, letter));
  const auto answered = [&task, patient = letter.code == wait_for_room] {
    return task.taken || task.done || (task.parked && !patient);
  };
  Status waited = wait_until(answered, deadline_ns, "a coupler");
  if (waited.ok() && (task.taken || task.done)) {
    return {};
  }
  Letter withdraw;
  withdraw.kind = LetterKind::withdraw;
  withdraw.space = space_;
  withdraw.number = task.number;
  static_cast<void>(post_.send(task.coupler, withdraw));
  if (task.parked && (waited.ok() || waited.code() == Code::timeout)) {
    return Code::full;
  }
  if (waited.code() == Code::timeout) {
    return fail(Code::timeout, "tasks '{}': {} has not taken the request in time; it must call next or run", name_,
                post_.environment().peer_name(task.coupler));
  }
  return waited;
}

Status Requester::submit(std::int32_t worker, const Content& content, std::uint64_t deadline_ns, Task** task) {
  if (closed_) {
    return fail(Code::state, "tasks '{}' are closed", name_);
  }
  COUPLET_TRY(check_content(content, worker, fmt::format("tasks '{}'", name_)));
  Letter letter;
  letter.kind = LetterKind::submit;
  letter.space = space_;
  letter.worker = worker;
  letter.source = static_cast<std::int32_t>(post_.environment().self());
  letter.code = deadline_ns > os::now_ns() ? wait_for_room : 0;
  set_content(letter, content);
  for (std::size_t attempt = 1;; ++attempt) {
    COUPLET_TRY_VALUE(const channel::PeerId coupler, choose_coupler());
    letter.number = post_.next_number();
    auto& made = tasks_[letter.number] = std::make_unique<Task>();
    made->owner = this;
    made->number = letter.number;
    made->coupler = coupler;
    made->kept = true;
    // A coupler that is asked not to wait for room still needs some time to answer.
    constexpr double answer_s = 10;
    const Status offered =
        offer(*made, letter, letter.code == wait_for_room ? deadline_ns : os::deadline_after(answer_s));
    const bool again = offered.code() == Code::peer_lost ||
                       (offered.ok() && made->done && !made->taken && made->status.code() == Code::peer_lost);
    Status objection = offered.ok() && made->done && !made->taken ? made->status : offered;
    if (again || !objection.ok()) {
      tasks_.erase(letter.number);
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
    post_.environment().engine().poll();
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
  COUPLET_TRY(wait_until(one_done, deadline_ns, fmt::format("any of {} tasks of tasks '{}'", tasks.size(), name_)));
  *index = static_cast<std::int32_t>(found);
  return collect(&tasks[static_cast<std::size_t>(found)]);
}

Status Requester::close() {
  if (closed_) {
    return {};
  }
  closed_ = true;
  Letter letter;
  letter.kind = LetterKind::closed;
  letter.space = space_;
  letter.number = post_.next_number();
  for (const channel::PeerId coupler : couplers_) {
    static_cast<void>(post_.send(coupler, letter));  // a coupler that is gone need not know
  }
  post_.forget(space_);
  return unheard_.ok() ? Status() : unheard_.within(fmt::format("tasks '{}': a task without a handle", name_));
}

void Requester::letter(channel::PeerId source, Letter letter) {
  const auto found = tasks_.find(letter.number);
  if (found == tasks_.end() || found->second->coupler != source || found->second->done) {
    return;
  }
  Task& task = *found->second;
  if (letter.kind == LetterKind::finished) {
    conclude(task, letter.status());
  } else if (letter.kind == LetterKind::taken && letter.code == COUPLET_FULL) {
    task.parked = true;
  } else if (letter.kind == LetterKind::taken) {
    task.taken = letter.code == COUPLET_OK;
    if (!task.taken) {
      conclude(task, letter.status());
    }
  }
}

void Requester::lost(channel::PeerId peer, const Status& why) {
  std::vector<Task*> concerned;
  for (const auto& [number, task] : tasks_) {
    if (task->coupler == peer && !task->done) {
      concerned.push_back(task.get());
    }
  }
  for (Task* task : concerned) {
    conclude(*task,
             fail(Code::peer_lost, "tasks '{}': the coupler of task {} is gone: {}", name_, task->number, why.text()));
  }
}

}  // namespace couplet::task
