// What series need of an MPI window: memory of each rank of one MPI job that the others read and write while its owner
// goes on. Implemented in series/mpi/, which is compiled once for each MPI and given to the universe when it is joined.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "layout/copy_plan.hpp"

namespace couplet::series {

// Library and libcouplet_mpi_* have to be of one build: a class passes between them.
inline constexpr std::string_view window_build = "window 3, " __VERSION__;

// The same box of several steps: step n from source_offset + n x source_step to target + n x target_step.
struct WindowSteps {
  std::uint64_t source_offset = 0;
  std::uint64_t source_step = 0;
  std::byte* target = nullptr;
  std::int64_t target_step = 0;
  std::uint64_t count = 0;
  const layout::CopyPlan* plan = nullptr;
};

class Window {
 public:
  Window() = default;
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  virtual ~Window() = default;

  // The same on all ranks of the job, another one for each job.
  [[nodiscard]] virtual std::uint64_t job() const noexcept = 0;
  [[nodiscard]] virtual int rank() const noexcept = 0;  // in the job
  [[nodiscard]] virtual int size() const noexcept = 0;
  // "Open MPI v4.1.4"
  [[nodiscard]] virtual const std::string& library() const noexcept = 0;

  // Where a piece of a rank's memory is mapped here, for loads, stores and the processor's atomics; nullptr: only get
  // and put reach it.
  [[nodiscard]] virtual std::byte* memory_of(int rank, std::uint64_t offset, std::uint64_t bytes) const noexcept = 0;

  // A page-aligned piece of the own memory, zero. no_space: says what is left.
  struct Piece {
    std::byte* data = nullptr;
    std::uint64_t offset = 0;  // for get and put of others
  };
  virtual Result<Piece> reserve(std::uint64_t bytes) = 0;
  // Gives the piece back that was reserved last, if nobody was told of it. Other pieces stay as long as the window.
  virtual void give_back(const Piece& piece) noexcept = 0;

  // From and to another rank's memory; there after complete(rank). 8 bytes at a multiple of 8 move whole. mpi: it
  // failed.
  virtual Status get(int rank, std::uint64_t offset, void* target, std::uint64_t bytes) = 0;
  virtual Status put(int rank, std::uint64_t offset, const void* source, std::uint64_t bytes) = 0;
  // By one call with derived types, one call for each step, or one for each run, whatever was found to be fastest.
  virtual Status get_steps(int rank, const WindowSteps& steps) = 0;
  virtual Status complete(int rank) = 0;
  // Lets MPI do what others wait for.
  virtual void progress() noexcept = 0;
  // For `explain`: whose memory is mapped here, or why nobody's is.
  [[nodiscard]] virtual std::string sharing() const = 0;
  // For `explain`: the ways of get_steps that were measured, "one call for all steps (0.31 ms/MB), ..."
  [[nodiscard]] virtual std::string choices() const = 0;

  // Collective over the job, and does not block: true when all ranks have begun to end. Then the memory is gone.
  virtual Result<bool> end() = 0;
};

// Where a rank's slots lie, as the register has it in place of a file's name.
struct WindowPlace {
  std::uint64_t job = 0;
  std::int32_t rank = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};
[[nodiscard]] std::string place_text(const WindowPlace& place);
// none: it is a file.
[[nodiscard]] std::optional<WindowPlace> parse_place(std::string_view text);

}  // namespace couplet::series
