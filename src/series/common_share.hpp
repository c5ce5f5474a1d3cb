// The share of the steps (wire/step_share.hpp) that the relays send to a follower whose steps come over several links:
// from relays on several nodes, or to several ranks of a team. A step is of use only if every link carries it. So all
// relays are asked for the smallest share that a link can carry, and they send the same steps without asking each
// other.
#pragma once

#include <cstdint>
#include <vector>

#include "series/attachment.hpp"
#include "series/reader_options.hpp"

namespace couplet::series {

// Returns the largest share that every source can send; whole_share if nothing is lost.
[[nodiscard]] std::uint32_t possible_share(const std::vector<Source>& sources);
// Returns true if every source can send at least twice the share that it was asked for: the links bring nothing at
// present, although steps wait.
[[nodiscard]] bool share_has_doubled(const std::vector<Source>& sources);
// Returns how many steps are published, as far as any source knows.
[[nodiscard]] std::uint64_t known_steps(const std::vector<Source>& sources);
// Asks the relays for this share, and says how many steps are published, and from where on what has come is kept
// (LinksWait::kept_from).
void ask_for_share(const std::vector<Source>& sources, std::uint32_t share, std::uint64_t known,
                   std::uint64_t kept_from);
// Asks for the possible share, for a reader of one rank that takes what comes. Does nothing if all its sources come
// over one link: there they share steps already.
void share_alone(const std::vector<Source>& sources, const ReaderOptions& options, std::uint64_t kept_from);
// Returns true if the links wait for each other. Then a copy is not overtaken, and needs no newer step than there is.
[[nodiscard]] bool links_wait(const std::vector<Source>& sources);
// Returns the first ordinal from `next` on that every link has brought, or may still bring. What one link has lost need
// not come over the others.
[[nodiscard]] std::uint64_t first_possible(const std::vector<Source>& sources, std::uint64_t next);
// Returns true if a reader with these options wants as many steps as can come, and not certain ones.
[[nodiscard]] bool takes_what_comes(const ReaderOptions& options);

}  // namespace couplet::series
