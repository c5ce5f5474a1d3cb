#include "collective/call.hpp"

#include <algorithm>

namespace couplet::collective {
namespace {

constexpr std::size_t max_cached_schedules = 8;

}  // namespace

// Sets `failure` if the method that is asked for is not possible.
std::shared_ptr<const Schedule> KnownGroup::schedule_for(const Arguments& arguments, const Operations& operations,
                                                         Status& failure) {
  const std::int32_t size = session.group().size();
  const Systems& systems = session.meeting().systems();
  const auto shape = shape_of(arguments, size, systems, operations);
  const auto method = method_of(arguments, shape, session.meeting().table().pieces);
  if (!method.ok()) {
    failure = method.status();
    return nullptr;
  }
  for (const Cached& one : cached) {
    if (!arguments.uneven && one.kind == arguments.kind && one.method == *method && one.count == arguments.count &&
        one.root == arguments.root && one.operation == arguments.operation && one.may_reorder == shape.may_reorder) {
      return one.schedule;
    }
  }
  auto made =
      std::make_shared<const Schedule>(make_schedule(arguments, *method, session.group().rank(), systems, operations));
  if (!arguments.uneven) {
    if (cached.size() == max_cached_schedules) cached.pop_back();
    cached.insert(cached.begin(), {arguments.kind, *method, shape.may_reorder, arguments.operation, arguments.root,
                                   arguments.count, made});
  }
  return made;
}

Surroundings KnownGroup::surroundings(message::Courier& courier, const Operations& operations,
                                      std::uint64_t number) noexcept {
  return {.courier = &courier,
          .short_calls = &short_calls,
          .operations = &operations,
          .group = &session.group(),
          .losses = &session.losses(),
          .context = session.mailbox().context_of(session.meeting().epoch(), number),
          .call = number};
}

// ---- calls ----

Status in_call(const Status& why, std::uint64_t number, const message::Group& group, std::string_view call) noexcept {
  try {
    return why.within(fmt::format("call {} of group '{}' ({})", number, group.name(), call));
  } catch (const std::bad_alloc&) {
    return why;
  }
}

void Call::keep_counts(std::int32_t size) {
  const std::uint64_t** const given[] = {&arguments.input_counts, &arguments.input_offsets, &arguments.output_counts,
                                         &arguments.output_offsets};
  for (std::size_t which = 0; which < counts.size(); ++which) {
    if (*given[which] == nullptr) continue;
    counts[which].assign(*given[which], *given[which] + size);
    *given[which] = counts[which].data();
  }
}

std::vector<std::int32_t> Call::partners() const {
  if (stage == CallStage::meeting) return known->session.meeting().awaited(number);
  std::vector<std::int32_t> found = execution.sources();
  for (const std::int32_t rank : execution.dependants()) {
    if (std::find(found.begin(), found.end(), rank) == found.end()) found.push_back(rank);
  }
  return found;
}

// Also a member that this one waits to send to may take another one for the sender.
void Call::inquire() {
  Session& session = known->session;
  idle.has_asked = true;
  if (stage == CallStage::meeting) return session.ask_awaited(number, head);
  session.ask(number, head, partners());
}

bool Call::is_first_of(const std::vector<Call*>& calls) const noexcept {
  for (const Call* const other : calls) {
    if (other->known == known && other->stage == CallStage::meeting) return other == this;
  }
  return false;
}

// A member may take one for lost that has just returned, and so cannot tell it. But the members have met, or try to,
// over the tree of the meeting, so each passes the news on to its neighbors there.
void Call::tell(const Status& why, bool first_hand) noexcept {
  Session& session = known->session;
  const std::int32_t size = session.group().size();
  if (size == 1) return;
  if (first_hand && size <= max_told) return session.tell(number, why, {});
  try {
    std::vector<std::int32_t> targets = session.meeting().neighbors();
    if (stage == CallStage::running) {
      for (const std::int32_t rank : execution.dependants()) {
        if (std::find(targets.begin(), targets.end(), rank) == targets.end()) targets.push_back(rank);
      }
    }
    session.tell(number, why, targets);
  } catch (const std::bad_alloc&) {
    session.tell(number, why, {});
  }
}

void Call::conclude(message::Courier& courier, Status why) {
  if (over) return;
  over = true;
  if (promise != nullptr) {
    courier.keep(*std::exchange(promise, nullptr), std::move(why));
  } else {
    outcome = std::move(why);
  }
}

void Call::settle(message::Courier& courier, std::uint64_t now_ns) noexcept {
  if (stage != CallStage::aborting) return;
  const auto is_free = [this] {
    try {
      return execution.memory_is_free();
    } catch (const std::bad_alloc&) {
      return false;
    }
  };
  if (!is_free()) {
    if (now_ns < ending_ns) return;
    execution.cut_off(outcome);
    if (!is_free()) return;
  }
  stage = CallStage::lingering;
  Status why = outcome;
  conclude(courier, std::move(why));
}

// ---- the list ----

// The last free call is the next one.
Call& CallList::next() {
  if (free_.empty()) {
    calls_.push_back(std::make_unique<Call>());
    free_.reserve(calls_.size());
    active_.reserve(calls_.size());
    free_.push_back(calls_.back().get());
  }
  return *free_.back();
}

void CallList::begin(Call& call) noexcept {
  free_.pop_back();
  active_.push_back(&call);  // there is room
}

void CallList::tidy() noexcept {
  std::erase_if(active_, [this](Call* call) {
    if (call->stage != CallStage::lingering || !call->over) return false;
    if (call->schedule != nullptr && !call->execution.is_ended()) return false;
    if (!free_.empty()) call->execution.free_memory();  // one keeps it, for the next call
    call->stage = CallStage::idle;
    call->schedule.reset();
    free_.push_back(call);
    return true;
  });
}

}  // namespace couplet::collective
