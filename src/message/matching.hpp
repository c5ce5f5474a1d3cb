// Matching: which receive takes which message. It keeps the receives that no message has matched, and the messages, or
// envelopes of messages, that no receive has asked for. Messages of one (source, tag, group) match in the order in
// which they were sent, receives in the order in which they were posted.
// Invariant: what a peer has stored here never takes more than the credit that it was granted.
// Tests: tests/unit/message/matching_test.cpp, tests/conformance/message.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "counters/counters.hpp"
#include "message/flow.hpp"
#include "message/pool.hpp"

namespace couplet::message {

// Is the receive `request` for messages with this context and tag? The source is not compared.
[[nodiscard]] inline bool accepts(const Request& request, std::uint32_t context, std::int32_t tag) noexcept {
  return request.context == context && (request.tag == tag || request.tag == COUPLET_ANY_TAG);
}

// The contexts of the library that have ended, as far as they are remembered: messages that arrive in them are dropped.
// Only the last `kept` ones are remembered. A message in an older one is stored like any message without a receive.
class EndedContexts {
 public:
  static constexpr std::size_t kept = 256;
  void add(std::uint32_t context) noexcept { ring_[next_++ % kept] = context; }
  [[nodiscard]] bool has(std::uint32_t context) const noexcept {
    return (context & internal_context) != 0 && std::find(ring_.begin(), ring_.end(), context) != ring_.end();
  }

 private:
  std::array<std::uint32_t, kept> ring_{};  // 0: none
  std::size_t next_ = 0;
};

class Matching {
 public:
  // retained_bytes: of the memory for stored messages, so much is kept for reuse.
  Matching(std::uint64_t retained_bytes, counters::Counters& counters) : counters_(counters), blocks_(retained_bytes) {}
  Matching(const Matching&) = delete;
  Matching& operator=(const Matching&) = delete;
  ~Matching();

  // ---- receives that no message has matched ----
  void post(Request& request) noexcept {
    request.stage = Stage::posted;
    request.order = ++posted_order_;
    request.flow != nullptr ? request.flow->posted.push_back(request) : any_source_.push_back(request);
  }
  void unpost(Request& request) noexcept {
    request.flow != nullptr ? request.flow->posted.remove(request) : any_source_.remove(request);
  }
  // Removes the first posted of the receives that take the message from its list, and returns it; or nullptr.
  [[nodiscard]] Request* match(Flow& flow, std::uint32_t context, std::int32_t tag) noexcept;
  // The receives from any source.
  [[nodiscard]] const RequestChain& any_source() const noexcept { return any_source_; }
  // Could one of the receives from any source take the message? The peer may be no member of its group.
  [[nodiscard]] bool any_source_accepts(std::uint32_t context, std::int32_t tag) const noexcept {
    for (const Request* any = any_source_.first(); any != nullptr; any = RequestChain::after(*any)) {
      if (accepts(*any, context, tag)) return true;
    }
    return false;
  }

  // ---- messages that no receive has asked for ----
  // Keeps a message, or its envelope. Returns nullptr if the peer has sent more than it may. Throws bad_alloc.
  Arrival* store(Flow& flow, const wire::FrameHeader& header, bool is_envelope);
  // Returns the first message that the receive takes, or nullptr.
  [[nodiscard]] Arrival* find(const Request& request) const noexcept {
    if (request.flow != nullptr ? request.flow->arrivals.empty() : arrivals_.empty()) return nullptr;
    return search(request);
  }
  // Takes the message out of the lists, and frees its memory. Returns the credit that its sender gets back.
  [[nodiscard]] std::uint64_t forget(Arrival& arrival) noexcept;
  // Calls drop(arrival) for each message or envelope of the peer in this context that no receive has taken. `drop` may
  // forget it. Returns whether there was one.
  template <typename Drop>
  bool for_each_in(const Flow& flow, std::uint32_t context, const Drop& drop) noexcept {
    bool found = false;
    for (Arrival* arrival = flow.arrivals.first(); arrival != nullptr;) {
      Arrival* const next = ArrivalList::after(*arrival);
      if (arrival->context == context && arrival->claimed == nullptr && !arrival->arriving) {
        found = true;
        drop(*arrival);
      }
      arrival = next;
    }
    return found;
  }
  // The peer is lost. Its messages are still received, but its envelopes lead nowhere, and its greetings are dropped.
  void lose(Flow& flow) noexcept;
  [[nodiscard]] EndedContexts& ended() noexcept { return ended_; }
  // Returns the bytes of the blocks that hold messages.
  [[nodiscard]] std::uint64_t stored_bytes() const noexcept { return blocks_.used_bytes(); }

 private:
  [[nodiscard]] static Request* first_posted(const Flow& flow, std::uint32_t context, std::int32_t tag) noexcept;
  [[nodiscard]] Arrival* search(const Request& request) const noexcept;
  void release_storage(Arrival& arrival) noexcept;

  counters::Counters& counters_;
  std::uint64_t posted_order_ = 0;
  RequestChain any_source_;
  ArrivalsOfAll arrivals_;
  Pool<Arrival> pool_;
  BlockPool blocks_;
  EndedContexts ended_;
};

}  // namespace couplet::message
