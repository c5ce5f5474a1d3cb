#include "series/superseded.hpp"

#include <algorithm>
#include <vector>

#include "os/directory.hpp"
#include "os/mapped_file.hpp"
#include "series/series.hpp"
#include "series/series_file.hpp"

namespace couplet::series {
namespace {

constexpr std::uint64_t unannounced = UINT64_MAX;  // the incarnation of a series whose creation has not ended

struct Found {
  std::string path;
  std::uint64_t incarnation = unannounced;
  bool needed = false;  // a living process needs the file, even if it does not map it at this moment
};

// Returns true if the file belongs to a living writer that is creating the series, or has a living holder, whose relay
// may come back.
bool is_needed(const SeriesFile& file, std::uint64_t incarnation, const Superseded::Lives& lives) {
  const auto& geometry = file.geometry();
  if (incarnation == unannounced) {
    return lives(
        {.peer = geometry.writer_peer, .incarnation = static_cast<std::uint16_t>(geometry.writer_incarnation)});
  }
  for (std::uint32_t index = 0; index < file.reader_entries(); ++index) {
    const Owner owner = owner_of(file.readers()[index]);
    const bool holds = owner.state == wire::ReaderState::opening || owner.state == wire::ReaderState::holding;
    if (holds && lives(owner)) {
      return true;
    }
  }
  return false;
}

std::vector<Found> files_of(const std::string& node_directory, const std::string& series,
                            const Superseded::Lives& lives) {
  std::vector<Found> found;
  const auto names = os::list_directory(node_directory);
  const std::string prefix = file_prefix(series);
  for (const auto& name : names.ok() ? *names : std::vector<std::string>()) {
    if (!name.starts_with(prefix)) {
      continue;
    }
    const auto path = fmt::format("{}/{}", node_directory, name);
    const auto file = SeriesFile::open(path, os::Use::unshown);
    if (file.ok() && (*file)->geometry().name == series) {
      const std::uint64_t incarnation = (*file)->control().claimed.incarnation.load(std::memory_order_acquire);
      found.push_back({path, incarnation, is_needed(**file, incarnation, lives)});
    }
  }
  return found;
}

}  // namespace

std::string file_prefix(std::string_view series) {
  return fmt::format("series-{:016x}-", name_hash(series));
}

void Superseded::look(const std::string& node_directory, const std::string& series, std::uint64_t newest,
                      const Lives& lives) {
  const auto files = files_of(node_directory, series, lives);
  for (const Found& file : files) {
    newest = file.incarnation == unannounced ? newest : std::max(newest, file.incarnation);
  }
  bool left = false;
  for (const Found& file : files) {
    if (file.incarnation == newest) {
      continue;
    }
    const auto removed = file.needed ? Result<bool>(false) : os::MappedFile::remove_if_unused(file.path);
    left = left || (removed.ok() && !*removed);
  }
  if (left) {
    left_[series] = newest;
  } else {
    left_.erase(series);
  }
}

void Superseded::look_again(const std::string& node_directory, const Lives& lives) {
  const auto left = left_;
  for (const auto& [series, newest] : left) {
    look(node_directory, series, newest, lives);
  }
}

void remove_superseded(Environment& environment, const std::string& series, std::uint64_t newest) {
  environment.superseded().look(environment.node_directory(), series, newest, [&](const Owner& owner) {
    return environment.alive(owner.peer, owner.incarnation).ok();
  });
}

void remove_superseded_again(Environment& environment) {
  environment.superseded().look_again(environment.node_directory(), [&](const Owner& owner) {
    return environment.alive(owner.peer, owner.incarnation).ok();
  });
}

}  // namespace couplet::series
