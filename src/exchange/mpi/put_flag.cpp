// put_flag: MPI_Put, MPI_Win_flush and a flag, in one epoch for all members as long as the exchange is open.
#include <atomic>

#include "exchange/mpi/call.hpp"
#include "exchange/mpi/flagged.hpp"
#include "exchange/mpi/methods.hpp"

namespace couplet::exchange {
namespace {

class PutFlag final : public Flagged {
 public:
  using Flagged::Flagged;

 protected:
  Status start() override {
    COUPLET_TRY(check_mpi(MPI_Win_lock_all(MPI_MODE_NOCHECK, window().get()), "MPI_Win_lock_all"));
    team().set_epoch(Team::Epoch::lock_all);
    window().sync();
    return {};
  }
  Status enter(int /*rank*/) override {
    std::atomic_thread_fence(std::memory_order_seq_cst);  // what was consumed is read before the credit is seen
    return {};
  }
  // A flag has to leave this member, but nobody has to wait until it is there: the flush of the next message does that.
  // If the window is direct, MPI_Win_flush waits for nobody, and is a fence.
  Status leave(int rank) override {
    return window().is_direct() ? check_mpi(MPI_Win_flush(rank, window().get()), "MPI_Win_flush")
                                : check_mpi(MPI_Win_flush_local(rank, window().get()), "MPI_Win_flush_local");
  }
  Status enter_own() override { return {}; }
  Status leave_own() override { return {}; }
};

}  // namespace

const MpiKind put_flag_kind = {"put_flag", nullptr, [](std::string_view name, std::shared_ptr<Team> team) {
                                 return std::unique_ptr<MpiMethod>(std::make_unique<PutFlag>(name, std::move(team)));
                               }};

}  // namespace couplet::exchange
