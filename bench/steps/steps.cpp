// Writing and reading steps in samples of a few milliseconds, so that two builds can be paired closely. Programs left
// and right each write a series of 128 steps; left is measured: it puts and claims steps of its own series, and reads
// the paper's box of those of right. Each is bound to a core, so that the two builds share the core, and what else runs
// on it. Commands over the pipes of bench/common/control.h:
//   W 0 COUNT   puts      C 0 COUNT   claim and publish      R K COUNT   reads of K steps      N 0 COUNT   newest steps
// usage: COUPLET_HUB=... steps {left | right} PIPES
#include "bench/common/control.h"
#include "bench/series/measure.hpp"

namespace couplet::bench {
namespace {

constexpr std::uint64_t slots = 128;

class Side {
 public:
  explicit Side(bool left)
      : universe_(join(left ? "left" : "right")), series_(create_series(universe_, left ? "left" : "right", slots)) {
    for (std::uint64_t slot = 0; slot < slots; ++slot) {
      put();
    }
    other_ = left ? "right" : "left";
    reader_ = open_series(universe_, other_, COUPLET_SERIES_FOLLOW, 0);
  }
  ~Side() {
    must(couplet_series_close(reader_), "close");
    must(couplet_series_close(series_), "close");
    must(couplet_leave(universe_), "leave");
  }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  // Returns the seconds that the operations of a command took.
  double sample(char command, std::uint64_t steps, long count) {
    double time = 0;
    switch (command) {
      case 'R':
        for (long call = 0; call < count; ++call) {
          time += read(steps);
        }
        return time;
      case 'W':
        return timed([&] { repeat(count, [&] { put(); }); });
      case 'C':
        return timed([&] {
          repeat(count, [&] {
            void* memory = nullptr;
            must(couplet_series_claim(series_, step_++, &memory), "claim");
            must(couplet_series_publish(series_), "publish");
          });
        });
      default:
        return timed([&] {
          repeat(count, [&] {
            std::uint64_t first = 0;
            std::uint64_t end = 0;
            std::int64_t newest = 0;
            must(couplet_series_retained(reader_, &first, &end, &newest), "retained");
          });
        });
    }
  }

 private:
  template <typename Work>
  static void repeat(long count, const Work& work) {
    for (long number = 0; number < count; ++number) {
      work();
    }
  }
  void put() { must(couplet_series_put(series_, field_, step_++), "put"); }
  double read(std::uint64_t steps) {
    if (at_ + steps > slots) {
      must(couplet_series_close(reader_), "close");
      reader_ = open_series(universe_, other_, COUPLET_SERIES_FOLLOW, 0);
      at_ = 0;
    }
    at_ += steps;
    std::byte* const out = destinations_.next(steps);
    return timed([&] { read_series(reader_, steps, out); });
  }

  couplet_universe* universe_;
  couplet_series* series_;
  couplet_series* reader_ = nullptr;
  const char* other_ = nullptr;
  std::byte* field_ = touched_memory(step_bytes);
  std::int64_t step_ = 0;
  std::uint64_t at_ = 0;  // steps that were read since the series was opened
  Destinations destinations_{slots};
};

void serve(const char* stem, int role) {
  bench_pin(role);
  Side side(role == 0);
  FILE* const in = bench_pipe(stem, role, "in", "r");
  FILE* const out = bench_pipe(stem, role, "out", "w");
  std::fprintf(out, "ready\n");
  char line[128];
  while (std::fgets(line, sizeof line, in) != nullptr && line[0] != 'Q') {
    unsigned long long steps = 0;
    long count = 0;
    if (std::sscanf(line + 1, "%llu %ld", &steps, &count) != 2 || steps > slots) {
      give_up("bad command");
    }
    std::fprintf(out, "%.9f\n", role == 0 ? side.sample(line[0], steps, count) : 0.0);
  }
  std::fclose(in);
  std::fclose(out);
}

}  // namespace
}  // namespace couplet::bench

int main(int argc, char** argv) {
  if (argc != 3) {
    couplet::bench::give_up("usage: steps {left | right} PIPES");
  }
  couplet::bench::serve(argv[2], std::string(argv[1]) == "left" ? 0 : 1);
  return 0;
}
