// A relay as a thread, and readers that reach it over loopback sockets, each as if on another node.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "link/tcp/tcp_lane.hpp"
#include "relay/relay.hpp"
#include "support/series_world.hpp"

namespace couplet::testing {

// Serves the series files of one world.
class LoopbackRelay final : private relay::ServerHost {
 public:
  static constexpr channel::PeerId peer = channel::first_relay_peer;

  explicit LoopbackRelay(const SeriesWorld& world, relay::ServerOptions options = {});
  ~LoopbackRelay() override;
  LoopbackRelay(const LoopbackRelay&) = delete;
  LoopbackRelay& operator=(const LoopbackRelay&) = delete;

  // Returns the reader's end of a new connection.
  std::unique_ptr<link::Lane> connect(channel::PeerId reader);
  // Acts as kill -9 of the relay: every connection ends, and holds stay.
  void die();
  [[nodiscard]] std::uint64_t pushed_steps() const { return pushed_steps_; }

 private:
  [[nodiscard]] const std::string& node_directory() const override { return environment_.node_directory(); }
  [[nodiscard]] std::string peer_name(channel::PeerId id) const override { return environment_.peer_name(id); }
  Status alive(channel::PeerId id, std::uint16_t incarnation) override { return environment_.alive(id, incarnation); }
  [[nodiscard]] bool hub_is_away() const override { return false; }
  void run();
  void wake();
  void take_new();

  FakeEnvironment environment_;
  std::unique_ptr<relay::Server> server_;
  std::unique_ptr<relay::Dispatch> dispatch_;
  std::mutex mutex_;
  std::vector<std::pair<channel::PeerId, std::unique_ptr<link::Lane>>> new_;
  std::vector<std::unique_ptr<channel::Channel>> channels_;
  os::Descriptor bell_;
  std::atomic<bool> stop_ = false;
  std::atomic<std::uint64_t> pushed_steps_ = 0;
  std::thread thread_;
};

// A reader on another node.
class RemoteEnvironment final : public FakeEnvironment, private message::Channels {
 public:
  // The relay may be replaced by another one while this object exists. nullptr: there is none now.
  using FindRelay = std::function<std::shared_ptr<LoopbackRelay>()>;
  RemoteEnvironment(const SeriesWorld& world, channel::PeerId self, std::string program, FindRelay relay,
                    const relay::RemoteOptions& options = {});
  ~RemoteEnvironment() override;

  Result<std::unique_ptr<series::Part>> open_part(const universe::SeriesRecord& record, std::size_t part,
                                                  const series::PartSelection& selection,
                                                  std::uint64_t deadline_ns) override;
  Status wait(const std::function<bool()>& done, std::uint64_t until_ns) override;
  Result<std::uint64_t> between_slices() override;
  [[nodiscard]] universe::SeriesRegistry& registry() noexcept override { return register_; }

 private:
  class Register final : public FileRegistry {
   public:
    using FileRegistry::FileRegistry;
    Result<channel::PeerId> relay_of(std::uint16_t, std::uint64_t) override { return LoopbackRelay::peer; }
  };
  Result<channel::Channel*> channel_to(channel::PeerId peer) override;
  [[nodiscard]] std::string peer_name(channel::PeerId id) const override;

  FindRelay find_relay_;
  std::shared_ptr<LoopbackRelay> relay_;  // the relay of the newest channel
  Register register_;
  std::unique_ptr<relay::Remote> remote_;
  std::unique_ptr<relay::Dispatch> dispatch_;
  std::vector<std::unique_ptr<channel::Channel>> channels_;  // the newest one last
};

}  // namespace couplet::testing
