// Makes two sources from a channel table: one for channels over memory, which is polled in every round, and one for
// sockets. A socket over which something moves is polled itself; for all others together, one system call finds out
// which are ready. Made after engine and table, and destroyed before both.
#pragma once

#include "channel/table.hpp"
#include "engine/engine.hpp"

namespace couplet::engine {

class ChannelSources final : private channel::Watcher {
 public:
  ChannelSources(Engine& engine, channel::ChannelTable& table);
  ~ChannelSources() override;
  ChannelSources(const ChannelSources&) = delete;
  ChannelSources& operator=(const ChannelSources&) = delete;

 private:
  class Memory final : public Source {
   public:
    explicit Memory(channel::ChannelTable& table) : table_(table) {}
    int poll(std::uint64_t /*now_ns*/, int budget) override { return table_.poll_memory(budget); }
    [[nodiscard]] bool ready() const override { return table_.memory_ready(); }

   private:
    channel::ChannelTable& table_;
  };
  class Sockets final : public Source {
   public:
    Sockets(Engine& engine, channel::ChannelTable& table) : engine_(engine), table_(table) {}
    int poll(std::uint64_t now_ns, int budget) override;
    int woken(int descriptor, int budget) override { return table_.poll_descriptor(descriptor, budget); }
    [[nodiscard]] bool ready() const override { return table_.sockets_ready(); }
    void tick(std::uint64_t now_ns) override { table_.tick(now_ns); }

   private:
    Engine& engine_;
    channel::ChannelTable& table_;
    unsigned idle_polls_ = 0;
  };

  Status watch(int descriptor, bool write) override { return engine_.watch(descriptor, write, sockets_); }
  void unwatch(int descriptor) override { engine_.unwatch(descriptor); }

  Engine& engine_;
  channel::ChannelTable& table_;
  Memory memory_;
  Sockets sockets_;
};

}  // namespace couplet::engine
