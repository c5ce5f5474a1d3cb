// HubHome: what a hub has on its node, which are the file with its key and the node directory of its run. Turns the
// options of a hub into a key, and decides what becomes of the files of the run
// (docs/decisions/0044-tickets-and-the-key-of-the-hub.md, "When the key is removed"). Used by hub_server. Below:
// channel/hub_key_file, node_directory, roster. Invariants: a hub that does not serve leaves everything of a run as it
// was, and nothing of its own; key and roster go when the universe has ended, and stay if the hub ends otherwise.
// Tests: tests/unit/universe/hub_home_test.cpp, tests/universe/test_hub_key.py.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "channel/hub_key_file.hpp"
#include "os/socket.hpp"
#include "universe/node_directory.hpp"
#include "universe/programs.hpp"

namespace couplet::universe {

struct HubHomeOptions {
  std::string run_directory;
  std::string node_name;
  std::string key_file;           // "": in the node directory
  std::uint64_t resumed_run = 0;  // the run whose hub is to be replaced; 0: a new run
  std::vector<ProgramSpec> programs;
};

class HubHome {
 public:
  // Chooses the key of a new run, or finds and locks that of the run whose hub is to be replaced. Changes no file.
  // Errors: those of HubKeyFile::take_over(); config, if the hub before had other programs.
  static Result<std::unique_ptr<HubHome>> prepare(const HubHomeOptions& options);
  // Enters the node directory, and stores the key of a new run. Errors: those of NodeDirectory::enter() and of
  // HubKeyFile::make().
  Status enter(const LockWait& wait);
  // From now on members may come: this hub is the hub of its run. listens_at: for the texts that others show. Safe to
  // call again.
  void serve(const os::Endpoint& listens_at);
  // The universe has ended, so nobody will need the key again.
  void end() noexcept { state_ = State::ended; }
  ~HubHome();
  HubHome(const HubHome&) = delete;
  HubHome& operator=(const HubHome&) = delete;

  [[nodiscard]] const channel::HubKey& key() const noexcept { return key_; }
  // After enter() only.
  [[nodiscard]] const std::string& directory() const noexcept { return directory_->path(); }
  // Returns false if a second hub of the run could not be noticed.
  [[nodiscard]] bool is_locked() const noexcept { return key_file_->is_locked(); }

 private:
  enum class State : std::uint8_t { prepared, serving, ended };

  HubHome(const HubHomeOptions& options, const channel::HubKey& key) : options_(options), key_(key) {}

  HubHomeOptions options_;
  channel::HubKey key_;
  std::unique_ptr<channel::HubKeyFile> key_file_;
  std::unique_ptr<NodeDirectory> directory_;
  State state_ = State::prepared;
};

}  // namespace couplet::universe
