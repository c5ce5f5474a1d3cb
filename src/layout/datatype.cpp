#include "layout/datatype.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/counted.hpp"
#include "base/swap.hpp"

namespace couplet::layout {
namespace {

__extension__ using Wide = __int128;  // no product of a count and a number below max_bytes overflows it

constexpr Wide max_bytes = Wide{1} << 62;
constexpr int max_depth = 32;

bool is_too_large(Wide bytes) noexcept {
  return bytes >= max_bytes || bytes <= -max_bytes;
}

Status too_large() {
  return fail(Code::limit, "the type reaches over 2^62 bytes or more");
}

// Copies `count` runs. A stride of a run's own size means that they are dense.
void copy_runs(std::byte* to, std::int64_t to_stride, const std::byte* from, std::int64_t from_stride,
               std::uint64_t run_bytes, std::uint64_t count) noexcept {
  const auto copy = [&](std::uint64_t bytes) {
    for (std::uint64_t index = 0; index < count; ++index) {
      std::memcpy(to, from, bytes);
      to += to_stride;
      from += from_stride;
    }
  };
  switch (run_bytes) {  // the compiler makes one load and one store of a known size
    case 4:
      return copy(4);
    case 8:
      return copy(8);
    case 16:
      return copy(16);
    default:
      return copy(run_bytes);
  }
}

}  // namespace

// ---- making one ----

// A datatype that is being made, block by block.
class Datatype::Build {
 public:
  // Adds `count` items of `of` that begin `offset` bytes after the start.
  Status add(Wide offset, std::uint64_t count, const Datatype& of) {
    if (count == 0) {
      return {};
    }
    const Wide extent = of.upper_ - of.lower_;
    const Wide last = Wide{count - 1} * extent;
    const Wide lower = offset + of.lower_;
    const Wide upper = offset + of.upper_ + last;
    const Wide size = Wide{made_.bytes_} + Wide{count} * of.bytes_;
    if (is_too_large(lower) || is_too_large(upper) || is_too_large(size)) {
      return too_large();
    }
    note_bounds(static_cast<std::int64_t>(lower), static_cast<std::int64_t>(upper), of.has_given_bounds_);
    made_.alignment_ = std::max(made_.alignment_, of.alignment_);
    if (of.bytes_ == 0) {
      return {};
    }
    note_element(*of.element_);
    made_.bytes_ = static_cast<std::uint64_t>(size);
    int depth = 0;
    Step step = of.step_of(static_cast<std::int64_t>(offset), count, depth);
    return append(std::move(step), depth);
  }

  // Repeats what has been added: `count` times, `stride` bytes apart.
  Result<Datatype> repeated(std::uint64_t count, Wide stride) {
    const Datatype block = done();
    Build all;
    if (count > 1 && is_too_large(stride)) {
      return too_large();
    }
    if (count > 0) {
      COUPLET_TRY(all.add(0, 1, block));
      const Wide last = Wide{count - 1} * stride;
      COUPLET_TRY(all.add(last, 1, block));
      if (is_too_large(Wide{count} * block.bytes_)) {
        return too_large();
      }
      all.made_.bytes_ = count * block.bytes_;
      if (block.bytes_ > 0) {
        all.steps_.clear();
        int depth = 0;
        Step step = repeat(block, count, static_cast<std::int64_t>(stride), depth);
        COUPLET_TRY(all.append(std::move(step), depth));
      }
    }
    return all.done();
  }

  // Returns what was made. May be called once.
  [[nodiscard]] Datatype done() {
    if (made_.element_ == nullptr) {
      made_.element_ = find_type(COUPLET_BYTE);
    }
    made_.steps_ = std::make_shared<const Steps>(std::move(steps_));
    return std::move(made_);
  }

  void set_bounds(std::int64_t lower, std::int64_t upper) noexcept {
    made_.lower_ = lower;
    made_.upper_ = upper;
    made_.has_given_bounds_ = true;
  }
  void align_extent() noexcept {
    if (made_.has_given_bounds_) {
      return;
    }
    const auto alignment = static_cast<std::int64_t>(made_.alignment_);
    const std::int64_t rest = (made_.upper_ - made_.lower_) % alignment;
    made_.upper_ += rest == 0 ? 0 : alignment - rest;
  }

 private:
  static Step repeat(const Datatype& block, std::uint64_t count, std::int64_t stride, int& depth) {
    Step step = block.step_of(0, 1, depth);
    if (count > 1 && (step.run_bytes == 0 || step.count > 1)) {
      Step outer;
      outer.steps = block.steps_;
      step = std::move(outer);
      depth = block.depth_ + 1;
    }
    if (count == 1) {
      return step;
    }
    step.count = count;
    step.stride = stride;
    const bool is_dense = step.run_bytes > 0 && stride == static_cast<std::int64_t>(step.run_bytes);
    if (is_dense) {
      step.run_bytes *= count;
      step.count = 1;
    }
    return step;
  }

  // Bounds that were given, by resized() or subarray(), count in place of those of all other items (MPI 4.1, section
  // 5.1.7).
  void note_bounds(std::int64_t lower, std::int64_t upper, bool are_given) noexcept {
    if (made_.has_given_bounds_ && !are_given) {
      return;
    }
    const bool are_first = !has_bounds_ || (are_given && !made_.has_given_bounds_);
    made_.lower_ = are_first ? lower : std::min(made_.lower_, lower);
    made_.upper_ = are_first ? upper : std::max(made_.upper_, upper);
    made_.has_given_bounds_ = are_given;
    has_bounds_ = true;
  }
  void note_element(const TypeInfo& element) noexcept {
    const bool is_same = made_.element_ == nullptr || made_.element_ == &element;
    made_.element_ = is_same ? &element : &mixed_type;
  }

  // Two runs that touch become one.
  Status append(Step step, int depth) {
    if (depth > max_depth) {
      return fail(Code::limit, "the type is made of types in more than {} levels", max_depth);
    }
    made_.depth_ = std::max(made_.depth_, depth);
    if (!steps_.empty()) {
      Step& last = steps_.back();
      const bool are_runs = last.run_bytes > 0 && step.run_bytes > 0 && last.count == 1 && step.count == 1;
      if (are_runs && last.swap_bytes == step.swap_bytes &&
          last.offset + static_cast<std::int64_t>(last.run_bytes) == step.offset) {
        last.run_bytes += step.run_bytes;
        return {};
      }
    }
    steps_.push_back(std::move(step));
    return {};
  }

  Datatype made_;
  Steps steps_;
  bool has_bounds_ = false;
};

Datatype::Datatype(const TypeInfo& element)
    : bytes_(element.element_bytes),
      upper_(static_cast<std::int64_t>(element.element_bytes)),
      alignment_(element.swap_bytes),
      element_(&element),
      depth_(1),
      steps_(std::make_shared<const Steps>(
          Steps{Step{.run_bytes = element.element_bytes, .swap_bytes = element.swap_bytes, .steps = {}}})) {}

Datatype::Step Datatype::step_of(std::int64_t offset, std::uint64_t count, int& depth) const {
  const auto stride = static_cast<std::int64_t>(extent());
  const Step& first = steps_->front();
  const bool is_one_run = steps_->size() == 1 && first.count == 1 && first.run_bytes > 0;
  Step step;
  if (is_one_run || (steps_->size() == 1 && count == 1)) {
    step = first;
    step.offset += offset;
    depth = depth_;
  } else {
    step.offset = offset;
    step.steps = steps_;
    depth = depth_ + 1;
  }
  if (is_one_run && count > 1 && static_cast<std::int64_t>(step.run_bytes) == stride) {
    step.run_bytes *= count;
  } else if (count > 1) {
    step.count = count;
    step.stride = stride;
  }
  return step;
}

Result<Datatype> Datatype::contiguous(std::uint64_t count, const Datatype& of) {
  Build build;
  COUPLET_TRY(build.add(0, count, of));
  return build.done();
}

Result<Datatype> Datatype::vector(std::uint64_t count, std::uint64_t block, std::int64_t stride, const Datatype& of) {
  Build build;
  COUPLET_TRY(build.add(0, block, of));
  return build.repeated(block == 0 ? 0 : count, Wide{stride} * Wide{of.extent()});
}

Result<Datatype> Datatype::indexed(std::span<const std::uint64_t> blocks, std::span<const std::int64_t> displacements,
                                   const Datatype& of) {
  Build build;
  for (std::size_t index = 0; index < blocks.size(); ++index) {
    COUPLET_TRY(build.add(Wide{displacements[index]} * Wide{of.extent()}, blocks[index], of));
  }
  return build.done();
}

Result<Datatype> Datatype::subarray(std::span<const std::uint64_t> sizes, std::span<const std::uint64_t> subsizes,
                                    std::span<const std::uint64_t> starts, const Datatype& of) {
  for (std::size_t dimension = 0; dimension < sizes.size(); ++dimension) {
    const std::uint64_t room = sizes[dimension] - std::min(sizes[dimension], starts[dimension]);
    if (starts[dimension] > sizes[dimension] || subsizes[dimension] > room) {
      return fail(Code::argument, "dimension {}: {} from {} {} not lie in {}", dimension,
                  counted(subsizes[dimension], "item"), starts[dimension], subsizes[dimension] == 1 ? "does" : "do",
                  sizes[dimension]);
    }
  }
  // From the fastest dimension to the slowest.
  Build item;
  COUPLET_TRY(item.add(0, 1, of));
  Datatype part = item.done();
  Wide stride = of.extent();
  Wide offset = 0;
  for (std::size_t dimension = sizes.size(); dimension-- > 0;) {
    Build row;
    COUPLET_TRY(row.add(0, 1, part));
    COUPLET_TRY_VALUE(part, row.repeated(subsizes[dimension], stride));
    offset += Wide{starts[dimension]} * stride;
    stride *= Wide{sizes[dimension]};
    if (is_too_large(stride)) {
      return too_large();
    }
  }
  Build whole;
  if (part.bytes_ > 0) {
    COUPLET_TRY(whole.add(offset, 1, part));
  }
  whole.set_bounds(0, static_cast<std::int64_t>(stride));
  return whole.done();
}

Result<Datatype> Datatype::structure(std::span<const std::uint64_t> blocks, std::span<const std::int64_t> displacements,
                                     std::span<const Datatype* const> types) {
  Build build;
  for (std::size_t index = 0; index < blocks.size(); ++index) {
    COUPLET_TRY(build.add(displacements[index], blocks[index], *types[index]));
  }
  build.align_extent();
  return build.done();
}

Result<Datatype> Datatype::resized(const Datatype& of, std::int64_t lower_bound, std::uint64_t extent) {
  const Wide upper = Wide{lower_bound} + Wide{extent};
  if (is_too_large(lower_bound) || is_too_large(upper)) {
    return too_large();
  }
  Datatype made = of;
  made.lower_ = lower_bound;
  made.upper_ = static_cast<std::int64_t>(upper);
  made.has_given_bounds_ = true;
  return made;
}

// ---- using it ----

bool Datatype::is_dense() const noexcept {
  const bool is_run = steps_->size() == 1 && steps_->front().count == 1 && steps_->front().offset == 0;
  return is_run && steps_->front().run_bytes == bytes_ && extent() == bytes_;
}

Status Datatype::check_count(std::uint64_t count) const {
  const Wide reach = count == 0 ? Wide{0} : Wide{count - 1} * Wide{extent()} + upper_;
  return is_too_large(reach) || is_too_large(Wide{count} * Wide{bytes_}) ? too_large() : Status();
}

// Shows the visitor each run, in the order in which they travel, until it has had enough.
template <class Visitor>
void Datatype::visit(const Step& step, std::int64_t base, Visitor& visitor) noexcept {
  base += step.offset;
  if (step.run_bytes > 0) {
    visitor.runs(base, step);
    return;
  }
  for (std::uint64_t index = 0; index < step.count && visitor.goes_on(); ++index) {
    for (const Step& inner : *step.steps) {
      visit(inner, base + static_cast<std::int64_t>(index) * step.stride, visitor);
    }
  }
}

class Datatype::Packing {
 public:
  Packing(const std::byte* memory, std::byte* packed) noexcept : memory_(memory), packed_(packed) {}
  void runs(std::int64_t base, const Step& step) noexcept {
    const auto run = static_cast<std::int64_t>(step.run_bytes);
    copy_runs(packed_, run, memory_ + base, step.stride, step.run_bytes, step.count);
    packed_ += step.run_bytes * step.count;
  }
  [[nodiscard]] static bool goes_on() noexcept { return true; }

 private:
  const std::byte* memory_;
  std::byte* packed_;
};

class Datatype::Unpacking {
 public:
  Unpacking(const std::byte* packed, std::uint64_t bytes, std::byte* memory) noexcept
      : packed_(packed), left_(bytes), memory_(memory) {}
  void runs(std::int64_t base, const Step& step) noexcept {
    const std::uint64_t whole = std::min(step.count, left_ / step.run_bytes);
    const auto run = static_cast<std::int64_t>(step.run_bytes);
    copy_runs(memory_ + base, step.stride, packed_, run, step.run_bytes, whole);
    packed_ += whole * step.run_bytes;
    left_ -= whole * step.run_bytes;
    if (whole < step.count && left_ > 0) {
      std::memcpy(memory_ + base + static_cast<std::int64_t>(whole) * step.stride, packed_, left_);
      left_ = 0;
    }
  }
  [[nodiscard]] bool goes_on() const noexcept { return left_ > 0; }

 private:
  const std::byte* packed_;
  std::uint64_t left_;
  std::byte* memory_;
};

class Datatype::Swapping {
 public:
  Swapping(std::byte* packed, std::uint64_t bytes) noexcept : packed_(packed), left_(bytes) {}
  void runs(std::int64_t /*base*/, const Step& step) noexcept {
    const std::uint64_t bytes = std::min(left_, step.run_bytes * step.count);
    swap_numbers(packed_, bytes, step.swap_bytes);
    packed_ += bytes;
    left_ -= bytes;
  }
  [[nodiscard]] bool goes_on() const noexcept { return left_ > 0; }

 private:
  std::byte* packed_;
  std::uint64_t left_;
};

template <class Visitor>
void Datatype::visit_items(std::uint64_t count, Visitor& visitor) const noexcept {
  if (bytes_ == 0) {
    return;  // however many there are
  }
  const auto stride = static_cast<std::int64_t>(extent());
  if (steps_->size() == 1 && steps_->front().run_bytes > 0 && steps_->front().count == 1) {  // all runs at once
    Step runs;
    runs.count = count;
    runs.stride = stride;
    runs.run_bytes = steps_->front().run_bytes;
    runs.swap_bytes = steps_->front().swap_bytes;
    return visitor.runs(steps_->front().offset, runs);
  }
  for (std::uint64_t index = 0; index < count && visitor.goes_on(); ++index) {
    for (const Step& step : *steps_) {
      visit(step, static_cast<std::int64_t>(index) * stride, visitor);
    }
  }
}

void Datatype::pack(const std::byte* memory, std::uint64_t count, std::byte* packed) const noexcept {
  Packing packing(memory, packed);
  visit_items(count, packing);
}

void Datatype::unpack(const std::byte* packed, std::uint64_t bytes, std::uint64_t count,
                      std::byte* memory) const noexcept {
  Unpacking unpacking(packed, bytes, memory);
  visit_items(count, unpacking);
}

void Datatype::swap(std::byte* packed, std::uint64_t bytes, std::uint64_t count) const noexcept {
  Swapping swapping(packed, bytes);
  visit_items(count, swapping);
}

}  // namespace couplet::layout
