// The requests of this member that the hub has not answered yet. Joins answers that come in parts into whole ones, and
// sends all open requests again to a hub that was started again. Used by member. Below: control. Pure: what is to be
// sent is given to `send`. Invariants: a request is answered once; an answer to a request that is not open is ignored.
// Threads that ask the same question share one request, which the last one ends.
// Tests: tests/unit/universe/hub_requests_test.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "universe/control.hpp"

namespace couplet::universe {

class HubRequests {
 public:
  using Send = std::function<void(const MemberMessage&)>;
  using Description = std::shared_ptr<const std::string>;

  // send: sends a message to the hub; it ignores the message while there is no connection.
  explicit HubRequests(Send send) : send_(std::move(send)) {}

  [[nodiscard]] RequestId next() noexcept { return next_++; }
  // Begins a request and sends its message. The message's request number is `request`.
  void begin(RequestId request, const MemberMessage& message);
  // Begins a request that announces a description, in parts.
  void begin_announcement(RequestId request, Description description);
  // Takes an answer, or a part of one.
  void answered(AnswerMessage message);
  [[nodiscard]] bool is_answered(RequestId request) const;
  // Ends this caller's use of the request, and returns its answer, or nothing if it was not answered. If a series was
  // found, the part in the answer is its whole description. The request ends with its last user.
  std::optional<AnswerMessage> finish(RequestId request);
  // Returns true if the request goes on, since another caller still uses it.
  [[nodiscard]] bool is_open(RequestId request) const { return requests_.contains(request); }
  // Asks as begin() does, unless an equal question (by its key) is under way, for another caller or because it was
  // kept: that one is shared then. Each caller ends its use with keep() or finish(). An empty key is never shared.
  RequestId begin_or_go_on(const std::string& key, const std::function<MemberMessage(RequestId)>& make);
  // Ends this caller's use of a question that has a key and has not been answered in time, and leaves it open for later
  // callers. Returns false, and does nothing, if it was answered or has no key.
  bool keep(RequestId request);
  // Asks to be told of all changes, unless that question is still open. Returns until when its callers wait for the
  // answer: a hub that does not answer, since it is stopped for instance, delays one of them, and not all that follow.
  std::uint64_t ask_for_changes(std::uint64_t now_ns);
  [[nodiscard]] bool has_all_changes() const { return is_answered(changes_.request); }
  // Ends all kept requests whose key begins so and that nobody uses, and returns them, so that the hub can be told.
  std::vector<RequestId> end_all_kept(const std::string& prefix);
  // The hub is back: sends all requests again that are not answered.
  void ask_again();
  // Sends a description for which the hub has asked.
  void send_record(const std::string& name, std::uint64_t incarnation, const std::string& description);

 private:
  struct Request {
    MemberMessage message;
    Description description;  // the description to be announced
    std::string found;        // the parts of an answer that have arrived
    std::uint64_t incarnation = 0;
    std::optional<AnswerMessage> reply;
    std::string key;  // under which it is shared; empty if it is not
    int users = 1;    // the callers that wait for the answer
  };
  void ask(RequestId request, Request& asked);

  Send send_;
  RequestId next_ = 1;
  struct {
    RequestId request = 0;  // 0: there was none
    std::uint64_t deadline_ns = 0;
  } changes_;
  std::map<RequestId, Request> requests_;
  std::map<std::string, RequestId> shared_;  // by key: requests that have not been answered to anybody yet
};

}  // namespace couplet::universe
