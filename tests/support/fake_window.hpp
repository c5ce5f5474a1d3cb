// The window of an MPI job among the threads of a test. get and put copy memory that is being written.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "channel/channel.hpp"
#include "os/memory_block.hpp"
#include "series/window.hpp"

namespace couplet::testing {

// The part that the ranks of the job share. A process becomes a rank when it first asks.
class FakeJob {
 public:
  static constexpr int ranks = 32;
  int ranks_a_node = 1;  // they map each other's memory
  std::uint64_t number = 7;

  [[nodiscard]] int rank_of(channel::PeerId peer);
  [[nodiscard]] bool has(channel::PeerId peer);
  // Adds a new piece to a rank's memory. The piece does not move.
  Result<series::Window::Piece> reserve(int rank, std::uint64_t bytes);
  void give_back(int rank, const series::Window::Piece& piece) noexcept;
  // Returns how many pieces are reserved.
  [[nodiscard]] std::size_t pieces(int rank);
  [[nodiscard]] std::byte* at(int rank, std::uint64_t offset);
  // Called before each get, to change what it finds.
  std::function<void()> before_get = [] {};
  // Called between the first word of each get and the others, which a get may move in any order.
  std::function<void(std::uint64_t bytes)> within_get = [](std::uint64_t) {};

 private:
  // The distance between two pieces of a rank, in offsets.
  static constexpr std::uint64_t distance = std::uint64_t{1} << 32;
  std::mutex mutex_;
  std::map<channel::PeerId, int> ranks_;
  std::vector<std::unique_ptr<os::MemoryBlock>> blocks_[ranks];
  std::vector<std::byte*> data_[ranks];
};

[[nodiscard]] std::unique_ptr<series::Window> open_fake_window(std::shared_ptr<FakeJob> job, channel::PeerId self);

}  // namespace couplet::testing
