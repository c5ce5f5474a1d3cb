// Window: memory into which the neighbours put their messages. Each member has, for each port, one or two halves with a
// message, and, if the method has flags, a line of 64 bytes for the flag of each half and one for the neighbour's
// credit. The members tell each other where these are.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "exchange/mpi/buffers.hpp"
#include "exchange/mpi/team.hpp"

namespace couplet::exchange {

class Window {
 public:
  static constexpr std::size_t most_halves = 2;
  enum class Flags : std::uint8_t { none, each_half };

  // Makes it, zeroed. Collective over the team. Returns unsupported if its memory is not MPI_WIN_UNIFIED and there are
  // flags, which are then not seen by loads. The team owns it.
  Status open(Team& team, std::size_t half_count, Flags flags);
  // Returns, for each port, where the peer puts its messages, flags and credit.
  [[nodiscard]] std::vector<std::string> places() const;
  Status connect(std::span<const std::string> texts);

  // Does a put end without a call of MPI at its target? So it is known of Open MPI, whose windows within a node are
  // memory that the members share. Otherwise a flush may wait for the target.
  [[nodiscard]] bool is_direct() const noexcept { return is_direct_; }
  [[nodiscard]] MPI_Win get() const noexcept { return window_; }

  // This member's memory.
  [[nodiscard]] std::byte* payload(std::uint32_t port, std::size_t half) const noexcept {
    return memory_ + own_[port].halves[half];
  }
  // Returns what the peer has written. Call sync() before reading what was written earlier.
  [[nodiscard]] std::uint64_t flag(std::uint32_t port, std::size_t half) const noexcept;
  [[nodiscard]] std::uint64_t credit(std::uint32_t port) const noexcept;
  void sync() const noexcept { MPI_Win_sync(window_); }

  // Puts the message, which begins with its length, into the peer's half. `payload` is this member's buffer.
  Status put(std::uint32_t port, std::size_t half, const std::byte* payload, std::uint64_t bytes);
  // Set the flag of the peer's half, and the credit of the peer, both as one access of 8 bytes.
  Status set_flag(std::uint32_t port, std::size_t half, std::uint64_t value);
  Status set_credit(std::uint32_t port, std::uint64_t value);

 private:
  struct Place {  // offsets in a window
    std::array<std::uint64_t, most_halves> halves{};
    std::array<std::uint64_t, most_halves> flags{};
    std::uint64_t credit = 0;
  };
  // The source of a flag and of a credit, which MPI may read until the next flush.
  struct alignas(line_bytes) Values {
    std::uint64_t flag = 0;
    std::uint64_t credit = 0;
  };
  std::uint64_t place_all(std::size_t half_count, Flags flags);
  Status allocate(Team& team, std::uint64_t bytes);
  Status check_model() const;
  Status set(std::uint32_t port, std::uint64_t place, const std::uint64_t& value);

  MPI_Win window_ = MPI_WIN_NULL;
  std::byte* memory_ = nullptr;
  Team* team_ = nullptr;
  bool is_direct_ = false;
  std::vector<Place> own_;
  std::vector<Place> theirs_;
  Values* values_ = nullptr;  // by port; the team's memory
};

}  // namespace couplet::exchange
