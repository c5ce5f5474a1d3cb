// neighbor: one collective call for all neighbours, over a communicator with the graph of the ports. The two sides of a
// collective call must give the same counts, so a message is always sent in its full length, behind a number that
// tells how much of it is used. If every port has a message in each direction in every round, the call is persistent
// where the MPI has that.
#include <climits>

#include "exchange/mpi/call.hpp"
#include "exchange/mpi/methods.hpp"

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define COUPLET_HAS_PERSISTENT_NEIGHBOR 1
#else
#define COUPLET_HAS_PERSISTENT_NEIGHBOR 0
#endif

namespace couplet::exchange {
namespace {

// The counts, places and ranks of one direction.
struct Side {
  Buffers buffers;
  std::vector<std::uint32_t> ports;  // those that are used in this direction
  std::vector<int> ranks;
  std::vector<int> counts;
  std::vector<int> offsets;
  std::vector<int> index_of;  // by port
};

class Neighbor final : public MpiMethod {
 public:
  using MpiMethod::MpiMethod;

  Result<std::vector<std::string>> prepare() override {
    COUPLET_TRY(make_side(out_, Way::out));
    COUPLET_TRY(make_side(in_, Way::in));
    lengths_.assign(port_count(), 0);
    MPI_Comm graph = MPI_COMM_NULL;
    COUPLET_TRY(
        check_mpi(MPI_Dist_graph_create_adjacent(team().comm(), static_cast<int>(in_.ranks.size()), in_.ranks.data(),
                                                 MPI_UNWEIGHTED, static_cast<int>(out_.ranks.size()), out_.ranks.data(),
                                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph),
                  "MPI_Dist_graph_create_adjacent"));
    team().own_graph(graph);
    MPI_Comm_set_errhandler(graph, MPI_ERRORS_RETURN);
    request_ = &team().requests(1, Team::Calls::collective)[0];
    COUPLET_TRY(make_persistent());
    return std::vector<std::string>();
  }

  Status begin(std::span<const std::uint32_t> sending, std::span<const std::uint32_t> receiving) override {
    COUPLET_TRY(team().check_open());
    state_ = State::filling;
    receiving_ = receiving;
    if (!is_persistent_) {
      set_counts(out_, sending, Way::out);
      set_counts(in_, receiving, Way::in);
    }
    return {};
  }
  [[nodiscard]] std::byte* outgoing(std::uint32_t number) override { return out_.buffers.payload(number); }
  Status send(std::uint32_t number, std::uint64_t bytes) override {
    set_length(out_.buffers.payload(number), bytes);
    return {};
  }
  Status all_sent() override {
    state_ = State::moving;
    if (is_persistent_) {
      return check_mpi(MPI_Start(request_), "MPI_Start");
    }
    return check_mpi(MPI_Ineighbor_alltoallv(out_.buffers.memory(), out_.counts.data(), out_.offsets.data(), MPI_BYTE,
                                             in_.buffers.memory(), in_.counts.data(), in_.offsets.data(), MPI_BYTE,
                                             team().graph(), request_),
                     "MPI_Ineighbor_alltoallv");
  }
  Status poll() override {
    if (state_ != State::moving) {
      team().progress();
      return {};
    }
    int done = 0;
    COUPLET_TRY(check_mpi(MPI_Test(request_, &done, MPI_STATUS_IGNORE), "MPI_Test"));
    if (done == 0) {
      return {};
    }
    state_ = State::arrived;
    for (const std::uint32_t number : receiving_) {
      lengths_[number] = length_of(in_.buffers.payload(number));
      if (lengths_[number] > port(number).in_bytes) {
        return fail(Code::protocol, "neighbor: member {} says that its message has {} bytes, but at most {} are agreed",
                    port(number).peer, lengths_[number], port(number).in_bytes);
      }
    }
    return {};
  }
  [[nodiscard]] bool has_arrived(std::uint32_t /*port*/) const override { return state_ == State::arrived; }
  [[nodiscard]] std::span<const std::byte> incoming(std::uint32_t number) const override {
    return {in_.buffers.payload(number), lengths_[number]};
  }
  [[nodiscard]] bool is_complete() const override { return state_ == State::arrived; }
  Status end() override {
    state_ = State::idle;
    return {};
  }

 private:
  enum class State : std::uint8_t { idle, filling, moving, arrived };

  Status make_side(Side& side, Way way) {
    COUPLET_TRY(side.buffers.reserve(team(), way));
    side.index_of.assign(port_count(), -1);
    for (std::uint32_t number = 0; number < port_count(); ++number) {
      if (!is_used(port(number), way)) {
        continue;
      }
      side.index_of[number] = static_cast<int>(side.ports.size());
      side.ports.push_back(number);
      side.ranks.push_back(team().rank_of(number));
      side.offsets.push_back(static_cast<int>(side.buffers.offset(number)));
    }
    set_counts(side, side.ports, way);
    return {};
  }
  void set_counts(Side& side, std::span<const std::uint32_t> ports, Way way) {
    side.counts.assign(side.ports.size(), 0);
    for (const std::uint32_t number : ports) {
      side.counts[static_cast<std::size_t>(side.index_of[number])] =
          static_cast<int>(capacity(port(number), way) + length_bytes);
    }
  }
  Status make_persistent() {
#if COUPLET_HAS_PERSISTENT_NEIGHBOR
    is_persistent_ = team().is_paired();
    if (is_persistent_) {
      return check_mpi(
          MPI_Neighbor_alltoallv_init(out_.buffers.memory(), out_.counts.data(), out_.offsets.data(), MPI_BYTE,
                                      in_.buffers.memory(), in_.counts.data(), in_.offsets.data(), MPI_BYTE,
                                      team().graph(), MPI_INFO_NULL, request_),
          "MPI_Neighbor_alltoallv_init");
    }
#endif
    return {};
  }

  Side out_;
  Side in_;
  std::span<const std::uint32_t> receiving_;
  std::vector<std::uint64_t> lengths_;  // by port
  MPI_Request* request_ = nullptr;
  bool is_persistent_ = false;
  State state_ = State::idle;
};

// Offsets and counts of this call are 32-bit numbers.
Status check_neighbor(std::span<const Port> ports) {
  std::uint64_t out = 0;
  std::uint64_t in = 0;
  for (const Port& port : ports) {
    out += port.sends ? buffer_bytes(port.out_bytes) : 0;
    in += port.receives ? buffer_bytes(port.in_bytes) : 0;
  }
  if (out > INT_MAX || in > INT_MAX) {
    return fail(Code::unsupported,
                "a member sends {} bytes and receives {} in a round, and MPI_Neighbor_alltoallv moves at most {}", out,
                in, INT_MAX);
  }
  return {};
}

}  // namespace

const MpiKind neighbor_kind = {"neighbor", check_neighbor, [](std::string_view name, std::shared_ptr<Team> team) {
                                 return std::unique_ptr<MpiMethod>(std::make_unique<Neighbor>(name, std::move(team)));
                               }};

}  // namespace couplet::exchange
