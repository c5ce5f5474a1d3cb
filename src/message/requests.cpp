#include "message/requests.hpp"

#include <new>

namespace couplet::message {

Request* Requests::take() {
  Request* request = pool_.take();
  *request = Request{};
  request->pooled = true;
  return request;
}

// Puts a message that has arrived where its items belong in the caller's memory.
void Requests::hand_out(Request& request) noexcept {
  OwnMemory& own = *request.owned;
  if (request.sending || own.datatype == nullptr) return;
  const std::uint64_t bytes = request.result.bytes;
  const bool is_mixed = &own.datatype->element() == &layout::mixed_type;  // else its numbers have been turned already
  if (request.swap && is_mixed) own.datatype->swap(request.data, bytes, own.items);
  if (own.caller_memory != request.data) own.datatype->unpack(request.data, bytes, own.items, own.caller_memory);
  request.result.count = own.datatype->bytes() == 0 ? 0 : bytes / own.datatype->bytes();
}

void Requests::finish(Request& request, Status status) noexcept {
  request.status = std::move(status);
  end(request);
}

bool Requests::register_cookie(Request& request) noexcept {
  if (free_cookies_.empty()) {
    try {
      free_cookies_.reserve(cookies_.size() + 1);
      cookies_.emplace_back();
    } catch (const std::bad_alloc&) {
      return false;
    }
    free_cookies_.push_back(static_cast<std::uint32_t>(cookies_.size() - 1));
  }
  const std::uint32_t index = free_cookies_.back();
  free_cookies_.pop_back();
  cookies_[index].request = &request;
  request.cookie = (std::uint64_t{cookies_[index].generation} << 32) | index;
  return true;
}

void Requests::release_cookie(Request& request) noexcept {
  const auto index = static_cast<std::uint32_t>(request.cookie);
  cookies_[index].request = nullptr;
  if (++cookies_[index].generation == 0) cookies_[index].generation = 1;
  free_cookies_.push_back(index);  // the list has room for it since the slot was made
  request.cookie = 0;
}

Request* Requests::find(std::uint64_t cookie, const Flow& flow, bool sending) const noexcept {
  const auto index = static_cast<std::uint32_t>(cookie);
  if (index >= cookies_.size()) return nullptr;
  Request* request = cookies_[index].request;
  if (request == nullptr || request->cookie != cookie) return nullptr;
  return request->flow == &flow && request->sending == sending ? request : nullptr;
}

Status Requests::unheard_failures() {
  std::size_t count = 0;
  const Request* first = nullptr;
  pool_.for_each([&](const Request& each) {
    const bool is_promise = each.what != nullptr;
    const bool of_user = each.pooled && each.sending && !is_promise && (each.context & internal_context) == 0;
    if (!of_user || !each.done || each.status.ok()) return;
    ++count;
    first = first == nullptr ? &each : first;
  });
  if (first == nullptr) return {};
  return fail(first->status.code(), "sends that have failed, and that no call has asked about: {}; one of them: {}",
              count, first->status.text());
}

void Requests::change_group(const Group& from, Group& to) noexcept {
  pool_.for_each([&](Request& each) {
    if (each.group == &from) each.group = &to;
  });
}

}  // namespace couplet::message
