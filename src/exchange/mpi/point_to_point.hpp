// PointToPoint: isend and persistent. Each message is received into memory of its own, in pieces of at most 1 GiB,
// since counts are 32-bit numbers. Both sides make as many pieces as the longest message needs; those of a shorter
// message are shorter, or empty.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "exchange/mpi/mpi_method.hpp"

namespace couplet::exchange {

class PointToPoint : public MpiMethod {
 public:
  using MpiMethod::MpiMethod;
  Result<std::vector<std::string>> prepare() override;
  Status begin(std::span<const std::uint32_t> sending, std::span<const std::uint32_t> receiving) override;
  [[nodiscard]] std::byte* outgoing(std::uint32_t port) override { return out_.payload(port); }
  Status send(std::uint32_t port, std::uint64_t bytes) override;
  Status all_sent() override { return {}; }
  Status poll() override;
  [[nodiscard]] bool has_arrived(std::uint32_t port) const override { return missing_[port] == 0; }
  [[nodiscard]] std::span<const std::byte> incoming(std::uint32_t port) const override {
    return {in_.payload(port), lengths_[port]};
  }
  [[nodiscard]] bool is_complete() const override { return active_ == 0; }
  Status end() override { return {}; }

 protected:
  static constexpr int tag = 0;  // there is nothing else in this communicator
  struct Piece {
    std::byte* memory = nullptr;
    int bytes = 0;
    int rank = 0;  // the peer's
    std::uint32_t port = 0;
  };
  // Begins to receive or to send these pieces. `bytes` of a sent piece: at most piece.bytes.
  virtual Status start_receives(std::size_t first, std::size_t count) = 0;
  virtual Status start_send(std::size_t index, int bytes) = 0;

  // The pieces of all receiving ports, then those of all sending ports; and the request of each. Behind them there is
  // a second request for each piece that is sent, which poll() looks at if use_second was called in this round.
  [[nodiscard]] const std::vector<Piece>& pieces() const noexcept { return pieces_; }
  [[nodiscard]] MPI_Request& request(std::size_t index) const noexcept { return requests_[index]; }
  [[nodiscard]] MPI_Request& use_second(std::size_t index) noexcept {
    tested_ = requests_.size();
    return requests_[pieces_.size() + index - receive_count_];
  }
  [[nodiscard]] std::size_t receive_count() const noexcept { return receive_count_; }

 private:
  struct Range {
    std::size_t first = 0;
    std::size_t count = 0;
  };
  Range add_pieces(std::uint32_t port, Way way, std::byte* memory);
  Status take(int index, const MPI_Status& status);

  Buffers out_;
  Buffers in_;
  std::vector<Piece> pieces_;
  std::size_t receive_count_ = 0;
  std::vector<Range> receives_;  // by port
  std::vector<Range> sends_;
  std::span<MPI_Request> requests_;
  std::vector<std::size_t> missing_;    // by port: pieces of this round's message that have not arrived
  std::vector<std::uint64_t> lengths_;  // by port: bytes that have arrived
  std::size_t tested_ = 0;              // requests that poll() looks at
  std::size_t active_ = 0;              // requests that have not ended
  std::vector<int> ended_;              // indices that MPI_Testsome returns
  std::vector<MPI_Status> statuses_;
};

}  // namespace couplet::exchange
