// Part of couplet.hpp, which programs include: series of several fields, several boxes of a rank, and arrays with gaps.
// Tests: tests/languages.
#ifndef COUPLET_COUPLET_FIELDS_HPP
#define COUPLET_COUPLET_FIELDS_HPP

#include <couplet/couplet_series.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace couplet {

/// One of several arrays that belong to one step, and the part of it that this rank writes. field() makes one.
struct Field {
  std::string name;
  couplet_type type = COUPLET_DOUBLE;
  std::vector<std::int64_t> shape;
  /// If it is empty, this rank writes the whole array, and must be the only writer. One empty box: it writes nothing.
  std::vector<Box> boxes = {};
};
/// Makes the description of a field with elements of type T.
template <Element T>
[[nodiscard]] Field field(std::string name, std::vector<std::int64_t> shape, std::vector<Box> boxes = {}) {
  return {std::move(name), type_of<T>, std::move(shape), std::move(boxes)};
}

/// A field that a reader chooses, with the box that it reads.
struct Choice {
  std::string name;
  std::optional<Box> box = std::nullopt;  ///< none: the box of the options, else the whole array
};

/// Describes one field, and the boxes of this rank.
struct FieldInfo {
  std::string name;
  couplet_type type = COUPLET_BYTE;
  std::vector<std::int64_t> shape;
  std::vector<Box> boxes;
  std::uint64_t step_bytes = 0;
};

namespace detail {

inline std::vector<FieldInfo> describe_fields(const Series& series) {
  couplet_series_info whole{};
  whole.struct_bytes = sizeof whole;
  check(couplet_series_describe(series.handle(), &whole));
  std::vector<FieldInfo> fields;
  for (std::int32_t index = 0; index < whole.field_count; ++index) {
    couplet_series_field_info info{};
    info.struct_bytes = sizeof info;
    check(couplet_series_describe_field(series.handle(), index, &info));
    FieldInfo& made = fields.emplace_back();
    made = {info.name, info.type, {info.shape, info.shape + info.dimensions}, {}, info.step_bytes};
    for (std::int32_t box = 0; box < info.box_count; ++box) {
      const std::int64_t* const start = info.start + static_cast<std::ptrdiff_t>(box) * info.dimensions;
      const std::int64_t* const stop = info.stop + static_cast<std::ptrdiff_t>(box) * info.dimensions;
      made.boxes.push_back({{start, start + info.dimensions}, {stop, stop + info.dimensions}});
    }
  }
  return fields;
}

inline std::size_t elements_of(const Box& box) {
  std::size_t count = 1;
  for (std::size_t index = 0; index < box.start.size(); ++index) {
    count *= static_cast<std::size_t>(box.stop[index] - box.start[index]);
  }
  return count;
}

inline std::size_t find_field(const std::vector<FieldInfo>& fields, const std::string& name, const char* verb) {
  for (std::size_t index = 0; index < fields.size(); ++index) {
    if (fields[index].name == name) {
      return index;
    }
  }
  throw Error(COUPLET_ERROR_NOT_FOUND, std::string(verb) + ": there is no field '" + name + "'");
}

inline void check_array(const FieldInfo& field, const Array& array, std::size_t elements, std::size_t dimensions,
                        const char* verb) {
  const std::string where = std::string(verb) + ": field '" + field.name + "' ";
  if (array.type() != field.type) {
    throw Error(COUPLET_ERROR_TYPE, where + "has elements of type " + std::to_string(field.type) +
                                        " (couplet_type), the array of type " + std::to_string(array.type()));
  }
  if (array.strides().empty() ? array.elements() != elements : array.strides().size() != dimensions) {
    throw Error(COUPLET_ERROR_SHAPE, where + "needs an array of " + std::to_string(elements) + " elements, or " +
                                         std::to_string(dimensions) + " strides");
  }
}

}  // namespace detail

/// The claimed memory of all fields, for computation in place until publish().
class Slot {
 public:
  Slot(std::vector<FieldInfo> fields, std::vector<void*> memory)
      : fields_(std::move(fields)), memory_(std::move(memory)) {}
  /// Returns the memory of box number `box` of a field, in C order.
  template <Element T>
  [[nodiscard]] std::span<T> get(const std::string& name, std::size_t box = 0) const {
    const std::size_t index = detail::find_field(fields_, name, "get");
    const FieldInfo& field = fields_[index];
    if (field.type != type_of<T>) {
      throw Error(COUPLET_ERROR_TYPE, "get: field '" + name + "' has elements of type " + std::to_string(field.type) +
                                          " (couplet_type), not " + std::to_string(type_of<T>));
    }
    if (box >= field.boxes.size()) {
      throw Error(COUPLET_ERROR_SHAPE, "get: this rank writes " + std::to_string(field.boxes.size()) +
                                           " boxes of field '" + name + "', and no number " + std::to_string(box));
    }
    std::size_t at = box;
    for (std::size_t before = 0; before < index; ++before) {
      at += fields_[before].boxes.size();
    }
    return {static_cast<T*>(memory_[at]), detail::elements_of(field.boxes[box])};
  }

 private:
  std::vector<FieldInfo> fields_;
  std::vector<void*> memory_;
};

/// Writes a series of several fields.
class FieldsWriter : public detail::WritingEnd {
 public:
  explicit FieldsWriter(couplet_series* handle) : WritingEnd(handle), fields_(detail::describe_fields(*this)) {}

  [[nodiscard]] const std::vector<FieldInfo>& fields() const noexcept { return fields_; }
  /// Puts one array for each box of each field, in the order of creation. Returns false if nothing was written because
  /// a holding reader still needs the oldest slot (COUPLET_FULL; only if wait_timeout_s is 0).
  [[nodiscard]] bool put(const std::vector<Array>& arrays, std::int64_t step) {
    std::vector<couplet_series_array> list;
    std::size_t at = 0;
    for (const FieldInfo& field : fields_) {
      for (const Box& box : field.boxes) {
        if (at < arrays.size()) {
          detail::check_array(field, arrays[at], detail::elements_of(box), field.shape.size(), "put");
        }
        ++at;
      }
    }
    for (const Array& array : arrays) {
      list.push_back(array.c_array());
    }
    return detail::check(couplet_series_put_arrays(handle(), list.data(), static_cast<std::int32_t>(list.size()),
                                                   step)) == COUPLET_OK;
  }
  /// Returns the memory of the next slot. Returns nothing if a holding reader still needs the oldest slot
  /// (COUPLET_FULL; only if wait_timeout_s is 0).
  [[nodiscard]] std::optional<Slot> claim(std::int64_t step) {
    std::size_t count = 0;
    for (const FieldInfo& field : fields_) {
      count += field.boxes.size();
    }
    std::vector<void*> memory(count + 1);
    if (detail::check(couplet_series_claim_arrays(handle(), step, memory.data(), static_cast<std::int32_t>(count))) !=
        COUPLET_OK) {
      return std::nullopt;
    }
    return Slot(fields_, std::move(memory));
  }

 private:
  std::vector<FieldInfo> fields_;
};

/// The steps that one read of several fields has delivered. The spans point to the library's memory until the next read
/// or close, or to the caller's arrays.
class FieldsBatch : public detail::BatchBase {
 public:
  FieldsBatch(couplet_status status, const couplet_series_batch& batch, const std::vector<FieldInfo>& fields)
      : BatchBase(status, batch), fields_(&fields) {}

  /// Returns all steps of a field, one after the other. The field must be in the library's memory, or in an array
  /// without gaps.
  template <Element T>
  [[nodiscard]] std::span<const T> get(const std::string& name) const {
    const std::size_t index = detail::find_field(*fields_, name, "get");
    if ((*fields_)[index].type != type_of<T>) {
      throw Error(COUPLET_ERROR_TYPE, "get: field '" + name + "' has elements of type " +
                                          std::to_string((*fields_)[index].type) + " (couplet_type), not " +
                                          std::to_string(type_of<T>));
    }
    if (empty()) {
      return {};
    }
    const couplet_series_field_data& data = batch_.fields[index];
    return {static_cast<const T*>(data.data), size() * data.step_bytes / sizeof(T)};
  }
  /// Returns the box of the i-th step of the batch.
  template <Element T>
  [[nodiscard]] std::span<const T> get(const std::string& name, std::size_t i) const {
    const std::span<const T> all = get<T>(name);
    return all.subspan(i * (all.size() / size()), all.size() / size());
  }

 private:
  // The reader's fields.
  const std::vector<FieldInfo>* fields_;
};

/// Reads several fields of a series.
class FieldsReader : public detail::Series {
 public:
  explicit FieldsReader(couplet_series* handle) : Series(handle), fields_(detail::describe_fields(*this)) {}

  [[nodiscard]] const std::vector<FieldInfo>& fields() const noexcept { return fields_; }
  /// Reads at least at_least and at most up_to steps. If `outs` is empty, they are in the library's memory. Otherwise
  /// it has one array for each field: without gaps and with room for up_to boxes, or with strides, of which the first
  /// is that from step to step. Blocking and answers: as Reader::read.
  [[nodiscard]] FieldsBatch read(const ReadOptions& options = {}, const std::vector<Array>& outs = {}) {
    std::vector<couplet_series_array> list;
    for (std::size_t index = 0; index < outs.size(); ++index) {
      if (index < fields_.size()) {
        const FieldInfo& field = fields_[index];
        const std::size_t elements =
            outs[index].strides().empty() ? outs[index].elements() : detail::elements_of(field.boxes.front());
        detail::check_array(field, outs[index], elements, field.shape.size() + 1, "read");
      }
      list.push_back(outs[index].c_array());
    }
    couplet_series_batch batch{};
    batch.struct_bytes = sizeof batch;
    const couplet_status status =
        detail::check(couplet_series_read_arrays(handle(), options.at_least, options.up_to, options.timeout_s,
                                                 list.data(), static_cast<std::int32_t>(list.size()), &batch));
    if (status == COUPLET_RESTARTED) {  // the new incarnation may have other fields, of other types and shapes
      fields_ = detail::describe_fields(*this);
    }
    return FieldsBatch(status, batch, fields_);
  }

 private:
  std::vector<FieldInfo> fields_;
};

}  // namespace couplet

#endif
