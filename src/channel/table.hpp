// The channels of one process: opened when first needed, adopted when the peer has called, polled together. Above:
// message (find_or_open), universe (fail), runtime (connector); engine/channel_sources makes engine sources of it.
// Invariants: a peer never talked to costs nothing, one that is silent costs no poll; a Channel stays where it is until
// the table goes, also when it failed (a later one for the same peer is another object); callbacks of handlers may
// open, adopt, fail and shut channels; a channel that may resume and has lost its lanes asks the connector once for
// each loss. Tests: tests/unit/channel.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "channel/channel.hpp"

namespace couplet::channel {

// Makes lanes to peers; runtime knows how.
class Connector {
 public:
  virtual ~Connector() = default;
  // A lane to the peer. not_yet: it is being made and will be given to adopt() (or fail() is called). Otherwise why the
  // peer cannot be reached. Must not block.
  virtual Result<std::unique_ptr<link::Lane>> connect(PeerId peer) = 0;
  // A lane for a channel that has lost its last one because of `why` (TableOptions::resume). As connect(). Called once
  // for each loss, never from inside a channel's poll. An error, also the default answer, fails the channel.
  virtual Result<std::unique_ptr<link::Lane>> reconnect(PeerId /*peer*/, const Status& why) { return why; }
  // For sentences: "program 'nowcast' rank 0 on host a".
  [[nodiscard]] virtual std::string peer_name(PeerId peer) const = 0;
};

// Who sleeps on the descriptors of lanes.
class Watcher {
 public:
  virtual ~Watcher() = default;
  // Wake up when it is readable (and writable, where write). Again for the same descriptor: replaces.
  virtual Status watch(int descriptor, bool write) = 0;
  virtual void unwatch(int descriptor) = 0;
};

struct TableOptions {
  // If true, a channel whose last lane has broken waits for another one (Connector::reconnect), and then loses nothing.
  bool resume = false;
  // How long it waits, counted while somebody polls; UINT64_MAX: as long as nobody fails it.
  std::uint64_t patience_ns = 60'000'000'000;
  // Of all channels together: copies of frames that are not acknowledged yet.
  std::uint64_t max_retained_bytes = RetentionPool::default_max_bytes;
};

class ChannelTable {
 public:
  // All outlive the table.
  ChannelTable(Connector& connector, const Handlers& handlers, const TableOptions& options = {});
  ~ChannelTable();
  ChannelTable(const ChannelTable&) = delete;
  ChannelTable& operator=(const ChannelTable&) = delete;

  // Who takes the frames of a family; before the first channel.
  void set_handler(wire::FrameFamily family, FrameHandler& handler);
  // The channel to the peer, connected on demand; what is sent before there is a lane is queued. An error of the
  // connector is returned and nothing is kept. A failed channel is returned as it is (see forget).
  Result<Channel*> find_or_open(PeerId peer);
  // nullptr: never opened.
  [[nodiscard]] Channel* find(PeerId peer) const noexcept;
  // A lane that the peer has asked for, or that the connector promised: opens a new channel, or the one that is
  // opening. exists: there is an open one; the lane is shut.
  Result<Channel*> adopt(PeerId peer, std::unique_ptr<link::Lane> lane);
  // As adopt, for a peer that has lost its last lane before we have lost ours: an open channel that may resume goes on
  // over the new lane, and its old ones are dropped.
  Result<Channel*> replace(PeerId peer, std::unique_ptr<link::Lane> lane);
  // See Channel::take_back_lane.
  void take_back(PeerId peer);
  // One more lane for an open channel.
  Result<Channel*> add_lane(PeerId peer, std::unique_ptr<link::Lane> lane);
  // Asks for lanes for channels that have broken, and fails those that have waited for longer than the patience.
  void tick(std::uint64_t now_ns);
  // Channels that wait for a lane.
  void for_each_broken(const std::function<void(Channel&)>& visit) const;
  // Fails the channel, if there is one.
  void fail(PeerId peer, const Status& why);
  // The peer has come again: its failed channel is put aside, so that find_or_open and adopt make a new one. A channel
  // that is not failed yet is failed with `why` first.
  void forget(PeerId peer, const Status& why);
  // Shuts all in good order; then poll until settled().
  void shut() noexcept;
  // Every channel has ended or failed, and told it.
  [[nodiscard]] bool settled() const noexcept { return unsettled_ == 0; }

  // Channels over memory: poll often.
  int poll_memory(int budget) { return poll(memory_, budget); }
  [[nodiscard]] bool memory_ready() const noexcept { return ready(memory_); }
  // Channels over descriptors that have moved something lately, or want to: a system call each. The others wait for
  // poll_descriptor, and are polled now and then in tick().
  int poll_sockets(int budget) { return poll(sockets_, budget); }
  [[nodiscard]] bool sockets_ready() const noexcept { return ready(sockets_); }
  // False: poll_sockets does nothing at present.
  [[nodiscard]] bool any_socket_polled() const noexcept { return !sockets_.members.empty(); }
  // The channel whose descriptor is ready.
  int poll_descriptor(int descriptor, int budget);
  // nullptr: nobody sleeps. Told about all descriptors that there are.
  void set_watcher(Watcher* watcher);
  // In order of opening; also those that are put aside.
  void for_each(const std::function<void(Channel&)>& visit) const;

 private:
  // A descriptor of a channel, as it is watched.
  struct Watch {
    link::Lane* lane = nullptr;
    int descriptor = -1;
    bool watched = false;
    bool write = false;
  };
  // What is done about a channel that has lost its lanes.
  enum class Mending : std::uint8_t {
    no,
    wanted,    // the connector is to be asked for a lane
    asked,     // it promised one
    attached,  // there is one, and the peer has yet to answer over it
  };
  // Polled in each round: a channel leaves the group when nothing moves.
  struct Entry;
  struct Group {
    std::vector<Entry*> members;  // nullptr: it has left while the group was walked over
    bool holes = false;
  };
  struct Entry final : Attention {
    explicit Entry(ChannelTable& owner) noexcept : table(owner) {}
    void poll_wanted() noexcept override { table.enter_group(*this); }

    ChannelTable& table;
    std::unique_ptr<Channel> channel;
    std::vector<Watch> watches;
    Group* group = nullptr;
    bool over_memory = false;  // has a lane without a descriptor
    bool settled = false;
    int idle_polls = 0;
    Mending mending = Mending::no;
    std::uint64_t mending_ns = 0;  // so long it has waited
  };

  Entry& make(PeerId peer);
  void attach(Entry& entry, std::unique_ptr<link::Lane> lane);
  void enter_group(Entry& entry) noexcept;
  void leave_group(Entry& entry) noexcept;
  int poll(Group& group, int budget);
  void look_after(Entry& entry, int work);
  void after_walk();
  [[nodiscard]] bool stays_in_group(const Entry& entry) const noexcept;
  [[nodiscard]] bool ready(const Group& group) const noexcept;
  [[nodiscard]] bool watch_is_late(const Entry& entry) const noexcept;
  void renew_watches(Entry& entry);
  void drop_watches(Entry& entry, bool all);
  void close_holes(Group& group) noexcept;
  void ask_for_lanes();
  void count_patience(std::uint64_t passed_ns);
  void poll_some_idle();

  Connector& connector_;
  TableOptions options_;
  Handlers handlers_;
  RetentionPool retention_;
  Watcher* watcher_ = nullptr;
  std::vector<std::unique_ptr<Entry>> entries_;
  std::unordered_map<PeerId, Entry*> by_peer_;
  std::vector<Entry*> by_descriptor_;
  Group memory_;
  Group sockets_;
  std::vector<Entry*> mending_;
  std::size_t unsettled_ = 0;
  std::size_t next_idle_ = 0;
  std::uint64_t last_tick_ns_ = 0;
  int polling_ = 0;
  bool lanes_wanted_ = false;
  bool wish_lost_ = false;  // there was no memory to note whose poll was wanted: look at all
};

}  // namespace couplet::channel
