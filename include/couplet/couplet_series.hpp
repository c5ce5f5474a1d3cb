// Part of couplet.hpp: writing and reading series. Include couplet.hpp. Tests: tests/languages.
#ifndef COUPLET_COUPLET_SERIES_HPP
#define COUPLET_COUPLET_SERIES_HPP

#include <couplet/couplet_message.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace couplet {

struct SeriesInfo {
  std::string name;
  std::string program;  ///< of the writer
  std::string route;    ///< "writer", "mapped" or "relay"
  couplet_type type = COUPLET_BYTE;
  std::vector<std::int64_t> shape;
  Box box;  ///< of this rank
  std::uint64_t step_bytes = 0;
  std::uint64_t slots = 0;
  std::int32_t writers = 0;
};

/// published - first = delivered + lost + skipped + pending.
using Statistics = couplet_series_statistics;

struct Retained {
  std::uint64_t first;  ///< ordinals [first, end) are still there
  std::uint64_t end;
  std::int64_t newest_step;
};

namespace detail {

/// What writers and readers have in common.
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
  [[nodiscard]] Statistics statistics() const {
    Statistics statistics{};
    statistics.struct_bytes = sizeof statistics;
    check(couplet_series_count(owner_.get(), &statistics));
    return statistics;
  }
  /// Nothing before the first step.
  [[nodiscard]] std::optional<Retained> retained() const {
    Retained range{};
    const couplet_status status =
        check(couplet_series_retained(owner_.get(), &range.first, &range.end, &range.newest_step));
    return status == COUPLET_OK ? std::optional<Retained>(range) : std::nullopt;
  }
  [[nodiscard]] std::optional<std::int64_t> newest() const {
    const std::optional<Retained> range = retained();
    return range ? std::optional<std::int64_t>(range->newest_step) : std::nullopt;
  }
  /// Throws what the destructor would swallow.
  void close() { check(couplet_series_close(owner_.release())); }
  [[nodiscard]] couplet_series* handle() const noexcept { return owner_.get(); }

 protected:
  explicit Series(couplet_series* handle) : owner_(handle) {}

 private:
  Owner<couplet_series, couplet_series_close> owner_;
};

/// Elements of this rank's box; refuses another element type than T.
template <class T>
std::size_t box_elements(const SeriesInfo& info) {
  if (info.type != type_of<T>) {
    throw Error(COUPLET_ERROR_TYPE, "series '" + info.name + "' has elements of type " + std::to_string(info.type) +
                                        " (couplet_type), not " + std::to_string(type_of<T>));
  }
  return static_cast<std::size_t>(info.step_bytes / sizeof(T));
}

}  // namespace detail

/// Writes a series.
template <Element T>
class Writer : public detail::Series {
 public:
  explicit Writer(couplet_series* handle) : Series(handle), elements_(detail::box_elements<T>(describe())) {}

  /// Elements of this rank's box.
  [[nodiscard]] std::size_t elements() const noexcept { return elements_; }
  /// Copies this rank's box and publishes it; false: FULL, nothing was written (only where wait_timeout_s is 0).
  [[nodiscard]] bool put(std::span<const T> data, std::int64_t step) {
    if (data.size() != elements_) {
      throw Error(COUPLET_ERROR_SHAPE, "put, step " + std::to_string(step) + ": series '" + describe().name + "' has " +
                                           std::to_string(elements_) + " elements in this rank's box, the array has " +
                                           std::to_string(data.size()));
    }
    return detail::check(couplet_series_put(handle(), data.data(), step)) == COUPLET_OK;
  }
  /// The memory of the next slot, to compute in place until publish(); empty: FULL (only where wait_timeout_s is 0).
  [[nodiscard]] std::optional<std::span<T>> claim(std::int64_t step) {
    void* data = nullptr;
    if (detail::check(couplet_series_claim(handle(), step, &data)) != COUPLET_OK) {
      return std::nullopt;
    }
    return std::span<T>(static_cast<T*>(data), elements_);
  }
  void publish() { detail::check(couplet_series_publish(handle())); }

 private:
  std::size_t elements_;
};

/// What one read returned. The spans are the library's, valid until the next read or close (data: the user's own `out`).
template <Element T>
class Batch {
 public:
  Batch(couplet_status status, const couplet_batch& batch) : status_(status), batch_(batch) {}

  /// COUPLET_OK, COUPLET_NOT_YET, COUPLET_END or COUPLET_RESTARTED.
  [[nodiscard]] couplet_status status() const noexcept { return status_; }
  [[nodiscard]] bool ended() const noexcept { return status_ == COUPLET_END; }
  /// Number of steps.
  [[nodiscard]] std::size_t size() const noexcept { return status_ == COUPLET_OK ? batch_.count : 0; }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  /// All steps, one after the other.
  [[nodiscard]] std::span<const T> data() const noexcept {
    return {static_cast<const T*>(batch_.data), size() * step_elements()};
  }
  /// The box of the i-th step of the batch.
  [[nodiscard]] std::span<const T> operator[](std::size_t i) const {
    return data().subspan(i * step_elements(), step_elements());
  }
  [[nodiscard]] std::span<const std::int64_t> steps() const noexcept { return {batch_.steps, size()}; }
  [[nodiscard]] std::span<const std::uint64_t> ordinals() const noexcept { return {batch_.ordinals, size()}; }
  /// 1: the i-th step was replaced while it was copied (only with OpenOptions::torn).
  [[nodiscard]] std::span<const std::uint8_t> torn() const noexcept { return {batch_.torn, size()}; }
  /// Steps lost since the last read.
  [[nodiscard]] std::uint64_t lost() const noexcept { return batch_.lost; }
  [[nodiscard]] std::uint64_t incarnation() const noexcept { return batch_.incarnation; }

 private:
  [[nodiscard]] std::size_t step_elements() const noexcept { return batch_.step_bytes / sizeof(T); }
  couplet_status status_;
  couplet_batch batch_;
};

struct ReadOptions {
  std::uint64_t at_least = 1;  ///< steps, waited for
  std::uint64_t up_to = 64;
  double timeout_s = for_ever;
};

/// Reads a series.
template <Element T>
class Reader : public detail::Series {
 public:
  explicit Reader(couplet_series* handle) : Series(handle), elements_(detail::box_elements<T>(describe())) {}

  /// Elements of this rank's box.
  [[nodiscard]] std::size_t elements() const noexcept { return elements_; }
  /// out: empty (the library's buffer), or room for up_to boxes. Throws errors; answers are in Batch::status().
  [[nodiscard]] Batch<T> read(const ReadOptions& options = {}, std::span<T> out = {}) {
    couplet_batch batch{};
    batch.struct_bytes = sizeof batch;
    const couplet_status status = detail::check(couplet_series_read(
        handle(), options.at_least, options.up_to, options.timeout_s, out.data(), out.size_bytes(), &batch));
    return Batch<T>(status, batch);
  }

 private:
  std::size_t elements_;
};

struct SeriesOptions {
  std::uint64_t slots = 0;            ///< retained steps; 0: as many as fit into memory_bytes
  std::uint64_t memory_bytes = 0;     ///< 0: the library's default
  std::string required_readers = {};  ///< comma separated; empty: the environment
  double required_timeout_s = for_ever;
  double wait_timeout_s = for_ever;
  double evict_after_s = for_ever;
  Group group = {};  ///< writers; empty: all ranks of the program
};

enum class Mode : std::int32_t { hold = COUPLET_HOLD, follow = COUPLET_FOLLOW };
enum class From : std::int32_t {
  oldest = COUPLET_FROM_OLDEST,
  newest = COUPLET_FROM_NEWEST,
  next = COUPLET_FROM_NEXT,
  step = COUPLET_FROM_STEP
};

struct OpenOptions {
  std::optional<Box> box = std::nullopt;  ///< nothing: the whole array
  Mode mode = Mode::hold;
  From from = From::oldest;
  std::int64_t from_step = 0;
  bool local = false;  ///< every rank reads for itself; else reads are collective over the group
  Group group = {};    ///< readers; empty: all ranks of the program
  double timeout_s = 60.0;
  std::uint64_t buffer_bytes = 0;
  std::uint64_t every = 1;  ///< deliver the first step and then every n-th, skip the others
  bool latest = false;      ///< a read gives the at_least newest steps and skips older ones; for Mode::follow
  bool torn = false;        ///< deliver torn steps, marked
};

}  // namespace couplet

#endif
