// relay: series that are read from another node. On the writer's node a Server maps the slots, and sends the steps of
// each subscriber's box under credit. On the reader's node, Remote takes them into local slots, from which series
// reads. runtime is above it; series (files, holds, parts), message (Channels), channel and wire are below it.
// Invariants: the writer does nothing more than for a local reader; a relay's hold carries the name of its reader, and
// ends when the reader has read the step, or has closed: each relay is told of that until one confirms it (OwedEnds); a
// torn step is never sent as whole; what is lost is reported; the readers' windows bound the memory; the only threads
// are those of couplet-relay that sleep on a writer's word.
// Formats: docs/formats/relay.md. Tests: tests/unit/relay, tests/conformance/series_relayed.cpp,
// tests/universe/test_relay.py, tests/fuzz/relay.cpp.
#pragma once

#include "channel/channel.hpp"
#include "relay/remote.hpp"
#include "relay/server.hpp"

namespace couplet::relay {

// Takes the frames of the family relay in one process. A relay has a server, a reader has a remote, and a writer that
// sends inside its own calls has both.
class Dispatch final : public channel::FrameHandler {
 public:
  // Either may be nullptr.
  Dispatch(Server* server, Remote* remote) : server_(server), remote_(remote) {}

  [[nodiscard]] std::byte* place(channel::Channel& channel, const wire::FrameHeader& header) override;
  Status arrived(channel::Channel& channel, const wire::FrameHeader& header,
                 std::span<const std::byte> payload) override;
  void unplaced(channel::Channel& channel, const wire::FrameHeader& header) override;
  void lost(channel::Channel& channel, const Status& why) override;

 private:
  Server* server_;
  Remote* remote_;
};

}  // namespace couplet::relay
