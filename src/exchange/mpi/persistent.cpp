// persistent: MPI_Recv_init and MPI_Send_init once, MPI_Startall and MPI_Start in each round. A message that is shorter
// than the longest one goes with MPI_Isend, which a persistent receive accepts, too.
#include "exchange/mpi/call.hpp"
#include "exchange/mpi/methods.hpp"
#include "exchange/mpi/point_to_point.hpp"

namespace couplet::exchange {
namespace {

class Persistent final : public PointToPoint {
 public:
  using PointToPoint::PointToPoint;

  Result<std::vector<std::string>> prepare() override {
    COUPLET_TRY_VALUE(auto texts, PointToPoint::prepare());
    for (std::size_t index = 0; index < pieces().size(); ++index) {
      const auto& [memory, bytes, rank, number] = pieces()[index];
      if (index < receive_count()) {
        COUPLET_TRY(check_mpi(MPI_Recv_init(memory, bytes, MPI_BYTE, rank, tag, team().comm(), &request(index)),
                              "MPI_Recv_init"));
      } else {
        COUPLET_TRY(check_mpi(MPI_Send_init(memory, bytes, MPI_BYTE, rank, tag, team().comm(), &request(index)),
                              "MPI_Send_init"));
      }
    }
    return texts;
  }

 protected:
  Status start_receives(std::size_t first, std::size_t count) override {
    if (count == 0) {
      return {};
    }
    return check_mpi(MPI_Startall(static_cast<int>(count), &request(first)), "MPI_Startall");
  }
  Status start_send(std::size_t index, int bytes) override {
    const Piece& piece = pieces()[index];
    if (bytes == piece.bytes) {
      return check_mpi(MPI_Start(&request(index)), "MPI_Start");
    }
    return check_mpi(MPI_Isend(piece.memory, bytes, MPI_BYTE, piece.rank, tag, team().comm(), &use_second(index)),
                     "MPI_Isend");
  }
};

}  // namespace

const MpiKind persistent_kind = {
    "persistent", nullptr, [](std::string_view name, std::shared_ptr<Team> team) {
      return std::unique_ptr<MpiMethod>(std::make_unique<Persistent>(name, std::move(team)));
    }};

}  // namespace couplet::exchange
