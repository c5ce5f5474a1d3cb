// The ways of MPI: two-sided, one-sided from the array itself, and one-sided from a ring of steps, as in the paper.
#include <mpi.h>
#include <sched.h>

#include <algorithm>

#include "bench/series/window_ring.hpp"
#include "bench/series_paper/way.hpp"

namespace couplet::bench {
namespace {

constexpr int step_tag = 1;
constexpr int taken_tag = 2;

// The type of the box in an array. `count` boxes are step_bytes apart.
class BoxType {
 public:
  BoxType() = default;
  ~BoxType() { MPI_Type_free(&type_); }
  BoxType(const BoxType&) = delete;
  BoxType& operator=(const BoxType&) = delete;
  [[nodiscard]] MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_ = box_type(1);
};

void get_boxes(MPI_Win window, const BoxType& box, std::uint64_t offset, std::uint64_t count, std::byte* out) {
  MPI_Get(out, static_cast<int>(count * box_bytes / 4), MPI_INT, 0, static_cast<MPI_Aint>(offset),
          static_cast<int>(count), box.get(), window);
}

// Lets MPI make progress for others.
void progress() {
  int there = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
}

class TwoSided final : public Way {
 public:
  explicit TwoSided(const Setting& setting) : Way("two_sided", setting) {}
  void end() override { MPI_Send(setting_.field, 1, box_.get(), 1, step_tag, MPI_COMM_WORLD); }
  std::uint64_t wait() override {
    MPI_Probe(0, step_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return 1;
  }
  void take(std::uint64_t, std::byte* out) override {
    MPI_Recv(out, static_cast<int>(box_bytes / 4), MPI_INT, 0, step_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }

 private:
  BoxType box_;
};

// Memory of process 0 that process 1 reads.
class Window {
 public:
  // allocated: memory of MPI_Win_allocate, else of MPI_Win_create.
  Window(int rank, std::uint64_t bytes, bool allocated) {
    const auto size = static_cast<MPI_Aint>(rank == 0 ? bytes : 0);
    if (allocated) {
      MPI_Win_allocate(size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &data_, &window_);
    } else {
      own_bytes_ = rank == 0 ? bytes : 0;
      data_ = rank == 0 ? touched_memory(bytes) : nullptr;
      MPI_Win_create(data_, size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window_);
    }
    if (rank == 0) {
      std::memset(data_, 0, bytes);
    }
    MPI_Win_lock_all(0, window_);
    MPI_Win_sync(window_);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  ~Window() {
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
    if (own_bytes_ > 0) {
      munmap(data_, own_bytes_);
    }
  }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] MPI_Win get() const { return window_; }

 private:
  std::byte* data_ = nullptr;
  std::uint64_t own_bytes_ = 0;
  MPI_Win window_ = MPI_WIN_NULL;
};

// Process 1 gets the box from the array while process 0 waits.
class WithoutBuffer final : public Way {
 public:
  WithoutBuffer(std::string name, const Setting& setting, bool allocated)
      : Way(std::move(name), setting), window_(setting.rank, step_bytes, allocated) {}
  std::byte* begin() override { return window_.data(); }
  void end() override {
    MPI_Win_sync(window_.get());
    MPI_Send(nullptr, 0, MPI_INT, 1, step_tag, MPI_COMM_WORLD);
    MPI_Recv(nullptr, 0, MPI_INT, 1, taken_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  std::uint64_t wait() override {
    MPI_Recv(nullptr, 0, MPI_INT, 0, step_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return 1;
  }
  void take(std::uint64_t, std::byte* out) override {
    get_boxes(window_.get(), box_, 0, 1, out);
    MPI_Win_flush(0, window_.get());
    MPI_Send(nullptr, 0, MPI_INT, 0, taken_tag, MPI_COMM_WORLD);
  }

 private:
  Window window_;
  BoxType box_;
};

// The window of a ring of steps: how many were written, how many were taken, and the slots.
struct RingWindow {
  RingWindow(const Setting& setting, bool allocated)
      : window(setting.rank, slots_offset + setting.slots * step_bytes, allocated) {}
  static constexpr std::uint64_t taken_offset = 64;
  static constexpr std::uint64_t slots_offset = 4096;
  [[nodiscard]] std::uint64_t load(std::uint64_t offset) const {
    MPI_Win_sync(window.get());
    return *reinterpret_cast<volatile std::uint64_t*>(window.data() + offset);
  }
  Window window;
  std::uint64_t written = 0;  // process 0
  std::uint64_t taken = 0;    // process 1
};

// at_once: one MPI_Get for all steps that are there (two if they wrap), below 1 GiB each. Otherwise one for each step.
class WithBuffer final : public Way {
 public:
  WithBuffer(std::string name, const Setting& setting, std::shared_ptr<RingWindow> ring, bool at_once)
      : Way(std::move(name), setting), ring_(std::move(ring)), at_once_(at_once) {}

  void end() override {
    while (setting_.waits && ring_->written >= ring_->load(RingWindow::taken_offset) + setting_.slots) {
      progress();
      sched_yield();
    }
    std::byte* const data = ring_->window.data();
    std::memcpy(data + RingWindow::slots_offset + ring_->written % setting_.slots * step_bytes, setting_.field,
                step_bytes);
    MPI_Win_sync(ring_->window.get());
    *reinterpret_cast<volatile std::uint64_t*>(data) = ++ring_->written;
    MPI_Win_sync(ring_->window.get());
    progress();
  }
  std::uint64_t wait() override {
    for (;;) {
      std::uint64_t written = 0;
      MPI_Get(&written, 8, MPI_BYTE, 0, 0, 8, MPI_BYTE, ring_->window.get());
      MPI_Win_flush(0, ring_->window.get());
      if (written > ring_->taken) {
        return written - ring_->taken;
      }
      sched_yield();
    }
  }
  void take(std::uint64_t count, std::byte* out) override {
    constexpr std::uint64_t largest_get_steps = (std::uint64_t{1} << 30) / step_bytes;
    for (std::uint64_t done = 0; done < count;) {
      const std::uint64_t slot = ring_->taken % setting_.slots;
      const std::uint64_t steps = std::min({count - done, at_once_ ? largest_get_steps : 1, setting_.slots - slot});
      get_boxes(ring_->window.get(), box_, RingWindow::slots_offset + slot * step_bytes, steps, out + done * box_bytes);
      done += steps;
      ring_->taken += steps;
    }
    MPI_Win_flush(0, ring_->window.get());
    if (setting_.waits) {
      MPI_Put(&ring_->taken, 8, MPI_BYTE, 0, RingWindow::taken_offset, 8, MPI_BYTE, ring_->window.get());
      MPI_Win_flush(0, ring_->window.get());
    }
  }

 private:
  std::shared_ptr<RingWindow> ring_;
  BoxType box_;
  bool at_once_;
};

}  // namespace

void add_mpi_ways(const Setting& setting, Ways& ways) {
  ways.push_back(std::make_unique<TwoSided>(setting));
  if (setting.apart) {  // over TCP, a Get waits until the other process calls MPI
    return;
  }
  for (const bool allocated : {false, true}) {
    const std::string kind = allocated ? "allocated" : "created";
    ways.push_back(std::make_unique<WithoutBuffer>("get/" + kind, setting, allocated));
    const auto ring = std::make_shared<RingWindow>(setting, allocated);
    ways.push_back(std::make_unique<WithBuffer>("get_ring/" + kind + "/at_once", setting, ring, true));
    ways.push_back(std::make_unique<WithBuffer>("get_ring/" + kind + "/each", setting, ring, false));
  }
}

}  // namespace couplet::bench
