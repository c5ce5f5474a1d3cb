// The channel to a server of series, which may be lost and return.
#pragma once

#include <cstdint>

#include "base/status.hpp"
#include "channel/channel.hpp"
#include "message/message.hpp"

namespace couplet::relay {

class Line {
 public:
  // Gives up `patience_ns` after the server was lost.
  Line(message::Channels& channels, channel::PeerId server, std::uint64_t patience_ns)
      : channels_(channels), server_(server), patience_ns_(patience_ns) {}

  [[nodiscard]] channel::PeerId server() const noexcept { return server_; }
  // Returns nullptr if it is not connected.
  [[nodiscard]] channel::Channel* channel() const noexcept { return channel_; }
  // If there is no channel, tries to get one, at most every 20 ms. Returns true if there is a new one, over which to
  // ask. Never blocks.
  bool connect();
  void lost(const Status& why);
  // The server has answered: patience starts again with the next loss.
  void answered() noexcept { lost_since_ns_ = 0; }
  // Returns true if the server was lost for too long, or cannot be reached.
  [[nodiscard]] bool given_up() const;
  // Returns the reason of the last loss.
  [[nodiscard]] const Status& why() const noexcept { return why_; }

 private:
  message::Channels& channels_;
  channel::PeerId server_;
  std::uint64_t patience_ns_;
  channel::Channel* channel_ = nullptr;
  std::uint64_t lost_since_ns_ = 0;  // 0: it is not lost
  std::uint64_t next_try_ns_ = 0;
  Status why_;
};

}  // namespace couplet::relay
