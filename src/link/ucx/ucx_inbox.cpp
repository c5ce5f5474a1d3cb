#include "link/ucx/ucx_inbox.hpp"

#include <new>
#include <utility>

#include "os/host.hpp"
#include "wire/seal.hpp"

namespace couplet::link {

Result<std::unique_ptr<UcxInbox>> UcxInbox::open(std::shared_ptr<UcxWorker> worker) {
  std::uint64_t token = 0;
  while (token == 0 || worker->core().inboxes.contains(token)) {
    COUPLET_TRY_VALUE(token, os::random_bits());
  }
  std::unique_ptr<UcxInbox> inbox(new UcxInbox(std::move(worker), token));
  inbox->worker_->core().inboxes[token] = inbox.get();
  return inbox;
}

UcxInbox::UcxInbox(std::shared_ptr<UcxWorker> worker, std::uint64_t token)
    : worker_(std::move(worker)), token_(token), slots_(worker_->options().max_unread_records) {}

UcxInbox::~UcxInbox() {
  if (!worker_->mine()) {
    return;
  }
  UcxCore& core = worker_->core();
  core.inboxes.erase(token_);
  for (Slot& one : slots_) {
    release(one);
  }
}

void UcxInbox::set_failure(Status why) noexcept {
  if (failure_.ok()) {
    failure_ = std::move(why);
  }
}

void UcxInbox::release(Slot& one) noexcept {
  if (one.kept != nullptr) {
    worker_->core().ucp.ucp_am_data_release(worker_->core().worker, one.kept);
  }
  one = Slot();
}

std::span<const std::byte> UcxInbox::next() const noexcept {
  const Slot& one = slot(consumed_.records);
  return {static_cast<const std::byte*>(one.kept), one.bytes};
}

void UcxInbox::consume() noexcept {
  Slot& one = slot(consumed_.records);
  consumed_.bytes += one.bytes;
  ++consumed_.records;
  release(one);
}

bool UcxInbox::may_come(std::uint64_t number, std::size_t bytes) noexcept {
  const std::size_t longest = worker_->options().record_bytes + wire::record_bytes;
  if (number < consumed_.records || number - consumed_.records >= slots_.size() || slot(number).kept != nullptr ||
      bytes == 0 || bytes > longest) {
    set_failure(fail(Code::protocol, "ucx: record {} of {} bytes has come while record {} is due", number, bytes,
                     consumed_.records));
    return false;
  }
  return true;
}

bool UcxInbox::take(const wire::UcxHead& head, void* data, std::size_t bytes) noexcept {
  switch (head.kind) {
    case wire::UcxKind::hello:
      is_greeted_ = true;
      return false;
    case wire::UcxKind::credit:
      if (head.number >= credit_.records && head.bytes >= credit_.bytes) {  // an older one may come later
        credit_ = {.records = head.number, .bytes = head.bytes};
      }
      return false;
    case wire::UcxKind::data:
      break;
  }
  if (!may_come(head.number, bytes)) {
    return false;
  }
  Slot& one = slot(head.number);
  one.kept = data;
  one.bytes = bytes;
  return true;
}

}  // namespace couplet::link
