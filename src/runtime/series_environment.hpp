// The services that series needs from its process, provided by membership, engine and messenger.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "engine/engine.hpp"
#include "message/message.hpp"
#include "relay/remote.hpp"
#include "runtime/cost_file.hpp"
#include "series/part.hpp"
#include "series/series.hpp"
#include "series/window.hpp"
#include "universe/membership.hpp"

namespace couplet::runtime {

class SeriesEnvironment final : public series::Environment {
 public:
  SeriesEnvironment(universe::Membership& membership, engine::Engine& engine, message::Messenger& messenger,
                    counters::Counters& counters)
      : membership_(membership), engine_(engine), messenger_(messenger), counters_(counters) {
    engine_.add(tidying_, engine::Rate::seldom);
  }
  ~SeriesEnvironment() override { engine_.remove(tidying_); }

  void set_window(series::Window* window) noexcept { window_ = window; }
  // `remote` brings parts from other nodes; nullptr: none are brought. `pushes`: this process sends inside its own
  // calls.
  void set_remote(relay::Remote* remote, bool pushes) noexcept {
    remote_ = remote;
    pushes_ = pushes;
  }

  // What is known of the costs of the machine. It stays here as long as the universe is joined.
  void set_costs(KnownCosts costs) { costs_ = std::move(costs); }
  [[nodiscard]] const KnownCosts& costs() const noexcept { return costs_; }

  [[nodiscard]] channel::PeerId self() const noexcept override;
  [[nodiscard]] std::uint16_t incarnation() const noexcept override;
  [[nodiscard]] const std::string& program() const noexcept override;
  [[nodiscard]] std::uint16_t node() const noexcept override { return membership_.node(); }
  [[nodiscard]] const std::string& node_directory() const noexcept override { return membership_.node_directory(); }
  [[nodiscard]] std::string peer_name(channel::PeerId peer) const override { return membership_.peer_name(peer); }
  // If streaming_bytes is not set for a series, the one for all series counts, and then the costs of the machine.
  [[nodiscard]] std::string setting(std::string_view key) const override;
  [[nodiscard]] std::string_view setting_read(std::string_view key) const override;
  [[nodiscard]] universe::SeriesRegistry& registry() noexcept override { return membership_.registry(); }
  [[nodiscard]] counters::Counters& counters() noexcept override { return counters_; }
  Status alive(channel::PeerId peer, std::uint16_t incarnation) override;
  Status program_alive(std::string_view program) override;
  Result<std::uint64_t> between_slices() override;
  [[nodiscard]] std::uint64_t spin_ns() const noexcept override { return engine_.spin_ns(); }
  void sleep_elsewhere(const std::function<void()>& sleep) override { engine_.sleep_elsewhere(sleep); }
  Result<std::unique_ptr<series::Part>> open_part(const universe::SeriesRecord& record, std::size_t part,
                                                  const series::PartSelection& selection,
                                                  std::uint64_t deadline_ns) override;
  Status wait(const std::function<bool()>& done, std::uint64_t until_ns) override;
  [[nodiscard]] series::Window* window() noexcept override { return window_; }

 private:
  // Says whether the relay of this node runs, by the lock of its page.
  [[nodiscard]] bool relay_lives() const;

  // Now and then removes slot files that were still in use when they were superseded, and tells relays which holds have
  // ended.
  class Tidying final : public engine::Source {
   public:
    explicit Tidying(SeriesEnvironment& environment) : environment_(environment) {}
    int poll(std::uint64_t /*now_ns*/, int /*budget*/) override { return 0; }
    [[nodiscard]] bool ready() const override { return false; }
    void tick(std::uint64_t now_ns) override;

   private:
    SeriesEnvironment& environment_;
    std::uint64_t next_ns_ = 0;
  };

  universe::Membership& membership_;
  engine::Engine& engine_;
  message::Messenger& messenger_;
  counters::Counters& counters_;
  relay::Remote* remote_ = nullptr;
  bool pushes_ = false;
  series::Window* window_ = nullptr;
  KnownCosts costs_;
  Tidying tidying_{*this};
};

}  // namespace couplet::runtime
