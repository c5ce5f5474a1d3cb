// TimeInterpolation: reads at physical times, with linear interpolation between the two steps around each time. It
// reads the steps of a reader one by one into memory of its own, and keeps the last two. Neighbours: reader.hpp. Tests:
// tests/unit/series/time_interpolation_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "os/memory_block.hpp"
#include "series/collective.hpp"
#include "series/reader.hpp"

namespace couplet::series {

// What a read does about a time that no step has reached yet.
enum class BeyondNewest : std::uint8_t {
  wait,   // it waits for a later step, until its deadline
  refuse  // it fails at once
};

class TimeInterpolation {
 public:
  // All references outlive this object. `team` is that of the reader.
  TimeInterpolation(Reader& reader, message::Team& team, Environment& environment, BeyondNewest beyond)
      : reader_(reader), agreement_(team, environment), beyond_(beyond) {}

  // Delivers one array of each field for each of `times`, which are finite, do not descend, and are the same on all
  // ranks; collective as Reader::read. Fewer are delivered if something prevents the others; the next read says what.
  // Answers and errors are those of Reader::read, and argument: a time before the oldest step that this reader has, one
  // past the newest step (BeyondNewest::refuse), a step without a time or not later than the one before; type: elements
  // other than float or double; mismatch: the ranks give different times. A batch's steps and ordinals are those of the
  // step at or before each time. refusal: as in Reader::read.
  Status read(std::span<const double> times, std::uint64_t deadline_ns, std::span<const Out> outs, Batch& batch,
              const Status& refusal = {});

  // To be called after another read of the reader: the steps that are kept are then no longer those around its
  // position, and what ended the last read may no longer hold.
  void forget() noexcept {
    kept_ = 0;
    pending_ = {};
  }

 private:
  struct Step {
    double time = 0;
    std::int64_t step = 0;
    std::uint64_t ordinal = 0;
    std::uint8_t torn = 0;
    std::vector<std::unique_ptr<os::MemoryBlock>> blocks;  // one for each field
    std::vector<std::byte*> data;
  };

  Status check(std::span<const double> times, std::span<const Out> outs) const;
  Status prepare(std::span<const double> times, std::span<const Out> outs);
  Status agree_on_times(std::span<const double> times, const Status& own);
  // Provides memory for `count` times and for the steps.
  Status aim(std::uint64_t count, std::span<const Out> outs);
  Status bracket(double time, std::uint64_t deadline_ns);
  Status read_step(std::uint64_t deadline_ns);
  void interpolate(double time, std::size_t at);
  [[nodiscard]] Step& newest() noexcept { return steps_[newest_]; }
  [[nodiscard]] Step& previous() noexcept { return steps_[(newest_ + 2) % steps_.size()]; }

  Reader& reader_;
  Agreement agreement_;
  BeyondNewest beyond_;
  Description description_;
  std::array<Step, 3> steps_;  // a ring: the newest, the one before it, and the one that is read next
  std::size_t newest_ = 0;
  int kept_ = 0;    // the number of steps that are kept: the newest, and the one before it
  Status pending_;  // an error that came after something could be delivered; the next read returns it
  std::uint64_t lost_ = 0;
  std::uint64_t incarnation_ = 0;
  std::vector<Out> outs_;                                  // for the step that is read next
  std::vector<std::unique_ptr<os::MemoryBlock>> buffers_;  // one for each field, for what is delivered
  std::vector<FieldData> data_;
  std::vector<std::byte*> targets_;
  std::vector<double> times_;
  std::vector<std::int64_t> numbers_;
  std::vector<std::uint64_t> ordinals_;
  std::vector<std::uint8_t> torn_;
};

}  // namespace couplet::series
