#include <algorithm>

#include "capi/call.hpp"
#include "capi/options.hpp"
#include "os/clock.hpp"

namespace {

using couplet::Code;
using couplet::fail;
using couplet::Status;
namespace capi = couplet::capi;
namespace task = couplet::task;

void keep(couplet_universe* universe, std::unique_ptr<task::Area> made, couplet_area** area) {
  auto handle = std::make_unique<couplet_area>();
  handle->owner = universe;
  handle->area = std::move(made);
  *area = handle.get();
  universe->areas.push_back(std::move(handle));
}

couplet::Result<task::Part> box_part(const couplet_area* area, const int64_t* start, const int64_t* stop,
                                     const char* function) {
  COUPLET_TRY(capi::given(start, function, "start"));
  COUPLET_TRY(capi::given(stop, function, "stop"));
  task::Part part;
  auto& box = part.box.emplace();
  box.dimensions = static_cast<int>(area->area->specification().shape.size());
  std::copy_n(start, box.dimensions, box.start.begin());
  std::copy_n(stop, box.dimensions, box.stop.begin());
  return part;
}

}  // namespace

extern "C" {

void couplet_area_options_init(couplet_area_options* options) {
  *options = couplet_area_options{sizeof(couplet_area_options), nullptr, 0, 0};
}

couplet_status couplet_area_create(couplet_universe* universe, const char* name, couplet_type type, int32_t dimensions,
                                   const int64_t* shape, const couplet_area_options* options, couplet_area** area) {
  constexpr auto function = "couplet_area_create";
  return capi::call(universe, function, [&]() -> Status {
    COUPLET_TRY(capi::given(name, function, "name"));
    COUPLET_TRY(capi::given(shape, function, "shape"));
    COUPLET_TRY(capi::given(area, function, "area"));
    COUPLET_TRY_VALUE(const auto wanted, capi::complete(options, couplet_area_options_init, function));
    if (dimensions < 1 || dimensions > COUPLET_MAX_DIMENSIONS) {
      return fail(Code::shape, "{}: {} dimensions; 1 to {} are possible", function, dimensions, COUPLET_MAX_DIMENSIONS);
    }
    task::AreaSpecification specification{name, type, {shape, shape + dimensions}, wanted.memory, wanted.stamped != 0};
    COUPLET_TRY_VALUE(auto made, universe->universe->areas().create(std::move(specification)));
    keep(universe, std::move(made), area);
    return {};
  });
}

couplet_status couplet_area_open(couplet_universe* universe, const char* name, int32_t owner, double timeout_s,
                                 couplet_area** area) {
  constexpr auto function = "couplet_area_open";
  return capi::call(universe, function, [&]() -> Status {
    COUPLET_TRY(capi::given(name, function, "name"));
    COUPLET_TRY(capi::given(area, function, "area"));
    COUPLET_TRY(capi::check_timeout(timeout_s, function));
    if (owner < 0 || owner >= universe->universe->membership().size()) {
      return fail(Code::argument, "{}: owner {} is not a rank of the universe, whose ranks are 0 to {}", function,
                  owner, universe->universe->membership().size() - 1);
    }
    COUPLET_TRY_VALUE(auto made, universe->universe->areas().open(name, static_cast<std::uint32_t>(owner),
                                                                  couplet::os::deadline_after(timeout_s)));
    keep(universe, std::move(made), area);
    return {};
  });
}

couplet_status couplet_area_read(couplet_area* area, uint64_t offset, uint64_t count, void* data, double timeout_s,
                                 uint64_t* stamp) {
  return capi::call(area, "couplet_area_read", [&]() -> Status {
    COUPLET_TRY(capi::check_timeout(timeout_s, "couplet_area_read"));
    return area->area->read({std::nullopt, offset, count}, data, couplet::os::deadline_after(timeout_s), stamp);
  });
}

couplet_status couplet_area_write(couplet_area* area, uint64_t offset, uint64_t count, const void* data,
                                  double timeout_s, uint64_t* stamp) {
  return capi::call(area, "couplet_area_write", [&]() -> Status {
    COUPLET_TRY(capi::check_timeout(timeout_s, "couplet_area_write"));
    return area->area->write({std::nullopt, offset, count}, data, couplet::os::deadline_after(timeout_s), stamp);
  });
}

couplet_status couplet_area_read_box(couplet_area* area, const int64_t* start, const int64_t* stop, void* data,
                                     double timeout_s, uint64_t* stamp) {
  return capi::call(area, "couplet_area_read_box", [&]() -> Status {
    COUPLET_TRY(capi::check_timeout(timeout_s, "couplet_area_read_box"));
    COUPLET_TRY_VALUE(const auto part, box_part(area, start, stop, "couplet_area_read_box"));
    return area->area->read(part, data, couplet::os::deadline_after(timeout_s), stamp);
  });
}

couplet_status couplet_area_write_box(couplet_area* area, const int64_t* start, const int64_t* stop, const void* data,
                                      double timeout_s, uint64_t* stamp) {
  return capi::call(area, "couplet_area_write_box", [&]() -> Status {
    COUPLET_TRY(capi::check_timeout(timeout_s, "couplet_area_write_box"));
    COUPLET_TRY_VALUE(const auto part, box_part(area, start, stop, "couplet_area_write_box"));
    return area->area->write(part, data, couplet::os::deadline_after(timeout_s), stamp);
  });
}

couplet_status couplet_area_begin(couplet_area* area, double timeout_s) {
  return capi::call(area, "couplet_area_begin", [&]() -> Status {
    COUPLET_TRY(capi::check_timeout(timeout_s, "couplet_area_begin"));
    return area->area->begin(couplet::os::deadline_after(timeout_s));
  });
}

couplet_status couplet_area_end(couplet_area* area) {
  return capi::call(area, "couplet_area_end", [&] { return area->area->end(); });
}

couplet_status couplet_area_describe(const couplet_area* area, couplet_area_info* info) {
  return capi::guarded([&]() -> Status {
    COUPLET_TRY(capi::usable(area, "couplet_area_describe"));
    const auto& specification = area->area->specification();
    couplet_area_info result{};
    result.name = specification.name.c_str();
    result.route = task::route_name(area->area->route());
    result.memory = area->area->memory();
    result.type = specification.type;
    result.dimensions = static_cast<int32_t>(specification.shape.size());
    std::copy(specification.shape.begin(), specification.shape.end(), result.shape);
    result.owner = static_cast<int32_t>(area->area->owner());
    result.stamped = specification.stamped ? 1 : 0;
    return capi::give(info, result, "couplet_area_describe");
  });
}

couplet_status couplet_area_close(couplet_area* area) {
  return capi::close(area, &couplet_universe::areas, "couplet_area_close", [&] { return area->area->close(); });
}

}  // extern "C"
