#include "collective/past_calls.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace couplet::collective {

void PastCalls::clear() {
  past_.assign(min_kept, {});
  causes_.clear();
  failure_ = {};
  failed_call_ = 0;
}

// The oldest call whose place the next one takes has ended, or there are more places.
void PastCalls::make_room(std::uint64_t next) noexcept {
  const Past& oldest = place(next);
  if (oldest.call == UINT64_MAX || oldest.ended) return;
  try {
    std::vector<Past> more(2 * past_.size());
    for (Past& one : past_) {
      if (one.call != UINT64_MAX) more[one.call % more.size()] = std::move(one);
    }
    past_ = std::move(more);
  } catch (const std::bad_alloc&) {
    return;  // the revocation of the oldest call gets lost
  }
}

void PastCalls::begin(std::uint64_t call, const wire::CollectiveHead& head) noexcept {
  place(call) = {.call = call, .signature = head.signature(), .head = head, .why = {}};
}

void PastCalls::end(std::uint64_t call, const wire::CollectiveHead& head, std::uint32_t signature) noexcept {
  Past& past = place(call);
  past.call = call;
  past.failed = false;
  past.ended = true;
  past.signature = signature;
  past.head = head;
  if (!past.why.ok()) past.why = {};
  if (!failure_.ok() && call > failed_call_) failure_ = {};
}

void PastCalls::fail(std::uint64_t call, const Status& why) noexcept {
  place(call) = {.call = call, .failed = true, .ended = true, .head = {}, .why = why};
  if (failure_.ok()) failure_ = why;
  failed_call_ = std::max(failed_call_, call);
}

Status PastCalls::failure_in(std::uint64_t call) const noexcept {
  const Past& found = place(call);
  return found.call == call && found.failed ? found.why : Status();
}

void PastCalls::set_cause(std::uint64_t call, std::uint64_t cause) {
  causes_[call] = cause;
  if (causes_.size() > min_kept) causes_.erase(causes_.begin());
}

bool PastCalls::note_cause(std::uint64_t call, std::uint64_t cause, const Status& why) {
  if (cause >= call) return false;
  set_cause(call, cause);
  if (!is_known(cause) || !has_ended(cause) || !failure_in(cause).ok()) return false;
  fail(cause, why);
  return true;
}

std::uint64_t PastCalls::cause_of(std::uint64_t call) const noexcept {
  const auto found = causes_.find(call);
  return found == causes_.end() ? call : found->second;
}

const wire::CollectiveHead* PastCalls::head_of(std::uint64_t call) const noexcept {
  const Past& found = place(call);
  return found.call == call && !found.failed ? &found.head : nullptr;
}

std::uint64_t PastCalls::first_open(std::uint64_t call, std::uint64_t next) const noexcept {
  while (call < next && !is_open(call)) ++call;
  return call;
}

}  // namespace couplet::collective
