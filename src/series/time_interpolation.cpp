#include "series/time_interpolation.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <new>
#include <utility>

#include "base/counted.hpp"
#include "os/clock.hpp"

namespace couplet::series {
namespace {

constexpr int ring_size = 3;

template <typename Real>
void interpolate_elements(const std::byte* before, const std::byte* after, double weight, std::byte* target,
                          std::uint64_t bytes) {
  for (std::uint64_t at = 0; at < bytes; at += sizeof(Real)) {
    Real first{};
    Real second{};
    std::memcpy(&first, before + at, sizeof first);
    std::memcpy(&second, after + at, sizeof second);
    const double start = static_cast<double>(first);
    const Real value = static_cast<Real>(start + weight * (static_cast<double>(second) - start));
    std::memcpy(target + at, &value, sizeof value);
  }
}

// Returns the FNV-1a hash of the bit patterns of the times.
std::int64_t hash_of(std::span<const double> times) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const double time : times) {
    hash = (hash ^ std::bit_cast<std::uint64_t>(time)) * 0x100000001b3U;
  }
  return static_cast<std::int64_t>(hash >> 1U);
}

}  // namespace

// ---- arguments ----

Status TimeInterpolation::check(std::span<const double> times, std::span<const Out> outs) const {
  const std::string title = fmt::format("series '{}'", description_.name);
  if (times.empty()) {
    return fail(Code::argument, "{}: no times are given to read at", title);
  }
  for (std::size_t index = 0; index < times.size(); ++index) {
    if (!std::isfinite(times[index])) {
      return fail(Code::argument, "{}: time number {} to read at is {}, which is not finite", title, index,
                  times[index]);
    }
    if (index > 0 && times[index] < times[index - 1]) {
      return fail(Code::argument, "{}: the times to read at must not descend: {} comes after {}", title, times[index],
                  times[index - 1]);
    }
  }
  const auto& fields = description_.fields;
  if (!outs.empty() && outs.size() != fields.size()) {
    return fail(Code::argument, "{}: {}, {}", title,
                counted(outs.size(), "array to read into is given", "arrays to read into are given"),
                counted(fields.size(), "field is read", "fields are read"));
  }
  for (std::size_t index = 0; index < fields.size(); ++index) {
    const auto& field = fields[index];
    const std::string name = field.name.empty() ? title : fmt::format("{}, field '{}'", title, field.name);
    if (field.type != COUPLET_FLOAT && field.type != COUPLET_DOUBLE) {
      return fail(Code::type, "{}: only elements of type float or double can be read at times", name);
    }
    if (outs.empty() || outs[index].data == nullptr) {
      continue;
    }
    if (outs[index].strides != nullptr) {
      return fail(Code::argument, "{}: an array to read into at times must be without gaps, in C order", name);
    }
    std::uint64_t needed = 0;
    if (__builtin_mul_overflow(times.size(), field.step_bytes, &needed) || outs[index].bytes < needed) {
      return fail(Code::argument, "{}: out has {}, values at {} of {} do not fit", name,
                  counted(outs[index].bytes, "byte"), counted(times.size(), "time"), counted(field.step_bytes, "byte"));
    }
  }
  return {};
}

Status TimeInterpolation::agree_on_times(std::span<const double> times, const Status& own) {
  if (agreement_.alone()) {
    return own;
  }
  const std::int64_t hash = hash_of(times);
  const auto count = static_cast<std::int64_t>(times.size());
  std::array<std::int64_t, 4> bounds = {hash, ~hash, count, ~count};
  COUPLET_TRY(agreement_.minimum(AgreementPoint::instants, own, bounds, agreement_.deadline_ns()));
  if (bounds[0] != ~bounds[1] || bounds[2] != ~bounds[3]) {
    return fail(Code::mismatch, "series '{}': the reader ranks give different times to read at", description_.name);
  }
  return {};
}

// Does what this rank can do alone: checks the arguments, and provides memory.
Status TimeInterpolation::prepare(std::span<const double> times, std::span<const Out> outs) {
  try {
    description_ = reader_.describe();
    COUPLET_TRY(check(times, outs));
    times_.reserve(times.size());
    numbers_.reserve(times.size());
    ordinals_.reserve(times.size());
    torn_.reserve(times.size());
    outs_.reserve(description_.fields.size());
    return aim(times.size(), outs);
  } catch (const std::bad_alloc&) {
    return fail(Code::memory, "series '{}': there is not enough memory to read at {}", description_.name,
                counted(times.size(), "time"));
  }
}

Status TimeInterpolation::aim(std::uint64_t count, std::span<const Out> outs) {
  const auto& fields = description_.fields;
  targets_.resize(fields.size());
  data_.resize(fields.size());
  while (buffers_.size() < fields.size()) {
    buffers_.push_back(std::make_unique<os::MemoryBlock>());
  }
  for (std::size_t index = 0; index < fields.size(); ++index) {
    if (outs.empty() || outs[index].data == nullptr) {
      COUPLET_TRY_VALUE(targets_[index], buffers_[index]->reserve(count * fields[index].step_bytes));
    } else {
      targets_[index] = static_cast<std::byte*>(outs[index].data);
    }
    data_[index] = {targets_[index], fields[index].step_bytes};
  }
  for (Step& step : steps_) {
    step.data.resize(fields.size());
    while (step.blocks.size() < fields.size()) {
      step.blocks.push_back(std::make_unique<os::MemoryBlock>());
    }
    for (std::size_t index = 0; index < fields.size(); ++index) {
      COUPLET_TRY_VALUE(step.data[index],
                        step.blocks[index]->reserve(std::max<std::uint64_t>(fields[index].step_bytes, 1)));
    }
  }
  times_.clear();
  numbers_.clear();
  ordinals_.clear();
  torn_.clear();
  return {};
}

// ---- steps ----

// Reads the next step into the free place of the ring, and makes it the newest.
Status TimeInterpolation::read_step(std::uint64_t deadline_ns) {
  Step& next = steps_[(newest_ + 1) % ring_size];
  outs_.clear();
  for (std::size_t index = 0; index < next.data.size(); ++index) {
    outs_.push_back({next.data[index], description_.fields[index].step_bytes, nullptr});
  }
  Batch batch;
  COUPLET_TRY(reader_.read(1, 1, deadline_ns, outs_, batch));
  lost_ += batch.lost;
  incarnation_ = batch.incarnation;
  next.time = batch.times[0];
  next.step = batch.steps[0];
  next.ordinal = batch.ordinals[0];
  next.torn = batch.torn[0];
  if (std::isnan(next.time)) {
    kept_ = 0;
    return fail(Code::argument, "series '{}': step {} has no physical time, and cannot be read at times",
                description_.name, next.step);
  }
  if (kept_ > 0 && !(next.time > newest().time)) {
    Status wrong =
        fail(Code::argument, "series '{}': step {} has time {}, which is not later than the time {} of step {}",
             description_.name, next.step, next.time, newest().time, newest().step);
    kept_ = 0;
    return wrong;
  }
  newest_ = (newest_ + 1) % ring_size;
  kept_ = std::min(kept_ + 1, 2);
  return {};
}

// Reads steps until those around `time` are there.
Status TimeInterpolation::bracket(double time, std::uint64_t deadline_ns) {
  while (kept_ == 0 || newest().time < time) {
    const bool refuses = beyond_ == BeyondNewest::refuse && kept_ > 0;
    const Status status = read_step(refuses ? os::now_ns() : deadline_ns);
    if (refuses && (status.code() == Code::not_yet || status.code() == Code::end)) {
      return fail(Code::argument, "series '{}': time {} to read at lies past the newest step {} (time {})",
                  description_.name, time, newest().step, newest().time);
    }
    if (status.code() == Code::restarted) {
      kept_ = 0;
      description_ = reader_.describe();
    }
    COUPLET_TRY(status);
  }
  const Step& oldest = kept_ == 2 ? previous() : newest();
  if (time < oldest.time) {
    return fail(Code::argument,
                "series '{}': time {} to read at lies before step {} (time {}), the oldest that is left",
                description_.name, time, oldest.step, oldest.time);
  }
  return {};
}

void TimeInterpolation::interpolate(double time, std::size_t at) {
  const Step& after = newest();
  const bool exact = time == after.time;
  const Step& before = exact ? after : previous();
  const double weight = exact ? 0.0 : (time - before.time) / (after.time - before.time);
  const auto& fields = description_.fields;
  for (std::size_t index = 0; index < fields.size(); ++index) {
    const std::uint64_t bytes = fields[index].step_bytes;
    std::byte* const target = targets_[index] + at * bytes;
    if (weight == 0.0) {
      std::memcpy(target, before.data[index], bytes);
    } else if (fields[index].type == COUPLET_FLOAT) {
      interpolate_elements<float>(before.data[index], after.data[index], weight, target, bytes);
    } else {
      interpolate_elements<double>(before.data[index], after.data[index], weight, target, bytes);
    }
  }
  times_.push_back(time);
  numbers_.push_back(before.step);
  ordinals_.push_back(before.ordinal);
  torn_.push_back(static_cast<std::uint8_t>(before.torn | (weight == 0.0 ? 0 : after.torn)));
}

Status TimeInterpolation::read(std::span<const double> times, std::uint64_t deadline_ns, std::span<const Out> outs,
                               Batch& batch, const Status& refusal) {
  agreement_.begin(deadline_ns);
  Status ready = refusal.ok() ? prepare(times, outs) : refusal;
  COUPLET_TRY(agree_on_times(times, ready));
  if (!pending_.ok()) {
    return std::exchange(pending_, Status());
  }
  for (const double time : times) {
    Status status = bracket(time, deadline_ns);
    if (status.ok()) {
      interpolate(time, times_.size());
    } else if (times_.empty()) {
      return status;
    } else {
      const bool comes_again = status.code() == Code::not_yet || status.code() == Code::interrupted;
      pending_ = comes_again ? Status() : status;
      break;
    }
  }
  batch = {times_.size(), data_.front().data, data_.front().step_bytes, data_.data(), data_.size(),
           times_.data(), numbers_.data(),    ordinals_.data(),         torn_.data(), std::exchange(lost_, 0),
           incarnation_};
  return {};
}

}  // namespace couplet::series
