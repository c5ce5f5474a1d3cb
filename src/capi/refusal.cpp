// Collective calls that a language has refused: this rank takes part with its error, so that the others do not wait.
#include "capi/private.h"
#include "capi/series.hpp"
#include "os/clock.hpp"

using couplet::Code;
using couplet::Status;
namespace capi = couplet::capi;
namespace os = couplet::os;
namespace series = couplet::series;

namespace {
// The others may come later to an opening. They have not met this rank before, and are told only if it waits for them.
constexpr double open_patience_s = 60;
}  // namespace

extern "C" {

couplet_status couplet_private_refuse_create(couplet_universe* universe, const couplet_group* group, const char* name,
                                             couplet_status error, const char* text) {
  constexpr auto function = "couplet_private_refuse_create";
  return capi::call(universe, function, [&]() -> Status {
    COUPLET_TRY_VALUE(auto* writers, capi::group_of(universe, group, function));
    couplet_series_create_options options;
    couplet_series_create_options_init(&options);
    couplet_series* none = nullptr;
    return capi::create_series(universe, *writers, name, Status(static_cast<Code>(error), text), options, &none);
  });
}

couplet_status couplet_private_refuse_open(couplet_universe* universe, const couplet_group* group, const char* name,
                                           couplet_status error, const char* text) {
  constexpr auto function = "couplet_private_refuse_open";
  return capi::call(universe, function, [&]() -> Status {
    COUPLET_TRY_VALUE(auto* readers, capi::group_of(universe, group, function));
    COUPLET_TRY_VALUE(const auto team, universe->universe->reading_team(*readers, name, false));
    const auto opened =
        series::Reader::open_checked(universe->universe->environment(), *team, name,
                                     Status(static_cast<Code>(error), text), os::deadline_after(open_patience_s));
    return opened.status();
  });
}

couplet_status couplet_private_refuse_read(couplet_series* refused, couplet_status error, const char* text) {
  constexpr auto function = "couplet_private_refuse_read";
  return capi::call(refused, function, [&]() -> Status {
    if (!refused->reader) {
      return capi::wrong_end(function, "writing");
    }
    refused->interpolation->forget();
    series::Batch nothing;
    return refused->reader->read(1, 1, os::deadline_after(0), {}, nothing, Status(static_cast<Code>(error), text));
  });
}

couplet_status couplet_private_refuse_read_at(couplet_series* refused, couplet_status error, const char* text) {
  constexpr auto function = "couplet_private_refuse_read_at";
  return capi::call(refused, function, [&]() -> Status {
    if (!refused->reader) {
      return capi::wrong_end(function, "writing");
    }
    series::Batch nothing;
    return refused->interpolation->read({}, os::now_ns(), {}, nothing, Status(static_cast<Code>(error), text));
  });
}

couplet_status couplet_private_refuse_put(couplet_series* refused, couplet_status error, const char* text) {
  constexpr auto function = "couplet_private_refuse_put";
  return capi::call(refused, function, [&]() -> Status {
    if (!refused->writer) {
      return capi::wrong_end(function, "reading");
    }
    return refused->writer->refuse(Status(static_cast<Code>(error), text), 0);
  });
}

couplet_status couplet_private_refuse_next(couplet_tasks* tasks, couplet_status error, const char* text) {
  return capi::call(tasks, "couplet_private_refuse_next", [&]() -> Status {
    Status why(static_cast<Code>(error), text);
    return tasks->worker ? tasks->worker->refuse(why) : why;
  });
}

}  // extern "C"
