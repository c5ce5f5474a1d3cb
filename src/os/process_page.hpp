// The page of one process in the node directory (wire/page.hpp), mapped: by its owner, and by peers that want to prove reach,
// knock, wake it up or look whether it lives.
// Invariants: the owner's page appears complete and locked (made under another name, renamed); it goes with its owner in
// good order, and stays, unlocked, when its owner dies.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "os/doorbell.hpp"
#include "os/lock.hpp"
#include "os/mapped_file.hpp"
#include "wire/page.hpp"

namespace couplet::os {

// "<directory>/page-0000002a", "<directory>/bell-0000002a"
[[nodiscard]] std::string page_path(const std::string& directory, std::uint32_t peer);
[[nodiscard]] std::string bell_path(const std::string& directory, std::uint32_t peer);

struct PageOwner {
  std::uint64_t run_id = 0;
  std::uint32_t peer = 0;
  std::uint32_t incarnation = 0;
  std::int32_t rank = 0;
  std::uint64_t memory_nonce = 0;
  std::uint32_t rank_count = 1;
  std::uint32_t counter_count = 0;
  std::string program;  // cut to 63 bytes
  std::string host;
};

// The owner's side.
class ProcessPage {
 public:
  // exists: a living process has a page of that number here. A page that a dead process left is replaced.
  static Result<std::unique_ptr<ProcessPage>> create(const std::string& directory, const PageOwner& owner);
  // Removes the page: good order. In a forked child it does nothing.
  ~ProcessPage();
  ProcessPage(const ProcessPage&) = delete;
  ProcessPage& operator=(const ProcessPage&) = delete;

  [[nodiscard]] SleepFlag& sleep_flag() noexcept;
  [[nodiscard]] std::span<std::atomic<std::uint64_t>> counters() noexcept;
  // Tells peers on this node what they need not try (bits of wire::PageRefuses).
  void refuse_links(std::uint32_t bits) noexcept;
  // Has anybody knocked since the last take_knocks()? One load.
  [[nodiscard]] bool knocked() const noexcept;
  // Who has: universe ranks; relays as `relay_base` + node.
  [[nodiscard]] std::vector<std::uint32_t> take_knocks(std::uint32_t relay_base);

 private:
  ProcessPage(std::unique_ptr<MappedFile> file, std::unique_ptr<LifeLock> lock, std::uint32_t rank_count);
  std::unique_ptr<MappedFile> file_;
  std::unique_ptr<LifeLock> lock_;
  std::uint32_t rank_count_;
  std::uint32_t seen_knocks_ = 0;
  std::uint64_t generation_;
};

// A peer's side.
class PeerPage {
 public:
  // not_found: no such page here (another node, another container, or the peer has left); protocol, version.
  static Result<std::unique_ptr<PeerPage>> open(const std::string& directory, std::uint32_t peer);
  PeerPage(const PeerPage&) = delete;
  PeerPage& operator=(const PeerPage&) = delete;
  ~PeerPage() = default;

  // As it was when the page was opened.
  [[nodiscard]] const wire::PageHeader& header() const noexcept { return header_; }
  [[nodiscard]] SleepFlag& sleep_flag() noexcept;
  // Bits of wire::PageRefuses, as they are now.
  [[nodiscard]] std::uint32_t refused_links() const noexcept;
  // Does the owner hold its lock? Stays right when the name is gone or belongs to a later incarnation.
  [[nodiscard]] bool owner_lives() const noexcept { return probe_->held(); }
  // Knocks as rank `own_rank`, or as a relay: header().rank_count + node. False: no such bit. The caller then rings.
  [[nodiscard]] bool knock(std::uint32_t bit) noexcept;

 private:
  PeerPage(std::unique_ptr<MappedFile> file, std::unique_ptr<LockProbe> probe, const wire::PageHeader& header);
  std::unique_ptr<MappedFile> file_;
  std::unique_ptr<LockProbe> probe_;
  wire::PageHeader header_;
};

}  // namespace couplet::os
