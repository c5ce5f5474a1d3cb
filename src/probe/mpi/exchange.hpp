// One exchange of a cell: all receives are posted, then all sends, then all are awaited. Its time is the hot spot's.
#pragma once

#include <mpi.h>

#include <vector>

#include "probe/design.hpp"

namespace couplet::probe {

enum class PostingOrder { intra_first, inter_first };

// The messages that this rank takes part in, with their memory. It is made once for each cell and run many times.
class Exchange {
 public:
  Exchange(const Star& star, const Cell& cell, PostingOrder order, int rank, std::size_t message_bytes,
           std::vector<char>& memory);

  // Collective. Returns the seconds from the first post until everything is complete.
  double run();

 private:
  struct Message {
    int peer;
    bool incoming;
  };

  void post(const Message& message, std::size_t index);

  std::vector<Message> incoming_;
  std::vector<Message> outgoing_;
  std::vector<MPI_Request> requests_;
  std::size_t message_bytes_;
  std::vector<char>& memory_;
};

// The seconds of half a round trip of one message between two ranks, averaged over `loops`; 0 on all other ranks.
double ping_pong(int rank, int first, int second, std::size_t bytes, int loops, std::vector<char>& memory);

}  // namespace couplet::probe
