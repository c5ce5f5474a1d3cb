// Probe: says whether a message could be received, or a request has ended, without receiving or waiting.
// Tests: tests/unit/message/probe_test.cpp.
#pragma once

#include "message/message.hpp"

namespace couplet::message {

// Called while this process waits for `request`. A receive needs no channel to wait for its source: without a hub, the
// death of that source would not be noticed.
void watch_source(const Request& request, Channels& channels) noexcept;

class Probe {
 public:
  // Returns argument if a receive with this source and tag would be refused.
  [[nodiscard]] static Status check(const Group& group, std::int32_t source, std::int32_t tag);
  // Returns true if a receive that is posted now would meet a message that has begun to arrive, or would fail because
  // every possible sender is lost. `message` gets source, tag and size of the message; its count is the size in bytes.
  // After a loss it gets the requested source and tag, and no bytes. Polls nothing, and never blocks. REQUIRES: check()
  // has returned ok.
  [[nodiscard]] static bool look(Messenger& messenger, Group& group, std::int32_t source, std::int32_t tag,
                                 couplet_message& message);
  // Returns true if the request has ended.
  [[nodiscard]] static bool done(Messenger& messenger, const Request& request);
};

}  // namespace couplet::message
