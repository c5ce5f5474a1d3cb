// The mapped page of one process in the node directory (wire/page.hpp). Its owner maps it, and so do peers that prove
// that they can reach the owner, knock, wake it, or check whether it is alive.
// Invariants: the owner's page appears complete and locked, since it is made under another name and renamed; the owner
// removes it if it ends in good order; if the owner dies, it stays, unlocked.
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

// Returns, for example, "<directory>/page-0000002a"; the bell is "<directory>/bell-0000002a".
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

// The owner's side of a page.
class ProcessPage {
 public:
  // Creates the page. Returns exists if a living process has a page of that number here. The page of a dead process is
  // replaced.
  static Result<std::unique_ptr<ProcessPage>> create(const std::string& directory, const PageOwner& owner);
  // Removes the page, as an end in good order. In a forked child it does nothing.
  ~ProcessPage();
  ProcessPage(const ProcessPage&) = delete;
  ProcessPage& operator=(const ProcessPage&) = delete;

  [[nodiscard]] SleepFlag& sleep_flag() noexcept;
  [[nodiscard]] std::uint64_t memory_nonce() const noexcept { return memory_nonce_; }
  [[nodiscard]] std::span<std::atomic<std::uint64_t>> counters() noexcept;
  // Tells peers on this node which links they need not try (bits of wire::PageRefuses).
  void refuse_links(std::uint32_t bits) noexcept;
  // Returns true if a peer has knocked since the last take_knocks(). It costs one load.
  [[nodiscard]] bool knocked() const noexcept;
  // Returns the peers that have knocked: universe ranks, and relays as `relay_base` + node.
  [[nodiscard]] std::vector<std::uint32_t> take_knocks(std::uint32_t relay_base);

 private:
  ProcessPage(std::unique_ptr<MappedFile> file, std::unique_ptr<LifeLock> lock, const PageOwner& owner);
  std::unique_ptr<MappedFile> file_;
  std::unique_ptr<LifeLock> lock_;
  std::uint32_t rank_count_;
  std::uint64_t memory_nonce_;
  std::uint32_t seen_knocks_ = 0;
  std::uint64_t generation_;
};

// A peer's side of a page.
class PeerPage {
 public:
  // Opens the page. Returns not_found if there is no such page here (another node, another container, or the peer has
  // left), or protocol or version.
  static Result<std::unique_ptr<PeerPage>> open(const std::string& directory, std::uint32_t peer);
  PeerPage(const PeerPage&) = delete;
  PeerPage& operator=(const PeerPage&) = delete;
  ~PeerPage() = default;

  // Returns the header as it was when the page was opened.
  [[nodiscard]] const wire::PageHeader& header() const noexcept { return header_; }
  [[nodiscard]] SleepFlag& sleep_flag() noexcept;
  // Returns the bits of wire::PageRefuses, as they are now.
  [[nodiscard]] std::uint32_t refused_links() const noexcept;
  // Returns true if the owner holds its lock. It stays right if the name is gone or belongs to a later incarnation.
  [[nodiscard]] bool owner_lives() const noexcept { return probe_->held(); }
  // Knocks as rank `own_rank`, or, for a relay, as header().rank_count + node. Returns false if there is no such bit.
  // The caller then rings.
  [[nodiscard]] bool knock(std::uint32_t bit) noexcept;

 private:
  PeerPage(std::unique_ptr<MappedFile> file, std::unique_ptr<LockProbe> probe, const wire::PageHeader& header);
  std::unique_ptr<MappedFile> file_;
  std::unique_ptr<LockProbe> probe_;
  wire::PageHeader header_;
};

}  // namespace couplet::os
