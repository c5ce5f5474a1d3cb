// MpiTalk: what members tell each other while a method is made, here over MPI itself.
#pragma once

#include <mpi.h>

#include <span>
#include <string>
#include <vector>

#include "exchange/method.hpp"

namespace couplet::exchange::testing {

class MpiTalk final : public Talk {
 public:
  MpiTalk(MPI_Comm comm, std::vector<std::int32_t> peers) : comm_(comm), peers_(std::move(peers)) {}

  Result<std::vector<std::string>> swap(std::span<const std::string> texts) override {
    std::vector<MPI_Request> sends(peers_.size());
    for (std::size_t port = 0; port < peers_.size(); ++port) {
      MPI_Isend(texts[port].data(), static_cast<int>(texts[port].size()), MPI_CHAR, peers_[port], 1, comm_,
                &sends[port]);
    }
    std::vector<std::string> theirs(peers_.size());
    for (std::size_t port = 0; port < peers_.size(); ++port) {
      MPI_Status status;
      int bytes = 0;
      MPI_Probe(peers_[port], 1, comm_, &status);
      MPI_Get_count(&status, MPI_CHAR, &bytes);
      theirs[port].resize(static_cast<std::size_t>(bytes));
      MPI_Recv(theirs[port].data(), bytes, MPI_CHAR, peers_[port], 1, comm_, MPI_STATUS_IGNORE);
    }
    MPI_Waitall(static_cast<int>(sends.size()), sends.data(), MPI_STATUSES_IGNORE);
    return theirs;
  }

  Result<std::vector<std::string>> gather(const std::string& text) override {
    int size = 0;
    MPI_Comm_size(comm_, &size);
    std::vector<int> lengths(static_cast<std::size_t>(size));
    const int own = static_cast<int>(text.size());
    MPI_Allgather(&own, 1, MPI_INT, lengths.data(), 1, MPI_INT, comm_);
    std::vector<int> places(lengths.size(), 0);
    for (std::size_t rank = 1; rank < places.size(); ++rank) {
      places[rank] = places[rank - 1] + lengths[rank - 1];
    }
    std::string all(static_cast<std::size_t>(places.back() + lengths.back()), '\0');
    MPI_Allgatherv(text.data(), own, MPI_CHAR, all.data(), lengths.data(), places.data(), MPI_CHAR, comm_);
    std::vector<std::string> texts;
    for (std::size_t rank = 0; rank < places.size(); ++rank) {
      texts.push_back(all.substr(static_cast<std::size_t>(places[rank]), static_cast<std::size_t>(lengths[rank])));
    }
    return texts;
  }

  Status agree(const Status& own) override {
    auto texts = gather(own.ok() ? "" : fmt::format("{} {}", static_cast<int>(own.code()), own.text()));
    for (const std::string& text : *texts) {
      if (!text.empty()) {
        const std::size_t space = text.find(' ');
        return {static_cast<Code>(std::stoi(text.substr(0, space))), text.substr(space + 1)};
      }
    }
    return {};
  }

 private:
  MPI_Comm comm_;
  std::vector<std::int32_t> peers_;  // by port
};

}  // namespace couplet::exchange::testing
