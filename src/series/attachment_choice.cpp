// What a reader chooses of a record: its fields, its boxes, and so the writers that it reads.
#include <algorithm>

#include "base/types.hpp"
#include "series/attachment.hpp"

namespace couplet::series {

Status Attachment::check_record() const {
  bool sound = !record_.fields.empty() && record_.slots > 0 && !record_.parts.empty();
  for (const auto& field : record_.fields) {
    sound = sound && find_type(field.type) != nullptr && !field.shape.empty() &&
            field.shape.size() <= layout::max_dimensions;
  }
  for (const auto& part : record_.parts) {
    sound = sound && part.boxes.size() == record_.fields.size();
  }
  return sound ? Status() : fail(Code::protocol, "{}: the register's record makes no sense", title());
}

// All fields, or those of the choice.
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
    return fail(Code::type, "{} has elements of type {}, not {}", name, known->name,
                expected == nullptr ? "that" : expected->name);
  }
  COUPLET_TRY(layout::check_inside(chosen.box, described.shape, name + ": the reader's box"));
  COUPLET_TRY_VALUE(chosen.step_bytes, layout::box_bytes(chosen.box, chosen.element_bytes));
  step_bytes_ += chosen.step_bytes;
  COUPLET_TRY(check_coverage(chosen));
  fields_.push_back(chosen);
  return {};
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
  return fail(Code::shape, "{}: {} of the {} elements of the box {} are written by no rank of program '{}'",
              title_of(field), wanted - std::min(covered, wanted), wanted, layout::to_string(field.box),
              record_.program);
}

// A rank with empty boxes follows the first writer, so that it knows of steps and of the end.
bool Attachment::reads_part(std::size_t writer) const {
  const auto& boxes = record_.parts[writer].boxes;
  bool empty = true;
  for (const ChosenField& field : fields_) {
    empty = empty && field.box.empty();
    if (std::any_of(boxes[field.field].begin(), boxes[field.field].end(),
                    [&](const layout::Box& box) { return layout::intersect(box, field.box).has_value(); })) {
      return true;
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
    const bool dense = targets.empty() || targets[index].dense;
    const layout::Strides strides =
        dense ? layout::dense_strides(chosen.box, chosen.element_bytes) : targets[index].strides;
    std::uint64_t offset = field->offset_bytes;
    for (const auto& box : boxes_of(*field)) {
      Piece piece{index, layout::plan_copy(box, layout::dense_strides(box, chosen.element_bytes), chosen.box, strides,
                                           chosen.element_bytes)};
      if (piece.plan.run_bytes > 0) {
        piece.plan.source_offset += offset;
        pieces.push_back(piece);
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
    description.fields.push_back({field.name, field.type, field.shape, {chosen.box}, chosen.step_bytes});
  }
  return description;
}

}  // namespace couplet::series
