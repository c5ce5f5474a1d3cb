// Series between two programs on one node, compared with plain copies and with MPI. Both programs are ranks of one MPI
// job, so that MPI can be measured in the same run: rank 0 is program ocean and writes, rank 1 is program nowcast and
// reads. Each case takes its samples in turn: ours, the plain copies, MPI. It prints one JSON object for each case with
// all samples, from which bench/suite_series.py computes the figures.
// usage: COUPLET_HUB=... COUPLET_RUN_DIR=... mpirun -n 2 series.<flavour> SLOTS [CASE...]
#include <mpi.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <set>

#include "bench/series/measure.hpp"
#include "bench/series/plain_copy.hpp"
#include "bench/series/window_ring.hpp"
#include "wire/series_format.hpp"

namespace couplet::bench {
namespace {

constexpr double seconds_a_case = 4;

int rank = 0;
std::set<std::string> wanted;
bool want(const std::string& name) {
  return wanted.empty() || wanted.contains(name);
}

// The slots of our series, for the plain copies: the speed of memory depends on where its pages are.
class SlotsOfSeries {
 public:
  explicit SlotsOfSeries(bool writable) : file_(find(), writable) {
    std::memcpy(&header_, file_.data(), sizeof header_);
  }
  [[nodiscard]] std::byte* slot(std::uint64_t number) const {
    return file_.data() + header_.slots_offset + number * header_.slot_stride;
  }
  [[nodiscard]] const wire::SeriesControl& control() const {
    return *reinterpret_cast<const wire::SeriesControl*>(file_.data() + header_.control_offset);
  }

 private:
  static std::string find() {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(std::getenv("COUPLET_RUN_DIR"))) {
      if (entry.path().filename().string().starts_with("series-")) {
        return entry.path();
      }
    }
    give_up("the series has no file");
  }
  SharedMemory file_;
  wire::SeriesHeaderImage header_{};
};

// ---- writing (rank 0) ----

void put(couplet_series* series, const void* field, std::int64_t step) {
  must(couplet_series_put(series, field, step), "put");
}

void bench_put(couplet_series* series, std::uint64_t slots, std::byte* field, std::int64_t& step) {
  constexpr int repetitions = 300;
  MPI_Datatype type = box_type(1);
  if (rank == 0) {
    const SlotsOfSeries ring(true);
    // The memory that our series will use so many steps later: the same pages, which are no longer cached then.
    const auto slot_ahead = [&](std::int64_t steps) {
      return ring.slot(static_cast<std::uint64_t>(step + steps) % slots);
    };
    const std::vector<Method> methods = {
        {"ours", [&] { return 1e3 * timed([&] { put(series, field, step++); }); }},
        {"copy_memcpy", [&] { return 1e3 * timed([&] { std::memcpy(slot_ahead(16), field, step_bytes); }); }},
        {"copy_streaming", [&] { return 1e3 * timed([&] { stream_row(slot_ahead(32), field, step_bytes); }); }},
        {"mpi_send_box", [&] {
           const double time = 1e3 * timed([&] { MPI_Send(field, 1, type, 1, 0, MPI_COMM_WORLD); });
           // The receiver is done, too.
           MPI_Recv(nullptr, 0, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
           return time;
         }}};
    Samples samples;
    for (int repetition = 0; repetition < repetitions; ++repetition) {
      std::memset(field + (repetition % 50) * 4096, repetition, 4096);  // a small computation
      take_round(methods, static_cast<std::size_t>(repetition), samples);
    }
    print("put", "ms", samples);
  } else {
    std::vector<std::byte> box(box_bytes);
    for (int repetition = 0; repetition < repetitions; ++repetition) {
      MPI_Recv(box.data(), static_cast<int>(box_bytes / 4), MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(nullptr, 0, MPI_INT, 0, 1, MPI_COMM_WORLD);
    }
  }
  MPI_Type_free(&type);
}

void bench_claim(couplet_series* series, std::int64_t& step) {
  constexpr int turns = 100;
  std::atomic<std::uint64_t> line{0};
  const std::vector<Method> methods = {{"ours",
                                        [&] {
                                          return 1e6 / turns * timed([&] {
                                                   for (int turn = 0; turn < turns; ++turn) {
                                                     void* memory = nullptr;
                                                     must(couplet_series_claim(series, step++, &memory), "claim");
                                                     must(couplet_series_publish(series), "publish");
                                                   }
                                                 });
                                        }},
                                       {"limit_store_and_fence", [&] {
                                          return 1e6 / turns * timed([&] {
                                                   for (int turn = 0; turn < turns; ++turn) {
                                                     line.store(static_cast<std::uint64_t>(turn),
                                                                std::memory_order_release);
                                                     std::atomic_thread_fence(std::memory_order_seq_cst);
                                                   }
                                                 });
                                        }}};
  Samples samples;
  for (std::size_t round = 0; round < 300; ++round) {
    take_round(methods, round, samples);
  }
  print("claim", "us", samples);
}

// ---- reading (rank 1; rank 0 waits inside MPI, so that MPI makes all the progress that it can) ----

// Reads forward.
class SeriesRing {
 public:
  explicit SeriesRing(couplet_universe* universe) : universe_(universe) { open(); }
  ~SeriesRing() { must(couplet_series_close(series_), "close"); }
  SeriesRing(const SeriesRing&) = delete;
  SeriesRing& operator=(const SeriesRing&) = delete;
  void read(std::uint64_t count, std::byte* out) { read_series(series_, count, out); }
  void rewind() {
    must(couplet_series_close(series_), "close");
    open();
  }
  struct Retained {
    std::uint64_t first = 0;
    std::uint64_t end = 0;
    std::int64_t newest = 0;
  };
  Retained retained() {
    Retained range;
    must(couplet_series_retained(series_, &range.first, &range.end, &range.newest), "retained");
    return range;
  }

 private:
  void open() { series_ = open_series(universe_, "eta", COUPLET_SERIES_FOLLOW, 0); }
  couplet_universe* universe_;
  couplet_series* series_ = nullptr;
};

// Ours and the plain copies are compared over the same slots and into the same destinations, since the speed of memory
// depends on where its pages are. A sample is a range of steps, read `count` in each call, or (ours_at_k=64) 64 in each
// call. It is larger than the cache, so that no method finds what another one has left there.
void bench_read(couplet_universe* universe, const SlotsOfSeries& slots, std::uint64_t slot_count, WindowRing& window,
                const std::string& window_name, Destinations& destinations, std::uint64_t count) {
  constexpr std::uint64_t usual_count = 64;
  const std::uint64_t range = std::min(std::max(count, usual_count), slot_count);
  SeriesRing ring(universe);
  SeriesRing usual(universe);
  const std::uint64_t oldest = ring.retained().first;
  std::uint64_t at = 0;  // the beginning of the range
  const auto sample = [&](std::uint64_t at_once, const auto& work) {
    double time = 0;
    for (std::uint64_t done = 0; done < range;) {
      const std::uint64_t steps = std::min(at_once, range - done);
      std::byte* out = destinations.at(at + done);
      time += timed([&] { work(steps, at + done, out); });
      Destinations::touch(out, steps);
      done += steps;
    }
    return 1e3 * time / static_cast<double>(range);
  };
  const auto copy = [&](std::uint64_t steps, std::uint64_t first, std::byte* out, bool streaming) {
    for (std::uint64_t step = 0; step < steps; ++step) {
      const std::byte* slot = slots.slot((oldest + first + step) % slot_count);
      copy_box(out + step * box_bytes, slot + (box_start * extent + box_start) * 4, box_extent * 4, extent * 4,
               box_extent, streaming);
    }
    fence();
  };
  const std::vector<Method> methods = {
      {"ours", [&] { return sample(count, [&](auto steps, auto /*first*/, auto* out) { ring.read(steps, out); }); }},
      {"ours_at_k=64",
       [&] { return sample(usual_count, [&](auto steps, auto /*first*/, auto* out) { usual.read(steps, out); }); }},
      {"copy_memcpy",
       [&] { return sample(count, [&](auto steps, auto first, auto* out) { copy(steps, first, out, false); }); }},
      {"copy_streaming",
       [&] { return sample(count, [&](auto steps, auto first, auto* out) { copy(steps, first, out, true); }); }},
      {window_name,
       [&] { return sample(count, [&](auto steps, auto /*first*/, auto* out) { window.read(steps, out); }); }}};
  Samples samples;
  const double end = seconds() + seconds_a_case;
  for (std::size_t round = 0; round < 5 || (round < 300 && seconds() < end); ++round) {
    take_round(methods, round, samples);
    at += range;
    if (at + range > slot_count) {
      at = 0;
      ring.rewind();
      usual.rewind();
    }
  }
  print("read/k=" + std::to_string(count), "ms", samples);
}

void bench_newest(SeriesRing* ring, const SlotsOfSeries* slots, WindowRing& window, const std::string& window_name) {
  Samples samples;
  constexpr int turns = 100;
  for (int repetition = 0; rank == 1 && repetition < 300; ++repetition) {
    samples["ours"].push_back(1e6 / turns * timed([&] {
                                for (int turn = 0; turn < turns; ++turn) {
                                  static_cast<void>(ring->retained());
                                }
                              }));
    samples["limit_cache_line"].push_back(1e6 / turns * timed([&] {
                                            volatile std::uint64_t sink = 0;
                                            for (int turn = 0; turn < turns; ++turn) {
                                              sink = slots->control().published.published.load();
                                            }
                                            static_cast<void>(sink);
                                          }));
  }
  for (int repetition = 0; repetition < 5; ++repetition) {
    MPI_Barrier(MPI_COMM_WORLD);
    // Rank 0 computes, and calls no MPI meanwhile.
    if (rank == 0) {
      volatile double heat = 1;
      for (const double end = seconds() + 0.1; seconds() < end;) {
        heat = heat * 1.0000001;
      }
    } else {
      std::uint64_t counter = 0;
      samples[window_name].push_back(1e6 * timed([&] { window.read_counter(counter); }));
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (rank == 1) {
    print("newest", "us", samples);
  }
}

void bench_reading(couplet_universe* universe, std::uint64_t slot_count, const std::byte* field) {
  // The last one is beyond 2^31 bytes.
  constexpr std::uint64_t counts[] = {1, 8, 64, 256, 700, 1300, 1500};
  std::unique_ptr<SeriesRing> ring;
  std::unique_ptr<SlotsOfSeries> slots;
  std::unique_ptr<Destinations> destinations;
  if (rank == 1) {
    ring = std::make_unique<SeriesRing>(universe);
    slots = std::make_unique<SlotsOfSeries>(false);
    destinations = std::make_unique<Destinations>(slot_count);
  }
  for (const bool allocated : {false, true}) {
    const std::string name = allocated ? "mpi_get_allocated" : "mpi_get_created";
    WindowRing window(rank, slot_count, allocated, field);
    for (const std::uint64_t count : counts) {
      if (rank == 1 && count <= slot_count && want("read/k=" + std::to_string(count))) {
        bench_read(universe, *slots, slot_count, window, name, *destinations, count);
      }
      MPI_Barrier(MPI_COMM_WORLD);
    }
    if (want("newest")) {
      bench_newest(ring.get(), slots.get(), window, name);
    }
  }
}

void run(std::uint64_t slots) {
  couplet_universe* universe = join(rank == 0 ? "ocean" : "nowcast");
  std::byte* field = touched_memory(step_bytes);
  couplet_series* series = rank == 0 ? create_series(universe, "eta", slots) : nullptr;
  std::int64_t step = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (want("put")) {
    bench_put(series, slots, field, step);
  }
  if (rank == 0 && want("claim")) {
    bench_claim(series, step);
  }
  for (std::uint64_t slot = 0; rank == 0 && slot < slots; ++slot) {  // every slot holds a real step
    put(series, field, step++);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  bench_reading(universe, slots, field);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    must(couplet_series_close(series), "close");
  }
  must(couplet_leave(universe), "leave");
}

}  // namespace
}  // namespace couplet::bench

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &couplet::bench::rank);
  if (argc < 2) {
    couplet::bench::give_up("usage: series SLOTS [CASE...]");
  }
  couplet::bench::wanted.insert(argv + 2, argv + argc);
  couplet::bench::run(std::strtoull(argv[1], nullptr, 10));
  MPI_Finalize();
  return 0;
}
