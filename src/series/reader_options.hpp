// The options with which a reader is opened, and the batch that a read gives.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "layout/copy.hpp"
#include "series/remap.hpp"
#include "series/series.hpp"
#include "universe/registry.hpp"

namespace couplet::series {

struct FieldChoice {
  std::string name;
  std::optional<layout::Box> box = std::nullopt;  // this rank's box; none: the whole array
  couplet_type type = -1;                         // the expected type; -1: any
};

// Copies a box out of a slot in place of layout::copy_racing, under the same rules. It may copy into the memory of a
// device, or count for a test.
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
  std::optional<layout::Box> box;   // this rank's box, for fields without one; none: the whole array
  std::vector<FieldChoice> fields;  // the fields to read, in this order; none: all
  Mode mode = Mode::hold;
  From from = From::oldest;
  std::int64_t from_step = 0;
  couplet_type type = -1;          // the expected type of all fields; -1: any
  std::uint64_t buffer_bytes = 0;  // size of the local slots for writers on other nodes; 0: the default
  std::uint64_t every = 1;         // the first step and then every n-th one is delivered; the others are skipped
  double interval = 0;             // the first step of each interval of physical time is delivered; 0: all steps
  bool latest = false;             // a read gives the at_least newest steps and skips older ones; followers only
  bool torn = false;               // torn steps are delivered, with a mark
  std::uint64_t up_to_bytes = 0;   // the size of a batch, which has at least one step; 0: any size
  // The ranks of this program that each read for themselves: the reservation for a required program ends when they have
  // opened. None: the team's.
  universe::OpenerRanks openers;
  std::uint64_t streaming_bytes = layout::default_streaming_bytes;
  // A read checks its deadline, for an interrupt, and the stamp of the step that it copies, each time after this number
  // of copied bytes.
  std::uint64_t bytes_between_looks = std::uint64_t{1} << 20;
  // If they are given, source points are turned into the rows of this rank, which are delivered as an array of one
  // dimension. Then `box` and the boxes of `fields` must not be given.
  std::shared_ptr<const Weights> weights = nullptr;
  Copier* copier = nullptr;  // outlives the reader; nullptr: layout::copy_racing
};

// The memory into which the steps of a field are read.
struct Out {
  void* data = nullptr;     // the first element of the first step; nullptr: the reader's own memory
  std::uint64_t bytes = 0;  // size of the memory; with strides, 0 means that it is not stated
  // Bytes from step to step, then from element to element in each dimension; nullptr: dense, in C order.
  const std::int64_t* strides = nullptr;
};

// The steps of one field.
struct FieldData {
  const std::byte* data = nullptr;  // count x box; `out`, or the reader's memory until the next read or close
  std::uint64_t step_bytes = 0;
};

struct Batch {
  std::uint64_t count = 0;
  const std::byte* data = nullptr;    // the steps of the first field
  std::uint64_t step_bytes = 0;       // size of a step of the first field
  const FieldData* fields = nullptr;  // in the order of the choice; until the next read
  std::uint64_t field_count = 0;
  const double* times = nullptr;            // NaN for a step without a time; until the next read
  const std::int64_t* steps = nullptr;      // until the next read
  const std::uint64_t* ordinals = nullptr;  // until the next read
  const std::uint8_t* torn = nullptr;       // 1: the step was replaced while it was copied; until the next read
  std::uint64_t lost = 0;                   // number of steps lost since the last read that delivered
  std::uint64_t incarnation = 0;
};

}  // namespace couplet::series
