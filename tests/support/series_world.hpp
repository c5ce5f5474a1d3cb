// A universe for the tests of series, without a hub. A fresh directory is the node directory and the register, so that
// threads and forked processes can share it. A process is alive as long as its lock is held. Teams of threads agree in
// memory.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "message/agree.hpp"
#include "os/lock.hpp"
#include "series/part.hpp"
#include "series/series.hpp"
#include "series/window.hpp"
#include "support/shared_directory.hpp"

namespace couplet::testing {

class FakeJob;

// A fresh node directory, which the process that made it removes at the end, with everything in it.
class SeriesWorld {
 public:
  SeriesWorld();
  // Uses a directory that another process has made.
  explicit SeriesWorld(std::string directory) : directory_(std::move(directory)) {}
  SeriesWorld(const SeriesWorld&) = delete;
  SeriesWorld& operator=(const SeriesWorld&) = delete;
  [[nodiscard]] const std::string& directory() const noexcept { return directory_; }
  // Returns the names of the series files that are there.
  [[nodiscard]] std::vector<std::string> series_files() const;
  // Set before environments are made; "series.eta.slots" -> "4".
  std::map<std::string, std::string, std::less<>> settings;
  // The environments are ranks of one MPI job, with a window; nullptr: they are not.
  std::shared_ptr<FakeJob> job;

 private:
  std::unique_ptr<test::SharedDirectory> own_directory_;
  std::string directory_;
};

// The register as files: <name>.record, replaced by renaming.
class FileRegistry : public universe::SeriesRegistry {
 public:
  FileRegistry(std::string directory, channel::PeerId self, std::string program,
               std::function<bool(channel::PeerId)> alive)
      : directory_(std::move(directory)), self_(self), program_(std::move(program)), alive_(std::move(alive)) {}
  Result<universe::SeriesRecord> announce(const universe::SeriesRecord& record, std::uint64_t deadline_ns) override;
  Result<universe::SeriesRecord> find(const std::string& name, std::int64_t newer_than,
                                      std::uint64_t deadline_ns) override;
  Status writer_closed(const std::string& name, std::uint64_t deadline_ns) override;
  Status reader_opened(const std::string& name, std::uint64_t incarnation, const universe::OpenerRanks& openers,
                       std::uint64_t deadline_ns) override;
  void withdraw(const std::string& name, std::uint64_t creation, std::uint64_t deadline_ns) override;
  [[nodiscard]] News news(const std::string& name) const override;
  Status reader_closed(const std::string&, std::uint64_t) override { return {}; }
  Result<channel::PeerId> relay_of(std::uint16_t, std::uint64_t) override { return Code::unsupported; }

 private:
  [[nodiscard]] std::string path(const std::string& name) const;
  std::string directory_;
  channel::PeerId self_;
  std::string program_;
  std::function<bool(channel::PeerId)> alive_;
};

// One process (or thread) of the world.
class FakeEnvironment : public series::Environment {
 public:
  FakeEnvironment(const SeriesWorld& world, channel::PeerId self, std::string program, std::uint16_t incarnation = 0);

  [[nodiscard]] channel::PeerId self() const noexcept override { return self_; }
  [[nodiscard]] std::uint16_t incarnation() const noexcept override { return incarnation_; }
  [[nodiscard]] const std::string& program() const noexcept override { return program_; }
  [[nodiscard]] std::uint16_t node() const noexcept override { return node_number; }
  [[nodiscard]] const std::string& node_directory() const noexcept override { return world_.directory(); }
  [[nodiscard]] std::string peer_name(channel::PeerId peer) const override { return fmt::format("peer {}", peer); }
  [[nodiscard]] std::string setting(std::string_view key) const override;
  [[nodiscard]] universe::SeriesRegistry& registry() noexcept override { return registry_; }
  Status alive(channel::PeerId peer, std::uint16_t incarnation) override;
  Status program_alive(std::string_view program) override;
  Result<std::uint64_t> between_slices() override;
  [[nodiscard]] std::uint64_t spin_ns() const noexcept override { return spin; }
  Result<std::unique_ptr<series::Part>> open_part(const universe::SeriesRecord&, std::size_t,
                                                  const series::PartSelection&, std::uint64_t) override {
    // A way of reading from other nodes overrides this.
    return fail(Code::unsupported, "no relay here");
  }
  Status wait(const std::function<bool()>&, std::uint64_t) override {
    return fail(Code::unsupported, "nothing comes by frames here");
  }
  [[nodiscard]] series::Window* window() noexcept override { return window_.get(); }

  // Acts as if the process had died.
  void die() { life_.reset(); }
  bool interrupt = false;       // the next slice ends the wait
  bool interrupt_now = false;   // the next slice says that there was an interrupt
  std::string gone_program;     // program_alive() says peer_lost for it
  bool hub_gone = false;        // program_alive() says hub_lost for all others
  std::string unknown_program;  // ... and not_found for it
  std::uint64_t spin = 0;
  std::atomic<int> slices = 0;
  std::uint16_t node_number = 0;

 private:
  [[nodiscard]] std::string life_path(channel::PeerId peer, std::uint16_t incarnation) const;
  const SeriesWorld& world_;
  channel::PeerId self_;
  std::string program_;
  std::uint16_t incarnation_;
  std::unique_ptr<os::LifeLock> life_;
  FileRegistry registry_;
  std::unique_ptr<series::Window> window_;
};

// A team of one.
class SoloTeam final : public message::Team {
 public:
  [[nodiscard]] int rank() const noexcept override { return 0; }
  [[nodiscard]] int size() const noexcept override { return 1; }
  Status minimum(std::span<std::int64_t>, std::uint64_t) override { return {}; }
  Result<std::vector<std::string>> gather(const std::string& bytes, std::uint64_t) override {
    return std::vector<std::string>{bytes};
  }
};

// The part that the threads of a team share.
struct TeamRoom {
  explicit TeamRoom(int members) : size(members), words(static_cast<std::size_t>(members)) {}
  int size;
  std::mutex mutex;
  std::condition_variable changed;
  int arrived = 0;
  std::uint64_t round = 0;
  std::vector<std::string> words;
  std::vector<std::string> result;
};
class ThreadTeam final : public message::Team {
 public:
  ThreadTeam(TeamRoom& room, int rank) : room_(room), rank_(rank) {}
  [[nodiscard]] int rank() const noexcept override { return rank_; }
  [[nodiscard]] int size() const noexcept override { return room_.size; }
  Status minimum(std::span<std::int64_t> values, std::uint64_t deadline_ns) override;
  Result<std::vector<std::string>> gather(const std::string& bytes, std::uint64_t deadline_ns) override;

 private:
  TeamRoom& room_;
  int rank_;
};

}  // namespace couplet::testing
