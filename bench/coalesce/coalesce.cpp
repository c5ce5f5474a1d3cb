// Rounds of several clients with the same two neighbours, 100 doubles each way: by hand over MPI, and coalesced.
//   usage: coalesce CLIENTS TURNS SAMPLE_MS
// Rank 0 prints one line, {"name": [microseconds of a round, by turn], ...}. A sample is that of the slowest rank. The
// order is rotated. Managers of Couplet are open during their own samples only, so that none is polled beside another.
#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <couplet/couplet.hpp>
#include <couplet/couplet_mpi.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace {

constexpr int numbers = 100;

// What one client has: a part for each side.
struct Part {
  std::vector<double> out[2] = {std::vector<double>(numbers), std::vector<double>(numbers)};
  std::vector<double> in[2] = {std::vector<double>(numbers), std::vector<double>(numbers)};
};

struct World {
  int rank = 0;
  int size = 0;
  int peers[2] = {0, 0};  // left, right
  std::vector<Part> parts;
  double round = 0;

  explicit World(int clients) : parts(static_cast<std::size_t>(clients)) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    peers[0] = (rank + size - 1) % size;
    peers[1] = (rank + 1) % size;
  }
  static double value(int of_rank, std::size_t client, int side, int place) {
    return of_rank * 1e6 + static_cast<double>(client) * 1e4 + side * 1e3 + place;
  }
  void fill() {
    for (std::size_t client = 0; client < parts.size(); ++client) {
      for (int side = 0; side < 2; ++side) {
        for (int place = 0; place < numbers; ++place) {
          parts[client].out[side][static_cast<std::size_t>(place)] = value(rank, client, side, place);
        }
        std::fill(parts[client].in[side].begin(), parts[client].in[side].end(), -1.0);
      }
    }
  }
  // What comes from the left was sent to the right.
  void check(const std::string& name) const {
    for (std::size_t client = 0; client < parts.size(); ++client) {
      for (int side = 0; side < 2; ++side) {
        for (int place = 0; place < numbers; ++place) {
          const double wanted = value(peers[side], client, 1 - side, place);
          if (parts[client].in[side][static_cast<std::size_t>(place)] == wanted) continue;
          std::fprintf(stderr, "bench: %s has moved wrong values\n", name.c_str());
          MPI_Abort(MPI_COMM_WORLD, 1);
        }
      }
    }
  }
};

// The tag of what goes to a side: with two ranks both neighbours are the same.
int tag_of(std::size_t client, int side_of_sender) {
  return static_cast<int>(client) * 2 + side_of_sender;
}

class Contender {
 public:
  explicit Contender(std::string name) : name_(std::move(name)) {}
  Contender(const Contender&) = delete;
  Contender& operator=(const Contender&) = delete;
  virtual ~Contender() = default;
  [[nodiscard]] const std::string& name() const { return name_; }
  virtual void open() {}
  virtual void round() = 0;
  virtual void close() {}

 private:
  std::string name_;
};

// Begins all messages of one client.
void begin(World& world, std::size_t client, std::vector<MPI_Request>& requests) {
  Part& part = world.parts[client];
  for (int side = 0; side < 2; ++side) {
    MPI_Irecv(part.in[side].data(), numbers, MPI_DOUBLE, world.peers[side], tag_of(client, 1 - side), MPI_COMM_WORLD,
              &requests.emplace_back());
  }
  for (int side = 0; side < 2; ++side) {
    MPI_Isend(part.out[side].data(), numbers, MPI_DOUBLE, world.peers[side], tag_of(client, side), MPI_COMM_WORLD,
              &requests.emplace_back());
  }
}

void wait_all(std::vector<MPI_Request>& requests) {
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  requests.clear();
}

class Separate final : public Contender {
 public:
  explicit Separate(World& world) : Contender("by hand: separate rounds"), world_(world) {}
  void round() override {
    for (std::size_t client = 0; client < world_.parts.size(); ++client) {
      begin(world_, client, requests_);
      wait_all(requests_);
    }
  }

 private:
  World& world_;
  std::vector<MPI_Request> requests_;
};

class OneWait final : public Contender {
 public:
  explicit OneWait(World& world) : Contender("by hand: one wait"), world_(world) {}
  void round() override {
    for (std::size_t client = 0; client < world_.parts.size(); ++client) begin(world_, client, requests_);
    wait_all(requests_);
  }

 private:
  World& world_;
  std::vector<MPI_Request> requests_;
};

// The parts of a neighbour are packed for each side on which it is, as a program does that does not look whether both
// neighbours are the same rank. tag_of_side: what one sends to its right comes from the left.
int tag_of_side(int side_of_sender) {
  return 1000 + side_of_sender;
}

// One derived type for each peer, made in each round.
class Derived final : public Contender {
 public:
  explicit Derived(World& world) : Contender("by hand: derived type rebuilt"), world_(world) {}
  void round() override {
    for (int side = 0; side < 2; ++side) {
      const int peer = world_.peers[side];
      MPI_Irecv(MPI_BOTTOM, 1, make(side, false), peer, tag_of_side(1 - side), MPI_COMM_WORLD,
                &requests_.emplace_back());
      MPI_Isend(MPI_BOTTOM, 1, make(side, true), peer, tag_of_side(side), MPI_COMM_WORLD, &requests_.emplace_back());
    }
    wait_all(requests_);
    for (MPI_Datatype& type : types_) MPI_Type_free(&type);
    types_.clear();
  }

 private:
  MPI_Datatype make(int side, bool sends) {
    std::vector<MPI_Aint> places;
    for (Part& part : world_.parts) {
      MPI_Get_address(sends ? part.out[side].data() : part.in[side].data(), &places.emplace_back());
    }
    MPI_Type_create_hindexed_block(static_cast<int>(places.size()), numbers, places.data(), MPI_DOUBLE,
                                   &types_.emplace_back());
    MPI_Type_commit(&types_.back());
    return types_.back();
  }
  World& world_;
  std::vector<MPI_Request> requests_;
  std::vector<MPI_Datatype> types_;
};

class Packed final : public Contender {
 public:
  explicit Packed(World& world) : Contender("by hand: packed"), world_(world) {
    for (Buffer& one : buffers_) {
      one.out.resize(world.parts.size() * numbers);
      one.in.resize(world.parts.size() * numbers);
    }
  }
  void round() override {
    for (int side = 0; side < 2; ++side) {
      Buffer& one = buffers_[side];
      MPI_Irecv(one.in.data(), static_cast<int>(one.in.size()), MPI_DOUBLE, world_.peers[side], tag_of_side(1 - side),
                MPI_COMM_WORLD, &requests_.emplace_back());
    }
    for (int side = 0; side < 2; ++side) {
      Buffer& one = buffers_[side];
      double* place = one.out.data();
      for (const Part& part : world_.parts) place = std::copy(part.out[side].begin(), part.out[side].end(), place);
      MPI_Isend(one.out.data(), static_cast<int>(one.out.size()), MPI_DOUBLE, world_.peers[side], tag_of_side(side),
                MPI_COMM_WORLD, &requests_.emplace_back());
    }
    wait_all(requests_);
    for (int side = 0; side < 2; ++side) {
      const double* place = buffers_[side].in.data();
      for (Part& part : world_.parts) {
        std::copy(place, place + numbers, part.in[side].begin());
        place += numbers;
      }
    }
  }

 private:
  struct Buffer {
    std::vector<double> out;
    std::vector<double> in;
  };
  World& world_;
  Buffer buffers_[2];
  std::vector<MPI_Request> requests_;
};

// The least that any library can do over shared memory: what is for a side is copied into one of two halves, whose flag
// says of which round it is, and the neighbour copies it from there.
class Mapped final : public Contender {
 public:
  explicit Mapped(World& world) : Contender("by hand: mapped"), world_(world) {
    const std::size_t bytes = 4 * half_bytes();
    void* own = nullptr;
    MPI_Win_allocate_shared(static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &window_);
    own_ = static_cast<std::byte*>(own);
    std::memset(own_, 0, bytes);
    for (int side = 0; side < 2; ++side) {
      MPI_Aint size = 0;
      int unit = 0;
      void* base = nullptr;
      MPI_Win_shared_query(window_, world.peers[side], &size, &unit, &base);
      theirs_[side] = static_cast<std::byte*>(base);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  ~Mapped() override { MPI_Win_free(&window_); }
  void round() override {
    ++round_;
    for (int side = 0; side < 2; ++side) {
      std::byte* const half = half_of(own_, side);
      double* place = reinterpret_cast<double*>(half + line);
      for (const Part& part : world_.parts) place = std::copy(part.out[side].begin(), part.out[side].end(), place);
      flag_of(half).store(round_, std::memory_order_release);
    }
    for (int side = 0; side < 2; ++side) {
      std::byte* const half = half_of(theirs_[side], 1 - side);
      for (int look = 1; flag_of(half).load(std::memory_order_acquire) < round_; ++look) {
        if (look % looks == 0) sched_yield();
      }
      const double* place = reinterpret_cast<const double*>(half + line);
      for (Part& part : world_.parts) {
        std::copy(place, place + numbers, part.in[side].begin());
        place += numbers;
      }
    }
  }

 private:
  static constexpr std::size_t line = 64;
  static constexpr int looks = 1000;  // before another process may have the core
  [[nodiscard]] std::size_t half_bytes() const {
    return line + (world_.parts.size() * numbers * sizeof(double) + line - 1) / line * line;
  }
  [[nodiscard]] std::byte* half_of(std::byte* base, int side) const {
    return base + (static_cast<std::size_t>(side) * 2 + round_ % 2) * half_bytes();
  }
  static std::atomic_ref<std::uint64_t> flag_of(std::byte* half) {
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(half));
  }
  World& world_;
  MPI_Win window_ = MPI_WIN_NULL;
  std::byte* own_ = nullptr;
  std::byte* theirs_[2] = {};
  std::uint64_t round_ = 0;
};

class Idle final : public couplet::Client {};

// Couplet's rounds, with clients that have nothing to do in their stages.
class Coalesced final : public Contender {
 public:
  Coalesced(World& world, const couplet::Group& group, const std::string& name, const couplet::CoalesceOptions& options)
      : Contender(name), world_(world), group_(group), options_(options), clients_(world.parts.size()) {}
  void open() override {
    manager_ = std::make_unique<couplet::StepManager>(group_, name(), options_);
    const couplet::ArrayBox all{{numbers}, {0}, {numbers}};
    for (std::size_t client = 0; client < clients_.size(); ++client) {
      const std::int32_t number = manager_->add("client " + std::to_string(client), clients_[client]);
      Part& part = world_.parts[client];
      for (int side = 0; side < 2; ++side) {
        manager_->send(number, {.peer = world_.peers[side], .tag = side}, part.out[side].data(), all);
        manager_->receive(number, {.peer = world_.peers[side], .tag = 1 - side}, part.in[side].data(), all);
      }
    }
    manager_->freeze();
  }
  void round() override { manager_->round(); }
  void close() override {
    manager_->close();
    manager_.reset();
  }

 private:
  World& world_;
  const couplet::Group& group_;
  couplet::CoalesceOptions options_;
  std::vector<Idle> clients_;
  std::unique_ptr<couplet::StepManager> manager_;
};

double sample(Contender& contender, long rounds) {
  MPI_Barrier(MPI_COMM_WORLD);
  const auto start = std::chrono::steady_clock::now();
  for (long round = 0; round < rounds; ++round) contender.round();
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
  double us = took.count() / static_cast<double>(rounds);
  MPI_Allreduce(MPI_IN_PLACE, &us, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return us;
}

void run(const couplet::Universe& universe, int clients, int turns, double sample_ms) {
  World world(clients);
  const couplet::Group group = universe.group();
  std::vector<std::unique_ptr<Contender>> all;
  all.push_back(std::make_unique<Separate>(world));
  all.push_back(std::make_unique<OneWait>(world));
  all.push_back(std::make_unique<Derived>(world));
  all.push_back(std::make_unique<Packed>(world));
  all.push_back(std::make_unique<Mapped>(world));
  for (const auto& [words, method] : {std::pair("", "auto"), std::pair(", persistent", "persistent")}) {
    for (const bool merge_waits : {true, false}) {
      for (const bool merge_messages : {true, false}) {
        const std::string name = std::string(merge_waits ? "one wait" : "a wait for each client") +
                                 (merge_messages ? ", merged messages" : ", a message for each client") + words;
        all.push_back(std::make_unique<Coalesced>(
            world, group, name,
            couplet::CoalesceOptions{.method = method, .merge_waits = merge_waits, .merge_messages = merge_messages}));
      }
    }
  }
  std::vector<std::vector<double>> samples(all.size());
  for (std::size_t turn = 0; turn < static_cast<std::size_t>(turns); ++turn) {
    for (std::size_t place = 0; place < all.size(); ++place) {
      Contender& one = *all[(place + turn) % all.size()];
      one.open();
      world.fill();
      one.round();
      world.check(one.name());
      sample(one, 50);
      const long rounds = std::max(1L, std::lround(sample_ms * 1e3 / sample(one, 50)));
      samples[(place + turn) % all.size()].push_back(sample(one, rounds));
      world.check(one.name());
      one.close();
    }
  }
  if (world.rank != 0) return;
  std::string line;
  for (std::size_t index = 0; index < all.size(); ++index) {
    line += (line.empty() ? "\"" : ", \"") + all[index]->name() + "\": [";
    for (std::size_t turn = 0; turn < samples[index].size(); ++turn) {
      line += (turn == 0 ? "" : ", ") + std::to_string(samples[index][turn]);
    }
    line += "]";
  }
  std::printf("{%s}\n", line.c_str());
}

}  // namespace

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  if (count != 4) {
    std::fprintf(stderr, "usage: coalesce CLIENTS TURNS SAMPLE_MS\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  try {
    couplet::Universe universe = couplet::join("bench", MPI_COMM_WORLD);
    run(universe, std::atoi(arguments[1]), std::atoi(arguments[2]), std::atof(arguments[3]));
    universe.leave();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return 0;
}
