// Part: one writer rank's slots as a reader sees them. Implementations: mapped (the writer's own file, on this node);
// relay (local slots in a file of the same format, filled with what the relay sends); window (slots in the window of an
// MPI job, which are fetched).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "layout/copy_plan.hpp"
#include "series/links_wait.hpp"
#include "series/needed_steps.hpp"
#include "series/series.hpp"
#include "series/series_file.hpp"
#include "series/waiting.hpp"
#include "wire/step_share.hpp"

namespace couplet::series {

// A request to copy several ordinals from slots that are not mapped here, with room for what becomes of each.
struct Fetch {
  struct Piece {
    const layout::CopyPlan* plan = nullptr;  // from a slot
    std::byte* target = nullptr;             // for the first ordinal
    std::int64_t target_step = 0;            // distance in bytes from one ordinal's target to the next one's
  };
  struct Look {
    std::uint64_t stamp_before = 0;
    std::uint64_t stamp_after = 0;
    std::int64_t step = 0;
    std::uint64_t time_bits = 0;
  };
  std::span<const std::uint64_t> ordinals;  // ascending
  std::span<const Piece> pieces;
  std::span<Look> looks;  // one for each ordinal
};

// What a part whose steps a relay sends has in common with the other parts of its reader.
struct Relayed {
  std::uint32_t reader = 0;    // the number by which relays know the parts of one reader; 0: it has none
  channel::PeerId sender = 0;  // the relay
  // Shares of the steps (wire/step_share.hpp): the largest one that can come, and the one that the reader asks for.
  std::uint32_t possible_share = wire::whole_share;
  std::uint32_t wanted_share = wire::whole_share;
  std::uint64_t known = 0;   // how many steps are published, as far as the reader knows
  bool writer_gone = false;  // the relay has said so, or was the writer's own process
  // From this ordinal on, what has come is kept until the other links of the reader have brought it, too.
  std::uint64_t kept_from = LinksWait::not_waiting;
};

class Part {
 public:
  Part() = default;
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  virtual ~Part() = default;

  // Finishes what Environment::open_part has begun, before any other call. After timeout and interrupted, the next call
  // continues; after any other error the part cannot be used.
  virtual Status finish_opening(std::uint64_t /*deadline_ns*/) { return {}; }
  // "mapped", "relay" or "window".
  [[nodiscard]] virtual const char* route() const noexcept = 0;
  // The file to read from and, for a holder, to hold in. It may contain only some of the record's fields, and only
  // parts of their boxes; the fields have the record's names.
  [[nodiscard]] virtual SeriesFile& file() noexcept = 0;
  // The geometry of the slots. It is that of file(), unless the part fetches.
  [[nodiscard]] virtual const wire::SeriesGeometry& geometry() noexcept { return file().geometry(); }
  // Returns true if file() has no slots, so that steps are copied by fetch(). It does not copy an ordinal that was not
  // there before the copy.
  [[nodiscard]] virtual bool fetches() const noexcept { return false; }
  virtual Status fetch(const Fetch& /*fetch*/) { return Code::internal; }
  // Returns the file whose published word wakes a sleeping reader; the caller may keep it longer than this part.
  // Returns nullptr if steps come by frames, or if nothing announces them.
  [[nodiscard]] virtual std::shared_ptr<SeriesFile> watched() { return nullptr; }
  // Moves the data that new steps need to become visible. Never blocks. Called whenever the reader looks for steps.
  virtual Status poll() { return {}; }
  // Returns ok while more steps may come, or peer_lost, with the name of the writer or of the relay. What is published
  // stays readable.
  virtual Status alive() = 0;
  // Returns why no steps come at present although more may come later, or "" if nothing is known to hinder them.
  [[nodiscard]] virtual std::string hindered() { return {}; }
  // Returns nullptr if no relay sends its steps.
  [[nodiscard]] virtual Relayed* relayed() noexcept { return nullptr; }
  // Returns the first ordinal that was ever in this file: a subscription may have begun later than the series.
  [[nodiscard]] virtual std::uint64_t first_ordinal() const noexcept { return 0; }
  // Returns how many steps the writer has published, as far as this process knows; at least as many as in file().
  [[nodiscard]] virtual std::uint64_t published() noexcept {
    return file().control().published.published.load(std::memory_order_acquire);
  }
  // Called when the reader needs fewer ordinals than before. Never blocks.
  virtual void released(const NeededSteps& /*needed*/) {}
  // Sleeps for one slice at most, until `target` steps are published in file() or something else must be checked.
  virtual Status sleep(Waiting& waiting, std::uint64_t target);
};

// Returns the fields of a file that contains only what the selections ask for: one field for each selection, with the
// parts of the boxes that it overlaps, in order. REQUIRES: each selection names a field of `fields`, and has its
// dimensions.
[[nodiscard]] std::vector<wire::SeriesField> cut_fields(const std::vector<wire::SeriesField>& fields,
                                                        const std::vector<FieldSelection>& selections);

// Returns protocol if these are not the slots that the record describes.
[[nodiscard]] Status check_described(const wire::SeriesGeometry& geometry, const universe::SeriesRecord& record,
                                     std::size_t part, const std::string& where);

// Makes a part of slots that are mapped here.
[[nodiscard]] std::unique_ptr<Part> make_mapped_part(Environment& environment, std::unique_ptr<SeriesFile> file,
                                                     const char* route);

// Maps the file of a part on this node. Returns not_found if its steps are gone, and protocol if the file is not what
// the record describes.
Result<std::unique_ptr<Part>> open_mapped_part(Environment& environment, const universe::SeriesRecord& record,
                                               std::size_t part);

}  // namespace couplet::series
