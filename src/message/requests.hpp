// The requests of a process: where their memory comes from, how many are not complete, and how one ends. A request that
// a peer's frames name has a cookie: a number that is not used again for another request for a long time.
// Invariants: a request ends once; a cookie leads to the request that it was made for, or nowhere; nothing but take()
// throws. Tests: tests/unit/message/requests_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "counters/counters.hpp"
#include "message/flow.hpp"
#include "message/pool.hpp"

namespace couplet::message {

class Requests {
 public:
  explicit Requests(counters::Counters& counters) : counters_(counters) {}

  // Returns a new request of the pool.
  Request* take();
  void give(Request* request) noexcept {
    request->pooled = false;
    if (request->owned != nullptr) [[unlikely]] {
      request->owned = nullptr;  // it may be as large as a message, and the request may not be used again for long
    }
    pool_.give(request);
  }
  // The request counts as not complete from here on.
  void begin(Request& request) noexcept {
    ++pending_;
    ++request.group->pending;
  }
  // The message was sent, or has arrived.
  void finish(Request& request) noexcept {
    if (request.owned != nullptr) [[unlikely]] {
      hand_out(request);
    }
    count(request);
    end(request);
  }
  // It ends with this status, and is not counted as a message.
  void finish(Request& request, Status status) noexcept;
  void end(Request& request) noexcept {
    request.done = true;
    request.stage = Stage::finished;
    --pending_;
    --request.group->pending;
    if (request.cookie != 0) release_cookie(request);
    if (request.detached) give(&request);
  }
  // A message of `bytes` bytes was sent.
  void count_sent(const Flow& flow, std::uint64_t bytes, counters::Counter how) noexcept {
    counters_.add(counters::of_link(counters::Counter::messages_sent_self, flow.link));
    counters_.add(counters::of_link(counters::Counter::message_bytes_sent_self, flow.link), bytes);
    counters_.add(how);
  }
  // Gives the request a cookie. Returns false if there is no memory.
  [[nodiscard]] bool register_cookie(Request& request) noexcept;
  // Returns the request with the cookie that a frame of the peer names, or nullptr if there is no such request with
  // this peer.
  [[nodiscard]] Request* find(std::uint64_t cookie, const Flow& flow, bool sending) const noexcept;
  // Returns the error of the sends of a user that have failed, and that no call has asked about; ok if there are none.
  [[nodiscard]] Status unheard_failures();
  // The group `from` ends: requests that are complete, and for which nobody has waited yet, get the group `to`.
  void change_group(const Group& from, Group& to) noexcept;
  // Returns the number of requests that are not complete.
  [[nodiscard]] std::size_t pending() const noexcept { return pending_; }

 private:
  struct CookieSlot {
    Request* request = nullptr;
    std::uint32_t generation = 1;
  };

  // Messages of the library itself are not counted.
  void count(const Request& request) noexcept {
    using counters::Counter;
    if (request.uncounted || request.text != nullptr) return;
    if (request.owned != nullptr && request.owned->datatype == nullptr) return;
    if (request.sending) {
      const bool announced = request.stage == Stage::offered || request.stage == Stage::moving;
      count_sent(*request.flow, request.bytes, announced ? Counter::messages_rendezvous : Counter::messages_eager);
    } else {
      counters_.add(counters::of_link(Counter::messages_received_self, request.flow->link));
      counters_.add(counters::of_link(Counter::message_bytes_received_self, request.flow->link), request.result.bytes);
    }
  }
  void release_cookie(Request& request) noexcept;
  static void hand_out(Request& request) noexcept;

  counters::Counters& counters_;
  std::size_t pending_ = 0;
  Pool<Request> pool_;
  std::vector<CookieSlot> cookies_;
  std::vector<std::uint32_t> free_cookies_;
};

// Gives a request back to the pool, unless it is released before.
class RequestHold {
 public:
  explicit RequestHold(Requests& requests) : requests_(requests), request_(requests.take()) {}
  RequestHold(const RequestHold&) = delete;
  RequestHold& operator=(const RequestHold&) = delete;
  ~RequestHold() {
    if (request_ != nullptr) requests_.give(request_);
  }
  Request& operator*() const noexcept { return *request_; }
  Request* operator->() const noexcept { return request_; }
  Request* release() noexcept { return std::exchange(request_, nullptr); }

 private:
  Requests& requests_;
  Request* request_;
};

}  // namespace couplet::message
