// put_lock: an epoch for each message. MPI_Win_lock, MPI_Put, MPI_Win_flush, the flag, MPI_Win_unlock. The locks are
// shared, so no member keeps another from its memory. If the window is not direct, MPI_Win_unlock may wait until the
// neighbour calls MPI once more after it has got the message.
#include "exchange/mpi/call.hpp"
#include "exchange/mpi/flagged.hpp"
#include "exchange/mpi/methods.hpp"

namespace couplet::exchange {
namespace {

class PutLock final : public Flagged {
 public:
  using Flagged::Flagged;

 protected:
  Status start() override {
    COUPLET_TRY(check_mpi(MPI_Comm_rank(team().comm(), &own_rank_), "MPI_Comm_rank"));
    COUPLET_TRY(enter_own());
    window().sync();  // an earlier write of zeros is not to come after a neighbour's put
    return leave_own();
  }
  Status enter(int rank) override {
    return check_mpi(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window().get()), "MPI_Win_lock");
  }
  Status leave(int rank) override { return check_mpi(MPI_Win_unlock(rank, window().get()), "MPI_Win_unlock"); }
  Status enter_own() override { return enter(own_rank_); }
  Status leave_own() override { return leave(own_rank_); }

 private:
  int own_rank_ = 0;
};

}  // namespace

const MpiKind put_lock_kind = {"put_lock", nullptr, [](std::string_view name, std::shared_ptr<Team> team) {
                                 return std::unique_ptr<MpiMethod>(std::make_unique<PutLock>(name, std::move(team)));
                               }};

}  // namespace couplet::exchange
