#include "universe/hub_requests.hpp"

#include <algorithm>
#include <utility>

namespace couplet::universe {
namespace {

constexpr std::uint64_t catch_up_patience_ns = 1'000'000'000;

// Calls `use` with each part of a description, in order. There is at least one part.
template <typename Use>
void for_each_part(const std::string& description, const Use& use) {
  std::uint64_t offset = 0;
  do {
    RecordPart part{description.size(), offset, description.substr(offset, max_part_bytes)};
    offset += part.bytes.size();
    use(std::move(part));
  } while (offset < description.size());
}

}  // namespace

void HubRequests::ask(RequestId request, Request& asked) {
  asked.found.clear();
  if (asked.description != nullptr) {
    for_each_part(*asked.description, [&](RecordPart part) { send_(AnnounceMessage{request, std::move(part)}); });
  } else {
    send_(asked.message);
  }
}

void HubRequests::begin(RequestId request, const MemberMessage& message) {
  auto& asked = requests_[request];
  asked.message = message;
  ask(request, asked);
}

void HubRequests::begin_announcement(RequestId request, Description description) {
  auto& asked = requests_[request];
  asked.description = std::move(description);
  ask(request, asked);
}

void HubRequests::answered(AnswerMessage message) {
  const auto waiting = requests_.find(message.request);
  if (waiting == requests_.end() || waiting->second.reply) {
    return;
  }
  auto& asked = waiting->second;
  const auto* const find = std::get_if<FindMessage>(&asked.message);
  if (find == nullptr || (!message.series && message.code != Code::restarted)) {
    asked.reply = std::move(message);
    return;
  }
  if (message.code == Code::restarted || message.series->part.offset != asked.found.size() ||
      (!asked.found.empty() && message.series->incarnation != asked.incarnation)) {
    ask(message.request, asked);  // the series was created again between two parts
    return;
  }
  auto& part = message.series->part;
  asked.incarnation = message.series->incarnation;
  asked.found += part.bytes;
  if (asked.found.size() < part.record_bytes && !part.bytes.empty()) {
    send_(FetchMessage{message.request, find->name, asked.incarnation, asked.found.size()});
    return;
  }
  part.offset = 0;
  part.bytes = std::move(asked.found);
  asked.reply = std::move(message);
}

std::uint64_t HubRequests::ask_for_changes(std::uint64_t now_ns) {
  if (changes_.request == 0 || is_answered(changes_.request)) {
    finish(changes_.request);
    changes_ = {next(), now_ns + catch_up_patience_ns};
    begin(changes_.request, CatchUpMessage{changes_.request});
  }
  return changes_.deadline_ns;
}

bool HubRequests::is_answered(RequestId request) const {
  const auto found = requests_.find(request);
  return found != requests_.end() && found->second.reply.has_value();
}

std::optional<AnswerMessage> HubRequests::finish(RequestId request) {
  const auto found = requests_.find(request);
  if (found == requests_.end()) {
    return std::nullopt;
  }
  auto& asked = found->second;
  const bool last = --asked.users <= 0;
  if (!asked.key.empty() && (last || asked.reply)) {  // a later caller asks anew
    shared_.erase(asked.key);
    asked.key.clear();
  }
  if (!last) {
    return asked.reply;
  }
  auto reply = std::move(asked.reply);
  requests_.erase(found);
  return reply;
}

RequestId HubRequests::begin_or_go_on(const std::string& key, const std::function<MemberMessage(RequestId)>& make) {
  if (const auto found = shared_.find(key); found != shared_.end()) {
    ++requests_.at(found->second).users;
    return found->second;
  }
  const RequestId request = next();
  begin(request, make(request));
  if (!key.empty()) {
    requests_.at(request).key = key;
    shared_[key] = request;
  }
  return request;
}

bool HubRequests::keep(RequestId request) {
  const auto found = requests_.find(request);
  if (found == requests_.end() || found->second.key.empty() || found->second.reply) {
    return false;
  }
  --found->second.users;
  return true;
}

std::vector<RequestId> HubRequests::end_all_kept(const std::string& prefix) {
  std::vector<RequestId> ended;
  for (auto at = shared_.lower_bound(prefix); at != shared_.end() && at->first.starts_with(prefix);) {
    const auto request = requests_.find(at->second);
    if (request->second.users > 0) {
      ++at;  // another caller waits for it
      continue;
    }
    ended.push_back(at->second);
    requests_.erase(request);
    at = shared_.erase(at);
  }
  return ended;
}

void HubRequests::ask_again() {
  for (auto& [request, asked] : requests_) {
    if (!asked.reply) {
      ask(request, asked);
    }
  }
}

void HubRequests::send_record(const std::string& name, std::uint64_t incarnation, const std::string& description) {
  for_each_part(description, [&](RecordPart part) { send_(RecordMessage{name, incarnation, std::move(part)}); });
}

}  // namespace couplet::universe
