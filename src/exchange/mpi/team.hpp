// Team: the members that have ports with each other, directly or through others, as a communicator of MPI. It owns
// everything of MPI that a method has made, and the memory that calls of MPI still use: if a method is destroyed in the
// middle of a round, all this stays until MPI_Finalize.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exchange/method.hpp"
#include "exchange/mpi/job.hpp"

namespace couplet::exchange {

class Team final : public Freed {
 public:
  // Collective over the group. `own`: an error if this member cannot use the method; all members then return the first
  // one. Returns unsupported if the members have not joined with one communicator.
  static Result<std::shared_ptr<Team>> open(const std::shared_ptr<Job>& job, const Setting& setting, Talk& talk,
                                            const Status& own);
  Team(std::shared_ptr<Job> job, std::vector<std::int32_t> members, std::span<const Port> ports);
  ~Team() override = default;

  [[nodiscard]] bool is_alone() const noexcept { return members_.size() == 1; }
  [[nodiscard]] MPI_Comm comm() const noexcept { return comm_; }
  [[nodiscard]] const std::vector<Port>& ports() const noexcept { return ports_; }
  // Returns the rank of the port's peer in comm().
  [[nodiscard]] int rank_of(std::uint32_t port) const noexcept { return ranks_[port]; }
  // Have all ports of all members a message in each direction in every round?
  [[nodiscard]] bool is_paired() const noexcept { return is_paired_; }
  // Are all members on one node? Collective over the members.
  Result<bool> is_on_one_node();

  // Returns zeroed memory, 64-byte aligned.
  Result<std::byte*> reserve(std::uint64_t bytes);
  // Returns requests, all MPI_REQUEST_NULL: of messages, or of collective calls, which cannot be cancelled.
  enum class Calls : std::uint8_t { messages, collective };
  std::span<MPI_Request> requests(std::size_t count, Calls calls);

  // How the window is open, and so how it has to be closed.
  enum class Epoch : std::uint8_t { none, fence, lock_all };
  void own_window(MPI_Win window) noexcept { window_ = window; }
  [[nodiscard]] MPI_Win window() const noexcept { return window_; }
  void set_epoch(Epoch epoch) noexcept { epoch_ = epoch; }
  void own_graph(MPI_Comm graph) noexcept { graph_ = graph; }
  [[nodiscard]] MPI_Comm graph() const noexcept { return graph_; }
  void own_group(MPI_Group group) { groups_.push_back(group); }

  // Lets MPI do the work for which other members wait.
  void progress() noexcept;
  // Returns state if MPI_Finalize was called while the exchange was open.
  [[nodiscard]] Status check_open() const;
  // Returns true when all members have called it. Everything of MPI is then freed.
  Result<bool> close();
  void free_all() noexcept override;

 private:
  struct Aligned {
    void operator()(std::byte* memory) const noexcept { ::operator delete(memory, std::align_val_t{64}); }
  };
  Status make_comm();
  Status begin_closing();
  void release() noexcept;
  void release_requests() noexcept;

  std::shared_ptr<Job> job_;
  std::vector<std::int32_t> members_;  // by rank in comm(): their ranks in the job
  std::vector<Port> ports_;
  std::vector<int> ranks_;  // by port
  bool is_paired_ = false;
  MPI_Comm comm_ = MPI_COMM_NULL;
  MPI_Comm graph_ = MPI_COMM_NULL;
  MPI_Win window_ = MPI_WIN_NULL;
  Epoch epoch_ = Epoch::none;
  std::vector<MPI_Group> groups_;
  struct Requests {
    std::vector<MPI_Request> list;
    Calls calls = Calls::messages;
  };
  std::vector<std::unique_ptr<Requests>> requests_;
  std::vector<std::unique_ptr<std::byte, Aligned>> memory_;
  struct Closing {
    MPI_Request request = MPI_REQUEST_NULL;
    int has_window = 0;  // at this member, then at all
    bool is_over = false;
  } closing_;
};

}  // namespace couplet::exchange
