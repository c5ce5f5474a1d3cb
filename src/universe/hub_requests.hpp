// Questions of this member that the hub has not answered yet. Turns answers that come in parts into whole ones, and
// asks everything again that a hub, which was started again, does not know of. Used by member. Below: control. Pure:
// what is to be sent goes through `send`. Invariants: a request is answered once; an answer to a request that is not
// known (any more) is ignored. Tests: tests/unit/universe/test_hub_requests.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "universe/control.hpp"

namespace couplet::universe {

class HubRequests {
 public:
  using Send = std::function<void(const MemberMessage&)>;
  using Description = std::shared_ptr<const std::string>;

  // send: says a message to the hub; ignored while there is none.
  explicit HubRequests(Send send) : send_(std::move(send)) {}

  [[nodiscard]] RequestId next() noexcept { return next_++; }
  // Asks. The message's request is `request`.
  void begin(RequestId request, const MemberMessage& message);
  // Announces a description in parts.
  void begin_announcement(RequestId request, Description description);
  // An answer, or a part of one.
  void answered(AnswerMessage message);
  [[nodiscard]] bool is_answered(RequestId request) const;
  // Ends the request; nothing if it was not answered. A found series' part is then its whole description.
  std::optional<AnswerMessage> finish(RequestId request);
  // The hub is a new one: asks again what is not answered.
  void ask_again();
  // Sends a description that the hub has asked for.
  void send_record(const std::string& name, std::uint64_t incarnation, const std::string& description);

 private:
  struct Request {
    MemberMessage message;
    Description description;  // to be announced
    std::string found;        // what has come of an answer in parts
    std::uint64_t incarnation = 0;
    std::optional<AnswerMessage> reply;
  };
  void ask(RequestId request, Request& asked);

  Send send_;
  RequestId next_ = 1;
  std::map<RequestId, Request> requests_;
};

}  // namespace couplet::universe
