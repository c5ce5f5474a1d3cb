// The memory of an exchange over UCX: what a member has for its neighbours to put into, and what it puts into theirs.
// rdma uses it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "exchange/buffer.hpp"
#include "exchange/method.hpp"
#include "link/puts.hpp"

namespace couplet::exchange {

class RdmaWindow {
 public:
  // Each has a line of its own for each port. flag_0 and flag_1: the number of the message in that half. credit: how
  // many messages the neighbour has consumed. round: how many rounds it has put. closing: 1 if it puts nothing further.
  enum class Word : std::uint8_t { flag_0, flag_1, credit, round, closing };
  static constexpr std::size_t word_count = 5;
  static constexpr std::size_t half_count = 2;

  // Returns unsupported if UCX gives no memory; memory, system.
  static Result<std::unique_ptr<RdmaWindow>> open(std::shared_ptr<link::Puts> puts, std::span<const Port> ports);
  ~RdmaWindow();
  RdmaWindow(const RdmaWindow&) = delete;
  RdmaWindow& operator=(const RdmaWindow&) = delete;

  // Returns, for each port, what the neighbour needs; and takes what the neighbours have said.
  [[nodiscard]] Result<std::vector<std::string>> invitations() const;
  Status connect(std::span<const std::string> invitations);

  [[nodiscard]] const Port& port(std::uint32_t number) const noexcept { return ports_[number]; }
  [[nodiscard]] std::uint32_t port_count() const noexcept { return static_cast<std::uint32_t>(ports_.size()); }
  [[nodiscard]] std::byte* outgoing(std::uint32_t number) const noexcept;
  // Puts the first bytes of outgoing(), and their number, into that half of the neighbour.
  Status put(std::uint32_t number, std::size_t half, std::uint64_t bytes);
  Status put_word(std::uint32_t number, Word word, std::uint64_t value);
  Status flush(std::uint32_t number);
  Status fence() { return puts_->fence(); }

  // What the neighbour has put. The length is what it says, at most port().in_bytes.
  [[nodiscard]] std::uint64_t word(std::uint32_t number, Word word) const noexcept;
  // Returns protocol if the neighbour says more bytes than were agreed.
  [[nodiscard]] Result<std::span<const std::byte>> incoming(std::uint32_t number, std::size_t half) const;

  // Lets UCX move things, and returns what it has failed in.
  Status progress();
  [[nodiscard]] bool is_idle() const noexcept { return sources_->tally.under_way == 0; }
  // No neighbour puts anything any longer.
  void no_longer_shared() noexcept { memory_->no_longer_shared(); }

 private:
  struct Place {  // offsets in the memory of a member
    std::array<std::uint64_t, half_count> halves{};
    std::uint64_t words = 0;
    std::uint64_t message_bytes = 0;
  };
  // What UCX may read until the tally no longer counts it.
  struct alignas(cache_line_bytes) Values {
    std::array<std::uint64_t, word_count> words{};
  };
  struct Sources {
    link::PutTally tally;
    std::vector<Buffer> messages;  // the length, 8 bytes before the payload, which is aligned
    std::vector<Values> values;
  };
  RdmaWindow(std::shared_ptr<link::Puts> puts, std::span<const Port> ports);
  [[nodiscard]] std::uint64_t arrange();
  [[nodiscard]] Status check(const Place& place, std::uint32_t number, std::uint64_t memory_bytes) const;

  std::shared_ptr<link::Puts> puts_;
  std::vector<Port> ports_;
  std::unique_ptr<link::OwnMemory> memory_;
  std::vector<Place> own_;
  std::vector<Place> theirs_;
  std::vector<std::unique_ptr<link::PutTarget>> targets_;
  std::shared_ptr<Sources> sources_;
};

}  // namespace couplet::exchange
