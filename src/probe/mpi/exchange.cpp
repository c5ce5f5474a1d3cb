#include "probe/mpi/exchange.hpp"

#include <algorithm>

namespace couplet::probe {

namespace {

constexpr int exchange_tag = 1;
constexpr int ping_pong_tag = 2;

}  // namespace

Exchange::Exchange(const Star& star, const Cell& cell, PostingOrder order, int rank, std::size_t message_bytes,
                   std::vector<char>& memory)
    : message_bytes_(message_bytes), memory_(memory) {
  const auto add = [&](const std::vector<int>& partners, int count, bool to_hot_spot) {
    for (int index = 0; index < count; ++index) {
      const int partner = partners[static_cast<std::size_t>(index)];
      if (rank == star.hot_spot) {
        (to_hot_spot ? incoming_ : outgoing_).push_back({partner, to_hot_spot});
      } else if (rank == partner) {
        (to_hot_spot ? outgoing_ : incoming_).push_back({star.hot_spot, !to_hot_spot});
      }
    }
  };
  add(star.intra, cell.intra_in, true);
  add(star.intra, cell.intra_out, false);
  add(star.inter, cell.inter_in, true);
  add(star.inter, cell.inter_out, false);
  if (order == PostingOrder::inter_first) {
    std::reverse(incoming_.begin(), incoming_.end());
    std::reverse(outgoing_.begin(), outgoing_.end());
  }
  const std::size_t count = incoming_.size() + outgoing_.size();
  requests_.assign(count, MPI_REQUEST_NULL);
  if (memory_.size() < count * message_bytes) {
    memory_.resize(count * message_bytes);
  }
}

void Exchange::post(const Message& message, std::size_t index) {
  char* place = memory_.data() + index * message_bytes_;
  const int count = static_cast<int>(message_bytes_);
  if (message.incoming) {
    MPI_Irecv(place, count, MPI_BYTE, message.peer, exchange_tag, MPI_COMM_WORLD, &requests_[index]);
  } else {
    MPI_Isend(place, count, MPI_BYTE, message.peer, exchange_tag, MPI_COMM_WORLD, &requests_[index]);
  }
}

double Exchange::run() {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  std::size_t index = 0;
  for (const Message& message : incoming_) {
    post(message, index++);
  }
  for (const Message& message : outgoing_) {
    post(message, index++);
  }
  MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  return MPI_Wtime() - start;
}

double ping_pong(int rank, int first, int second, std::size_t bytes, int loops, std::vector<char>& memory) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank != first && rank != second) {
    return 0.0;
  }
  memory.resize(std::max(memory.size(), bytes));
  const int count = static_cast<int>(bytes);
  const int peer = rank == first ? second : first;
  const double start = MPI_Wtime();
  for (int loop = 0; loop < loops; ++loop) {
    if (rank == first) {
      MPI_Send(memory.data(), count, MPI_BYTE, peer, ping_pong_tag, MPI_COMM_WORLD);
    }
    MPI_Recv(memory.data(), count, MPI_BYTE, peer, ping_pong_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == second) {
      MPI_Send(memory.data(), count, MPI_BYTE, peer, ping_pong_tag, MPI_COMM_WORLD);
    }
  }
  return (MPI_Wtime() - start) / (2.0 * loops);
}

}  // namespace couplet::probe
