// Part of couplet.hpp, which programs include: writing and reading series. Tests: tests/languages.
#ifndef COUPLET_COUPLET_SERIES_HPP
#define COUPLET_COUPLET_SERIES_HPP

#include <couplet/couplet_message.hpp>
#include <couplet/couplet_open_options.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace couplet {

/// Describes a series. The box is that of this rank.
struct SeriesInfo {
  std::string name;
  std::string program;  ///< the writer's program
  std::string route;    ///< "writer", "mapped", "relay" or "window"
  couplet_type type = COUPLET_BYTE;
  std::vector<std::int64_t> shape;
  Box box;  ///< this rank's box
  std::uint64_t step_bytes = 0;
  std::uint64_t slots = 0;
  std::int32_t writers = 0;
};

/// The accounting of one rank. For a reader: published - first = delivered + lost + skipped + pending.
using Statistics = couplet_series_statistics;

/// How long a writer rank has waited for holding readers, and for which of them. The names are "" before the first
/// wait.
struct Waits {
  std::uint64_t count = 0;
  std::uint64_t total_ns = 0;
  std::uint64_t last_ns = 0;
  std::uint64_t longest_ns = 0;
  std::string last_for;  ///< "program 'nowcast' rank 3 on host n02"
  std::string longest_for;
  std::int32_t last_rank = -1;  ///< rank in the universe; -1: a program that has not opened, or no wait
  std::int32_t longest_rank = -1;
};

/// Says where a box is in the caller's memory: either without gaps in C order, or as the first element and the strides,
/// counted in elements, which may be negative. A part of a larger array is the first element of the part and the
/// strides of the larger array.
class Array {
 public:
  template <Element T>
    requires(!std::is_const_v<T>)
  Array(std::span<T> dense) : Array(static_cast<void*>(dense.data()), type_of<T>, dense.size(), {}) {}
  template <Element T>
    requires(!std::is_const_v<T>)
  // Put only reads the elements.
  Array(std::span<const T> dense) : Array(const_cast<T*>(dense.data()), type_of<T>, dense.size(), {}) {}
  template <Element T>
  Array(std::vector<T>& dense) : Array(std::span<T>(dense)) {}
  template <Element T>
  Array(const std::vector<T>& dense) : Array(std::span<const T>(dense)) {}
  /// `strides` has one entry for each dimension. For a read, the distance from step to step comes before them.
  template <Element T>
    requires(!std::is_const_v<T>)
  Array(T* first, const std::vector<std::int64_t>& strides) : Array(first, type_of<T>, 0, strides) {
    for (std::int64_t& stride : strides_) {
      stride *= static_cast<std::int64_t>(sizeof(T));
    }
  }
  template <Element T>
    requires(!std::is_const_v<T>)
  Array(const T* first, const std::vector<std::int64_t>& strides) : Array(const_cast<T*>(first), strides) {}

  [[nodiscard]] couplet_type type() const noexcept { return type_; }
  [[nodiscard]] std::size_t elements() const noexcept { return elements_; }
  /// Returns the strides in bytes; none if the array has no gaps.
  [[nodiscard]] const std::vector<std::int64_t>& strides() const noexcept { return strides_; }
  /// Returns the array of the C call. Its pointers point into this object.
  [[nodiscard]] couplet_series_array c_array() const noexcept {
    return {data_, strides_.empty() ? nullptr : strides_.data(), elements_ * couplet_type_bytes(type_)};
  }

 private:
  Array(void* data, couplet_type type, std::size_t elements, std::vector<std::int64_t> strides)
      : data_(data), type_(type), elements_(elements), strides_(std::move(strides)) {}
  void* data_;
  couplet_type type_;
  // Used if there are no strides.
  std::size_t elements_;
  std::vector<std::int64_t> strides_;
};

/// The steps that are still there, and the newest one.
struct Retained {
  std::uint64_t first;  ///< the ordinals [first, end) are still there
  std::uint64_t end;
  std::int64_t newest_step;
};

namespace detail {

/// The part that writers and readers share.
class Series {
 public:
  [[nodiscard]] SeriesInfo describe() const {
    couplet_series_info info{};
    info.struct_bytes = sizeof info;
    check(couplet_series_describe(owner_.get(), &info));
    const auto list = [&](const std::int64_t* values) {
      return std::vector<std::int64_t>(values, values + info.dimensions);
    };
    return {info.name,       info.program,     info.route,
            info.type,       list(info.shape), {list(info.start), list(info.stop)},
            info.step_bytes, info.slots,       info.writers};
  }
  /// Returns the accounting of this rank.
  [[nodiscard]] Statistics statistics() const {
    Statistics statistics{};
    statistics.struct_bytes = sizeof statistics;
    check(couplet_series_get_statistics(owner_.get(), &statistics));
    return statistics;
  }
  /// Returns the ordinals that are still there, or nothing before the first step.
  [[nodiscard]] std::optional<Retained> retained() const {
    Retained range{};
    const couplet_status status =
        check(couplet_series_retained(owner_.get(), &range.first, &range.end, &range.newest_step));
    return status == COUPLET_OK ? std::optional<Retained>(range) : std::nullopt;
  }
  /// Returns the newest published step, or nothing before the first one.
  [[nodiscard]] std::optional<std::int64_t> newest() const {
    const std::optional<Retained> range = retained();
    return range ? std::optional<std::int64_t>(range->newest_step) : std::nullopt;
  }
  /// Closes the series, and throws the errors that the destructor would ignore.
  void close() { check(couplet_series_close(owner_.release())); }
  [[nodiscard]] couplet_series* handle() const noexcept { return owner_.get(); }

 protected:
  explicit Series(couplet_series* handle) : owner_(handle) {}

 private:
  Owner<couplet_series, couplet_series_close> owner_;
};

/// The part that all writers share.
class WritingEnd : public Series {
 public:
  /// Sets the physical time of the next step that is published. Errors: as couplet_series_set_time.
  void set_time(double time) { check(couplet_series_set_time(handle(), time)); }
  /// Publishes the claimed slot. Throws Error(COUPLET_ERROR_STATE) if no slot is claimed.
  void publish() { check(couplet_series_publish(handle())); }
  /// Gives a claim back: nothing is published, and the same step or another one may be written next.
  void abandon() { check(couplet_series_abandon(handle())); }
  [[nodiscard]] Waits waits() const {
    couplet_series_waits waits{};
    waits.struct_bytes = sizeof waits;
    check(couplet_series_get_waits(handle(), &waits));
    return {waits.count,    waits.total_ns,    waits.last_ns,   waits.longest_ns,
            waits.last_for, waits.longest_for, waits.last_rank, waits.longest_rank};
  }

 protected:
  explicit WritingEnd(couplet_series* handle) : Series(handle) {}
};

/// The part that all batches share.
class BatchBase {
 public:
  /// Returns COUPLET_OK, COUPLET_NOT_YET, COUPLET_END or COUPLET_RESTARTED.
  [[nodiscard]] couplet_status status() const noexcept { return status_; }
  [[nodiscard]] bool ended() const noexcept { return status_ == COUPLET_END; }
  /// Returns the number of steps.
  [[nodiscard]] std::size_t size() const noexcept { return status_ == COUPLET_OK ? batch_.count : 0; }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] std::span<const std::int64_t> steps() const noexcept { return {batch_.steps, size()}; }
  /// Returns the physical times; NaN for a step to which the writer gave none.
  [[nodiscard]] std::span<const double> times() const noexcept { return {batch_.times, size()}; }
  [[nodiscard]] std::span<const std::uint64_t> ordinals() const noexcept { return {batch_.ordinals, size()}; }
  /// Returns one mark for each step; 1: it was replaced while it was copied (only with OpenOptions::torn).
  [[nodiscard]] std::span<const std::uint8_t> torn() const noexcept { return {batch_.torn, size()}; }
  /// Returns the number of steps that were lost since the last read.
  [[nodiscard]] std::uint64_t lost() const noexcept { return batch_.lost; }
  /// Returns which start of the writer this is: 0, 1, ...
  [[nodiscard]] std::uint64_t incarnation() const noexcept { return batch_.incarnation; }

 protected:
  BatchBase(couplet_status status, const couplet_series_batch& batch) : status_(status), batch_(batch) {}
  couplet_status status_;
  couplet_series_batch batch_;
};

/// Returns the number of elements of this rank's box. Throws Error(COUPLET_ERROR_TYPE) if they are not of type T.
template <class T>
std::size_t box_elements(const SeriesInfo& info) {
  if (info.type != type_of<T>) {
    throw Error(COUPLET_ERROR_TYPE, "series '" + info.name + "' has elements of type " + std::to_string(info.type) +
                                        " (couplet_type), not " + std::to_string(type_of<T>));
  }
  return static_cast<std::size_t>(info.step_bytes / sizeof(T));
}

}  // namespace detail

/// Writes a series of one field.
template <Element T>
class Writer : public detail::WritingEnd {
 public:
  explicit Writer(couplet_series* handle) : WritingEnd(handle), elements_(detail::box_elements<T>(describe())) {}

  /// Returns the number of elements of this rank's box.
  [[nodiscard]] std::size_t elements() const noexcept { return elements_; }
  /// Copies this rank's box of step `step` into the next slot and publishes it. Blocking: up to wait_timeout_s, if a
  /// holding reader still needs the oldest slot. Returns false if wait_timeout_s is 0 and it needs it (COUPLET_FULL).
  /// Errors: as couplet_series_put.
  [[nodiscard]] bool put(std::span<const T> data, std::int64_t step) {
    if (data.size() != elements_) {
      throw Error(COUPLET_ERROR_SHAPE, "put, step " + std::to_string(step) + ": series '" + describe().name + "' has " +
                                           std::to_string(elements_) + " elements in this rank's box, the array has " +
                                           std::to_string(data.size()));
    }
    return detail::check(couplet_series_put(handle(), data.data(), step)) == COUPLET_OK;
  }
  /// Puts this rank's box from a larger or differently ordered array: `first` is its first element, and the strides are
  /// counted in elements. It is copied once, too.
  [[nodiscard]] bool put(const T* first, const std::vector<std::int64_t>& strides, std::int64_t step) {
    const std::size_t dimensions = describe().shape.size();
    if (strides.size() != dimensions) {
      throw Error(COUPLET_ERROR_SHAPE, "put, step " + std::to_string(step) + ": series '" + describe().name + "' has " +
                                           std::to_string(dimensions) + " dimensions, there are " +
                                           std::to_string(strides.size()) + " strides");
    }
    const Array array(first, strides);
    const couplet_series_array one = array.c_array();
    return detail::check(couplet_series_put_arrays(handle(), &one, 1, step)) == COUPLET_OK;
  }
  /// Gives the memory of the next slot, for computation in place until publish(). Its old contents are undefined.
  /// Returns nothing in the case in which put returns false.
  [[nodiscard]] std::optional<std::span<T>> claim(std::int64_t step) {
    void* data = nullptr;
    if (detail::check(couplet_series_claim(handle(), step, &data)) != COUPLET_OK) {
      return std::nullopt;
    }
    return std::span<T>(static_cast<T*>(data), elements_);
  }

 private:
  std::size_t elements_;
};

/// The steps that one read has delivered. The spans point to the library's memory until the next read or close, except
/// data() if the caller gave `out`.
template <Element T>
class Batch : public detail::BatchBase {
 public:
  Batch(couplet_status status, const couplet_series_batch& batch) : BatchBase(status, batch) {}

  /// Returns all steps, one after the other.
  [[nodiscard]] std::span<const T> data() const noexcept {
    return {static_cast<const T*>(batch_.data), size() * step_elements()};
  }
  /// Returns the box of the i-th step of the batch.
  [[nodiscard]] std::span<const T> operator[](std::size_t i) const {
    return data().subspan(i * step_elements(), step_elements());
  }

 private:
  [[nodiscard]] std::size_t step_elements() const noexcept { return batch_.step_bytes / sizeof(T); }
};

/// Says how many steps a read gives, and how long it waits.
struct ReadOptions {
  std::uint64_t at_least = 1;  ///< number of steps that the read waits for
  std::uint64_t up_to = 64;    ///< largest number of steps
  double timeout_s = for_ever;
};

/// Reads a series of one field.
template <Element T>
class Reader : public detail::Series {
 public:
  explicit Reader(couplet_series* handle) : Series(handle), elements_(detail::box_elements<T>(describe())) {}

  /// Returns the number of elements of this rank's box.
  [[nodiscard]] std::size_t elements() const noexcept { return elements_; }
  /// Reads this rank's box of at least at_least and at most up_to steps, in order. `out` has room for up_to boxes, or
  /// is empty: the steps are then in the library's memory. Blocking: until at_least steps are there, at most timeout_s.
  /// Answers are in Batch::status(). Errors: as couplet_series_read.
  [[nodiscard]] Batch<T> read(const ReadOptions& options = {}, std::span<T> out = {}) {
    couplet_series_batch batch{};
    batch.struct_bytes = sizeof batch;
    const couplet_status status = detail::check(couplet_series_read(
        handle(), options.at_least, options.up_to, options.timeout_s, out.data(), out.size_bytes(), &batch));
    note_restart(status);
    return Batch<T>(status, batch);
  }
  /// Values at physical times, which do not descend: linear between the steps around each; one box for each time. Fewer
  /// are delivered if something prevents the others. out: empty (the library's buffer), or room for a box for each
  /// time.
  [[nodiscard]] Batch<T> read_at(std::span<const double> times, double timeout_s = for_ever, std::span<T> out = {}) {
    couplet_series_batch batch{};
    batch.struct_bytes = sizeof batch;
    const couplet_series_array array{out.data(), nullptr, out.size_bytes()};
    const couplet_status status =
        detail::check(couplet_series_read_at(handle(), times.data(), static_cast<std::int32_t>(times.size()), timeout_s,
                                             &array, out.empty() ? 0 : 1, &batch));
    note_restart(status);
    return Batch<T>(status, batch);
  }

 private:
  // The new incarnation may have another shape, if no box was asked for.
  void note_restart(couplet_status status) {
    if (status == COUPLET_RESTARTED) elements_ = detail::box_elements<T>(describe());
  }
  std::size_t elements_;
};

}  // namespace couplet

#endif
