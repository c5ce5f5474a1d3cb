#include "relay/owed_ends.hpp"

#include "os/clock.hpp"

namespace couplet::relay {

void OwedEnds::add(const Line& line, std::uint32_t number, const wire::Subscribe& selection) {
  Server& server = servers_.try_emplace(line.server(), line).first->second;
  server.ends.push_back({number, wire::encode_subscribe(selection), false});
  tell(posts_, server);
}

void OwedEnds::send() {
  std::erase_if(servers_, [](const auto& entry) { return entry.second.ends.empty(); });
  for (auto& [peer, server] : servers_) {
    tell(posts_, server);
  }
}

void OwedEnds::tell(Posts& posts, Server& server) {
  static_cast<void>(server.line.connect());
  if (server.line.channel() == nullptr) {
    return;
  }
  server.unanswered.look(os::now_ns());
  for (End& end : server.ends) {
    if (!end.told) {
      end.told = true;
      wire::FrameHeader header;
      header.kind = wire::relay_frame_kind(wire::RelayKind::unsubscribe);
      header.context = end.number;
      posts.send(*server.line.channel(), header, end.selection);
    }
  }
}

std::optional<OwedEnds::Owed> OwedEnds::owed(std::uint32_t number) const {
  for (const auto& [peer, server] : servers_) {
    for (const End& end : server.ends) {
      if (end.number == number) {
        return Owed{server.line, server.unanswered.total_ns()};
      }
    }
  }
  return std::nullopt;
}

void OwedEnds::confirmed(channel::PeerId server, std::uint32_t number) {
  if (const auto found = servers_.find(server); found != servers_.end()) {
    std::erase_if(found->second.ends, [number](const End& end) { return end.number == number; });
    found->second.unanswered = {};
  }
}

void OwedEnds::lost(const channel::Channel& channel, const Status& why) {
  for (auto& [peer, server] : servers_) {
    if (server.line.channel() == &channel) {
      server.line.lost(why);
      server.unanswered = {};
      for (End& end : server.ends) {
        end.told = false;
      }
    }
  }
}

}  // namespace couplet::relay
