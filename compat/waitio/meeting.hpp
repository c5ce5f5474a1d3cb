// How the PBs find each other: rank 0 of PB 0 starts the hub if there is none, all join it as the programs pb0, pb1,
// ..., and the first ranks of all PBs compare their settings. The session calls it; it calls MPI, Couplet and common/.
// Invariants: the ranks of a PB succeed together or fail together, and only one of them prints why; what has failed can
// be tried again.
// Tests: tests/compat/waitio.
#pragma once

#include <couplet/couplet.h>

#include <cstdint>
#include <string>
#include <vector>

#include "hub_process.hpp"
#include "settings.hpp"

namespace waitio {

struct Block {
  int first_rank = 0;  // in Couplet's universe
  int size = 0;
};

// The settings that the first ranks of the PBs exchange.
struct SettingsRecord {
  std::int32_t version = 0;
  std::int32_t block = 0;
  std::int32_t block_count = 0;
  std::int32_t type = 0;
};

class Meeting {
 public:
  // Joins, and learns of all PBs. Collective over MPI_COMM_WORLD and over all PBs. Throws Error.
  Meeting();
  ~Meeting();
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;
  // Leaves. If this process has started the hub, it waits until all others have left.
  void leave(const char* function);

  [[nodiscard]] couplet_universe* universe() const noexcept { return universe_; }
  [[nodiscard]] int block() const noexcept { return settings_.block; }
  [[nodiscard]] const std::vector<Block>& blocks() const noexcept { return blocks_; }

 private:
  void share_settings();
  void join();
  std::string start_hub();
  couplet_status join_once(double timeout_s);
  void find_blocks();
  void compare_settings();
  void tell_settings();
  void compare_with(std::size_t other);
  void agree(const std::string& own_failure, int code) const;

  int rank_ = 0;  // in the PB
  int size_ = 1;
  Settings settings_;
  compat::HubProcess hub_;
  couplet_universe* universe_ = nullptr;
  std::vector<Block> blocks_;
  std::vector<SettingsRecord> records_;  // what each PB has sent: a request may write here until leave
};

}  // namespace waitio
