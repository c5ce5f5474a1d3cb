#include "universe/hub/listener_calls.hpp"

#include <algorithm>
#include <utility>

#include "os/host.hpp"
#include "os/reset.hpp"

namespace couplet::universe {
namespace {

constexpr std::size_t descriptor_share = 8;  // members need most of the descriptors

}  // namespace

std::vector<ListenerCalls::Answer> ListenerCalls::call(const std::vector<Target>& targets) {
  for (const Target& target : targets) {
    if (const auto found = calls_.find(target.peer); found != calls_.end()) {
      found->second.wanted = found->second.endpoint == target.endpoint;
    }
  }
  std::erase_if(calls_, [](const auto& call) { return !call.second.wanted; });
  for (auto& [peer, call] : calls_) {
    call.wanted = false;
  }
  const auto most_held = std::min(max_held, os::descriptor_limit() / descriptor_share);
  auto dials =
      static_cast<std::size_t>(std::ranges::count_if(calls_, [](const auto& call) { return !call.second.answered; }));
  auto held = calls_.size() - dials;
  std::vector<Answer> answers;
  for (const Target& target : targets) {
    const auto found = calls_.find(target.peer);
    if (found == calls_.end()) {
      auto socket = dials < max_calls ? os::connect_tcp(target.endpoint) : Result<os::Descriptor>(Code::full);
      if (socket.ok()) {
        ++dials;
        calls_.emplace(target.peer, Call{std::move(*socket), target.endpoint});
      } else if (os::says_refused(socket.status())) {
        answers.push_back({target.peer, false});
      }
      continue;
    }
    auto& call = found->second;
    if (call.answered) {
      std::byte unused{};
      if (os::receive_some(call.socket, &unused, 1).code() == Code::not_yet) {
        answers.push_back({target.peer, true});
      } else {
        calls_.erase(found);
      }
      continue;
    }
    const Status status = os::connect_result(call.socket, call.endpoint);
    if (status.ok() || os::says_refused(status)) {
      answers.push_back({target.peer, status.ok()});
    }
    if (status.ok() && held < most_held) {
      ++held;
      call.answered = true;
    } else if (status.code() != Code::not_yet) {
      calls_.erase(found);
    }
  }
  return answers;
}

}  // namespace couplet::universe
