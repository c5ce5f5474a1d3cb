// The ordered list of the transports of one process. Each is a source of the engine: it is polled with everything else,
// and woken by its descriptors. A class that derives from this one answers the questions of transports about peers.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.hpp"
#include "link/transport.hpp"

namespace couplet::connections {

class TransportSet : public link::TransportHost {
 public:
  explicit TransportSet(engine::Engine& engine) : engine_(engine) {}
  ~TransportSet() override { clear(); }
  TransportSet(const TransportSet&) = delete;
  TransportSet& operator=(const TransportSet&) = delete;

  // Adds a transport to the end of the list. in_use: if false, peers that dial over this transport are refused, and no
  // peer is dialed over it.
  void add(std::unique_ptr<link::Transport> transport, bool in_use);
  void clear();

  [[nodiscard]] std::size_t count() const noexcept { return entries_.size(); }
  [[nodiscard]] link::Transport& at(std::size_t index) const noexcept { return entries_[index]->transport(); }
  [[nodiscard]] bool in_use(std::size_t index) const noexcept { return entries_[index]->in_use; }
  // REQUIRES: the transport is in this set.
  [[nodiscard]] std::size_t index_of(const link::Transport& transport) const noexcept;

 private:
  [[nodiscard]] Status watch(link::Transport& transport, int descriptor, bool write) final;
  void unwatch(int descriptor) final { engine_.unwatch(descriptor); }

  class Entry final : public engine::Source {
   public:
    Entry(std::unique_ptr<link::Transport> transport, bool used) : in_use(used), transport_(std::move(transport)) {}
    [[nodiscard]] link::Transport& transport() const noexcept { return *transport_; }
    int poll(std::uint64_t now_ns, int /*budget*/) override { return transport_ ? transport_->poll(now_ns) : 0; }
    int woken(int descriptor, int /*budget*/) override { return transport_->woken(descriptor, 0); }
    [[nodiscard]] bool ready() const override { return transport_->ready(); }
    void tick(std::uint64_t now_ns) override { transport_->tick(now_ns); }
    void end() { transport_.reset(); }
    const bool in_use;

   private:
    std::unique_ptr<link::Transport> transport_;
  };
  // A watch of a descriptor by a transport that is not in the list yet, because it is still being made.
  struct EarlyWatch {
    link::Transport* transport;
    int descriptor;
    bool write;
  };

  engine::Engine& engine_;
  std::vector<std::unique_ptr<Entry>> entries_;
  std::vector<EarlyWatch> early_watches_;
};

}  // namespace couplet::connections
