// Series of several fields, several boxes, and arrays with gaps; and the functions that series.cpp also uses.
#include <algorithm>
#include <array>
#include <cstring>

#include "base/counted.hpp"
#include "capi/options.hpp"
#include "capi/series.hpp"
#include "os/clock.hpp"

namespace couplet::capi {

namespace {
constexpr double create_timeout_s = 60;
}

Result<layout::Box> make_box(std::int32_t dimensions, const std::int64_t* start, const std::int64_t* stop,
                             const char* function) {
  if (dimensions < 1 || dimensions > COUPLET_MAX_DIMENSIONS) {
    return fail(Code::shape, "{}: {} dimensions; 1 to {} are possible", function, dimensions, COUPLET_MAX_DIMENSIONS);
  }
  layout::Box box;
  box.dimensions = dimensions;
  std::copy_n(start, dimensions, box.start.begin());
  std::copy_n(stop, dimensions, box.stop.begin());
  return box;
}

// Returns a group of the same universe, or the program's own group.
Result<message::Group*> group_of(couplet_universe* universe, const couplet_group* group, const char* function) {
  if (group == nullptr) {
    return universe->groups[1]->group;
  }
  COUPLET_TRY(usable(group, function));
  if (group->owner != universe) {
    return fail(Code::argument, "{}: the group belongs to another universe", function);
  }
  if (group->group->rank() < 0) {
    return fail(Code::argument, "{}: the caller is not a member of group '{}'", function, group->group->name());
  }
  return group->group;
}

void keep(couplet_universe* universe, std::unique_ptr<couplet_series> made, couplet_series** out) {
  made->owner = universe;
  *out = made.get();
  universe->series.push_back(std::move(made));
}

Status wrong_end(const char* function, const char* opened_for) {
  return fail(Code::state, "{}: this series was opened for {}", function, opened_for);
}

// Returns the box that this rank writes. Without start and stop it is the whole array, if one rank writes alone.
Result<layout::Box> written_box(std::int32_t dimensions, const std::int64_t* shape, const std::int64_t* start,
                                const std::int64_t* stop, const message::Group& group, const char* function) {
  if ((start == nullptr) != (stop == nullptr)) {
    return fail(Code::argument, "{}: give both start and stop of the box, or none", function);
  }
  if (start != nullptr) {
    return make_box(dimensions, start, stop, function);
  }
  if (group.size() > 1) {
    return fail(Code::argument, "{}: {} ranks write, so that each has to say which box (start and stop)", function,
                group.size());
  }
  constexpr std::array<std::int64_t, COUPLET_MAX_DIMENSIONS> zero{};
  return make_box(dimensions, zero.data(), shape, function);
}

namespace {
Status check_timeouts(const couplet_series_create_options& options) {
  constexpr auto function = "couplet_series_create";
  COUPLET_TRY(capi::check_timeout(options.required_timeout_s, function, "required_timeout_s"));
  COUPLET_TRY(capi::check_timeout(options.wait_timeout_s, function, "wait_timeout_s"));
  return capi::check_timeout(options.evict_after_held_s, function, "evict_after_held_s");
}
}  // namespace

Status create_series(couplet_universe* universe, message::Group& group, const char* name,
                     const Result<series::WriterSpecification>& specification,
                     const couplet_series_create_options& options, couplet_series** out) {
  const Status refusal = specification.ok() ? check_timeouts(options) : specification.status();
  series::WriterSpecification nothing;
  nothing.name = name;
  series::WriterOptions wanted;
  wanted.slots = options.slots;
  wanted.memory_bytes = options.memory_bytes;
  if (options.required_readers != nullptr) {
    wanted.required_readers = split_names(options.required_readers);
  }
  wanted.required_timeout_s = options.required_timeout_s;
  wanted.wait_timeout_s = options.wait_timeout_s;
  wanted.evict_after_held_s = options.evict_after_held_s;
  wanted.holders = options.holders;
  wanted.collective = options.collective != 0;
  auto made = std::make_unique<couplet_series>();
  COUPLET_TRY_VALUE(made->writer, universe->universe->create_series(
                                      group, specification.ok() ? specification.value() : nothing, wanted,
                                      os::deadline_after(create_timeout_s), made->team, refusal));
  keep(universe, std::move(made), out);
  return {};
}

Status check_one_array(const couplet_series& series, const char* function, const char* other) {
  const std::size_t arrays = series.writer->pieces().size();
  return arrays == 1 ? Status()
                     : fail(Code::state, "{}: this rank writes {} arrays of series '{}'; use {}", function, arrays,
                            series.writer->file().geometry().name, other);
}

const couplet_series::Described& described(couplet_series& series) {
  const std::uint64_t incarnation = series.reader ? series.reader->incarnation() : 0;
  if (series.described.empty() || series.described.back().incarnation != incarnation) {
    couplet_series::Described made{.incarnation = incarnation,
                                   .description = series.writer ? series.writer->describe() : series.reader->describe(),
                                   .corners = {}};
    for (const auto& field : made.description.fields) {
      auto& corners = made.corners.emplace_back();
      for (const auto& box : field.boxes) {
        corners.insert(corners.end(), box.start.begin(), box.start.begin() + box.dimensions);
      }
      for (const auto& box : field.boxes) {
        corners.insert(corners.end(), box.stop.begin(), box.stop.begin() + box.dimensions);
      }
    }
    series.described.push_back(std::move(made));
  }
  return series.described.back();
}

Status give_batch(couplet_series& series, const series::Batch& got, couplet_series_batch* batch, const char* function) {
  series.data.resize(got.field_count);
  for (std::uint64_t index = 0; index < got.field_count; ++index) {
    series.data[index] = {got.fields[index].data, got.fields[index].step_bytes};
  }
  couplet_series_batch result{};
  result.count = got.count;
  result.data = got.data;
  result.step_bytes = got.step_bytes;
  result.steps = got.steps;
  result.ordinals = got.ordinals;
  result.lost = got.lost;
  result.incarnation = got.incarnation;
  result.torn = got.torn;
  result.times = got.times;
  result.fields = series.data.data();
  result.field_count = got.field_count;
  return give(batch, result, function);
}

namespace {

// Returns element `index` of a list whose elements say how far they are apart.
template <typename Struct>
Result<Struct> element_of(const Struct* list, std::int32_t index, void (*init)(Struct*), const char* function) {
  const std::size_t distance = list->struct_bytes;
  if (distance < sizeof(std::size_t) || distance > 4096) {
    return fail(Code::argument, "{}: struct_bytes of the first element is {}; initialise each with its _init function",
                function, distance);
  }
  Struct element;
  init(&element);
  const auto* const bytes = static_cast<const unsigned char*>(static_cast<const void*>(list));
  std::memcpy(&element, bytes + distance * static_cast<std::size_t>(index), std::min(distance, sizeof element));
  if (element.struct_bytes != distance) {
    return fail(Code::argument, "{}: struct_bytes of element {} is {}, of the first one {}", function, index,
                element.struct_bytes, distance);
  }
  return element;
}

Result<series::FieldSpecification> field_of(const couplet_series_field& field, const message::Group& group,
                                            const char* function) {
  COUPLET_TRY(given(field.name, function, "the name of a field"));
  COUPLET_TRY(given(field.shape, function, "the shape of a field"));
  const std::string where = fmt::format("{}, field '{}'", function, field.name);
  series::FieldSpecification specification;
  specification.name = field.name;
  specification.type = field.type;
  if (field.dimensions < 1 || field.dimensions > COUPLET_MAX_DIMENSIONS) {
    return fail(Code::shape, "{}: {} dimensions; 1 to {} are possible", where, field.dimensions,
                COUPLET_MAX_DIMENSIONS);
  }
  specification.shape.assign(field.shape, field.shape + field.dimensions);
  if (field.box_count < 0) {
    return fail(Code::argument, "{}: box_count must be at least 0, not {}", where, field.box_count);
  }
  if (field.start == nullptr && field.stop == nullptr && field.box_count > 1) {
    return fail(Code::argument, "{}: start and stop are NULL, and box_count is {}; that is possible for one box only",
                where, field.box_count);
  }
  for (std::int32_t box = 0; box < field.box_count; ++box) {
    const std::ptrdiff_t at = std::ptrdiff_t{box} * field.dimensions;
    COUPLET_TRY_VALUE(const auto made,
                      written_box(field.dimensions, field.shape, field.start == nullptr ? nullptr : field.start + at,
                                  field.stop == nullptr ? nullptr : field.stop + at, group, where.c_str()));
    specification.boxes.push_back(made);
  }
  return specification;
}

Result<series::WriterSpecification> specification_of(const char* name, const couplet_series_field* fields,
                                                     std::int32_t field_count, const message::Group& group,
                                                     couplet_series* const* out) {
  constexpr auto function = "couplet_series_create_fields";
  COUPLET_TRY(given(fields, function, "fields"));
  COUPLET_TRY(given(out, function, "series"));
  series::WriterSpecification specification;
  specification.name = name;
  for (std::int32_t index = 0; index < field_count; ++index) {
    COUPLET_TRY_VALUE(const auto field, element_of(fields, index, couplet_series_field_init, function));
    COUPLET_TRY_VALUE(auto made, field_of(field, group, function));
    specification.fields.push_back(std::move(made));
  }
  return specification;
}

Status create_fields(couplet_universe* universe, const char* name, const couplet_series_field* fields,
                     std::int32_t field_count, const couplet_series_create_options* given_options,
                     couplet_series** out) {
  constexpr auto function = "couplet_series_create_fields";
  COUPLET_TRY(given(name, function, "name"));
  COUPLET_TRY_VALUE(const auto options, complete(given_options, couplet_series_create_options_init, function));
  COUPLET_TRY_VALUE(auto* group, group_of(universe, options.group, function));
  const auto specification = specification_of(name, fields, field_count, *group, out);
  return create_series(universe, *group, name, specification, options, out);
}

Status check_count(std::int32_t count, const void* list, const char* function, const char* what) {
  return count >= 0 && (count == 0 || list != nullptr)
             ? Status()
             : fail(Code::argument, "{}: {} {} are given in a list that is {}", function, count, what,
                    list == nullptr ? "NULL" : "not NULL");
}

// Reserves, and says so if there is no memory: a collective call has to tell the other ranks.
template <typename Element>
Status make_room(std::vector<Element>& list, std::int32_t count, const char* function) {
  try {
    list.reserve(static_cast<std::size_t>(count));
    return {};
  } catch (const std::bad_alloc&) {
    return fail(Code::memory, "{}: no memory for {} arrays", function, count);
  }
}

}  // namespace

Status check_read(const couplet_series_batch* batch, double timeout_s, const char* function) {
  COUPLET_TRY(given(batch, function, "batch"));
  COUPLET_TRY(check_result(batch, function));
  return check_timeout(timeout_s, function);
}

Result<std::vector<series::FieldChoice>> choices_of(const couplet_series_open_options& options, const char* function) {
  std::vector<series::FieldChoice> choices;
  if (options.fields == nullptr) {
    return choices;
  }
  if (options.field_count < 1) {
    return fail(Code::argument, "{}: fields is given, but field_count is {}; it must be at least 1", function,
                options.field_count);
  }
  for (std::int32_t index = 0; index < options.field_count; ++index) {
    COUPLET_TRY_VALUE(const auto choice, element_of(options.fields, index, couplet_series_choice_init, function));
    COUPLET_TRY(given(choice.name, function, "the name of a field"));
    auto& wanted = choices.emplace_back();
    wanted.name = choice.name;
    wanted.type = choice.type;
    if ((choice.start == nullptr) != (choice.stop == nullptr)) {
      return fail(Code::argument, "{}: field '{}': give both start and stop of the box, or none", function,
                  choice.name);
    }
    if (choice.start != nullptr) {
      COUPLET_TRY_VALUE(wanted.box, make_box(choice.dimensions, choice.start, choice.stop, function));
    }
  }
  return choices;
}

}  // namespace couplet::capi

using couplet::Code;
using couplet::counted;
using couplet::fail;
using couplet::Status;
namespace capi = couplet::capi;
namespace series = couplet::series;

extern "C" {

void couplet_series_field_init(couplet_series_field* field) {
  *field = couplet_series_field{};
  field->struct_bytes = sizeof *field;
  field->box_count = 1;
}

void couplet_series_choice_init(couplet_series_choice* choice) {
  *choice = couplet_series_choice{};
  choice->struct_bytes = sizeof *choice;
  choice->type = -1;
}

couplet_status couplet_series_create_fields(couplet_universe* universe, const char* name,
                                            const couplet_series_field* fields, int32_t field_count,
                                            const couplet_series_create_options* options, couplet_series** series) {
  return capi::call(universe, "couplet_series_create_fields",
                    [&] { return capi::create_fields(universe, name, fields, field_count, options, series); });
}

couplet_status couplet_series_put_arrays(couplet_series* series, const couplet_series_array* arrays,
                                         int32_t array_count, int64_t step) {
  constexpr auto function = "couplet_series_put_arrays";
  return capi::call(series, function, [&]() -> Status {
    if (!series->writer) {
      return capi::wrong_end(function, "reading");
    }
    if (const Status sound = capi::check_count(array_count, arrays, function, "arrays"); !sound.ok()) {
      return series->writer->refuse(sound, step);
    }
    std::vector<series::Array> given;
    if (const Status room = capi::make_room(given, array_count, function); !room.ok()) {
      return series->writer->refuse(room, step);
    }
    for (std::int32_t index = 0; index < array_count; ++index) {
      given.push_back({arrays[index].data, arrays[index].strides});
    }
    Status status = series->writer->put(given, step);
    series->owner->universe->published(series->writer->last_call_ns());
    return status;
  });
}

couplet_status couplet_series_claim_arrays(couplet_series* series, int64_t step, void** data, int32_t array_count) {
  constexpr auto function = "couplet_series_claim_arrays";
  return capi::call(series, function, [&]() -> Status {
    if (!series->writer) {
      return capi::wrong_end(function, "reading");
    }
    if (const Status sound = capi::given(data, function, "data"); !sound.ok()) {
      return series->writer->refuse(sound, step);
    }
    const auto& pieces = series->writer->pieces();
    if (array_count < 0 || static_cast<std::size_t>(array_count) != pieces.size()) {
      return series->writer->refuse(
          fail(Code::argument, "{}: room for {} is given, this rank writes {} of series '{}'", function,
               counted(array_count, "address", "addresses"), counted(pieces.size(), "box", "boxes"),
               series->writer->file().geometry().name),
          step);
    }
    COUPLET_TRY_VALUE(std::byte* const slot, series->writer->claim(step));
    for (std::size_t index = 0; index < pieces.size(); ++index) {
      data[index] = slot + pieces[index].offset_bytes;
    }
    return {};
  });
}

couplet_status couplet_series_set_time(couplet_series* series, double time) {
  return capi::call(series, "couplet_series_set_time", [&]() -> Status {
    return series->writer ? series->writer->set_time(time) : capi::wrong_end("couplet_series_set_time", "reading");
  });
}

couplet_status couplet_series_read_arrays(couplet_series* series, uint64_t at_least, uint64_t up_to, double timeout_s,
                                          const couplet_series_array* outs, int32_t out_count,
                                          couplet_series_batch* batch) {
  constexpr auto function = "couplet_series_read_arrays";
  return capi::call(series, function, [&]() -> Status {
    if (!series->reader) {
      return capi::wrong_end(function, "writing");
    }
    std::vector<series::Out> given;
    Status sound = capi::check_read(batch, timeout_s, function);
    if (sound.ok()) {
      sound = capi::check_count(out_count, outs, function, "arrays");
    }
    if (sound.ok()) {
      sound = capi::make_room(given, out_count, function);
    }
    for (std::int32_t index = 0; sound.ok() && index < out_count; ++index) {
      given.push_back({outs[index].data, outs[index].bytes, outs[index].strides});
    }
    series::Batch got;
    series->interpolation->forget();
    const std::uint64_t deadline_ns = couplet::os::deadline_after(sound.ok() ? timeout_s : 0);
    COUPLET_TRY(series->reader->read(at_least, up_to, deadline_ns, given, got, sound));
    return capi::give_batch(*series, got, batch, function);
  });
}

couplet_status couplet_series_describe_field(const couplet_series* handle, int32_t field,
                                             couplet_series_field_info* info) {
  auto* series = const_cast<couplet_series*>(handle);
  constexpr auto function = "couplet_series_describe_field";
  return capi::call(series, function, [&]() -> Status {
    const couplet_series::Described& known = capi::described(*series);
    const auto& description = known.description;
    if (field < 0 || static_cast<std::size_t>(field) >= description.fields.size()) {
      return fail(Code::not_found, "{}: series '{}' has {}, counted from 0, so there is no field {}", function,
                  description.name, counted(description.fields.size(), "field"), field);
    }
    const auto& described = description.fields[static_cast<std::size_t>(field)];
    const auto& corners = known.corners[static_cast<std::size_t>(field)];
    couplet_series_field_info result{};
    result.name = described.name.c_str();
    result.type = described.type;
    result.dimensions = static_cast<std::int32_t>(described.shape.size());
    result.shape = described.shape.data();
    result.start = corners.data();
    result.stop = corners.data() + corners.size() / 2;
    result.box_count = static_cast<std::int32_t>(described.boxes.size());
    result.step_bytes = described.step_bytes;
    return capi::give(info, result, function);
  });
}

couplet_status couplet_series_get_waits(couplet_series* series, couplet_series_waits* waits) {
  constexpr auto function = "couplet_series_get_waits";
  return capi::call(series, function, [&]() -> Status {
    if (!series->writer) {
      return capi::wrong_end(function, "reading");
    }
    const auto& counted = series->writer->waits();
    series->last_for = series->writer->name_of(counted.last);
    series->longest_for = series->writer->name_of(counted.longest);
    couplet_series_waits result{};
    result.count = counted.count;
    result.total_ns = counted.total_ns;
    result.last_ns = counted.last_ns;
    result.longest_ns = counted.longest_ns;
    result.last_for = series->last_for.c_str();
    result.longest_for = series->longest_for.c_str();
    result.last_rank = series::rank_of(counted.last);
    result.longest_rank = series::rank_of(counted.longest);
    return capi::give(waits, result, function);
  });
}

}  // extern "C"
