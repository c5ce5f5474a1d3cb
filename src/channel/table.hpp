// The channels of one process: opened when they are first needed, or adopted when the peer has dialed; polled together.
// Above: message (find_or_open), universe (fail), runtime (connector); engine/channel_sources makes engine sources of
// it. Invariants: a peer without a channel costs nothing, and a silent one costs no poll; a Channel keeps its address
// until the table is destroyed, even if it has failed (a later channel to the same peer is another object); callbacks
// of handlers may open, adopt, fail and shut channels; if a channel that may resume has lost its lanes, the connector
// is asked once for each loss. Tests: tests/unit/channel.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "channel/channel.hpp"

namespace couplet::channel {

// Makes lanes to peers. connections/ implements it.
class Connector {
 public:
  virtual ~Connector() = default;
  // Returns a lane to the peer. not_yet: the lane is being made, and will be given to adopt() (or fail() is called).
  // Any other error says why the peer cannot be reached. Must not block.
  virtual Result<std::unique_ptr<link::Lane>> connect(PeerId peer) = 0;
  // Returns a lane for a channel that has lost its last one because of `why` (TableOptions::resume), or not_yet, as
  // connect() does. Called once for each loss, never from inside a channel's poll. Any other error fails the channel;
  // the default answer does so.
  virtual Result<std::unique_ptr<link::Lane>> reconnect(PeerId /*peer*/, const Status& why) { return why; }
  // Returns the peer's name for texts, such as "program 'nowcast' rank 0 on host a".
  [[nodiscard]] virtual std::string peer_name(PeerId peer) const = 0;
};

// Lets a process that sleeps be woken by the descriptors of lanes.
class Watcher {
 public:
  virtual ~Watcher() = default;
  // Wakes the process when the descriptor can be read and, if `write` is true, written. Replaces an earlier watch of
  // it.
  virtual Status watch(int descriptor, bool write) = 0;
  virtual void unwatch(int descriptor) = 0;
};

struct TableOptions {
  // If true, a channel whose last lane has broken waits for another one (Connector::reconnect), and then loses nothing.
  bool resume = false;
  // How long it waits, counted while the table is polled. UINT64_MAX: until the channel is failed.
  std::uint64_t patience_ns = 60'000'000'000;
  // Bounds the copies of unacknowledged frames of all channels together.
  std::uint64_t max_retained_bytes = RetentionPool::default_max_bytes;
  LanePolicy policy;  // each channel has it
};

class ChannelTable {
 public:
  // All arguments outlive the table.
  ChannelTable(Connector& connector, const Handlers& handlers, const TableOptions& options = {});
  ~ChannelTable();
  ChannelTable(const ChannelTable&) = delete;
  ChannelTable& operator=(const ChannelTable&) = delete;

  // Sets the handler of a family's frames. REQUIRES: there is no channel yet.
  void set_handler(wire::FrameFamily family, FrameHandler& handler);
  // Returns the channel to the peer, which is opened if there is none. What is sent before there is a lane is queued.
  // If the connector answers an error, it is returned, and no channel is kept. A failed channel is returned as it is
  // (see forget).
  Result<Channel*> find_or_open(PeerId peer);
  // Returns nullptr if there is no channel to the peer.
  [[nodiscard]] Channel* find(PeerId peer) const noexcept;
  // Takes a lane that the peer has dialed, or that the connector has promised. It opens a new channel, or the one that
  // is opening. Returns exists if a channel is open; the lane is then shut.
  Result<Channel*> adopt(PeerId peer, std::unique_ptr<link::Lane> lane);
  // Does the same for a peer that has noticed the loss of its last lane before this process has. An open channel that
  // may resume continues over the new lane, and its old lanes are dropped.
  Result<Channel*> replace(PeerId peer, std::unique_ptr<link::Lane> lane);
  // See Channel::take_back_lane.
  void take_back(PeerId peer);
  // Gives an open channel one more lane.
  Result<Channel*> add_lane(PeerId peer, std::unique_ptr<link::Lane> lane);
  // Asks for lanes for broken channels, and fails those that have waited for longer than the patience.
  void tick(std::uint64_t now_ns);
  // Visits the channels that wait for a lane.
  void for_each_broken(const std::function<void(Channel&)>& visit) const;
  // Fails the channel to the peer, if there is one.
  void fail(PeerId peer, const Status& why);
  // The peer has returned: its failed channel is put aside, so that find_or_open and adopt make a new one. A channel
  // that has not failed yet is failed with `why` first.
  void forget(PeerId peer, const Status& why);
  // Shuts all channels in good order, and those that peers open from now on. Then poll until settled().
  void shut() noexcept;
  // Have all channels ended or failed, and told their handlers?
  [[nodiscard]] bool settled() const noexcept { return unsettled_ == 0; }

  // Polls the channels over memory; to be called often.
  int poll_memory(int budget) { return poll(memory_, budget); }
  [[nodiscard]] bool memory_ready() const noexcept { return ready(memory_); }
  // Polls the channels over descriptors over which something moved lately, or has to be sent. Each costs a system call.
  // The others wait for poll_descriptor, and are polled now and then in tick().
  int poll_sockets(int budget) { return poll(sockets_, budget); }
  [[nodiscard]] bool sockets_ready() const noexcept { return ready(sockets_); }
  // Returns false if poll_sockets has nothing to poll at present.
  [[nodiscard]] bool any_socket_polled() const noexcept { return !sockets_.members.empty(); }
  // Polls the channel whose descriptor is ready.
  int poll_descriptor(int descriptor, int budget);
  // Sets the watcher, and tells it all present descriptors. nullptr: this process does not sleep on descriptors.
  void set_watcher(Watcher* watcher);
  // Visits all channels in the order in which they were opened, also those that are put aside.
  void for_each(const std::function<void(Channel&)>& visit) const;

 private:
  // A descriptor of a channel, and how it is watched.
  struct Watch {
    link::Lane* lane = nullptr;
    int descriptor = -1;
    bool watched = false;
    bool write = false;
  };
  // What is being done for a channel that has lost its lanes.
  enum class Mending : std::uint8_t {
    no,
    wanted,    // the connector is to be asked for a lane
    asked,     // the connector has promised a lane
    attached,  // there is a lane, and the peer has not answered over it yet
  };
  // A group of channels that are polled in each round. A channel leaves the group when nothing moves over it.
  struct Entry;
  struct Group {
    std::vector<Entry*> members;  // nullptr: the member has left while the group was being polled
    bool holes = false;
  };
  struct Entry final : Attention {
    explicit Entry(ChannelTable& owner) noexcept : table(owner) {}
    void poll_wanted() noexcept override { table.enter_group(*this); }

    ChannelTable& table;
    std::unique_ptr<Channel> channel;
    std::vector<Watch> watches;
    Group* group = nullptr;
    bool over_memory = false;  // it has a lane without a descriptor
    bool settled = false;
    int idle_polls = 0;
    Mending mending = Mending::no;
    std::uint64_t mending_ns = 0;  // how long it has waited for a lane
  };
  // What the end of a walk over the groups has to do.
  struct PendingWork {
    bool lanes_wanted = false;
    bool move_lost = false;  // there was no memory to note which channel wants a poll, so all are to be polled
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
  int polling_ = 0;  // walks through groups, while which entries that leave a group are replaced by nullptr
  PendingWork pending_;
  bool shut_ = false;
};

}  // namespace couplet::channel
