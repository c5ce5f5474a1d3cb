#include "universe/hub/listener_calls.hpp"

#include <algorithm>
#include <utility>

#include "os/reset.hpp"

namespace couplet::universe {

std::vector<ListenerCalls::Answer> ListenerCalls::call(const std::vector<Target>& targets) {
  std::erase_if(calls_, [&targets](const auto& call) {
    return std::ranges::none_of(targets, [&call](const Target& target) { return target.peer == call.first; });
  });
  std::vector<Answer> answers;
  for (const Target& target : targets) {
    const auto found = calls_.find(target.peer);
    if (found == calls_.end()) {
      auto socket = calls_.size() < max_calls ? os::connect_tcp(target.endpoint) : Result<os::Descriptor>(Code::full);
      if (socket.ok()) {
        calls_.emplace(target.peer, Call{std::move(*socket), target.endpoint});
      } else if (os::says_refused(socket.status())) {
        answers.push_back({target.peer, false});
      }
      continue;
    }
    const Status status = os::connect_result(found->second.socket, found->second.endpoint);
    if (status.ok() || os::says_refused(status)) {
      answers.push_back({target.peer, status.ok()});
    }
    if (status.code() != Code::not_yet) {
      calls_.erase(found);
    }
  }
  return answers;
}

}  // namespace couplet::universe
