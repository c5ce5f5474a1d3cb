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
#include "series/part.hpp"
#include "wire/relay_messages.hpp"

namespace couplet::relay {

class RemotePart;

struct RemoteOptions {
  bool in_calls = false;  // writers send themselves: they are asked, and no relay
  std::uint64_t buffer_bytes = std::uint64_t{256} << 20;
  // The time for a lost relay to return before the readers are told.
  std::uint64_t patience_ns = 2'000'000'000;
};

class Remote {
 public:
  // All arguments outlive this object, which outlives its parts. The channels end before it.
  Remote(series::Environment& environment, message::Channels& channels, const RemoteOptions& options);
  ~Remote();
  Remote(const Remote&) = delete;
  Remote& operator=(const Remote&) = delete;

  // Opens a part, as Environment::open_part: waits for the relay and its answer. Returns timeout if neither came;
  // unsupported if there will be no relay; limit if buffer_bytes cannot hold a step; or the relay's answer.
  Result<std::unique_ptr<series::Part>> open_part(const universe::SeriesRecord& record, std::size_t part,
                                                  const series::PartWish& wish, std::uint64_t deadline_ns);

  // Handles the frames of relays.
  [[nodiscard]] std::byte* place(channel::Channel& channel, const wire::FrameHeader& header);
  Status arrived(channel::Channel& channel, const wire::FrameHeader& header, std::span<const std::byte> payload);
  void lost(channel::Channel& channel, const Status& why);

 private:
  friend class RemotePart;
  struct Post {  // a frame that is being sent
    channel::Outgoing outgoing;
    std::vector<std::byte> payload;
    Remote* remote = nullptr;
    std::list<Post>::iterator place;
  };

  // Returns the process that serves this part.
  Result<channel::PeerId> server_of(const universe::SeriesRecord& record, std::size_t part, std::uint64_t deadline_ns);
  [[nodiscard]] std::uint64_t slots_for(const universe::SeriesRecord& record, const series::PartWish& wish) const;
  void post(channel::Channel& channel, const wire::FrameHeader& header, std::vector<std::byte> payload = {});

  series::Environment& environment_;
  message::Channels& channels_;
  RemoteOptions options_;
  std::map<std::uint32_t, RemotePart*> parts_;
  std::uint32_t next_number_ = 1;
  std::list<Post> posts_;
};

}  // namespace couplet::relay
