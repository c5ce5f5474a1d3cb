// The records that have come for one lane and are not consumed yet, in the order of their numbers, and what the peer
// has said about the other direction. UCX may deliver records in another order than they were sent in.
// Invariants: at most options.max_unread_records are kept, since a sender needs credit; what is too much, too long or
// comes twice is an error. Only files of this folder include this one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "link/ucx/ucx_core.hpp"

namespace couplet::link {

// How much of a direction was sent, or consumed.
struct UcxAmount {
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
};

class UcxInbox {
 public:
  // Takes messages from now on, under a random token. Returns system, and memory.
  static Result<std::unique_ptr<UcxInbox>> open(std::shared_ptr<UcxWorker> worker);
  ~UcxInbox();
  UcxInbox(const UcxInbox&) = delete;
  UcxInbox& operator=(const UcxInbox&) = delete;

  [[nodiscard]] std::uint64_t token() const noexcept { return token_; }
  // Has the peer said hello through UCX?
  [[nodiscard]] bool is_greeted() const noexcept { return is_greeted_; }
  // What the peer has consumed of the other direction.
  [[nodiscard]] const UcxAmount& credit() const noexcept { return credit_; }
  [[nodiscard]] const UcxAmount& consumed() const noexcept { return consumed_; }
  // Returns protocol if the peer has broken a rule.
  [[nodiscard]] const Status& failure() const noexcept { return failure_; }

  [[nodiscard]] bool has_next() const noexcept { return slot(consumed_.records).kept != nullptr; }
  // REQUIRES: has_next(). Valid until consume().
  [[nodiscard]] std::span<const std::byte> next() const noexcept;
  void consume() noexcept;

  // Called while UCX makes progress. Returns true if the memory of UCX is kept, which consume() gives back.
  bool take(const wire::UcxHead& head, void* data, std::size_t bytes) noexcept;

 private:
  struct Slot {
    void* kept = nullptr;  // memory of UCX; nullptr: the record has not come
    std::size_t bytes = 0;
  };
  UcxInbox(std::shared_ptr<UcxWorker> worker, std::uint64_t token);
  [[nodiscard]] Slot& slot(std::uint64_t number) noexcept { return slots_[number % slots_.size()]; }
  [[nodiscard]] const Slot& slot(std::uint64_t number) const noexcept { return slots_[number % slots_.size()]; }
  bool may_come(std::uint64_t number, std::size_t bytes) noexcept;
  void release(Slot& slot) noexcept;
  void set_failure(Status why) noexcept;

  std::shared_ptr<UcxWorker> worker_;
  std::uint64_t token_;
  std::vector<Slot> slots_;
  UcxAmount consumed_;
  UcxAmount credit_;
  bool is_greeted_ = false;
  Status failure_;
};

}  // namespace couplet::link
