// A simulated MPI job: the ranks of one launch, what they agree on, and the memory of its window. It stands for what
// series/mpi/ does with MPI. Ranks of a node map each other's memory, or fetch it like ranks of other nodes. A fetch is
// carried out in complete(), word by word, and other processes run in between. The job has a network of its own, which
// the faults of cables do not reach. A launch ends as a whole: the stage kills all of its ranks if one is killed.
#pragma once

#include <couplet/couplet.h>

#include <memory>
#include <vector>

#include "kernel/kernel.hpp"
#include "series/window.hpp"

namespace world {

class Launch {
 public:
  // served: a fetch waits for a call of the rank whose memory it reads, as with MPICH.
  Launch(std::size_t size, bool mapped, bool served);

  struct Rank {
    Process* process = nullptr;
    couplet::channel::PeerId peer = 0;
    std::byte* memory = nullptr;
    std::uint64_t used = 0;
    std::uint64_t calls = 0;  // in which it could serve others
    std::uint64_t rounds = 0;
    bool ends = false;
  };

  // Waits until all ranks have called it as often as this one. Returns the worst of their answers. Collective.
  int agree(std::size_t rank, int answer);
  // Makes the rank's window. Collective.
  [[nodiscard]] std::unique_ptr<couplet::series::Window> open_window(std::size_t rank, couplet::channel::PeerId self);

  const std::uint64_t number;
  const bool mapped;
  const bool served;
  bool over = false;  // its launcher has ended it
  std::vector<Rank> ranks;

 private:
  std::vector<int> worst_;  // the worst answer of each round
};

}  // namespace world
