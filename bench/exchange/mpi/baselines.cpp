// What an expert writes by hand. Messages of contiguous arrays are sent from where they are, one for each edge.
#include <sched.h>

#include <atomic>
#include <cstring>

#include "contenders.hpp"
#include "os/clock.hpp"

namespace couplet::bench {
namespace {

class Isend final : public ExchangeContender {
 public:
  explicit Isend(Halo& halo) : halo_(halo), requests_(2 * halo.out.size(), MPI_REQUEST_NULL) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  }
  [[nodiscard]] std::string name() const override { return "by hand: isend"; }
  void close() override {}
  void round() override {
    std::size_t used = 0;
    for (HaloEdge& edge : halo_.in) {
      if (edge.peer != rank_) {
        MPI_Irecv(edge.values.data(), static_cast<int>(edge.values.size()), MPI_DOUBLE, edge.peer, edge.direction,
                  MPI_COMM_WORLD, &requests_[used++]);
      }
    }
    for (const HaloEdge& edge : halo_.out) {
      if (edge.peer != rank_) {
        MPI_Isend(edge.values.data(), static_cast<int>(edge.values.size()), MPI_DOUBLE, edge.peer, edge.direction,
                  MPI_COMM_WORLD, &requests_[used++]);
      }
    }
    halo_.copy_own();
    MPI_Waitall(static_cast<int>(used), requests_.data(), MPI_STATUSES_IGNORE);
  }

 private:
  Halo& halo_;
  std::vector<MPI_Request> requests_;
  int rank_ = 0;
};

class Persistent final : public ExchangeContender {
 public:
  explicit Persistent(Halo& halo) : halo_(halo) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
    for (HaloEdge& edge : halo.in) {
      if (edge.peer != rank) {
        MPI_Recv_init(edge.values.data(), static_cast<int>(edge.values.size()), MPI_DOUBLE, edge.peer, edge.direction,
                      comm_, &requests_.emplace_back());
      }
    }
    for (const HaloEdge& edge : halo.out) {
      if (edge.peer != rank) {
        MPI_Send_init(edge.values.data(), static_cast<int>(edge.values.size()), MPI_DOUBLE, edge.peer, edge.direction,
                      comm_, &requests_.emplace_back());
      }
    }
  }
  [[nodiscard]] std::string name() const override { return "by hand: persistent"; }
  void close() override {
    for (MPI_Request& request : requests_) {
      MPI_Request_free(&request);
    }
    MPI_Comm_free(&comm_);
  }
  void round() override {
    MPI_Startall(static_cast<int>(requests_.size()), requests_.data());
    halo_.copy_own();
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  }

 private:
  Halo& halo_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::vector<MPI_Request> requests_;
};

class Neighbor final : public ExchangeContender {
 public:
  explicit Neighbor(Halo& halo) : halo_(halo) {
    std::vector<int> peers;
    int out = 0;
    int in = 0;
    for (const Bundle& bundle : halo.bundles) {
      peers.push_back(bundle.peer);
      out_counts_.push_back(static_cast<int>(bundle.out_count));
      in_counts_.push_back(static_cast<int>(bundle.in_count));
      out_places_.push_back(out);
      in_places_.push_back(in);
      out += out_counts_.back();
      in += in_counts_.back();
    }
    out_.resize(static_cast<std::size_t>(out));
    in_.resize(static_cast<std::size_t>(in));
    const int count = static_cast<int>(peers.size());
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, count, peers.data(), MPI_UNWEIGHTED, count, peers.data(),
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph_);
  }
  [[nodiscard]] std::string name() const override { return "by hand: neighbor_alltoallv"; }
  void close() override { MPI_Comm_free(&graph_); }
  void round() override {
    double* to = out_.data();
    for (const Bundle& bundle : halo_.bundles) {
      to = pack(halo_, bundle, to);
    }
    halo_.copy_own();
    MPI_Neighbor_alltoallv(out_.data(), out_counts_.data(), out_places_.data(), MPI_DOUBLE, in_.data(),
                           in_counts_.data(), in_places_.data(), MPI_DOUBLE, graph_);
    const double* from = in_.data();
    for (const Bundle& bundle : halo_.bundles) {
      from = unpack(halo_, bundle, from);
    }
  }

 private:
  Halo& halo_;
  MPI_Comm graph_ = MPI_COMM_NULL;
  std::vector<double> out_, in_;
  std::vector<int> out_counts_, in_counts_, out_places_, in_places_;
};

// Shared memory of one node: two halves and two flags for each neighbour, each flag on a line of its own. The sender
// packs into the receiver's half. It is the floor, too: nothing moves the same bytes with fewer copies and flags.
class Shared final : public ExchangeContender {
 public:
  explicit Shared(Halo& halo) : halo_(halo), yields_(must_yield()) {
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm_);
    MPI_Aint bytes = line;
    std::vector<MPI_Aint> own;
    for (const Bundle& bundle : halo.bundles) {
      own.push_back(bytes);
      bytes += slot_bytes(bundle.in_count) * 2;
    }
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "alloc_shared_noncontig", "true");
    std::byte* memory = nullptr;
    MPI_Win_allocate_shared(bytes, 1, info, comm_, static_cast<void*>(&memory), &window_);
    MPI_Info_free(&info);
    const auto skipped = static_cast<MPI_Aint>(-reinterpret_cast<std::uintptr_t>(memory) % line);
    std::memset(memory, 0, static_cast<std::size_t>(bytes));
    std::vector<MPI_Request> requests(own.size());
    for (std::size_t index = 0; index < own.size(); ++index) {
      own[index] = own[index] - line + skipped;
      MPI_Isend(&own[index], 1, MPI_AINT, halo.bundles[index].peer, 0, comm_, &requests[index]);
    }
    for (std::size_t index = 0; index < own.size(); ++index) {
      MPI_Aint place = 0;
      MPI_Aint size = 0;
      int unit = 0;
      std::byte* theirs = nullptr;
      MPI_Recv(&place, 1, MPI_AINT, halo.bundles[index].peer, 0, comm_, MPI_STATUS_IGNORE);
      MPI_Win_shared_query(window_, halo.bundles[index].peer, &size, &unit, static_cast<void*>(&theirs));
      slots_.push_back({memory + own[index], theirs + place});
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    MPI_Barrier(comm_);
  }
  [[nodiscard]] std::string name() const override { return "by hand: shared window"; }
  void close() override {
    MPI_Win_free(&window_);
    MPI_Comm_free(&comm_);
  }
  void round() override {
    ++round_;
    for (std::size_t index = 0; index < slots_.size(); ++index) {
      const Bundle& bundle = halo_.bundles[index];
      std::byte* const slot = slots_[index].theirs + slot_bytes(bundle.out_count) * static_cast<MPI_Aint>(round_ % 2);
      pack(halo_, bundle, reinterpret_cast<double*>(slot + line));
      flag(slot).store(round_, std::memory_order_release);
    }
    halo_.copy_own();
    for (std::size_t index = 0; index < slots_.size(); ++index) {
      const Bundle& bundle = halo_.bundles[index];
      std::byte* const slot = slots_[index].own + slot_bytes(bundle.in_count) * static_cast<MPI_Aint>(round_ % 2);
      for (int spins = 1; flag(slot).load(std::memory_order_acquire) != round_; ++spins) {
        os::pause();
        if (yields_ && spins % 16 == 0) {
          sched_yield();
        }
      }
      unpack(halo_, bundle, reinterpret_cast<const double*>(slot + line));
    }
  }

 private:
  static constexpr MPI_Aint line = 64;
  struct Slot {
    std::byte* own = nullptr;
    std::byte* theirs = nullptr;
  };
  static MPI_Aint slot_bytes(std::size_t count) {
    return line + (static_cast<MPI_Aint>(count * sizeof(double)) + line - 1) / line * line;
  }
  static std::atomic_ref<std::uint64_t> flag(std::byte* slot) {
    return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(slot));
  }
  Halo& halo_;
  bool yields_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  MPI_Win window_ = MPI_WIN_NULL;
  std::vector<Slot> slots_;
  std::uint64_t round_ = 0;
};

}  // namespace

void add_baselines(Contenders& all, Halo& halo) {
  all.push_back(std::make_unique<Isend>(halo));
  all.push_back(std::make_unique<Persistent>(halo));
  all.push_back(std::make_unique<Neighbor>(halo));
  all.push_back(std::make_unique<Shared>(halo));
}

}  // namespace couplet::bench
