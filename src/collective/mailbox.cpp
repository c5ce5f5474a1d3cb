#include "collective/mailbox.hpp"

namespace couplet::collective {
namespace {

constexpr std::uint64_t mailbox_mark = 0x636F6C6C65637431U;

std::uint64_t mix(std::uint64_t hash, std::uint64_t number) noexcept {
  hash = (hash ^ number) * 0xBF58476D1CE4E5B9U;
  return hash ^ (hash >> 29U);
}

std::uint32_t internal(std::uint64_t hash) noexcept {
  return message::user_context(hash) | message::internal_context;
}

}  // namespace

Mailbox::Mailbox(message::Courier& courier, const message::Group& group)
    : courier_(courier), group_(group), context_(internal(mix(group.hash(), mailbox_mark))) {
  group_.pending = 0;
  open();
}

void Mailbox::open() {
  if (group_.size() == 1) return;
  request_ = courier_.receive_bytes(group_, context_, COUPLET_ANY_TAG, incoming_, COUPLET_ANY_SOURCE);
}

void Mailbox::close() noexcept {
  is_over_ = is_closed_ = true;
  if (request_ == nullptr) return;
  if (request_->done) {
    static_cast<void>(courier_.end(request_));
  } else {
    static_cast<void>(courier_.withdraw(request_));
  }
}

std::uint32_t Mailbox::context_of(std::uint64_t epoch, std::uint64_t call) const noexcept {
  return internal(mix(mix(group_.hash(), epoch), call));
}

void Mailbox::send(const wire::CollectiveNotice& notice, std::int32_t target) noexcept {
  Status sent;
  try {
    const std::int32_t tag = notice.kind == wire::NoticeKind::greeting ? message::greeting_tag : 0;
    sent = courier_.messenger().send_internal(group_, context_, wire::encode_collective_notice(notice), target, tag);
  } catch (const std::bad_alloc&) {
    sent = Code::memory;
  }
  if (sent.code() == Code::memory || sent.code() == Code::limit)
    courier_.messenger().give_up_peer(group_, target, sent);
}

bool Mailbox::take(wire::CollectiveNotice& notice, std::int32_t& source) {
  if (request_ == nullptr && !is_over_) open();  // there was no memory for it before
  if (!has_notice()) return false;
  source = -1;
  Result<wire::CollectiveNotice> taken = Status(Code::protocol);
  if (request_->status.ok()) taken = wire::decode_collective_notice(incoming_);
  const std::int32_t sender = request_->result.source;
  is_over_ = !courier_.end(request_).ok();  // all others are lost, and no notice can come any more
  if (is_over_) return true;
  try {
    open();
  } catch (const std::bad_alloc&) {
    static_cast<void>(0);  // the next call of take() or watch() tries again
  }
  if (!taken.ok() || taken->identity != group_.hash()) return true;  // another group may have the same context
  notice = std::move(*taken);
  source = sender;
  return true;
}

void Mailbox::look() noexcept {
  try {
    // There was no memory for it before, or all others were lost: one of them may have returned.
    if (request_ == nullptr && !is_closed_) open();
  } catch (const std::bad_alloc&) {
    return;
  }
  // The receive failed since all others are lost or have left: no notice has come.
  if (request_ != nullptr && request_->done && !request_->status.ok()) is_over_ = !courier_.end(request_).ok();
}

void Mailbox::watch() noexcept {
  look();
  if (request_ != nullptr) courier_.watch(*request_);
}

bool Mailbox::is_idle() const noexcept {
  return group_.pending == (request_ != nullptr && !request_->done ? 1 : 0);
}

}  // namespace couplet::collective
