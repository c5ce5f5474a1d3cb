// Window: the memory of all ranks of one MPI job that the other ranks read and write while its owner computes. It is
// implemented in series/mpi/, which is compiled once for each MPI and given to the universe when a process joins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "channel/channel.hpp"
#include "layout/copy_plan.hpp"

namespace couplet::series {

// libcouplet and libcouplet_mpi_* must be of the same build, since a class passes between them.
inline constexpr std::string_view window_build = "window 4, " __VERSION__;

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

  // Returns a number that is the same on all ranks of the job, and differs from that of other jobs.
  [[nodiscard]] virtual std::uint64_t job() const noexcept = 0;
  // Says whether this member of the universe is a rank of the job.
  [[nodiscard]] virtual bool has(channel::PeerId peer) const noexcept = 0;
  [[nodiscard]] virtual int rank() const noexcept = 0;  // in the job
  [[nodiscard]] virtual int size() const noexcept = 0;
  // "Open MPI v4.1.4"
  [[nodiscard]] virtual const std::string& library() const noexcept = 0;

  // Returns where a piece of a rank's memory is mapped here, for loads, stores and the processor's atomics; nullptr if
  // only get and put reach it.
  [[nodiscard]] virtual std::byte* memory_of(int rank, std::uint64_t offset, std::uint64_t bytes) const noexcept = 0;

  // A page-aligned piece of this rank's memory. It is zero.
  struct Piece {
    std::byte* data = nullptr;
    std::uint64_t offset = 0;  // for get and put by other ranks
  };
  // Reserves a piece. Returns no_space, with the bytes that are left, if it does not fit.
  virtual Result<Piece> reserve(std::uint64_t bytes) = 0;
  // Gives back the piece that was reserved last. REQUIRES: no other rank was told of it. Earlier pieces stay as long as
  // the window.
  virtual void give_back(const Piece& piece) noexcept = 0;

  // Copy from and to another rank's memory. The copy is done after complete(rank). 8 bytes at a multiple of 8 are
  // copied as a whole. Return mpi if a call of MPI has failed.
  virtual Status get(int rank, std::uint64_t offset, void* target, std::uint64_t bytes) = 0;
  virtual Status put(int rank, std::uint64_t offset, const void* source, std::uint64_t bytes) = 0;
  // Gets several steps by the method that was found to be the fastest: one call with derived types, one call for each
  // step, or one for each run.
  virtual Status get_steps(int rank, const WindowSteps& steps) = 0;
  virtual Status complete(int rank) = 0;
  // Lets MPI do the work for which other ranks wait.
  virtual void progress() noexcept = 0;
  // For `explain`: says which ranks' memory is mapped here, or why none is.
  [[nodiscard]] virtual std::string sharing() const = 0;
  // For `explain`: returns the methods of get_steps that were measured, such as "one call for all steps (0.31 ms/MB)".
  [[nodiscard]] virtual std::string choices() const = 0;

  // Ends the window. Collective over the job; does not block: call it until it returns true, which it does when all
  // ranks have called it. The memory is then freed.
  virtual Result<bool> end() = 0;
};

// The place of a rank's slots in a window. The register has its text instead of the name of a file.
struct WindowPlace {
  std::uint64_t job = 0;
  std::int32_t rank = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};
[[nodiscard]] std::string place_text(const WindowPlace& place);
// Returns nothing if the text is not such a place, but the name of a file.
[[nodiscard]] std::optional<WindowPlace> parse_place(std::string_view text);

}  // namespace couplet::series
