// Talk over MPI: here the members of an exchange have no universe in which they could send each other messages.
#pragma once

#include <mpi.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "exchange/method.hpp"

namespace couplet::exchange {

class MpiTalk final : public Talk {
 public:
  MpiTalk(MPI_Comm comm, std::vector<int> peers) : comm_(comm), peers_(std::move(peers)) {}

  Result<std::vector<std::string>> swap(std::span<const std::string> texts) override {
    std::vector<MPI_Request> requests(peers_.size());
    for (std::size_t port = 0; port < peers_.size(); ++port) {
      MPI_Isend(texts[port].data(), static_cast<int>(texts[port].size()), MPI_CHAR, peers_[port], 0, comm_,
                &requests[port]);
    }
    std::vector<std::string> answers;
    for (const int peer : peers_) {
      MPI_Status status;
      int length = 0;
      MPI_Probe(peer, 0, comm_, &status);
      MPI_Get_count(&status, MPI_CHAR, &length);
      std::string answer(static_cast<std::size_t>(length), '\0');
      MPI_Recv(answer.data(), length, MPI_CHAR, peer, 0, comm_, MPI_STATUS_IGNORE);
      answers.push_back(std::move(answer));
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    return answers;
  }

  // Over rank 0: SimGrid would simulate a message between each two members for MPI_Allgather.
  Result<std::vector<std::string>> gather(const std::string& text) override {
    int size = 0;
    MPI_Comm_size(comm_, &size);
    std::vector<int> lengths(static_cast<std::size_t>(size));
    const int length = static_cast<int>(text.size());
    MPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, comm_);
    MPI_Bcast(lengths.data(), size, MPI_INT, 0, comm_);
    std::vector<int> places;
    int end = 0;
    for (const int one : lengths) {
      places.push_back(end);
      end += one;
    }
    std::string all(static_cast<std::size_t>(end), '\0');
    MPI_Gatherv(text.data(), length, MPI_CHAR, all.data(), lengths.data(), places.data(), MPI_CHAR, 0, comm_);
    MPI_Bcast(all.data(), end, MPI_CHAR, 0, comm_);
    std::vector<std::string> texts;
    for (std::size_t rank = 0; rank < lengths.size(); ++rank) {
      texts.push_back(all.substr(static_cast<std::size_t>(places[rank]), static_cast<std::size_t>(lengths[rank])));
    }
    return texts;
  }

  Status agree(const Status& own) override {
    int rank = 0;
    MPI_Comm_rank(comm_, &rank);
    const int failed = own.ok() ? std::numeric_limits<int>::max() : rank;
    int first = 0;
    MPI_Allreduce(&failed, &first, 1, MPI_INT, MPI_MIN, comm_);
    if (first == std::numeric_limits<int>::max()) {
      return {};
    }
    COUPLET_TRY_VALUE(const auto texts, gather(own.ok() ? std::string() : own.text()));
    return fail(Code::unsupported, "{}", texts[static_cast<std::size_t>(first)]);
  }

 private:
  MPI_Comm comm_;
  std::vector<int> peers_;
};

}  // namespace couplet::exchange
