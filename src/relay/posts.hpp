// Frames with memory of their own, which are sent as soon as their channel has room.
#pragma once

#include <list>
#include <vector>

#include "channel/channel.hpp"

namespace couplet::relay {

class Posts {
 public:
  Posts() = default;
  Posts(const Posts&) = delete;
  Posts& operator=(const Posts&) = delete;

  // The frame is dropped if the channel is lost. The channel ends before this object.
  void send(channel::Channel& channel, const wire::FrameHeader& header, std::vector<std::byte> payload = {});

 private:
  struct Post {
    channel::Outgoing outgoing;
    std::vector<std::byte> payload;
    Posts* posts = nullptr;
    std::list<Post>::iterator place;
  };
  std::list<Post> posts_;
};

}  // namespace couplet::relay
