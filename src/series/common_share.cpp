#include "series/common_share.hpp"

#include <algorithm>

#include "wire/step_share.hpp"

namespace couplet::series {

bool takes_what_comes(const ReaderOptions& options) {
  return options.mode == Mode::follow && !options.latest && options.every == 1 && options.interval == 0;
}

std::uint32_t possible_share(const std::vector<Source>& sources) {
  std::uint32_t least = wire::whole_share;
  for (const Source& source : sources) {
    if (const Relayed* const relayed = source.part->relayed()) {
      least = std::min(least, relayed->possible_share);
    }
  }
  return least;
}

std::uint64_t known_steps(const std::vector<Source>& sources) {
  std::uint64_t most = 0;
  for (const Source& source : sources) {
    most = std::max(most, source.part->published());
  }
  return std::min(most, max_ordinal);
}

void ask_for_share(const std::vector<Source>& sources, std::uint32_t share, std::uint64_t known) {
  for (const Source& source : sources) {
    if (Relayed* const relayed = source.part->relayed()) {
      relayed->wanted_share = share;
      relayed->known = known;
    }
  }
}

void share_alone(const std::vector<Source>& sources, const ReaderOptions& options) {
  if (!takes_what_comes(options)) {
    return;
  }
  const Relayed* first = nullptr;
  bool several = false;
  for (const Source& source : sources) {
    const Relayed* const relayed = source.part->relayed();
    first = first == nullptr ? relayed : first;
    several = several || (relayed != nullptr && relayed->sender != first->sender);
  }
  if (several) {
    ask_for_share(sources, possible_share(sources), known_steps(sources));
  }
}

}  // namespace couplet::series
