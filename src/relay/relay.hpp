// relay: series, read from another node. On the writer's node a Server maps the slots and pushes the steps of each
// subscriber's box, under credit; on the reader's node Remote takes them into local slots, from which series reads.
// Above: runtime. Below: series (files, holds, parts), message (Channels), channel, wire.
// Invariants: the writer does nothing more than for a local reader; a relay's hold carries the name of its reader, and ends
// when that has read the step; a torn step is never pushed as whole; what is lost is told; memory is bounded by the readers'
// windows; no thread but those of couplet-relay that sleep on a writer's word. Formats: docs/formats/relay.md.
// Tests: tests/unit/relay, tests/conformance/series_relayed.cpp, tests/universe/test_relay.py, tests/fuzz/relay.cpp.
#pragma once

#include "channel/channel.hpp"
#include "relay/remote.hpp"
#include "relay/server.hpp"

namespace couplet::relay {

// Takes the frames of family relay in one process: a relay has a server, a reader a remote, and a writer that pushes inside
// its own calls both.
class Dispatch final : public channel::FrameHandler {
 public:
  // Either may be nullptr.
  Dispatch(Server* server, Remote* remote) : server_(server), remote_(remote) {}

  [[nodiscard]] std::byte* place(channel::Channel& channel, const wire::FrameHeader& header) override;
  Status arrived(channel::Channel& channel, const wire::FrameHeader& header,
                 std::span<const std::byte> payload) override;
  void lost(channel::Channel& channel, const Status& why) override;

 private:
  Server* server_;
  Remote* remote_;
};

}  // namespace couplet::relay
