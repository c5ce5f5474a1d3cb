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
    sent = courier_.messenger().send_internal(group_, context_, wire::encode_collective_notice(notice), target, 0);
  } catch (const std::bad_alloc&) {
    sent = Code::memory;
  }
  if (sent.code() == Code::memory) courier_.messenger().give_up_peer(group_, target, sent);
}

bool Mailbox::take(wire::CollectiveNotice& notice, std::int32_t& source) {
  if (!has_notice()) return false;
  const std::int32_t sender = request_->result.source;
  source = -1;
  if (!courier_.end(request_).ok()) return true;  // all others are lost, and no notice can come any more
  auto taken = wire::decode_collective_notice(incoming_);
  open();
  if (!taken.ok() || taken->identity != group_.hash()) return true;  // another group may have the same context
  notice = std::move(*taken);
  source = sender;
  return true;
}

void Mailbox::watch() noexcept {
  if (request_ != nullptr) courier_.watch(*request_);
}

bool Mailbox::is_idle() const noexcept {
  return group_.pending == (request_ != nullptr && !request_->done ? 1 : 0);
}

}  // namespace couplet::collective
