#include "capi/series.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <span>

#include "base/types.hpp"
#include "capi/call.hpp"
#include "capi/options.hpp"
#include "os/clock.hpp"

namespace {

using couplet::Code;
using couplet::fail;
using couplet::Status;
using couplet::layout::Box;
namespace capi = couplet::capi;
namespace series = couplet::series;

constexpr double close_timeout_s = 10;

Status create(couplet_universe* universe, const char* name, couplet_type type, std::int32_t dimensions,
              const std::int64_t* shape, const std::int64_t* start, const std::int64_t* stop,
              const couplet_series_create_options* given, couplet_series** out) {
  constexpr auto function = "couplet_series_create";
  COUPLET_TRY(capi::given(name, function, "name"));
  COUPLET_TRY_VALUE(const auto options, capi::complete(given, couplet_series_create_options_init, function));
  COUPLET_TRY_VALUE(auto* group, capi::group_of(universe, options.group, function));
  const auto specify = [&]() -> couplet::Result<series::WriterSpecification> {
    COUPLET_TRY(capi::given(shape, function, "shape"));
    COUPLET_TRY(capi::given(out, function, "series"));
    COUPLET_TRY_VALUE(const auto box, capi::written_box(dimensions, shape, start, stop, *group, function));
    return series::WriterSpecification(name, type, std::vector(shape, shape + dimensions), box);
  };
  return capi::create_series(universe, *group, name, specify(), options, out);
}

// Takes the size from which copies stream around the cache, if it is set.
Status take_streaming_bytes(const series::Environment& environment, std::uint64_t& bytes) {
  const std::string text = environment.setting("streaming_bytes");
  if (text.empty()) return {};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  if (error == std::errc() && end == text.data() + text.size()) return {};
  return fail(Code::config, "setting 'streaming_bytes' is '{}', which is not a number of bytes", text);
}

couplet::Result<series::ReaderOptions> reader_options(const couplet_series_open_options& options,
                                                      const series::Environment& environment, const char* function) {
  series::ReaderOptions wanted;
  COUPLET_TRY(take_streaming_bytes(environment, wanted.streaming_bytes));
  COUPLET_TRY(capi::check_timeout(options.timeout_s, function));
  if ((options.start == nullptr) != (options.stop == nullptr)) {
    return fail(Code::argument, "{}: give both start and stop of the box, or none", function);
  }
  if (options.start != nullptr) {
    COUPLET_TRY_VALUE(wanted.box, capi::make_box(options.dimensions, options.start, options.stop, function));
  }
  if (options.mode != COUPLET_SERIES_HOLD && options.mode != COUPLET_SERIES_FOLLOW) {
    return fail(Code::argument, "{}: mode is {}; it must be COUPLET_SERIES_HOLD or COUPLET_SERIES_FOLLOW", function,
                options.mode);
  }
  if (options.from < COUPLET_SERIES_FROM_OLDEST || options.from > COUPLET_SERIES_FROM_STEP) {
    return fail(Code::argument, "{}: from is {}, which is not one of COUPLET_SERIES_FROM_*", function, options.from);
  }
  wanted.mode = static_cast<series::Mode>(options.mode);
  wanted.from = static_cast<series::From>(options.from);
  wanted.from_step = options.from_step;
  wanted.type = options.type;
  wanted.buffer_bytes = options.buffer_bytes;
  wanted.every = options.every;
  wanted.latest = options.latest != 0;
  wanted.torn = options.torn != 0;
  wanted.interval = options.interval;
  wanted.up_to_bytes = options.up_to_bytes;
  if (options.beyond_newest != COUPLET_SERIES_BEYOND_WAIT && options.beyond_newest != COUPLET_SERIES_BEYOND_ERROR) {
    return fail(Code::argument,
                "{}: beyond_newest is COUPLET_SERIES_BEYOND_WAIT or COUPLET_SERIES_BEYOND_ERROR, not {}", function,
                options.beyond_newest);
  }
  COUPLET_TRY_VALUE(wanted.weights, capi::weights_of(options, function));
  COUPLET_TRY_VALUE(wanted.fields, capi::choices_of(options, function));
  return wanted;
}

// Returns the ranks of this program that each open the series. They are named if they are not the whole program, so
// that a rank beside them is not waited for, and one of them that has died is not either.
couplet::universe::OpenerRanks openers_of(const couplet::message::Group& group,
                                          const couplet::message::Group& program) {
  const couplet::channel::PeerId first = program.peer(0);
  std::vector<couplet::channel::PeerId> ranks;
  for (std::int32_t rank = 0; rank < group.size(); ++rank) {
    const couplet::channel::PeerId peer = group.peer(rank);
    if (peer >= first && peer - first < static_cast<std::uint32_t>(program.size())) {
      ranks.push_back(peer);
    }
  }
  couplet::universe::OpenerRanks openers(static_cast<std::int32_t>(ranks.size()));
  if (openers.count == program.size()) {
    return openers;
  }
  std::sort(ranks.begin(), ranks.end());
  for (const couplet::channel::PeerId peer : ranks) {
    auto& runs = openers.runs;
    if (!runs.empty() && peer == runs.back().first + runs.back().count) {
      ++runs.back().count;
    } else if (runs.size() < couplet::universe::OpenerRanks::max_runs) {
      runs.push_back({peer, 1});
    } else {
      runs.clear();  // more scattered than one message can say: the hub counts
      break;
    }
  }
  return openers;
}

Status open(couplet_universe* universe, const char* name, const couplet_series_open_options* given,
            couplet_series** out) {
  constexpr auto function = "couplet_series_open";
  COUPLET_TRY(capi::given(name, function, "name"));
  COUPLET_TRY(capi::given(out, function, "series"));
  COUPLET_TRY_VALUE(const auto options, capi::complete(given, couplet_series_open_options_init, function));
  COUPLET_TRY_VALUE(auto* group, capi::group_of(universe, options.group, function));
  auto made = std::make_unique<couplet_series>();
  COUPLET_TRY_VALUE(made->team, universe->universe->reading_team(*group, name, options.local != 0));
  // An exception between here and the end is told to the other ranks, which wait for this one.
  struct Told {
    couplet::message::Team& team;
    bool done = false;
    ~Told() {
      if (!done) {
        team.leave(fail(Code::memory, "reader rank {}: no memory to open the series", team.rank()));
      }
    }
  } told{*made->team};
  // Wrong options are sent to the other ranks, too.
  auto wanted = reader_options(options, universe->universe->environment(), function);
  if (wanted) {
    wanted->openers = options.local != 0 ? openers_of(*group, universe->universe->own_program()) : 0;
  }
  auto opened = series::Reader::open_checked(universe->universe->environment(), *made->team, name, wanted,
                                             couplet::os::deadline_after(wanted.ok() ? options.timeout_s : 0));
  if (!opened.ok()) {
    told.done = true;
    return opened.status();
  }
  made->reader = std::move(opened).value();
  made->data.reserve(made->reader->describe().fields.size());  // a read that has consumed steps has to give them
  made->interpolation = std::make_unique<series::TimeInterpolation>(
      *made->reader, *made->team, universe->universe->environment(),
      options.beyond_newest == COUPLET_SERIES_BEYOND_ERROR ? series::BeyondNewest::refuse : series::BeyondNewest::wait);
  capi::keep(universe, std::move(made), out);
  told.done = true;
  return {};
}

couplet_series_statistics to_c(const series::Statistics& statistics) {
  couplet_series_statistics result{};
  result.published = statistics.published;
  result.first = statistics.first;
  result.delivered = statistics.delivered;
  result.lost = statistics.lost;
  result.lost_torn = statistics.lost_torn;
  result.skipped = statistics.skipped;
  result.pending = statistics.pending;
  result.delivered_torn = statistics.delivered_torn;
  result.calls = statistics.calls;
  result.largest_batch = statistics.largest_batch;
  result.bytes = statistics.bytes;
  result.copy_ns = statistics.copy_ns;
  result.held_ns = statistics.held_ns;
  result.library_ns = statistics.library_ns;
  return result;
}

}  // namespace

couplet::Status couplet_series::close() {
  const auto deadline_ns = couplet::os::deadline_after(close_timeout_s);
  return writer ? writer->close(deadline_ns) : reader->close(deadline_ns);
}

extern "C" {

void couplet_series_create_options_init(couplet_series_create_options* options) {
  *options = couplet_series_create_options{};
  options->struct_bytes = sizeof *options;
  options->required_timeout_s = -1;
  options->wait_timeout_s = -1;
  options->evict_after_held_s = -1;
}

void couplet_series_open_options_init(couplet_series_open_options* options) {
  *options = couplet_series_open_options{};
  options->struct_bytes = sizeof *options;
  options->type = -1;
  options->timeout_s = 60;
  options->every = 1;
}

couplet_status couplet_series_create(couplet_universe* universe, const char* name, couplet_type type,
                                     int32_t dimensions, const int64_t* shape, const int64_t* start,
                                     const int64_t* stop, const couplet_series_create_options* options,
                                     couplet_series** series) {
  return capi::call(universe, "couplet_series_create",
                    [&] { return create(universe, name, type, dimensions, shape, start, stop, options, series); });
}

couplet_status couplet_series_put(couplet_series* series, const void* data, int64_t step) {
  return capi::call(series, "couplet_series_put", [&]() -> Status {
    if (!series->writer) {
      return capi::wrong_end("couplet_series_put", "reading");
    }
    Status status = series->writer->put(data, step);
    series->owner->universe->published(series->writer->last_call_ns());
    return status;
  });
}

couplet_status couplet_series_claim(couplet_series* series, int64_t step, void** data) {
  return capi::call(series, "couplet_series_claim", [&]() -> Status {
    if (!series->writer) {
      return capi::wrong_end("couplet_series_claim", "reading");
    }
    Status sound = capi::given(data, "couplet_series_claim", "data");
    if (sound.ok()) {
      sound = capi::check_one_array(*series, "couplet_series_claim", "couplet_series_claim_arrays");
    }
    if (!sound.ok()) {
      return series->writer->refuse(sound, step);
    }
    COUPLET_TRY_VALUE(*data, series->writer->claim(step));
    return {};
  });
}

couplet_status couplet_series_publish(couplet_series* series) {
  return capi::call(series, "couplet_series_publish", [&]() -> Status {
    if (!series->writer) {
      return capi::wrong_end("couplet_series_publish", "reading");
    }
    Status status = series->writer->publish();
    series->owner->universe->published(series->writer->last_call_ns());
    return status;
  });
}

couplet_status couplet_series_abandon(couplet_series* series) {
  return capi::call(series, "couplet_series_abandon", [&]() -> Status {
    if (!series->writer) {
      return capi::wrong_end("couplet_series_abandon", "reading");
    }
    return series->writer->abandon();
  });
}

couplet_status couplet_series_open(couplet_universe* universe, const char* name,
                                   const couplet_series_open_options* options, couplet_series** series) {
  return capi::call(universe, "couplet_series_open", [&] { return open(universe, name, options, series); });
}

couplet_status couplet_series_read(couplet_series* series, uint64_t at_least, uint64_t up_to, double timeout_s,
                                   void* out, uint64_t out_bytes, couplet_series_batch* batch) {
  return capi::call(series, "couplet_series_read", [&]() -> Status {
    if (!series->reader) {
      return capi::wrong_end("couplet_series_read", "writing");
    }
    series::Batch got;
    series->interpolation->forget();
    const Status sound = capi::check_read(batch, timeout_s, "couplet_series_read");
    const series::Out one{out, out_bytes, nullptr};
    COUPLET_TRY(series->reader->read(at_least, up_to, couplet::os::deadline_after(sound.ok() ? timeout_s : 0),
                                     std::span(&one, out == nullptr ? 0 : 1), got, sound));
    return capi::give_batch(*series, got, batch, "couplet_series_read");
  });
}

couplet_status couplet_series_describe(const couplet_series* handle, couplet_series_info* info) {
  auto* series = const_cast<couplet_series*>(handle);
  return capi::call(series, "couplet_series_describe", [&]() -> Status {
    const auto& description = capi::described(*series).description;
    const auto& field = description.fields.front();
    couplet_series_info result{};
    result.name = description.name.c_str();
    result.program = description.program.c_str();
    result.route = description.route.c_str();
    result.type = field.type;
    result.dimensions = static_cast<std::int32_t>(field.shape.size());
    std::copy(field.shape.begin(), field.shape.end(), result.shape);
    if (!field.boxes.empty()) {
      std::copy_n(field.boxes.front().start.begin(), field.boxes.front().dimensions, result.start);
      std::copy_n(field.boxes.front().stop.begin(), field.boxes.front().dimensions, result.stop);
    }
    result.step_bytes = field.step_bytes;
    result.slots = description.slots;
    result.writers = description.writers;
    result.field_count = static_cast<std::int32_t>(description.fields.size());
    return capi::give(info, result, "couplet_series_describe");
  });
}

couplet_status couplet_series_get_statistics(couplet_series* series, couplet_series_statistics* statistics) {
  return capi::call(series, "couplet_series_get_statistics", [&] {
    return capi::give(statistics, to_c(series->writer ? series->writer->count() : series->reader->count()),
                      "couplet_series_get_statistics");
  });
}

couplet_status couplet_series_retained(couplet_series* series, uint64_t* first, uint64_t* end, int64_t* newest_step) {
  return capi::call(series, "couplet_series_retained", [&]() -> Status {
    COUPLET_TRY_VALUE(const auto retained, series->writer ? series->writer->retained() : series->reader->retained());
    if (first != nullptr) {
      *first = retained.first;
    }
    if (end != nullptr) {
      *end = retained.end;
    }
    if (newest_step != nullptr) {
      *newest_step = retained.newest_step;
    }
    return {};
  });
}

couplet_status couplet_series_close(couplet_series* series) {
  return capi::close(series, &couplet_universe::series, "couplet_series_close", [&] { return series->close(); });
}

}  // extern "C"
