#include "series/common_share.hpp"

#include <algorithm>

#include "series/slot_protocol.hpp"
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

bool share_has_doubled(const std::vector<Source>& sources) {
  std::uint32_t wanted = wire::whole_share;
  std::uint32_t possible = wire::whole_share;
  for (const Source& source : sources) {
    if (const Relayed* const relayed = source.part->relayed()) {
      wanted = std::min(wanted, relayed->wanted_share);
      possible = std::min(possible, relayed->possible_share);
    }
  }
  return wanted < wire::whole_share && possible >= std::min(wire::whole_share, 2 * wanted);
}

std::uint64_t known_steps(const std::vector<Source>& sources) {
  std::uint64_t most = 0;
  for (const Source& source : sources) {
    most = std::max(most, source.part->published());
  }
  return std::min(most, max_ordinal);
}

void ask_for_share(const std::vector<Source>& sources, std::uint32_t share, std::uint64_t known,
                   std::uint64_t kept_from) {
  for (const Source& source : sources) {
    if (Relayed* const relayed = source.part->relayed()) {
      relayed->wanted_share = share;
      relayed->known = known;
      relayed->kept_from = kept_from;
    }
  }
}

bool links_wait(const std::vector<Source>& sources) {
  return std::any_of(sources.begin(), sources.end(), [](const Source& source) {
    const Relayed* const relayed = source.part->relayed();
    return relayed != nullptr && relayed->kept_from != LinksWait::not_waiting;
  });
}

std::uint64_t first_possible(const std::vector<Source>& sources, std::uint64_t next) {
  for (std::uint64_t before = UINT64_MAX; before != next;) {
    before = next;
    for (const Source& source : sources) {
      if (source.part->relayed() == nullptr) {
        continue;
      }
      const SeriesFile& file = *source.file;
      const std::uint64_t end = file.control().published.published.load(std::memory_order_relaxed);
      next = std::max(next, oldest_retained(end, file.slots()));
      // A torn step is left to the copy, which counts it as torn.
      while (next < end && !read_label(file.slot_header(next), next) && !torn_before(file.slot_header(next), next)) {
        ++next;
      }
    }
  }
  return next;
}

void share_alone(const std::vector<Source>& sources, const ReaderOptions& options, std::uint64_t kept_from) {
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
    ask_for_share(sources, possible_share(sources), known_steps(sources), kept_from);
  }
}

}  // namespace couplet::series
