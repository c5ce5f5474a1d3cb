// The reader's side: subscribes to writers on other nodes, and takes what their relays send into local slots.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "channel/channel.hpp"
#include "message/message.hpp"
#include "relay/local_slots.hpp"
#include "relay/owed_ends.hpp"
#include "relay/posts.hpp"
#include "series/part.hpp"
#include "wire/relay_messages.hpp"

namespace couplet::relay {

class RemotePart;

struct RemoteOptions {
  bool in_calls = false;  // writers send in their own calls: the reader asks them, and not a relay
  std::uint64_t buffer_bytes = std::uint64_t{256} << 20;
  // How long readers wait for another relay before they are told, if nothing is known that would start one.
  std::uint64_t patience_ns = 2'000'000'000;
  // How long they wait if the writer lives and starts another relay (relay = auto). It counts if it is longer.
  std::uint64_t restart_patience_ns = 0;
};

class Remote {
 public:
  // All arguments outlive this object, which outlives its parts. The channels end before it.
  Remote(series::Environment& environment, message::Channels& channels, const RemoteOptions& options);
  ~Remote();
  Remote(const Remote&) = delete;
  Remote& operator=(const Remote&) = delete;

  // Begins to open a part, as Environment::open_part; Part::finish_opening() then waits for the relay's answer. Returns
  // timeout if the relay has not come; unsupported if there will be none; limit if buffer_bytes cannot hold a step.
  Result<std::unique_ptr<series::Part>> open_part(const universe::SeriesRecord& record, std::size_t part,
                                                  const series::PartSelection& selection, std::uint64_t deadline_ns);

  // Handles the frames of relays.
  [[nodiscard]] std::byte* place(channel::Channel& channel, const wire::FrameHeader& header);
  Status arrived(channel::Channel& channel, const wire::FrameHeader& header, std::span<const std::byte> payload);
  void unplaced(const wire::FrameHeader& header);
  void lost(channel::Channel& channel, const Status& why);

  // Tells relays that have come meanwhile which holds have ended. Never blocks. To be called now and then.
  void send_owed_ends() { owed_ends_.send(); }

 private:
  friend class RemotePart;

  // Returns the process that serves this part.
  Result<channel::PeerId> server_of(const universe::SeriesRecord& record, std::size_t part, std::uint64_t deadline_ns);
  [[nodiscard]] std::uint64_t slots_for(const universe::SeriesRecord& record,
                                        const series::PartSelection& selection) const;

  series::Environment& environment_;
  message::Channels& channels_;
  RemoteOptions options_;
  std::map<std::uint32_t, RemotePart*> parts_;
  std::uint32_t next_number_ = 1;
  Posts posts_;
  OwedEnds owed_ends_{posts_};
  std::list<FilledSlots::Left> left_;
};

}  // namespace couplet::relay
