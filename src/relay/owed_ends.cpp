#include "relay/owed_ends.hpp"

#include <algorithm>
#include <utility>

#include "os/clock.hpp"

namespace couplet::relay {

OwedEnds::Prepared::Prepared(std::uint32_t number, const wire::Subscribe& selection) {
  end.push_back({number, wire::encode_subscribe(selection), false});
  server.emplace_back();
}

void OwedEnds::add(Line&& line, Prepared& prepared) noexcept {
  auto server = std::find_if(servers_.begin(), servers_.end(),
                             [&line](const Server& one) { return one.line->server() == line.server(); });
  if (server == servers_.end()) {
    prepared.server.front().line.emplace(std::move(line));
    server = prepared.server.begin();
    servers_.splice(servers_.end(), prepared.server);
  }
  if (server->ends.size() == most_ends) {
    server->ends.pop_front();
  }
  server->ends.splice(server->ends.end(), prepared.end);
}

void OwedEnds::send() {
  servers_.remove_if([](const Server& server) { return server.ends.empty(); });
  for (Server& server : servers_) {
    tell(server);
  }
}

void OwedEnds::tell(Server& server) {
  static_cast<void>(server.line->connect());
  if (server.line->channel() == nullptr) {
    return;
  }
  server.unanswered.look(os::now_ns());
  for (End& end : server.ends) {
    if (!end.told) {
      wire::FrameHeader header;
      header.kind = wire::relay_frame_kind(wire::RelayKind::unsubscribe);
      header.context = end.number;
      posts_.send(*server.line->channel(), header, end.selection);
      end.told = true;
    }
  }
}

std::optional<OwedEnds::Owed> OwedEnds::owed(std::uint32_t number) const {
  for (const Server& server : servers_) {
    for (const End& end : server.ends) {
      if (end.number == number) {
        return Owed{*server.line, server.unanswered.total_ns()};
      }
    }
  }
  return std::nullopt;
}

void OwedEnds::confirmed(channel::PeerId server, std::uint32_t number) {
  for (Server& one : servers_) {
    if (one.line->server() == server) {
      one.ends.remove_if([number](const End& end) { return end.number == number; });
      one.unanswered = {};
    }
  }
}

void OwedEnds::lost(const channel::Channel& channel, const Status& why) {
  for (Server& server : servers_) {
    if (server.line->channel() == &channel) {
      server.line->lost(why);
      server.unanswered = {};
      for (End& end : server.ends) {
        end.told = false;
      }
    }
  }
}

}  // namespace couplet::relay
