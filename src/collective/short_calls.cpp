#include "collective/short_calls.hpp"

#include <new>
#include <utility>

#include "collective/short_run.hpp"

namespace couplet::collective {

void ShortCalls::remember(const Arguments& arguments, const wire::CollectiveHead& head,
                          const std::shared_ptr<const Schedule>& schedule) noexcept {
  if (arguments.uneven || find(arguments) != nullptr) return;
  if (!ShortRun::fits(*schedule, *find_type(arguments.type))) return;
  ShortCall call{arguments, head, head.signature(), schedule};
  call.head.previous = 0;
  try {
    if (calls_.size() == max_calls) calls_.pop_back();
    calls_.insert(calls_.begin(), std::move(call));
  } catch (const std::bad_alloc&) {
    return;
  }
}

const ShortCall* ShortCalls::find(const Arguments& arguments) const noexcept {
  if (arguments.uneven) return nullptr;
  for (const ShortCall& call : calls_) {
    const Arguments& like = call.like;
    if (like.kind == arguments.kind && like.count == arguments.count && like.type == arguments.type &&
        like.operation == arguments.operation && like.root == arguments.root && like.method == arguments.method) {
      return &call;
    }
  }
  return nullptr;
}

const wire::CollectiveHead* ShortCalls::find(std::uint32_t signature) const noexcept {
  for (const ShortCall& call : calls_) {
    if (call.signature == signature) return &call.head;
  }
  return nullptr;
}

}  // namespace couplet::collective
