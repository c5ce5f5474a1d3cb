#include "collective/past_calls.hpp"

#include <new>
#include <utility>

namespace couplet::collective {

void PastCalls::clear() {
  past_.assign(min_kept, {});
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
  place(call) = {.call = call, .head = head, .why = {}};
}

void PastCalls::end(std::uint64_t call, const wire::CollectiveHead& head) noexcept {
  place(call) = {.call = call, .ended = true, .head = head, .why = {}};
}

void PastCalls::fail(std::uint64_t call, const Status& why) noexcept {
  place(call) = {.call = call, .failed = true, .ended = true, .head = {}, .why = why};
}

Status PastCalls::failure_in(std::uint64_t call) const noexcept {
  const Past& found = place(call);
  return found.call == call && found.failed ? found.why : Status();
}

std::uint32_t PastCalls::signature_before(std::uint64_t call) const noexcept {
  if (call == 0) return 0;
  const wire::CollectiveHead* const before = head_of(call - 1);
  return before == nullptr ? 0 : before->signature();
}

const wire::CollectiveHead* PastCalls::head_of(std::uint64_t call) const noexcept {
  const Past& found = place(call);
  return found.call == call && !found.failed ? &found.head : nullptr;
}

std::uint64_t PastCalls::first_open(std::uint64_t call, std::uint64_t next) const noexcept {
  while (call < next && (!is_known(call) || has_ended(call))) ++call;
  return call;
}

}  // namespace couplet::collective
