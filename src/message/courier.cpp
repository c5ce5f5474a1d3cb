#include "message/courier.hpp"

#include <algorithm>
#include <new>

#include "message/probe.hpp"

namespace couplet::message {

Result<Request*> Courier::send(Group& group, std::uint32_t context, std::int32_t tag, const void* data,
                               std::uint64_t count, const TypeInfo& type, std::int32_t target) {
  RequestHold made(messenger_.requests_);
  made->sending = true;
  made->context = context;
  made->tag = tag;
  made->flow = &messenger_.peers_.to(group.peer(target));
  made->group = &group;
  made->type = &type;
  made->data = const_cast<std::byte*>(static_cast<const std::byte*>(data));  // NOLINT: only read
  made->bytes = count * type.element_bytes;
  COUPLET_TRY(messenger_.sending_.begin(*made));
  return made.release();
}

Request* Courier::receive(Group& group, std::uint32_t context, std::int32_t tag, void* data, std::uint64_t count,
                          const TypeInfo& type, std::int32_t source) {
  RequestHold made(messenger_.requests_);
  messenger_.receiving_.prepare(*made, group, data, count, type, source, tag);
  made->context = context;
  messenger_.receiving_.begin(*made);
  return made.release();
}

Request* Courier::receive_bytes(Group& group, std::uint32_t context, std::int32_t tag, std::string& bytes,
                                std::int32_t source) {
  RequestHold made(messenger_.requests_);
  messenger_.receiving_.prepare(*made, group, nullptr, 0, *find_type(COUPLET_BYTE), source, tag);
  made->context = context;
  made->text = &bytes;
  messenger_.receiving_.begin(*made);
  return made.release();
}

bool Courier::send_at_once(Group& group, std::uint32_t context, std::int32_t tag, std::span<const std::byte> bytes,
                           std::int32_t target) noexcept {
  Flow* const flow = messenger_.peers_.find(group.peer(target));
  try {
    return flow != nullptr && messenger_.sending_.send_at_once(*flow, context, tag, bytes);
  } catch (const std::bad_alloc&) {
    return false;
  }
}

Request* Courier::receive_soon(Group& group, std::uint32_t context, std::int32_t tag, std::string& bytes,
                               std::int32_t source) {
  RequestHold made(messenger_.requests_);
  messenger_.receiving_.prepare(*made, group, bytes.data(), bytes.size(), *find_type(COUPLET_BYTE), source, tag);
  made->context = context;
  made->uncounted = true;
  messenger_.receiving_.begin(*made);
  if (!made->done) static_cast<void>(spin(*made));
  return made.release();
}

Request* Courier::promise(Group& group, const std::string& what) {
  Request* const made = messenger_.requests_.take();
  made->sending = true;  // it is not in a list of receives
  made->stage = Stage::queued;
  made->group = &group;
  made->what = &what;
  made->result.source = group.rank();
  made->result.tag = COUPLET_ANY_TAG;
  messenger_.requests_.begin(*made);
  return made;
}

void Courier::keep(Request& promise, Status status) noexcept {
  messenger_.requests_.finish(promise, std::move(status));
}

Status Courier::end(Request*& request) {
  Request* const done = std::exchange(request, nullptr);
  Status status = std::move(done->status);
  messenger_.requests_.give(done);
  return status;
}

bool Courier::withdraw(Request*& request) noexcept {
  if (request->sending || request->done || request->stage != Stage::posted) return false;
  messenger_.receiving_.unpost(*request);
  messenger_.requests_.give(std::exchange(request, nullptr));
  return true;
}

void Courier::abandon(Request*& request, std::unique_ptr<OwnMemory> memory) noexcept {
  if (request->done) {
    static_cast<void>(end(request));
  } else if (!withdraw(request)) {
    request->owned = std::move(memory);
    std::exchange(request, nullptr)->detached = true;
  }
}

// What has arrived so far is copied, too: the check of a frame may need it.
bool Courier::detach(Request*& request) noexcept {
  const bool moves = request->stage == Stage::placing || request->stage == Stage::collecting ||
                     request->stage == Stage::queued || request->stage == Stage::offered ||
                     request->stage == Stage::moving;
  if (request->done || !moves || request->flow == nullptr || request->text != nullptr) return false;
  const std::uint64_t bytes = request->sending ? request->bytes : std::min(request->bytes, request->result.bytes);
  try {
    request->owned = std::make_unique<OwnMemory>();
    request->owned->bytes.assign(reinterpret_cast<const char*>(request->data), bytes);
  } catch (const std::bad_alloc&) {
    request->owned = nullptr;
    return false;
  }
  auto* const copy = reinterpret_cast<std::byte*>(request->owned->bytes.data());
  const link::Relocation memory{.from = {request->data, bytes}, .to = copy};
  if (request->flow->channel != nullptr) request->flow->channel->relocate(memory);
  request->outgoing.payload = channel::relocated(memory, request->outgoing.payload);
  request->data = copy;
  std::exchange(request, nullptr)->detached = true;
  return true;
}

Status Courier::wait(const std::function<bool()>& done, std::uint64_t deadline_ns,
                     const std::function<std::string()>& what) {
  return messenger_.waiting_.until(done, deadline_ns, what, true);
}

bool Courier::poll(const Request& request) noexcept {
  channel::Channel* const channel = request.flow != nullptr ? request.flow->channel : nullptr;
  if (channel != nullptr) Waiting::poll(*channel, 1);
  return request.done;
}

void Courier::watch(const Request& request) noexcept {
  watch_source(request, messenger_.channels_);
}

void Courier::watch(channel::PeerId peer) noexcept {
  const Flow* const flow = messenger_.peers_.find(peer);
  if (flow == nullptr || flow->channel == nullptr) messenger_.channels_.waits_for(peer);
}

void Courier::look(channel::PeerId peer) noexcept {
  constexpr int frames = 256;
  const Flow* const flow = messenger_.peers_.find(peer);
  if (flow != nullptr && flow->channel != nullptr) Waiting::poll(*flow->channel, frames);
}

std::span<const std::byte> Courier::arrived(channel::PeerId peer, std::uint32_t context,
                                            std::int32_t tag) const noexcept {
  std::span<const std::byte> found;
  if (const Flow* const flow = messenger_.peers_.find(peer); flow != nullptr) {
    static_cast<void>(messenger_.matching_.for_each_in(*flow, context, [&](const Arrival& arrival) {
      if (arrival.tag == tag && !arrival.envelope) found = {arrival.storage, static_cast<std::size_t>(arrival.bytes)};
    }));
  }
  return found;
}

void Courier::drop(channel::PeerId peer, std::uint32_t context) noexcept {
  Flow* const flow = messenger_.peers_.find(peer);
  if (flow == nullptr || flow->lost) return;
  messenger_.matching_.for_each_in(*flow, context, [this, flow](Arrival& arrival) {
    const bool answer = arrival.envelope && !arrival.dead;
    const std::uint64_t cookie = arrival.cookie;
    messenger_.receiving_.forget(arrival);
    if (answer) messenger_.frames_.post_done(*flow, cookie);
  });
  EndedContexts& ended = messenger_.matching_.ended();
  if (!ended.has(context)) ended.add(context);
}

std::uint64_t Courier::losses(std::optional<channel::PeerId> peer) const noexcept {
  if (!peer) return messenger_.peers_.losses();
  const Flow* const flow = messenger_.peers_.find(*peer);
  return flow == nullptr ? 0 : flow->losses;
}

bool Courier::has_left(channel::PeerId peer) const noexcept {
  const Flow* const flow = messenger_.peers_.find(peer);
  return flow != nullptr && flow->left;
}

bool Courier::is_lost(channel::PeerId peer) const noexcept {
  const Flow* const flow = messenger_.peers_.find(peer);
  return flow != nullptr && flow->lost;
}

bool Courier::is_connected(channel::PeerId peer) const noexcept {
  const Flow* const flow = messenger_.peers_.find(peer);
  return flow != nullptr && flow->channel != nullptr && !flow->lost;
}

Status Courier::loss(channel::PeerId peer) const {
  const Flow* const flow = messenger_.peers_.find(peer);
  return flow == nullptr ? Status() : flow->loss;
}

}  // namespace couplet::message
