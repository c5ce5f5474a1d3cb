#include "channel/table.hpp"

#include <sodium.h>

#include <algorithm>
#include <new>
#include <utility>

#include "base/assert.hpp"
#include "base/scope_count.hpp"

namespace couplet::channel {
namespace {

// A channel over descriptors over which nothing has moved in so many polls is polled only when its descriptor is ready.
constexpr int max_idle_polls = 64;
// So many of those channels are polled in each tick, because a lane may have to notice that its peer's system no longer
// answers.
constexpr std::size_t idle_polls_per_tick = 32;
constexpr int idle_poll_budget = 16;
constexpr int max_polls_of_the_rest = 1024;
// If the time between two ticks is longer than this, the process was not waiting for the peer, and only so much counts.
constexpr std::uint64_t longest_counted_ns = 1'000'000'000;

[[nodiscard]] std::uint64_t new_session() {
  std::uint64_t session = 0;
  while (session == 0) {
    randombytes_buf(&session, sizeof session);
  }
  return session;
}

}  // namespace

ChannelTable::ChannelTable(Connector& connector, const Handlers& handlers, const TableOptions& options)
    : connector_(connector), options_(options), handlers_(handlers), retention_(options.max_retained_bytes) {
  COUPLET_ASSERT(sodium_init() >= 0);
}

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
  auto entry = std::make_unique<Entry>(*this);
  entry->channel = std::make_unique<Channel>(peer, connector_.peer_name(peer), handlers_,
                                             ChannelOptions{.session = options_.resume ? new_session() : 0,
                                                            .policy = options_.policy,
                                                            .retention = &retention_,
                                                            .attention = entry.get()});
  entries_.push_back(std::move(entry));
  try {
    by_peer_[peer] = entries_.back().get();
  } catch (...) {
    entries_.pop_back();
    throw;
  }
  ++unsettled_;
  return *entries_.back();
}

void ChannelTable::attach(Entry& entry, std::unique_ptr<link::Lane> lane) {
  link::Lane& added = *lane;
  const int descriptor = lane->descriptor();
  drop_watches(entry, false);
  if (descriptor >= 0) {
    if (by_descriptor_.size() <= static_cast<std::size_t>(descriptor)) {
      by_descriptor_.resize(static_cast<std::size_t>(descriptor) + 1);
    }
    entry.watches.reserve(entry.watches.size() + 1);
  }
  entry.channel->attach(std::move(lane));
  const auto& lanes = entry.channel->lanes();
  if (std::none_of(lanes.begin(), lanes.end(), [&added](const auto& own) { return own.get() == &added; })) {
    return;  // the channel has not taken the lane
  }
  if (entry.mending != Mending::no) {
    entry.mending = Mending::attached;
  }
  if (descriptor < 0) {
    entry.over_memory = true;
  } else {
    by_descriptor_[static_cast<std::size_t>(descriptor)] = &entry;
    entry.watches.push_back({.lane = &added, .descriptor = descriptor});
    renew_watches(entry);
  }
  leave_group(entry);  // the entry may belong to the other group now
  enter_group(entry);
}

Result<Channel*> ChannelTable::find_or_open(PeerId peer) {
  if (Channel* const channel = find(peer)) {
    return channel;
  }
  auto lane = connector_.connect(peer);
  if (Channel* const channel = find(peer)) {  // it was adopted inside connect()
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
  }
  return entry.channel.get();
}

Result<Channel*> ChannelTable::adopt(PeerId peer, std::unique_ptr<link::Lane> lane) {
  const auto found = by_peer_.find(peer);
  if (found == by_peer_.end()) {
    Entry& entry = make(peer);
    attach(entry, std::move(lane));
    if (shut_) {
      entry.channel->shut();  // the peer dialed while this process was ending, and is owed a goodbye
    }
    return entry.channel.get();
  }
  Channel& channel = *found->second->channel;
  if (channel.state() == ChannelState::failed) {
    channel.attach(std::move(lane));  // a peer that resumes the channel is told that it has failed
    return couplet::fail(Code::state, "the channel to {} has failed: {}", channel.peer_name(),
                         channel.failure().text());
  }
  if (channel.state() == ChannelState::open) {
    lane->shut();
    return couplet::fail(Code::exists, "{} has a channel already", channel.peer_name());
  }
  attach(*found->second, std::move(lane));
  return &channel;
}

Result<Channel*> ChannelTable::replace(PeerId peer, std::unique_ptr<link::Lane> lane) {
  const auto found = by_peer_.find(peer);
  if (found != by_peer_.end() && found->second->channel->may_resume()) {
    Channel& channel = *found->second->channel;
    // What has arrived is taken first: the peer may not make a call soon, and could not send it again.
    for (int round = 0; round < max_polls_of_the_rest && channel.state() == ChannelState::open; ++round) {
      if (channel.poll(idle_poll_budget) == 0) {
        break;
      }
    }
    channel.break_lanes({Code::peer_lost, "the peer has lost this lane and made another one"});
  }
  return adopt(peer, std::move(lane));
}

void ChannelTable::take_back(PeerId peer) {
  Entry& entry = *by_peer_.at(peer);
  drop_watches(entry, true);
  leave_group(entry);
  entry.over_memory = false;
  entry.channel->take_back_lane();
}

Result<Channel*> ChannelTable::add_lane(PeerId peer, std::unique_ptr<link::Lane> lane) {
  const auto found = by_peer_.find(peer);
  if (found != by_peer_.end() && found->second->channel->may_resume() &&
      found->second->channel->state() == ChannelState::open) {
    attach(*found->second, std::move(lane));
    return found->second->channel.get();
  }
  return adopt(peer, std::move(lane));
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
  shut_ = true;
  for (std::size_t index = 0; index < entries_.size(); ++index) {
    Channel& channel = *entries_[index]->channel;
    if (channel.state() == ChannelState::opening && !channel.sending()) {
      channel.fail({Code::end, fmt::format("the connection to {} is no longer needed", channel.peer_name())});
    } else {
      channel.shut();
    }
  }
}

// ---- polling --------------------------------------------------------------------------------------------------------

// Channels over memory are always polled. A channel over descriptors is polled while something moves over it, and
// always if nothing can wake this process for it.
bool ChannelTable::stays_in_group(const Entry& entry) const noexcept {
  if (entry.over_memory && entry.channel->state() == ChannelState::open) {
    return true;
  }
  const bool woken = watcher_ != nullptr && std::all_of(entry.watches.begin(), entry.watches.end(),
                                                        [](const Watch& watch) { return watch.watched; });
  return (!woken && !entry.watches.empty()) || entry.idle_polls < max_idle_polls || watch_is_late(entry) ||
         entry.channel->ready();
}

void ChannelTable::enter_group(Entry& entry) noexcept {
  entry.idle_polls = 0;
  if (entry.group != nullptr || entry.settled) {
    return;
  }
  Group& group = entry.over_memory || entry.watches.empty() ? memory_ : sockets_;
  try {
    group.members.push_back(&entry);
    entry.group = &group;
  } catch (const std::bad_alloc&) {
    pending_.move_lost = true;
  }
}

void ChannelTable::leave_group(Entry& entry) noexcept {
  Group* const group = std::exchange(entry.group, nullptr);
  if (group == nullptr) {
    return;
  }
  *std::find(group->members.begin(), group->members.end(), &entry) = nullptr;
  group->holes = true;
  close_holes(*group);
}

void ChannelTable::close_holes(Group& group) noexcept {
  if (group.holes && polling_ == 0) {
    std::erase(group.members, nullptr);
    group.holes = false;
  }
}

// While this runs, entries may be added, and may be taken out (they become nullptr).
int ChannelTable::poll(Group& group, int budget) {
  int work = 0;
  {
    const ScopeCount walk(polling_);
    for (std::size_t index = 0; index < group.members.size(); ++index) {
      Entry* const entry = group.members[index];
      if (entry == nullptr) {
        continue;
      }
      const Channel& channel = *entry->channel;
      const int done = entry->channel->poll(budget);
      work += done;
      const bool only_memory = entry->over_memory && entry->watches.empty();
      if (!only_memory || channel.state() != ChannelState::open || channel.has_lost_lanes()) [[unlikely]] {
        look_after(*entry, done);
      }
    }
  }
  after_walk();
  return work;
}

int ChannelTable::poll_descriptor(int descriptor, int budget) {
  const auto index = static_cast<std::size_t>(descriptor);
  Entry* const entry = index < by_descriptor_.size() ? by_descriptor_[index] : nullptr;
  if (entry == nullptr) {
    return 0;
  }
  int work = 0;
  {
    const ScopeCount walk(polling_);
    enter_group(*entry);
    work = entry->channel->poll(budget);
    look_after(*entry, work);
  }
  after_walk();
  return work;
}

void ChannelTable::after_walk() {
  if (polling_ > 0) {
    return;
  }
  close_holes(memory_);
  close_holes(sockets_);
  if (pending_.move_lost) [[unlikely]] {
    pending_.move_lost = false;
    for (const auto& entry : entries_) {
      enter_group(*entry);
    }
  }
  if (pending_.lanes_wanted) [[unlikely]] {
    ask_for_lanes();
  }
}

// Called after each poll of a channel: notes whether it has settled or broken, updates the watches of its descriptors,
// and decides whether it is polled further.
void ChannelTable::look_after(Entry& entry, int work) {
  Channel& channel = *entry.channel;
  if (channel.settled()) [[unlikely]] {
    if (!entry.settled) {
      entry.settled = true;
      --unsettled_;
      drop_watches(entry, true);
      channel.release_lanes();
      leave_group(entry);
    }
    return;
  }
  if (channel.has_lost_lanes()) [[unlikely]] {
    drop_watches(entry, false);
    channel.release_lanes();
    entry.over_memory = std::any_of(channel.lanes().begin(), channel.lanes().end(),
                                    [](const auto& lane) { return lane->descriptor() < 0; });
  }
  if (channel.state() == ChannelState::broken && (entry.mending == Mending::no || entry.mending == Mending::attached)) {
    if (entry.mending == Mending::no) {
      mending_.push_back(&entry);
    }
    entry.mending = Mending::wanted;
    pending_.lanes_wanted = true;
  }
  if (watch_is_late(entry)) {
    renew_watches(entry);
  }
  entry.idle_polls = work > 0 ? 0 : entry.idle_polls + 1;
  if (entry.idle_polls >= max_idle_polls && !stays_in_group(entry)) {
    leave_group(entry);
    channel.acknowledge();  // puts it into the group again if there is something to send
  }
}

bool ChannelTable::ready(const Group& group) const noexcept {
  return std::any_of(group.members.begin(), group.members.end(), [this](const Entry* entry) {
    return entry != nullptr && (entry->channel->ready() || watch_is_late(*entry));
  });
}

// ---- broken channels ------------------------------------------------------------------------------------------------

void ChannelTable::ask_for_lanes() {
  pending_.lanes_wanted = false;
  for (std::size_t index = 0; index < mending_.size(); ++index) {  // the list may grow meanwhile
    Entry& entry = *mending_[index];
    if (entry.mending != Mending::wanted) {
      continue;
    }
    entry.mending = Mending::asked;
    Channel& channel = *entry.channel;
    if (channel.state() != ChannelState::broken) {
      continue;
    }
    auto lane = connector_.reconnect(channel.peer(), channel.broken_why());
    if (lane.ok() && channel.state() == ChannelState::broken) {
      attach(entry, std::move(*lane));
    } else if (lane.ok()) {
      (*lane)->shut();
    } else if (lane.code() != Code::not_yet) {
      channel.fail(lane.status());
    }
  }
}

void ChannelTable::count_patience(std::uint64_t passed_ns) {
  for (Entry* const entry : mending_) {
    Channel& channel = *entry->channel;
    const bool waits = channel.state() == ChannelState::broken || channel.resuming();
    if (!waits) {
      entry->mending = Mending::no;
      entry->mending_ns = 0;
      continue;
    }
    entry->mending_ns += passed_ns;
    if (entry->mending_ns >= options_.patience_ns) {
      channel.fail(couplet::fail(Code::peer_lost, "{}: no new connection within {:.3g} s: {}", channel.peer_name(),
                                 static_cast<double>(options_.patience_ns) * 1e-9, channel.broken_why().text()));
    }
  }
  std::erase_if(mending_, [](const Entry* entry) { return entry->mending == Mending::no; });
}

void ChannelTable::for_each_broken(const std::function<void(Channel&)>& visit) const {
  for (std::size_t index = 0; index < mending_.size(); ++index) {
    if (mending_[index]->channel->state() == ChannelState::broken) {
      visit(*mending_[index]->channel);
    }
  }
}

void ChannelTable::tick(std::uint64_t now_ns) {
  const std::uint64_t passed_ns = last_tick_ns_ == 0 ? 0 : std::min(now_ns - last_tick_ns_, longest_counted_ns);
  last_tick_ns_ = now_ns;
  if (polling_ > 0) {
    return;
  }
  count_patience(passed_ns);
  for (Group* const group : {&memory_, &sockets_}) {
    for (std::size_t index = 0; index < group->members.size(); ++index) {
      if (Entry* const entry = group->members[index]) {
        entry->channel->acknowledge();
      }
    }
  }
  poll_some_idle();
  after_walk();
}

void ChannelTable::poll_some_idle() {
  const ScopeCount walk(polling_);
  for (std::size_t looked = 0; looked < std::min(idle_polls_per_tick, entries_.size()); ++looked) {
    next_idle_ = next_idle_ + 1 < entries_.size() ? next_idle_ + 1 : 0;
    Entry& entry = *entries_[next_idle_];
    if (entry.group == nullptr && !entry.settled && !entry.watches.empty()) {
      const int work = entry.channel->poll(idle_poll_budget);
      if (work > 0) {
        enter_group(entry);
      }
      look_after(entry, work);
    }
  }
}

// ---- watching descriptors -------------------------------------------------------------------------------------------

bool ChannelTable::watch_is_late(const Entry& entry) const noexcept {
  return watcher_ != nullptr && std::any_of(entry.watches.begin(), entry.watches.end(), [](const Watch& watch) {
           return watch.watched && watch.write != watch.lane->want_write();
         });
}

void ChannelTable::renew_watches(Entry& entry) {
  if (watcher_ == nullptr) {
    return;
  }
  for (Watch& watch : entry.watches) {
    const bool write = watch.lane->want_write();
    if (watch.watched && watch.write == write) {
      continue;
    }
    const Status status = watcher_->watch(watch.descriptor, write);
    watch.watched = status.ok();
    watch.write = write;
    if (status.error()) {
      entry.channel->fail(status.within(fmt::format("{}: cannot wait for the connection", entry.channel->peer_name())));
    }
  }
}

// all: drops all watches; otherwise only those of lanes that have broken.
void ChannelTable::drop_watches(Entry& entry, bool all) {
  std::erase_if(entry.watches, [&](const Watch& watch) {
    const auto& slots = entry.channel->sender().slots();
    const bool lives = std::any_of(slots.begin(), slots.end(), [&watch](const auto& slot) {
      return slot->lane == watch.lane && slot->stage != LaneStage::lost;
    });
    if (lives && !all) {
      return false;
    }
    if (watch.watched && watcher_ != nullptr) {
      watcher_->unwatch(watch.descriptor);
    }
    if (by_descriptor_[static_cast<std::size_t>(watch.descriptor)] == &entry) {
      by_descriptor_[static_cast<std::size_t>(watch.descriptor)] = nullptr;
    }
    return true;
  });
}

void ChannelTable::set_watcher(Watcher* watcher) {
  for (const auto& entry : entries_) {
    for (Watch& watch : entry->watches) {
      if (watch.watched && watcher_ != nullptr) {
        watcher_->unwatch(watch.descriptor);
        watch.watched = false;
      }
    }
  }
  watcher_ = watcher;
  for (std::size_t index = 0; index < entries_.size(); ++index) {
    if (!entries_[index]->watches.empty()) {
      renew_watches(*entries_[index]);
      enter_group(*entries_[index]);
    }
  }
}

void ChannelTable::for_each(const std::function<void(Channel&)>& visit) const {
  for (const auto& entry : entries_) {
    visit(*entry->channel);
  }
}

}  // namespace couplet::channel
