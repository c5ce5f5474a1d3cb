// Creating and opening series: calls that wait for other ranks, on a thread of their own.
#include <functional>
#include <memory>

#include "handles.hpp"

namespace couplet_python {

std::unique_ptr<Series> create_series(const std::shared_ptr<UniverseState>& state, const std::string& name,
                                      const std::vector<FieldTuple>& fields, const CreateOptions& options) {
  Use use(state, "create_series");
  couplet_series_create_options c;
  couplet_series_create_options_init(&c);
  c.slots = options.slots;
  if (options.memory_bytes != 0) {
    c.memory_bytes = options.memory_bytes;
  }
  c.required_timeout_s = options.required_timeout_s;
  c.wait_timeout_s = options.wait_timeout_s;
  c.evict_after_held_s = options.evict_after_held_s;
  c.holders = options.holders;
  c.collective = options.collective ? 1 : 0;
  c.group = options.group != nullptr ? options.group->open_handle("create_series") : nullptr;
  couplet_universe* const universe = use.universe();
  const std::shared_ptr<UniverseState> lent = use.hand_over();
  auto series = std::make_shared<couplet_series*>(nullptr);
  // The function owns copies of everything, since it may outlive this call.
  const auto call = [=, readers = options.required_readers]() mutable {
    if (!readers.empty()) {
      c.required_readers = readers.c_str();
    }
    if (fields.size() == 1 && std::get<0>(fields[0]).empty() && std::get<5>(fields[0]) == 1) {
      const auto& [unnamed, type, shape, start, stop, boxes] = fields[0];
      return couplet_series_create(universe, name.c_str(), type, static_cast<int32_t>(shape.size()), shape.data(),
                                   start.data(), stop.data(), &c, series.get());
    }
    std::vector<couplet_series_field> list;
    for (const auto& [field, type, shape, start, stop, boxes] : fields) {
      couplet_series_field& one = list.emplace_back();
      couplet_series_field_init(&one);
      one.name = field.c_str();
      one.type = type;
      one.dimensions = static_cast<int32_t>(shape.size());
      one.shape = shape.data();
      one.start = start.empty() ? nullptr : start.data();
      one.stop = stop.empty() ? nullptr : stop.data();
      one.box_count = boxes;
    }
    return couplet_series_create_fields(universe, name.c_str(), list.data(), static_cast<int32_t>(list.size()), &c,
                                        series.get());
  };
  const Outcome outcome = interruptible(call, [lent, series](couplet_status) {
    if (*series != nullptr) {
      couplet_series_close(*series);
    }
    lent->in_use = false;
  });
  lent->in_use = false;
  check_open(outcome, *state, options.group == nullptr || options.group->is_open(), "create_series", "group");
  return std::make_unique<Series>(state, *series);
}

std::unique_ptr<Series> open_series(const std::shared_ptr<UniverseState>& state, const std::string& name,
                                    const OpenOptions& options) {
  Use use(state, "open_series");
  couplet_series_open_options c = options.plain;
  c.group = options.group != nullptr ? options.group->open_handle("open_series") : nullptr;
  couplet_universe* const universe = use.universe();
  const std::shared_ptr<UniverseState> lent = use.hand_over();
  auto series = std::make_shared<couplet_series*>(nullptr);
  const auto call = [=, start = options.start, stop = options.stop, choices = options.choices,
                     weights = options.weights]() mutable {
    std::vector<couplet_series_choice> list;
    for (const auto& [field, first, last] : choices) {
      couplet_series_choice& one = list.emplace_back();
      couplet_series_choice_init(&one);
      one.name = field.c_str();
      if (first && last) {
        one.start = first->data();
        one.stop = last->data();
        one.dimensions = static_cast<int32_t>(first->size());
      }
    }
    if (!list.empty()) {
      c.fields = list.data();
      c.field_count = static_cast<int32_t>(list.size());
    }
    couplet_series_weights matrix;
    if (weights) {
      couplet_series_weights_init(&matrix);
      const auto& [points, offsets, sources, values, mask, fill] = *weights;
      matrix.rows = static_cast<int64_t>(offsets.size()) - 1;
      matrix.source_points = points;
      matrix.row_offsets = offsets.data();
      matrix.sources = sources.data();
      matrix.weights = values.data();
      matrix.source_mask = mask.empty() ? nullptr : mask.data();
      matrix.fill = fill;
      c.weights = &matrix;
    }
    if (start && stop) {
      c.start = start->data();
      c.stop = stop->data();
      c.dimensions = static_cast<int32_t>(start->size());
    }
    return couplet_series_open(universe, name.c_str(), &c, series.get());
  };
  const Outcome outcome = interruptible(call, [lent, series](couplet_status) {
    if (*series != nullptr) {
      couplet_series_close(*series);
    }
    lent->in_use = false;
  });
  lent->in_use = false;
  check_open(outcome, *state, options.group == nullptr || options.group->is_open(), "open_series", "group");
  return std::make_unique<Series>(state, *series);
}

}  // namespace couplet_python
