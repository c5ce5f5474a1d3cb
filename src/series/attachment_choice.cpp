// The reader's choice in a record: its fields and boxes, which determine the writers that it reads.
#include <algorithm>
#include <array>
#include <utility>

#include "base/counted.hpp"
#include "base/types.hpp"
#include "layout/cover.hpp"
#include "layout/type_handles.hpp"
#include "series/attachment.hpp"

namespace couplet::series {
namespace {

// The largest number of boxes around the source points of all fields, before the writers' boxes divide them.
constexpr std::size_t max_read_boxes = 1024;

}  // namespace

Status Attachment::check_record() const {
  bool sound = !record_.fields.empty() && record_.slots > 0 && !record_.parts.empty();
  for (const auto& field : record_.fields) {
    sound = sound && find_type(field.type) != nullptr && !field.shape.empty() &&
            field.shape.size() <= layout::max_dimensions;
  }
  for (const auto& part : record_.parts) {
    sound = sound && part.boxes.size() == record_.fields.size();
  }
  return sound ? Status() : fail(Code::protocol, "{}: the record in the hub's register is damaged", title());
}

// Chooses all fields, or those that the options name.
Status Attachment::choose_fields() {
  for (std::size_t index = 0; options_.fields.empty() && index < record_.fields.size(); ++index) {
    COUPLET_TRY(choose_field(index, options_.box, options_.type));
  }
  for (const FieldChoice& choice : options_.fields) {
    const auto& all = record_.fields;
    const auto found = std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.name == choice.name; });
    if (found == all.end()) {
      std::vector<std::string_view> names;
      names.reserve(all.size());
      for (const auto& each : all) {
        names.push_back(each.name);
      }
      if (all.size() == 1 && all.front().name.empty()) {
        return fail(Code::not_found, "{} has no field '{}'; it was created without fields", title(), choice.name);
      }
      return fail(Code::not_found, "{} has no field '{}'; it has '{}'", title(), choice.name, fmt::join(names, "', '"));
    }
    const auto index = static_cast<std::size_t>(found - all.begin());
    if (std::any_of(fields_.begin(), fields_.end(), [&](const ChosenField& each) { return each.field == index; })) {
      return fail(Code::argument, "{}: field '{}' is chosen twice", title(), choice.name);
    }
    COUPLET_TRY(
        choose_field(index, choice.box ? choice.box : options_.box, choice.type >= 0 ? choice.type : options_.type));
  }
  return {};
}

Status Attachment::choose_field(std::size_t field, const std::optional<layout::Box>& box, couplet_type type) {
  const auto& described = record_.fields[field];
  const TypeInfo* known = find_type(described.type);
  ChosenField chosen;
  chosen.field = field;
  chosen.box = box ? *box : layout::whole(described.shape);
  chosen.element_bytes = known->element_bytes;
  const std::string name = title_of(chosen);
  if (type >= 0 && type != described.type) {
    const TypeInfo* expected = find_type(type);
    return expected == nullptr
               ? fail(Code::type, "{}: {}; it has elements of type {}", name, layout::why_no_element(type), known->name)
               : fail(Code::type, "{} has elements of type {}, not {}", name, known->name, expected->name);
  }
  if (options_.weights != nullptr) {
    COUPLET_TRY(choose_points(chosen));
  } else {
    COUPLET_TRY(layout::check_inside(chosen.box, described.shape, name + ": the reader's box"));
    COUPLET_TRY_VALUE(chosen.step_bytes, layout::box_bytes(chosen.box, chosen.element_bytes));
    COUPLET_TRY(check_coverage(chosen));
    chosen.reads = {{chosen.box, 0}};
    chosen.read_bytes = chosen.step_bytes;
  }
  step_bytes_ += chosen.step_bytes;
  read_bytes_ += chosen.read_bytes;
  fields_.push_back(std::move(chosen));
  return {};
}

// With weights: the rows are delivered, and boxes around the source points are copied.
Status Attachment::choose_points(ChosenField& chosen) const {
  const Weights& weights = *options_.weights;
  const auto& described = record_.fields[chosen.field];
  const std::string name = title_of(chosen);
  if (described.type != COUPLET_FLOAT && described.type != COUPLET_DOUBLE) {
    return fail(Code::type, "{} has elements of type {}; weights are for elements of type float or double", name,
                find_type(described.type)->name);
  }
  const std::uint64_t elements = layout::whole(described.shape).elements();
  if (std::cmp_not_equal(elements, weights.source_points)) {
    return fail(Code::shape, "{} has {}, but the weights are for {}", name, counted(elements, "element"),
                counted(weights.source_points, "source point"));
  }
  const std::array<std::int64_t, 1> rows = {weights.rows()};
  chosen.box = layout::whole(rows);
  COUPLET_TRY_VALUE(chosen.step_bytes, layout::box_bytes(chosen.box, chosen.element_bytes));
  const std::vector<std::int64_t> points = needed_points(weights);
  chosen.reads = boxes_around(points, chosen.field);
  for (const ReadBox& read : chosen.reads) {
    chosen.read_bytes += read.box.elements() * chosen.element_bytes;
  }
  const auto same = std::find_if(fields_.begin(), fields_.end(),
                                 [&](const ChosenField& other) { return other.reads == chosen.reads; });
  if (same != fields_.end() && record_.fields[same->field].shape == described.shape) {
    chosen.remap = same->remap;
    return {};
  }
  COUPLET_TRY_VALUE(chosen.remap, Remap::make(weights, points, described.shape, chosen.reads, name));
  return {};
}

// Returns boxes that together contain all of `points` that a writer writes; each is a part of one writer's box. Returns
// one empty box if no writer writes any of the points.
std::vector<ReadBox> Attachment::boxes_around(std::span<const std::int64_t> points, std::size_t field) const {
  const auto& shape = record_.fields[field].shape;
  const std::size_t fields = options_.fields.empty() ? record_.fields.size() : options_.fields.size();
  const auto wanted = layout::cover_points(points, shape, std::max<std::size_t>(max_read_boxes / fields, 1));
  layout::Box around = wanted.empty() ? layout::Box() : wanted.front();
  for (const layout::Box& box : wanted) {
    for (std::size_t dimension = 0; dimension < shape.size(); ++dimension) {
      around.start[dimension] = std::min(around.start[dimension], box.start[dimension]);
      around.stop[dimension] = std::max(around.stop[dimension], box.stop[dimension]);
    }
  }
  std::vector<ReadBox> reads;
  std::uint64_t first_element = 0;
  for (const auto& part : record_.parts) {
    for (const layout::Box& written : part.boxes[field]) {
      if (wanted.empty() || !layout::intersect(written, around)) {
        continue;
      }
      for (const layout::Box& box : wanted) {
        if (const auto common = layout::intersect(written, box)) {
          reads.push_back({*common, first_element});
          first_element += common->elements();
        }
      }
    }
  }
  if (reads.empty()) {
    layout::Box nothing;
    nothing.dimensions = static_cast<int>(shape.size());
    reads.push_back({nothing, 0});
  }
  return reads;
}

Status Attachment::check_coverage(const ChosenField& field) const {
  std::uint64_t covered = 0;
  for (const auto& part : record_.parts) {
    for (const auto& box : part.boxes[field.field]) {
      if (const auto common = layout::intersect(box, field.box)) {
        covered += common->elements();
      }
    }
  }
  const std::uint64_t wanted = field.box.elements();
  if (covered == wanted) {
    return {};
  }
  const std::uint64_t missing = wanted - std::min(covered, wanted);
  return fail(Code::shape, "{}: {} of the {} of the box {} {} written by no rank of program '{}'", title_of(field),
              missing, counted(wanted, "element"), layout::to_string(field.box), missing == 1 ? "is" : "are",
              record_.program);
}

// A rank with empty boxes follows the first writer, so that it knows of steps and of the end.
bool Attachment::reads_part(std::size_t writer) const {
  const auto& boxes = record_.parts[writer].boxes;
  bool empty = true;
  for (const ChosenField& field : fields_) {
    for (const ReadBox& read : field.reads) {
      empty = empty && read.box.empty();
      if (std::any_of(boxes[field.field].begin(), boxes[field.field].end(),
                      [&](const layout::Box& box) { return layout::intersect(box, read.box).has_value(); })) {
        return true;
      }
    }
  }
  return empty && writer == 0;
}

std::vector<Piece> Attachment::pieces_of(const wire::SeriesGeometry& geometry, std::span<const Target> targets) const {
  std::vector<Piece> pieces;
  for (std::size_t index = 0; index < fields_.size(); ++index) {
    const ChosenField& chosen = fields_[index];
    const auto& all = geometry.fields;
    const auto& name = record_.fields[chosen.field].name;
    const auto field = std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.name == name; });
    const bool dense = chosen.remap != nullptr || targets.empty() || targets[index].dense;
    std::uint64_t offset = field->offset_bytes;
    for (const auto& box : boxes_of(*field)) {
      const layout::Strides source_strides = layout::dense_strides(box, chosen.element_bytes);
      for (const ReadBox& read : chosen.reads) {
        const layout::Strides strides =
            dense ? layout::dense_strides(read.box, chosen.element_bytes) : targets[index].strides;
        Piece piece{index, layout::plan_copy(box, source_strides, read.box, strides, chosen.element_bytes)};
        if (piece.plan.run_bytes > 0) {
          piece.plan.source_offset += offset;
          piece.plan.target_offset += read.first_element * chosen.element_bytes;
          pieces.push_back(piece);
        }
      }
      offset += box.elements() * chosen.element_bytes;
    }
  }
  return pieces;
}

std::string Attachment::title() const {
  return fmt::format("series '{}'", record_.name);
}

std::string Attachment::title_of(const ChosenField& field) const {
  const auto& name = record_.fields[field.field].name;
  return name.empty() ? title() : fmt::format("{}, field '{}'", title(), name);
}

Description Attachment::describe() const {
  Description description{record_.name, record_.program, sources_.front().part->route(),
                          {},           record_.slots,   static_cast<std::int32_t>(record_.parts.size())};
  for (const ChosenField& chosen : fields_) {
    const auto& field = record_.fields[chosen.field];
    const auto shape = chosen.remap == nullptr ? field.shape : std::vector{chosen.box.stop[0]};
    description.fields.push_back({field.name, field.type, shape, {chosen.box}, chosen.step_bytes});
  }
  return description;
}

}  // namespace couplet::series
