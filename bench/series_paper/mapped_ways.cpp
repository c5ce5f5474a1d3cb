// Our series, and the ring in shared memory that a programmer would write by hand for just these two processes.
#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <new>

#include "bench/series/plain_copy.hpp"
#include "bench/series_paper/way.hpp"

namespace couplet::bench {
namespace {

void wait_until(const std::atomic<std::uint64_t>& counter, std::uint64_t value) {
  while (counter.load(std::memory_order_acquire) < value) {
    sched_yield();
  }
}

// ---- by hand ----

struct RingControl {
  alignas(64) std::atomic<std::uint64_t> published;
  alignas(64) std::atomic<std::uint64_t> consumed;
};
constexpr std::uint64_t control_bytes = 4096;

// The memory of both rings that are written by hand. Process 0 makes it, process 1 maps it.
class RingMemory {
 public:
  explicit RingMemory(const Setting& setting) {
    const std::string path = std::string(std::getenv("COUPLET_RUN_DIR")) + "/ring-by-hand";
    const std::uint64_t bytes = control_bytes + setting.slots * step_bytes;
    const int file = setting.rank == 0 ? ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
    if (setting.rank == 0 && (file < 0 || posix_fallocate(file, 0, static_cast<off_t>(bytes)) != 0)) {
      give_up("no memory for " + path);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const int both = setting.rank == 0 ? file : ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, both, 0);
    if (both < 0 || memory == MAP_FAILED) {
      give_up("cannot map " + path);
    }
    ::close(both);
    MPI_Barrier(MPI_COMM_WORLD);
    if (setting.rank == 0) {
      ::unlink(path.c_str());
    }
    bytes_ = bytes;
    data_ = static_cast<std::byte*>(memory);
  }
  ~RingMemory() { munmap(data_, bytes_); }
  RingMemory(const RingMemory&) = delete;
  RingMemory& operator=(const RingMemory&) = delete;
  [[nodiscard]] RingControl& control() const { return *std::launder(reinterpret_cast<RingControl*>(data_)); }
  [[nodiscard]] std::byte* slots() const { return data_ + control_bytes; }

 private:
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

class RingByHand final : public Way {
 public:
  RingByHand(std::string name, const Setting& setting, std::shared_ptr<RingMemory> memory, bool streaming)
      : Way(std::move(name), setting), memory_(std::move(memory)), streaming_(streaming) {}

  void end() override {
    RingControl& control = memory_->control();
    const std::uint64_t number = control.published.load(std::memory_order_relaxed);
    if (setting_.waits && number >= setting_.slots) {
      wait_until(control.consumed, number - setting_.slots + 1);
    }
    std::byte* const slot = memory_->slots() + number % setting_.slots * step_bytes;
    if (streaming_) {
      stream_row(slot, setting_.field, step_bytes);
    } else {
      std::memcpy(slot, setting_.field, step_bytes);
    }
    control.published.store(number + 1, std::memory_order_release);
  }
  std::uint64_t wait() override {
    const RingControl& control = memory_->control();
    const std::uint64_t next = control.consumed.load(std::memory_order_relaxed);
    wait_until(control.published, next + 1);
    return control.published.load(std::memory_order_acquire) - next;
  }
  void take(std::uint64_t count, std::byte* out) override {
    RingControl& control = memory_->control();
    for (std::uint64_t number = 0; number < count; ++number) {
      const std::uint64_t next = control.consumed.load(std::memory_order_relaxed);
      const std::byte* const slot = memory_->slots() + next % setting_.slots * step_bytes;
      copy_box(out + number * box_bytes, slot + (box_start * extent + box_start) * 4, box_extent * 4, extent * 4,
               box_extent, streaming_);
      fence();
      control.consumed.store(next + 1, std::memory_order_release);
    }
  }

 private:
  std::shared_ptr<RingMemory> memory_;
  bool streaming_;
};

// ---- ours ----

// One series for both ways of writing it.
class OurSeries {
 public:
  OurSeries(const char* name, const Setting& setting, couplet_universe* universe)
      : series_(setting.rank == 0
                    ? create_series(universe, name, setting.slots)
                    : open_series(universe, name, setting.waits ? COUPLET_SERIES_HOLD : COUPLET_SERIES_FOLLOW, 0)) {}
  ~OurSeries() { must(couplet_series_close(series_), "close"); }
  OurSeries(const OurSeries&) = delete;
  OurSeries& operator=(const OurSeries&) = delete;
  [[nodiscard]] couplet_series* get() const { return series_; }
  std::int64_t next_step() { return step_++; }
  std::uint64_t taken = 0;

 private:
  couplet_series* series_;
  std::int64_t step_ = 0;
};

class Ours final : public Way {
 public:
  Ours(std::string name, const Setting& setting, std::shared_ptr<OurSeries> series, bool in_place)
      : Way(std::move(name), setting), series_(std::move(series)), in_place_(in_place) {}

  std::byte* begin() override {
    if (!in_place_) {
      return setting_.field;
    }
    void* memory = nullptr;
    must(couplet_series_claim(series_->get(), series_->next_step(), &memory), "claim");
    return static_cast<std::byte*>(memory);
  }
  void end() override {
    if (in_place_) {
      must(couplet_series_publish(series_->get()), "publish");
    } else {
      must(couplet_series_put(series_->get(), setting_.field, series_->next_step()), "put");
    }
  }
  std::uint64_t wait() override {
    for (;;) {
      std::uint64_t first = 0;
      std::uint64_t end = 0;
      std::int64_t step = 0;
      const couplet_status status = couplet_series_retained(series_->get(), &first, &end, &step);
      if (status == COUPLET_OK && end > series_->taken) {
        return end - series_->taken;
      }
      if (status != COUPLET_OK && status != COUPLET_NOT_YET) {
        must(status, "retained");
      }
      sched_yield();
    }
  }
  void take(std::uint64_t count, std::byte* out) override {
    read_series(series_->get(), count, out);
    series_->taken += count;
  }

 private:
  std::shared_ptr<OurSeries> series_;
  bool in_place_;
};

}  // namespace

void add_mapped_ways(const Setting& setting, couplet_universe* universe, Ways& ways) {
  const auto series = std::make_shared<OurSeries>("eta", setting, universe);
  ways.push_back(std::make_unique<Ours>("ours/put", setting, series, false));
  ways.push_back(std::make_unique<Ours>("ours/claim", setting, series, true));
  if (setting.apart) {
    return;
  }
  const auto window = std::make_shared<OurSeries>(window_series, setting, universe);
  ways.push_back(std::make_unique<Ours>("ours/window", setting, window, false));
  const auto memory = std::make_shared<RingMemory>(setting);
  ways.push_back(std::make_unique<RingByHand>("ring_by_hand/memcpy", setting, memory, false));
  ways.push_back(std::make_unique<RingByHand>("ring_by_hand/streaming", setting, memory, true));
}

}  // namespace couplet::bench
