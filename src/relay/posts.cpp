#include "relay/posts.hpp"

#include <iterator>
#include <utility>

namespace couplet::relay {

void Posts::send(channel::Channel& channel, const wire::FrameHeader& header, std::vector<std::byte> payload) {
  wire::FrameHeader copy = header;
  if (channel.try_send(copy, payload)) {
    return;
  }
  posts_.emplace_back();
  const auto place = std::prev(posts_.end());
  place->payload = std::move(payload);
  place->posts = this;
  place->place = place;
  place->outgoing.header = header;
  place->outgoing.payload = place->payload;
  place->outgoing.owner = &*place;
  place->outgoing.finished = [](channel::Outgoing& outgoing, const Status&) {
    const auto* const post = static_cast<Post*>(outgoing.owner);
    post->posts->posts_.erase(post->place);
  };
  channel.send(place->outgoing);
}

}  // namespace couplet::relay
