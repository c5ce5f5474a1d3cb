#include "channel/table.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace couplet::channel {

ChannelTable::ChannelTable(Connector& connector, const Handlers& handlers, const TableOptions& options)
    : connector_(connector), options_(options), handlers_(handlers) {}

ChannelTable::~ChannelTable() {
  COUPLET_ASSERT(polling_ == 0);
  set_watcher(nullptr);
}

void ChannelTable::set_handler(wire::FrameFamily family, FrameHandler& handler) {
  COUPLET_ASSERT(entries_.empty());
  handlers_[static_cast<std::size_t>(family)] = &handler;
}

Channel* ChannelTable::find(PeerId peer) const noexcept {
  const auto found = by_peer_.find(peer);
  return found == by_peer_.end() ? nullptr : found->second->channel.get();
}

ChannelTable::Entry& ChannelTable::make(PeerId peer) {
  auto& entry = entries_.emplace_back(std::make_unique<Entry>());
  entry->channel = std::make_unique<Channel>(peer, connector_.peer_name(peer), handlers_);
  by_peer_[peer] = entry.get();
  return *entry;
}

void ChannelTable::attach(Entry& entry, std::unique_ptr<link::Lane> lane) {
  entry.descriptor = lane->descriptor();
  entry.channel->attach(std::move(lane));
  if (entry.descriptor >= 0) {
    if (const auto place = std::find(memory_.begin(), memory_.end(), &entry); place != memory_.end()) {
      *place = nullptr;  // it was opening; poll may be walking over the group
    }
    sockets_.push_back(&entry);
    renew_watch(entry);
  } else if (std::find(memory_.begin(), memory_.end(), &entry) == memory_.end()) {
    memory_.push_back(&entry);
  }
  sweep(memory_);
}

Result<Channel*> ChannelTable::find_or_open(PeerId peer) {
  if (Channel* const channel = find(peer)) {
    return channel;
  }
  auto lane = connector_.connect(peer);
  if (Channel* const channel = find(peer)) {  // adopted while we were connecting
    if (lane.ok()) {
      (*lane)->shut();
    }
    return channel;
  }
  if (!lane.ok() && lane.code() != Code::not_yet) {
    return lane.status();
  }
  Entry& entry = make(peer);
  if (lane.ok()) {
    attach(entry, std::move(*lane));
  } else {
    memory_.push_back(&entry);
  }
  return entry.channel.get();
}

Result<Channel*> ChannelTable::adopt(PeerId peer, std::unique_ptr<link::Lane> lane) {
  const auto found = by_peer_.find(peer);
  if (found == by_peer_.end()) {
    Entry& entry = make(peer);
    attach(entry, std::move(lane));
    return entry.channel.get();
  }
  Channel& channel = *found->second->channel;
  if (channel.state() != ChannelState::opening) {
    lane->shut();
    return couplet::fail(Code::exists, "{} has a channel already", channel.peer_name());
  }
  attach(*found->second, std::move(lane));
  return &channel;
}

Result<Channel*> ChannelTable::replace(PeerId peer, std::unique_ptr<link::Lane> lane) {
  return adopt(peer, std::move(lane));
}

Result<Channel*> ChannelTable::add_lane(PeerId peer, std::unique_ptr<link::Lane> lane) {
  return adopt(peer, std::move(lane));
}

void ChannelTable::tick(std::uint64_t /*now_ns*/) {}

void ChannelTable::for_each_broken(const std::function<void(Channel&)>& /*visit*/) const {}

int ChannelTable::poll_descriptor(int /*descriptor*/, int budget) {
  return poll(sockets_, budget);
}

void ChannelTable::fail(PeerId peer, const Status& why) {
  if (Channel* const channel = find(peer)) {
    channel->fail(why);
  }
}

void ChannelTable::forget(PeerId peer, const Status& why) {
  fail(peer, why);
  by_peer_.erase(peer);
}

void ChannelTable::shut() noexcept {
  for (std::size_t index = 0; index < entries_.size(); ++index) {
    Channel& channel = *entries_[index]->channel;
    if (channel.state() == ChannelState::opening && !channel.sending()) {
      channel.fail({Code::end, fmt::format("the connection to {} was not needed any more", channel.peer_name())});
    } else {
      channel.shut();
    }
  }
}

// Entries may be added, and taken out (as nullptr), while this walks.
int ChannelTable::poll(Group& group, int budget) {
  ++polling_;
  int work = 0;
  bool settled = false;
  for (std::size_t index = 0; index < group.size(); ++index) {
    Entry* const entry = group[index];
    if (entry == nullptr) {
      continue;
    }
    work += entry->channel->poll(budget);
    if (entry->channel->settled()) [[unlikely]] {
      settled = true;
    } else if (entry->descriptor >= 0 && watch_is_late(*entry)) {
      renew_watch(*entry);
    }
  }
  --polling_;
  if (settled) {
    sweep(group);
  }
  return work;
}

// Takes settled channels out and closes their lanes.
void ChannelTable::sweep(Group& group) {
  if (polling_ > 0) {
    return;
  }
  std::erase_if(group, [this](Entry* entry) {
    if (entry != nullptr && entry->channel->settled()) {
      drop_watch(*entry);
      entry->channel->release_lanes();
      entry = nullptr;
    }
    return entry == nullptr;
  });
}

bool ChannelTable::ready(const Group& group) const noexcept {
  return std::any_of(group.begin(), group.end(), [this](const Entry* entry) {
    return entry != nullptr && (entry->channel->ready() || (entry->descriptor >= 0 && watch_is_late(*entry)));
  });
}

// Watching descriptors.

bool ChannelTable::watch_is_late(const Entry& entry) const noexcept {
  return watcher_ != nullptr && entry.watched && entry.watched_write != entry.channel->lanes().front()->want_write();
}

void ChannelTable::renew_watch(Entry& entry) {
  if (watcher_ == nullptr) {
    return;
  }
  const bool write = entry.channel->lanes().front()->want_write();
  const Status status = watcher_->watch(entry.descriptor, write);
  entry.watched = status.ok();
  entry.watched_write = write;
  if (status.error()) {
    entry.channel->fail(status.within(fmt::format("{}: cannot wait for the connection", entry.channel->peer_name())));
  }
}

void ChannelTable::drop_watch(Entry& entry) {
  if (entry.watched && watcher_ != nullptr) {
    watcher_->unwatch(entry.descriptor);
  }
  entry.watched = false;
  entry.descriptor = -1;
}

void ChannelTable::set_watcher(Watcher* watcher) {
  for (Entry* const entry : sockets_) {
    if (entry != nullptr && entry->watched && watcher_ != nullptr) {
      watcher_->unwatch(entry->descriptor);
      entry->watched = false;
    }
  }
  watcher_ = watcher;
  for (Entry* const entry : sockets_) {
    if (entry != nullptr && entry->descriptor >= 0) {
      renew_watch(*entry);
    }
  }
}

void ChannelTable::for_each(const std::function<void(Channel&)>& visit) const {
  for (const auto& entry : entries_) {
    visit(*entry->channel);
  }
}

}  // namespace couplet::channel
