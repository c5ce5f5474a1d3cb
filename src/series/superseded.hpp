// Superseded: removes the slot files of incarnations that a newer one has superseded. A file is removed when no process
// maps it any longer; a mapping shows that the file is in use (os::MappedFile). A process looks for such files when it
// unmaps a file, supersedes one, or hears of a death. A reader that opens a file while it is removed is told not_found,
// and looks for the newer incarnation.
// Tests: tests/unit/series/superseded_test.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "series/slot_protocol.hpp"

namespace couplet::series {

class Environment;

// Returns the beginning of the names of all files of a series in the node directory.
[[nodiscard]] std::string file_prefix(std::string_view series);

class Superseded {
 public:
  using Lives = std::function<bool(const Owner&)>;

  // Removes the unused files of the incarnations of `series` below `newest`, or below the newest one in the directory.
  // A file stays as long as a process maps it or a living reader holds steps in it, since the reader's relay may be
  // started again. look_again() then checks it again.
  void look(const std::string& node_directory, const std::string& series, std::uint64_t newest, const Lives& lives);
  // To be called after a process has ended. It costs nothing if no file was left.
  void look_again(const std::string& node_directory, const Lives& lives);
  [[nodiscard]] bool any_left() const noexcept { return !left_.empty(); }

 private:
  std::map<std::string, std::uint64_t> left_;  // series of which a file has stayed, and the newest incarnation known
};

// Does the same as look() for a process that writes or reads series.
void remove_superseded(Environment& environment, const std::string& series, std::uint64_t newest);
void remove_superseded_again(Environment& environment);

}  // namespace couplet::series
