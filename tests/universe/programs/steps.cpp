// One rank that writes, or reads, a series of int32. Every element says to which step and place it belongs.
// usage: steps write PROGRAM RANK SIZE [KEY=VALUE...]    steps=100 slots=8 rows=60 columns=40 pause_us=0 required=NAME
//                                                        halt=STEP: before it waits for a line of input, without a call
//                                                        begin_ns=T period_us=P: step n at T + n P (monotonic)
//        steps read PROGRAM RANK SIZE [KEY=VALUE...]     mode=hold|follow from=oldest|newest|next up_to=4 pause_us=0
//                                                        start=R,C stop=R,C timeout=30 buffer=BYTES patient=1 open_s=30
//                                                        again_us=T: after NOT_YET it reads again, T later
//                                                        every=1 copy_us=T: counts the reads that end later than T
//                                                        after their timeout
// Rows are split among the writers. Prints "ready", then what happened, with the first gaps between the steps that a
// reader was given; a wrong element, or a step that does not follow an earlier one, ends it with status 3.
#include <couplet/couplet.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace {

using Settings = std::map<std::string, std::string>;

long number(const Settings& settings, const char* key, long otherwise) {
  const auto found = settings.find(key);
  return found == settings.end() ? otherwise : std::stol(found->second);
}

std::string word(const Settings& settings, const char* key, const char* otherwise) {
  const auto found = settings.find(key);
  return found == settings.end() ? otherwise : found->second;
}

[[noreturn]] void stop(const char* what, int status) {
  std::printf("%s: %s: %s\n", what, couplet_status_name(status), couplet_error_text());
  std::fflush(stdout);
  std::_Exit(2);
}

void demand(const char* what, couplet_status status) {
  if (status != COUPLET_OK) {
    stop(what, status);
  }
}

template <typename Result>
Result sized() {
  Result result{};
  result.struct_bytes = sizeof result;
  return result;
}

std::int32_t element(std::int64_t step, std::int64_t flat) {
  return static_cast<std::int32_t>(step * 1000003 + flat * 31);
}

void pause(const Settings& settings) {
  if (const long pause_us = number(settings, "pause_us", 0); pause_us > 0) {
    std::this_thread::sleep_for(std::chrono::microseconds(pause_us));
  }
}

void say(const char* text) {
  std::puts(text);
  std::fflush(stdout);
}

void write(couplet_universe* universe, int rank, int size, const Settings& settings) {
  const std::int64_t shape[2] = {number(settings, "rows", 60), number(settings, "columns", 40)};
  const std::int64_t begin[2] = {shape[0] * rank / size, 0};
  const std::int64_t end[2] = {shape[0] * (rank + 1) / size, shape[1]};
  couplet_series_create_options options;
  couplet_series_create_options_init(&options);
  options.slots = static_cast<std::uint64_t>(number(settings, "slots", 8));
  const std::string required = word(settings, "required", "");
  options.required_readers = required.empty() ? nullptr : required.c_str();
  options.wait_timeout_s = 60;
  couplet_series* series = nullptr;
  demand("create", couplet_series_create(universe, "eta", COUPLET_INT32, 2, shape, begin, end, &options, &series));
  say("ready");
  std::vector<std::int32_t> data(static_cast<std::size_t>((end[0] - begin[0]) * shape[1]));
  for (std::int64_t step = 0; step < number(settings, "steps", 100); ++step) {
    if (step == number(settings, "halt", -1)) {
      say("halted");
      static_cast<void>(std::getchar());
    }
    if (const long period_us = number(settings, "period_us", 0); period_us > 0) {
      const auto due =
          std::chrono::nanoseconds(number(settings, "begin_ns", 0)) + step * std::chrono::microseconds(period_us);
      std::this_thread::sleep_until(std::chrono::steady_clock::time_point(due));
    }
    for (std::size_t at = 0; at < data.size(); ++at) {
      data[at] = element(step, begin[0] * shape[1] + static_cast<std::int64_t>(at));
    }
    demand("put", couplet_series_put(series, data.data(), step));
    pause(settings);
  }
  auto counts = sized<couplet_series_statistics>();
  demand("count", couplet_series_get_statistics(series, &counts));
  demand("close", couplet_series_close(series));
  std::printf("written %llu held_ms %llu library_us %llu\n", static_cast<unsigned long long>(counts.published),
              static_cast<unsigned long long>(counts.held_ns / 1000000),
              static_cast<unsigned long long>(counts.library_ns / 1000));
}

void take(const Settings& settings, const char* key, std::int64_t* pair) {
  const std::string text = word(settings, key, "");
  if (!text.empty()) {
    std::sscanf(text.c_str(), "%ld,%ld", &pair[0], &pair[1]);
  }
}

// Checks that every element of the batch belongs to its step.
bool whole(const couplet_series_batch& batch, const couplet_series_info& info) {
  const auto* value = static_cast<const std::int32_t*>(batch.data);
  for (std::uint64_t index = 0; index < batch.count; ++index) {
    for (std::int64_t row = info.start[0]; row < info.stop[0]; ++row) {
      for (std::int64_t column = info.start[1]; column < info.stop[1]; ++column) {
        if (*value++ != element(batch.steps[index], row * info.shape[1] + column)) {
          return false;
        }
      }
    }
  }
  return true;
}

// Notes where steps are missing between those that a reader was given. After a restart they may begin anew.
class Gaps {
 public:
  explicit Gaps(std::int64_t every) : every_(every) {}
  // Returns false if a step is not above the one before it.
  bool note(const couplet_series_batch& batch) {
    if (batch.incarnation != incarnation_) {
      incarnation_ = batch.incarnation;
      before_ = -1;
    }
    bool ordered = true;
    for (std::uint64_t index = 0; index < batch.count; ++index) {
      const std::int64_t step = batch.steps[index];
      ordered = ordered && step > before_;
      if (before_ >= 0 && step != before_ + every_ && count_++ < max_printed) {
        text_ += " " + std::to_string(before_ + every_) + "-" + std::to_string(step - every_);
      }
      before_ = step;
    }
    return ordered;
  }
  void print() const {
    if (count_ > 0) {
      std::printf("%ld gaps:%s\n", count_, text_.c_str());
    }
  }

 private:
  static constexpr long max_printed = 20;
  std::int64_t every_;
  std::int64_t before_ = -1;
  std::uint64_t incarnation_ = 0;
  long count_ = 0;
  std::string text_;
};

couplet_series* open(couplet_universe* universe, const Settings& settings) {
  couplet_series_open_options options;
  couplet_series_open_options_init(&options);
  options.mode = word(settings, "mode", "hold") == "follow" ? COUPLET_SERIES_FOLLOW : COUPLET_SERIES_HOLD;
  const std::string from = word(settings, "from", "oldest");
  options.from = from == "newest" ? COUPLET_SERIES_FROM_NEWEST
                 : from == "next" ? COUPLET_SERIES_FROM_NEXT
                                  : COUPLET_SERIES_FROM_OLDEST;
  options.buffer_bytes = static_cast<std::uint64_t>(number(settings, "buffer", 0));
  options.timeout_s = static_cast<double>(number(settings, "open_s", 30));
  options.every = static_cast<std::uint64_t>(number(settings, "every", 1));
  std::int64_t begin[2] = {0, 0};
  std::int64_t end[2] = {0, 0};
  take(settings, "start", begin);
  take(settings, "stop", end);
  if (end[0] > 0) {
    options.dimensions = 2;
    options.start = begin;
    options.stop = end;
  }
  couplet_series* series = nullptr;
  demand("open", couplet_series_open(universe, "eta", &options, &series));
  return series;
}

void read(couplet_universe* universe, const Settings& settings) {
  couplet_series* const series = open(universe, settings);
  auto info = sized<couplet_series_info>();
  demand("describe", couplet_series_describe(series, &info));
  say("ready");
  const auto up_to = static_cast<std::uint64_t>(number(settings, "up_to", 4));
  const double timeout_s = std::stod(word(settings, "timeout", "30"));
  bool holds = true;
  Gaps gaps(number(settings, "every", 1));
  long reads = 0;
  long beyond = 0;
  couplet_status status = COUPLET_OK;
  for (;;) {
    auto batch = sized<couplet_series_batch>();
    const auto began = std::chrono::steady_clock::now();
    status = couplet_series_read(series, 1, up_to, timeout_s, nullptr, 0, &batch);
    const std::chrono::duration<double, std::micro> taken = std::chrono::steady_clock::now() - began;
    ++reads;
    beyond += taken.count() > timeout_s * 1e6 + static_cast<double>(number(settings, "copy_us", 60'000'000)) ? 1 : 0;
    if (status == COUPLET_RESTARTED || (status == COUPLET_ERROR_PEER_LOST && number(settings, "patient", 0) != 0)) {
      const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - began;
      std::printf("told %s after %.1f s: %s\n", couplet_status_name(status), waited.count(),
                  status < 0 ? couplet_error_text() : "");
      std::fflush(stdout);
      continue;
    }
    if (status == COUPLET_NOT_YET && settings.contains("again_us")) {
      std::this_thread::sleep_for(std::chrono::microseconds(number(settings, "again_us", 0)));
      continue;
    }
    if (status != COUPLET_OK) {
      break;
    }
    if (!whole(batch, info) || !gaps.note(batch)) {
      say("WRONG");
      std::_Exit(3);
    }
    auto counts = sized<couplet_series_statistics>();
    demand("count", couplet_series_get_statistics(series, &counts));
    holds =
        holds && counts.published - counts.first == counts.delivered + counts.lost + counts.skipped + counts.pending;
    pause(settings);
  }
  gaps.print();
  std::printf("ended %s: %s\n", couplet_status_name(status), status < 0 ? couplet_error_text() : "");
  auto counts = sized<couplet_series_statistics>();
  demand("count", couplet_series_get_statistics(series, &counts));
  std::printf(
      "route %s published %llu first %llu delivered %llu lost %llu skipped %llu pending %llu reads %ld beyond %ld "
      "equation %s\n",
      info.route, static_cast<unsigned long long>(counts.published), static_cast<unsigned long long>(counts.first),
      static_cast<unsigned long long>(counts.delivered), static_cast<unsigned long long>(counts.lost),
      static_cast<unsigned long long>(counts.skipped), static_cast<unsigned long long>(counts.pending), reads, beyond,
      holds ? "holds" : "BROKEN");
  std::fflush(stdout);
  const couplet_status closed = couplet_series_close(series);
  if (closed != COUPLET_OK && closed != COUPLET_ERROR_HUB_LOST) {
    stop("close", closed);
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 5) {
    return 1;
  }
  Settings settings;
  for (int index = 5; index < count; ++index) {
    const std::string text = arguments[index];
    settings[text.substr(0, text.find('='))] = text.substr(text.find('=') + 1);
  }
  couplet_join_options options;
  couplet_join_options_init(&options);
  options.rank = std::atoi(arguments[3]);
  options.size = std::atoi(arguments[4]);
  couplet_universe* universe = nullptr;
  demand("join", couplet_join(arguments[2], &options, &universe));
  if (arguments[1] == std::string("write")) {
    write(universe, options.rank, options.size, settings);
  } else {
    read(universe, settings);
  }
  const couplet_status left = couplet_leave(universe);
  std::printf("left %s\n", couplet_status_name(left));
  return 0;
}
