// isend: MPI_Irecv and MPI_Isend in each round.
#include "exchange/mpi/call.hpp"
#include "exchange/mpi/methods.hpp"
#include "exchange/mpi/point_to_point.hpp"

namespace couplet::exchange {
namespace {

class Isend final : public PointToPoint {
 public:
  using PointToPoint::PointToPoint;

 protected:
  Status start_receives(std::size_t first, std::size_t count) override {
    for (std::size_t index = first; index < first + count; ++index) {
      const Piece& piece = pieces()[index];
      COUPLET_TRY(
          check_mpi(MPI_Irecv(piece.memory, piece.bytes, MPI_BYTE, piece.rank, tag, team().comm(), &request(index)),
                    "MPI_Irecv"));
    }
    return {};
  }
  Status start_send(std::size_t index, int bytes) override {
    const Piece& piece = pieces()[index];
    return check_mpi(MPI_Isend(piece.memory, bytes, MPI_BYTE, piece.rank, tag, team().comm(), &request(index)),
                     "MPI_Isend");
  }
};

}  // namespace

const MpiKind isend_kind = {"isend", nullptr, [](std::string_view name, std::shared_ptr<Team> team) {
                              return std::unique_ptr<MpiMethod>(std::make_unique<Isend>(name, std::move(team)));
                            }};

}  // namespace couplet::exchange
