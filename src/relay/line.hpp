// The channel to a server of series, which may be lost and return.
#pragma once

#include <cstdint>
#include <string>

#include "base/retry.hpp"
#include "base/status.hpp"
#include "channel/channel.hpp"
#include "message/message.hpp"

namespace couplet::relay {

class Line {
 public:
  Line(message::Channels& channels, channel::PeerId server) : channels_(channels), server_(server) {}

  [[nodiscard]] channel::PeerId server() const noexcept { return server_; }
  // Returns nullptr if it is not connected.
  [[nodiscard]] channel::Channel* channel() const noexcept { return channel_; }
  // If there is no channel, tries to get one, at most every 20 ms. Returns true if there is a new one: requests must
  // then be sent again. Never blocks.
  bool connect();
  void lost(const Status& why);
  // Returns for how long connect() has found no server. It counts only time in which the process has looked, since the
  // server may have returned while the process computed. It begins anew with each channel, since servers that come and
  // die one after the other show that another one comes.
  [[nodiscard]] std::uint64_t missed_ns() const noexcept { return channel_ == nullptr ? missed_.total_ns() : 0; }
  // Returns true if the server cannot be reached, however long this process waits.
  [[nodiscard]] bool hopeless() const noexcept { return channel_ == nullptr && why_.code() == Code::unsupported; }
  // Says why there is no channel, and for how long this process has looked for a server.
  [[nodiscard]] std::string missing() const;
  // Returns the reason of the last loss.
  [[nodiscard]] const Status& why() const noexcept { return why_; }

 private:
  message::Channels& channels_;
  channel::PeerId server_;
  channel::Channel* channel_ = nullptr;
  LookedTime missed_;  // since the last channel was lost
  std::uint64_t next_try_ns_ = 0;
  Status why_;
};

}  // namespace couplet::relay
