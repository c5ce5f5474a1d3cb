// What a reader is asked for when it is opened, and what a read gives.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "layout/copy.hpp"
#include "series/remap.hpp"
#include "series/series.hpp"

namespace couplet::series {

struct FieldChoice {
  std::string name;
  std::optional<layout::Box> box = std::nullopt;  // of this rank; none: the whole array
  couplet_type type = -1;                         // expected; -1: any
};

// Copies a box out of a slot in place of layout::copy_racing, under the same rules: into a device's memory, or counted
// by a test.
class Copier {
 public:
  Copier() = default;
  Copier(const Copier&) = delete;
  Copier& operator=(const Copier&) = delete;
  virtual ~Copier() = default;
  virtual void copy(const layout::CopyPlan& plan, std::byte* target, const std::byte* source,
                    layout::CopyMethod method) noexcept = 0;
};

struct ReaderOptions {
  std::optional<layout::Box> box;   // of this rank, where `fields` says nothing else; none: the whole array
  std::vector<FieldChoice> fields;  // in this order; none: all
  Mode mode = Mode::hold;
  From from = From::oldest;
  std::int64_t from_step = 0;
  couplet_type type = -1;  // expected of all fields; -1: any
  std::uint64_t buffer_bytes = 0;
  std::uint64_t every = 1;  // of so many ordinals one is delivered, beginning with the first; the others are skipped
  double interval = 0;      // of physical time: the first step of each is delivered, the others are skipped; 0: all
  bool latest = false;      // a read gives the at_least newest steps and skips older ones; followers only
  bool torn = false;        // deliver torn steps, marked
  // Ranks of this program that open for themselves (local reading): the reservation for a required program ends when so
  // many have opened. 0: the team's size.
  std::int32_t openers = 0;
  std::uint64_t streaming_bytes = layout::default_streaming_bytes;
  // After so many copied bytes a read looks at its deadline and for an interrupt, and at the stamp of the step it is
  // copying.
  std::uint64_t bytes_between_looks = std::uint64_t{1} << 20;
  // Source points are turned into the rows of this rank, and delivered as an array of one dimension; nullptr: they are
  // not. Then there are no boxes: `box` and those of `fields` are not given.
  std::shared_ptr<const Weights> weights = nullptr;
  Copier* copier = nullptr;  // outlives the reader; nullptr: layout::copy_racing
};

// Where the steps of a field go.
struct Out {
  void* data = nullptr;     // the first element of the first step; nullptr: the reader's own memory
  std::uint64_t bytes = 0;  // of the memory; with strides 0: not stated
  const std::int64_t* strides =
      nullptr;  // bytes from step to step, then from element to element; nullptr: dense, C order
};

// The steps of one field.
struct FieldData {
  const std::byte* data = nullptr;  // count x box; `out`, or the reader's memory until the next read or close
  std::uint64_t step_bytes = 0;
};

struct Batch {
  std::uint64_t count = 0;
  const std::byte* data = nullptr;    // of the first field
  std::uint64_t step_bytes = 0;       // of the first field
  const FieldData* fields = nullptr;  // in the order of the choice; until the next read
  std::uint64_t field_count = 0;
  const double* times = nullptr;            // NaN where none was said; until the next read
  const std::int64_t* steps = nullptr;      // until the next read
  const std::uint64_t* ordinals = nullptr;  // until the next read
  const std::uint8_t* torn = nullptr;       // 1: the step was replaced while it was copied; until the next read
  std::uint64_t lost = 0;                   // since the last read that delivered
  std::uint64_t incarnation = 0;
};

}  // namespace couplet::series
