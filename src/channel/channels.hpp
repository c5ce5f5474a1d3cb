// How the layers above find the channels to their peers: connections/ in a universe, a table of channels in tests.
#pragma once

#include <string>

#include "base/status.hpp"
#include "channel/channel.hpp"

namespace couplet::channel {

class Channels {
 public:
  virtual ~Channels() = default;
  // Returns the channel to `peer`, which is opened on first use. Never blocks: frames may be queued while it opens. The
  // channel is valid until it has failed.
  [[nodiscard]] virtual Result<Channel*> channel_to(PeerId peer) = 0;
  // Called while this process waits for a message from `peer`, to which it may have no channel. If nobody else would
  // tell it that the peer has died, a channel is opened, so that the death is noticed.
  virtual void waits_for(PeerId /*peer*/) noexcept {}
  // Tells the layers above which peers that were lost are known to be back. They are told anyway, but less often.
  virtual void look_for_returned() {}
  // Returns, for example, "program 'ocean' rank 1 (universe rank 1) on host n03".
  [[nodiscard]] virtual std::string peer_name(PeerId peer) const = 0;
};

}  // namespace couplet::channel
