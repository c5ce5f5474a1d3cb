// The baseline of MPI users: a ring of steps in a window of rank 0, which rank 1 reads with MPI_Get of a derived type.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <map>

#include "bench/series/measure.hpp"

namespace couplet::bench {

inline MPI_Datatype box_type(int steps) {
  const int sizes[3] = {steps, extent, extent};
  const int parts[3] = {steps, box_extent, box_extent};
  const int starts[3] = {0, box_start, box_start};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &type);
  MPI_Type_commit(&type);
  return type;
}

class WindowRing {
 public:
  // allocated: memory of MPI_Win_allocate, else of MPI_Win_create. Collective.
  WindowRing(int rank, std::uint64_t slots, bool allocated, const std::byte* field) : slots_(slots) {
    const auto bytes = static_cast<MPI_Aint>(rank == 0 ? slots * step_bytes : 0);
    if (allocated) {
      MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory_, &window_);
    } else {
      memory_ = rank == 0 ? touched_memory(slots * step_bytes) : nullptr;
      own_ = rank == 0;
      MPI_Win_create(memory_, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window_);
    }
    for (std::uint64_t slot = 0; rank == 0 && slot < slots; ++slot) {
      std::memcpy(memory_ + slot * step_bytes, field, step_bytes);
    }
    MPI_Win_lock_all(0, window_);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  ~WindowRing() {
    for (auto& [steps, type] : types_) {
      MPI_Type_free(&type);
    }
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
    if (own_) {
      munmap(memory_, slots_ * step_bytes);
    }
  }
  WindowRing(const WindowRing&) = delete;
  WindowRing& operator=(const WindowRing&) = delete;

  void read(std::uint64_t count, std::byte* out) {
    constexpr std::uint64_t largest_get_steps = (std::uint64_t{1} << 30) / step_bytes;  // one Get stays below 1 GiB
    if (at_ + count > slots_) {
      at_ = 0;
    }
    for (std::uint64_t done = 0; done < count;) {
      const std::uint64_t steps = std::min(count - done, largest_get_steps);
      MPI_Get(out + done * box_bytes, static_cast<int>(steps * box_bytes / 4), MPI_INT, 0,
              static_cast<MPI_Aint>((at_ + done) * step_bytes), 1, type(static_cast<int>(steps)), window_);
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
  MPI_Datatype type(int steps) {
    const auto found = types_.find(steps);
    return found != types_.end() ? found->second : types_.emplace(steps, box_type(steps)).first->second;
  }

  std::uint64_t slots_;
  std::byte* memory_ = nullptr;
  bool own_ = false;
  MPI_Win window_ = MPI_WIN_NULL;
  std::uint64_t at_ = 0;
  std::map<int, MPI_Datatype> types_;
};

}  // namespace couplet::bench
