// Series between two ranks of one MPI job, so that MPI's own ways can be measured in the same run: rank 0 writes, rank 1
// reads. Every case takes its samples in turn: ours, the plain copies, MPI. Prints one JSON object a case with all samples;
// bench/suite_series.py makes the figures out of them.
// usage: mpirun -n 2 series.<flavour> [slots]
#include <mpi.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "bench/series/plain_copy.hpp"
#include "series/reader.hpp"
#include "series/slot_protocol.hpp"
#include "series/writer.hpp"
#include "support/series_world.hpp"

namespace {

using namespace couplet;
using Samples = std::map<std::string, std::vector<double>>;

constexpr std::int64_t extent = 900;
constexpr std::int64_t box_start = 150;
constexpr std::int64_t box_extent = 600;
constexpr std::uint64_t step_bytes = extent * extent * 4;
constexpr std::uint64_t box_bytes = box_extent * box_extent * 4;
constexpr std::uint64_t largest_get_steps = (std::uint64_t{1} << 30) / step_bytes;  // one transfer stays below 1 GiB
constexpr double seconds_a_case = 6;

int rank = 0;

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "bench series, rank %d: %s\n", rank, why.c_str());
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}
template <typename T>
T must(Result<T> result) {
  if (!result) {
    give_up(result.status().text());
  }
  return std::move(result).value();
}
void must(const Status& status) {
  if (!status.ok()) {
    give_up(status.text());
  }
}

double seconds() {
  return static_cast<double>(os::now_ns()) * 1e-9;
}
double timed(const std::function<void()>& work) {
  const double start = seconds();
  work();
  return seconds() - start;
}

// The methods of a case, each timed once a round, beginning with another one in each round: what one leaves behind (in the
// caches, on its way to memory) does not always meet the same next one.
using Method = std::pair<std::string, std::function<double()>>;
void take_round(const std::vector<Method>& methods, std::size_t round, Samples& samples) {
  for (std::size_t index = 0; index < methods.size(); ++index) {
    const auto& [name, work] = methods[(index + round) % methods.size()];
    samples[name].push_back(work());
  }
}

std::byte* touched_memory(std::uint64_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    give_up("no memory");
  }
  madvise(memory, bytes, MADV_HUGEPAGE);
  std::memset(memory, 1, bytes);
  return static_cast<std::byte*>(memory);
}

void print(const std::string& name, const std::string& unit, const Samples& samples) {
  std::string text = fmt::format(R"({{"case": "{}", "unit": "{}", "samples": {{)", name, unit);
  const char* comma = "";
  for (const auto& [method, values] : samples) {
    text += fmt::format("{}\"{}\": [{:.6g}]", comma, method, fmt::join(values, ", "));
    comma = ", ";
  }
  std::printf("%s}}\n", text.c_str());
  std::fflush(stdout);
}

// Destinations in turn, all touched before.
class Destinations {
 public:
  explicit Destinations(std::uint64_t steps) : steps_(steps), data_(touched_memory(steps * box_bytes)) {}
  std::byte* next(std::uint64_t count) {
    if (at_ + count > steps_) {
      at_ = 0;
    }
    std::byte* data = data_ + at_ * box_bytes;
    at_ += count;
    return data;
  }
  // What a user does first: look at what came.
  static void touch(const std::byte* data, std::uint64_t count) {
    volatile std::byte sink{};
    for (std::uint64_t at = 0; at < count * box_bytes; at += 4096) {
      sink = data[at];
    }
    static_cast<void>(sink);
  }

 private:
  std::uint64_t steps_;
  std::byte* data_;
  std::uint64_t at_ = 0;
};

layout::Box the_box() {
  layout::Box box;
  box.dimensions = 2;
  box.start = {box_start, box_start};
  box.stop = {box_start + box_extent, box_start + box_extent};
  return box;
}

// ---- writing (rank 0) ----

MPI_Datatype box_type(int steps) {
  const int sizes[3] = {steps, extent, extent};
  const int parts[3] = {steps, box_extent, box_extent};
  const int starts[3] = {0, box_start, box_start};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &type);
  MPI_Type_commit(&type);
  return type;
}

void bench_put(series::Writer* writer, std::uint64_t slots, std::byte* field) {
  constexpr int repetitions = 400;
  MPI_Datatype type = box_type(1);
  Samples put;
  if (rank == 0) {
    const std::uint64_t reference_slots = slots;  // as large as ours: page walks count
    auto reference = must(os::MappedFile::create(writer->file().path() + "-reference", reference_slots * step_bytes));
    must(reference->remove());
    std::uint64_t slot = 0;
    const auto next_slot = [&] { return reference->data() + (slot++ % reference_slots) * step_bytes; };
    std::int64_t step = 0;
    const std::vector<Method> methods = {
        {"ours", [&] { return 1e3 * timed([&] { must(writer->put(field, step++)); }); }},
        {"copy_memcpy", [&] { return 1e3 * timed([&] { std::memcpy(next_slot(), field, step_bytes); }); }},
        {"copy_streaming", [&] { return 1e3 * timed([&] { bench::stream_row(next_slot(), field, step_bytes); }); }},
        {"mpi_send_box", [&] {
           const double time = 1e3 * timed([&] { MPI_Send(field, 1, type, 1, 0, MPI_COMM_WORLD); });
           MPI_Recv(nullptr, 0, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // the receiver is done, too
           return time;
         }}};
    for (int repetition = 0; repetition < repetitions; ++repetition) {
      std::memset(field + (repetition % 50) * 4096, repetition, 4096);  // a little computation
      take_round(methods, static_cast<std::size_t>(repetition), put);
    }
    print("put", "ms", put);
    Samples claim;
    std::atomic<std::uint64_t> line{0};
    for (int repetition = 0; repetition < repetitions; ++repetition) {
      constexpr int turns = 100;
      const int base = repetitions + repetition * turns;
      claim["ours"].push_back(1e6 / turns * timed([&] {
                                for (int turn = 0; turn < turns; ++turn) {
                                  must(writer->claim(base + turn));
                                  must(writer->publish());
                                }
                              }));
      claim["limit_store_and_fence"].push_back(1e6 / turns * timed([&] {
                                                 for (int turn = 0; turn < turns; ++turn) {
                                                   line.store(static_cast<std::uint64_t>(turn),
                                                              std::memory_order_release);
                                                   std::atomic_thread_fence(std::memory_order_seq_cst);
                                                 }
                                               }));
    }
    print("claim", "us", claim);
    const int last = repetitions + repetitions * 100;
    for (std::uint64_t slot_number = 0; slot_number < slots; ++slot_number) {  // every slot holds a real step
      must(writer->put(field, last + static_cast<std::int64_t>(slot_number)));
    }
  } else {
    std::vector<std::byte> box(box_bytes);
    for (int repetition = 0; repetition < repetitions; ++repetition) {
      MPI_Recv(box.data(), static_cast<int>(box_bytes / 4), MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(nullptr, 0, MPI_INT, 0, 1, MPI_COMM_WORLD);
    }
  }
  MPI_Type_free(&type);
}

// ---- reading (rank 1; rank 0 waits inside MPI, so that MPI makes all the progress it can) ----

class SeriesRing {  // reads forward, and opens again at the end
 public:
  SeriesRing(series::Environment& environment, message::Team& team) : environment_(environment), team_(team) { open(); }
  void read(std::uint64_t count, std::byte* out) {
    must(reader_->read(count, count, os::never, out, count * box_bytes, batch_));
  }
  void rewind_if_needed(std::uint64_t count) {
    if (reader_->count().pending < count) {
      open();
    }
  }
  series::Reader& reader() { return *reader_; }

 private:
  void open() {
    reader_.reset();
    series::ReaderOptions options;
    options.box = the_box();
    options.mode = series::Mode::follow;
    reader_ = must(series::Reader::open(environment_, team_, "eta", options, os::deadline_after(30)));
  }
  series::Environment& environment_;
  message::Team& team_;
  std::unique_ptr<series::Reader> reader_;
  series::Batch batch_;
};

class WindowRing {
 public:
  WindowRing(std::uint64_t slots, bool allocated, const std::byte* field) : slots_(slots) {
    const auto bytes = static_cast<MPI_Aint>(rank == 0 ? slots * step_bytes : 0);
    if (allocated) {
      MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory_, &window_);
    } else {
      memory_ = rank == 0 ? touched_memory(slots * step_bytes) : nullptr;
      own_ = rank == 0;
      MPI_Win_create(memory_, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window_);
    }
    if (rank == 0) {
      for (std::uint64_t slot = 0; slot < slots; ++slot) {
        std::memcpy(memory_ + slot * step_bytes, field, step_bytes);
      }
    }
    MPI_Win_lock_all(0, window_);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  ~WindowRing() {
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
    if (own_) {
      munmap(memory_, slots_ * step_bytes);
    }
  }
  WindowRing(const WindowRing&) = delete;
  WindowRing& operator=(const WindowRing&) = delete;
  void read(std::uint64_t count, std::byte* out) {
    if (at_ + count > slots_) {
      at_ = 0;
    }
    for (std::uint64_t done = 0; done < count;) {
      const std::uint64_t steps = std::min(count - done, largest_get_steps);
      MPI_Datatype type = types(static_cast<int>(steps));
      MPI_Get(out + done * box_bytes, static_cast<int>(steps * box_bytes / 4), MPI_INT, 0,
              static_cast<MPI_Aint>((at_ + done) * step_bytes), 1, type, window_);
      done += steps;
    }
    MPI_Win_flush(0, window_);
    at_ += count;
  }
  void read_counter(std::uint64_t& counter) {
    MPI_Get(&counter, 8, MPI_BYTE, 0, 0, 8, MPI_BYTE, window_);
    MPI_Win_flush(0, window_);
  }

 private:
  MPI_Datatype types(int steps) {
    auto& type = types_[steps];
    if (type == 0) {
      type = box_type(steps);
    }
    return type;
  }
  std::uint64_t slots_;
  std::byte* memory_ = nullptr;
  bool own_ = false;
  MPI_Win window_ = MPI_WIN_NULL;
  std::uint64_t at_ = 0;
  std::map<int, MPI_Datatype> types_;
};

void bench_read(SeriesRing& ring, series::SeriesFile& file, WindowRing& window, const std::string& window_name,
                Destinations& destinations, std::uint64_t count) {
  const std::uint64_t slots = file.slots();
  std::uint64_t at = slots / 3;
  Samples samples;
  const auto sample = [&](const std::function<void(std::byte*)>& work) {
    std::byte* out = destinations.next(count);
    const double time = 1e3 / static_cast<double>(count) * timed([&] { work(out); });
    Destinations::touch(out, count);
    return time;
  };
  const auto copy = [&](std::byte* out, bool streaming) {
    at = (at + count) % (slots - count + 1);
    for (std::uint64_t step = 0; step < count; ++step) {
      const std::byte* source = file.slot(at + step) + (box_start * extent + box_start) * 4;
      bench::copy_box(out + step * box_bytes, source, box_extent * 4, extent * 4, box_extent, streaming);
    }
    layout::store_fence();
  };
  const std::vector<Method> methods = {
      {"ours",
       [&] {
         ring.rewind_if_needed(count);
         return sample([&](std::byte* out) { ring.read(count, out); });
       }},
      {"copy_memcpy", [&] { return sample([&](std::byte* out) { copy(out, false); }); }},
      {"copy_streaming", [&] { return sample([&](std::byte* out) { copy(out, true); }); }},
      {window_name, [&] { return sample([&](std::byte* out) { window.read(count, out); }); }}};
  const double end = seconds() + seconds_a_case;
  for (std::size_t round = 0; round < 4 || (round < 300 && seconds() < end); ++round) {
    take_round(methods, round, samples);
  }
  print(fmt::format("read/k={}", count), "ms", samples);
}

void bench_newest(SeriesRing* ring, series::SeriesFile* file, WindowRing& window, const std::string& window_name) {
  Samples samples;
  for (int repetition = 0; rank == 1 && repetition < 300; ++repetition) {
    constexpr int turns = 100;
    samples["ours"].push_back(1e6 / turns * timed([&] {
                                for (int turn = 0; turn < turns; ++turn) {
                                  must(ring->reader().retained());
                                }
                              }));
    samples["limit_cache_line"].push_back(1e6 / turns * timed([&] {
                                            volatile std::uint64_t sink = 0;
                                            for (int turn = 0; turn < turns; ++turn) {
                                              sink =
                                                  file->control().published.published.load(std::memory_order_acquire);
                                            }
                                            static_cast<void>(sink);
                                          }));
  }
  for (int repetition = 0; repetition < 5; ++repetition) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {  // computes, and calls no MPI meanwhile
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

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const std::uint64_t slots = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1300;
  {
    char directory[256] = {};
    std::unique_ptr<couplet::testing::SeriesWorld> world;
    if (rank == 0) {
      world = std::make_unique<couplet::testing::SeriesWorld>();
      world->directory().copy(directory, sizeof directory - 1);
    }
    MPI_Bcast(directory, sizeof directory, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank == 1) {
      world = std::make_unique<couplet::testing::SeriesWorld>(std::string(directory));
    }
    couplet::testing::FakeEnvironment environment(*world, static_cast<channel::PeerId>(rank),
                                                  rank == 0 ? "ocean" : "nowcast");
    couplet::testing::SoloTeam team;
    std::byte* field = touched_memory(step_bytes);
    std::unique_ptr<series::Writer> writer;
    if (rank == 0) {
      const std::vector<std::int64_t> shape = {extent, extent};
      series::WriterOptions options;
      options.slots = slots;
      writer = must(series::Writer::create(environment, team, {"eta", COUPLET_INT32, shape, layout::whole(shape)},
                                           options, os::deadline_after(60)));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    bench_put(writer.get(), slots, field);
    MPI_Barrier(MPI_COMM_WORLD);
    std::unique_ptr<SeriesRing> ring;
    std::unique_ptr<series::SeriesFile> file;
    std::unique_ptr<Destinations> destinations;
    if (rank == 1) {
      ring = std::make_unique<SeriesRing>(environment, team);
      file = must(series::SeriesFile::open(directory + ("/" + world->series_files().front())));
      destinations = std::make_unique<Destinations>(slots);
    }
    for (const bool allocated : {false, true}) {
      const std::string name = allocated ? "mpi_get_allocated" : "mpi_get_created";
      WindowRing window(slots, allocated, field);
      for (const std::uint64_t count : {1U, 8U, 64U, 256U, 700U, 1300U}) {
        if (rank == 1 && count <= slots) {
          bench_read(*ring, *file, window, name, *destinations, count);
        }
        MPI_Barrier(MPI_COMM_WORLD);
      }
      bench_newest(ring.get(), file.get(), window, name);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
