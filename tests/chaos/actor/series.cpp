// Series: writing and reading.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "actor.hpp"

#ifndef CHAOS_EVICT_AFTER
#define CHAOS_EVICT_AFTER evict_after_held_s
#endif

namespace chaos {
namespace {

void pause(const Action& action) {
  if (const auto us = action.whole("pause_us", 0); us > 0) {
    std::this_thread::sleep_for(std::chrono::microseconds(us));
  }
}

bool past(std::uint64_t begun_ns, double seconds) {
  return static_cast<double>(nanoseconds(CLOCK_MONOTONIC) - begun_ns) / 1e9 > seconds;
}

}  // namespace

void Actor::create(const Action& action) {
  const std::string name = action.text("series");
  if (written_.count(name) != 0) {
    return;
  }
  const std::int64_t elements = action.whole("elements", 1000);
  Written written;
  written.contents = {self_.seed, hash_of(name.c_str())};
  written.first = elements * self_.rank / self_.size;
  written.stop = elements * (self_.rank + 1) / self_.size;
  written.grain = action.whole("grain", 1);
  written.data.resize(static_cast<std::size_t>(written.stop - written.first));
  couplet_series_create_options options;
  couplet_series_create_options_init(&options);
  options.slots = action.count("slots", 4);
  const std::string required = action.text("required");
  options.required_readers = required.empty() ? nullptr : required.c_str();
  options.required_timeout_s = action.real("required_timeout", 30);
  options.wait_timeout_s = action.real("wait", 2);
  options.CHAOS_EVICT_AFTER = action.real("evict", -1);
  history_.begin(
      "create",
      piece(",\"k\":\"%s\",\"life\":%llu,\"slots\":%llu,\"required\":\"%s\",\"evict\":%.3f,\"window\":%d", name.c_str(),
            static_cast<unsigned long long>(self_.life), static_cast<unsigned long long>(options.slots),
            required.c_str(), options.CHAOS_EVICT_AFTER, static_cast<int>(action.whole("window", 0))));
  if (history_.end(couplet_series_create(universe_, name.c_str(), COUPLET_UINT64, 1, &elements, &written.first,
                                         &written.stop, &options, &written.series)) == COUPLET_OK) {
    written_[name] = std::move(written);
  }
}

void Actor::fill(const Written& written, std::int64_t step, std::uint64_t* data) const {
  const std::int64_t start = (written.first + written.grain - 1) / written.grain * written.grain;
  for (std::int64_t place = start; place < written.stop; place += written.grain) {
    data[place - written.first] = written.contents.element(self_.life, step, place);
  }
}

// Puts one step. A writer that is held up tries again until its patience has passed. False: it gives up.
bool Actor::put_one(Written& written, const Action& action) {
  const std::int64_t step = written.next_step;
  const bool claims = action.whole("claim", 0) != 0;
  const std::uint64_t begun = nanoseconds(CLOCK_MONOTONIC);
  if (!claims) {
    fill(written, step, written.data.data());
  }
  for (;;) {
    history_.begin("put", piece(",\"k\":\"%s\",\"step\":%lld,\"wait\":%.3f", action.text("series").c_str(),
                                static_cast<long long>(step), action.real("wait", 2)));
    couplet_status status = COUPLET_OK;
    if (claims) {
      void* slot = nullptr;
      status = couplet_series_claim(written.series, step, &slot);
      if (status == COUPLET_OK) {
        fill(written, step, static_cast<std::uint64_t*>(slot));
        status = couplet_series_publish(written.series);
      }
    } else {
      status = couplet_series_put(written.series, written.data.data(), step);
    }
    history_.end(status);
    if (status == COUPLET_OK) {
      written.next_step += action.whole("stride", 1);
      return true;
    }
    if ((status != COUPLET_FULL && status != COUPLET_ERROR_TIMEOUT && status != COUPLET_ERROR_HUB_LOST) ||
        past(begun, action.real("patience", 10))) {
      return false;
    }
  }
}

void Actor::put(const Action& action) {
  const auto found = written_.find(action.text("series"));
  if (found == written_.end()) {
    return;
  }
  const std::uint64_t begun = nanoseconds(CLOCK_MONOTONIC);
  const double seconds = action.real("seconds", 1e9);
  for (std::int64_t index = 0; index < action.whole("steps", 10) && !past(begun, seconds); ++index) {
    if (!put_one(found->second, action)) {
      break;
    }
    pause(action);
  }
}

void Actor::open(const Action& action) {
  const std::string handle = action.text("as", action.text("series").c_str());
  Opened opened;
  opened.name = action.text("series");
  opened.contents = {self_.seed, hash_of(opened.name.c_str())};
  opened.grain = action.whole("grain", 1);
  opened.first = action.whole("start", 0);
  opened.stop = action.whole("stop", 0);
  couplet_series_open_options options;
  couplet_series_open_options_init(&options);
  options.mode = action.text("mode", "hold") == "hold" ? COUPLET_SERIES_HOLD : COUPLET_SERIES_FOLLOW;
  const std::string from = action.text("from", "oldest");
  options.from = from == "newest" ? COUPLET_SERIES_FROM_NEWEST
                 : from == "next" ? COUPLET_SERIES_FROM_NEXT
                                  : COUPLET_SERIES_FROM_OLDEST;
  options.every = action.count("every", 1);
  options.latest = static_cast<std::int32_t>(action.whole("latest", 0));
  options.local = static_cast<std::int32_t>(action.whole("local", 0));
  options.timeout_s = action.real("timeout", 10);
  options.buffer_bytes = action.count("buffer", 0);
  if (opened.stop > 0) {
    options.dimensions = 1;
    options.start = &opened.first;
    options.stop = &opened.stop;
  }
  history_.begin("open",
                 piece(",\"k\":\"%s\",\"h\":\"%s\",\"mode\":\"%s\",\"every\":%llu,\"latest\":%d,\"from\":\"%s\","
                       "\"timeout\":%.3f,\"local\":%d,\"whole\":%d",
                       opened.name.c_str(), handle.c_str(), action.text("mode", "hold").c_str(),
                       static_cast<unsigned long long>(options.every), options.latest, from.c_str(), options.timeout_s,
                       options.local, opened.first == 0 && opened.stop == 0 ? 1 : 0));
  const couplet_status status = couplet_series_open(universe_, opened.name.c_str(), &options, &opened.series);
  couplet_series_info info{};
  info.struct_bytes = sizeof info;
  if (status == COUPLET_OK && couplet_series_describe(opened.series, &info) == COUPLET_OK) {
    opened.first = info.start[0];
    opened.stop = info.stop[0];
    history_.end(status, piece(",\"route\":\"%s\",\"bytes\":%llu", info.route,
                               static_cast<unsigned long long>(info.step_bytes)));
    opened_[handle] = std::move(opened);
    return;
  }
  history_.end(status);
}

// Empty if every element is of the step and of one life; else what was found.
std::string Actor::check_step(const Opened& opened, const std::uint64_t* data, std::int64_t step) const {
  const std::int64_t start = (opened.first + opened.grain - 1) / opened.grain * opened.grain;
  if (start >= opened.stop) {
    return ",\"life\":-1";
  }
  const std::uint64_t life = SeriesContents::life_of(data[start - opened.first]);
  for (std::int64_t place = start; place < opened.stop; place += opened.grain) {
    const std::uint64_t value = data[place - opened.first];
    if (value == opened.contents.element(life, step, place)) {
      continue;
    }
    long long other = -1;
    for (std::int64_t step_before = std::max<std::int64_t>(0, step - 256); step_before < step + 256; ++step_before) {
      if (value == opened.contents.element(SeriesContents::life_of(value), step_before, place)) {
        other = step_before;
      }
    }
    return piece(
        ",\"life\":%llu,\"bad\":{\"step\":%lld,\"place\":%lld,\"value\":\"%016llx\",\"life\":%llu,\"of_step\":%lld}",
        static_cast<unsigned long long>(life), static_cast<long long>(step), static_cast<long long>(place),
        static_cast<unsigned long long>(value), static_cast<unsigned long long>(SeriesContents::life_of(value)), other);
  }
  return piece(",\"life\":%llu", static_cast<unsigned long long>(life));
}

std::string Actor::describe_batch(const Opened& opened, const couplet_series_batch& batch) const {
  std::string text =
      piece(",\"count\":%llu,\"lost\":%llu,\"inc\":%llu,\"steps\":[", static_cast<unsigned long long>(batch.count),
            static_cast<unsigned long long>(batch.lost), static_cast<unsigned long long>(batch.incarnation));
  for (std::uint64_t index = 0; index < batch.count; ++index) {
    const auto* const data = static_cast<const std::uint64_t*>(batch.data) + index * (batch.step_bytes / 8);
    text += piece("%s{\"step\":%lld,\"ordinal\":%llu", index == 0 ? "" : ",",
                  static_cast<long long>(batch.steps[index]), static_cast<unsigned long long>(batch.ordinals[index]));
    text += check_step(opened, data, batch.steps[index]) + "}";
  }
  return text + "]";
}

void Actor::read(const Action& action) {
  const std::string handle = action.text("as", action.text("series").c_str());
  const auto found = opened_.find(handle);
  if (found == opened_.end()) {
    return;
  }
  const double timeout_s = action.real("timeout", 1);
  const auto at_least = action.count("at_least", 1);
  const auto up_to = action.count("up_to", 4);
  const std::uint64_t begun = nanoseconds(CLOCK_MONOTONIC);
  std::uint64_t last_progress = begun;
  for (std::int64_t index = 0; index < action.whole("reads", 1'000'000'000); ++index) {
    couplet_series_batch batch{};
    batch.struct_bytes = sizeof batch;
    history_.begin("read",
                   piece(",\"h\":\"%s\",\"timeout\":%.6g,\"at_least\":%llu", handle.c_str(),
                         std::isfinite(timeout_s) ? timeout_s : 1e308, static_cast<unsigned long long>(at_least)));
    const std::uint64_t called = nanoseconds(CLOCK_MONOTONIC);
    const couplet_status status =
        couplet_series_read(found->second.series, at_least, up_to, timeout_s, nullptr, 0, &batch);
    history_.end(status, status == COUPLET_OK ? describe_batch(found->second, batch) : "");
    if (status == COUPLET_OK || status == COUPLET_RESTARTED) {
      last_progress = nanoseconds(CLOCK_MONOTONIC);
    } else if (status == COUPLET_END ||
               (status < 0 && status != COUPLET_ERROR_PEER_LOST && status != COUPLET_ERROR_MISMATCH)) {
      break;
    } else if (status == COUPLET_ERROR_PEER_LOST) {  // the writer, or the relay, may be started again
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    if (past(last_progress, action.real("patience", 12)) || past(begun, action.real("seconds", 1e9))) {
      break;
    }
    if (status == COUPLET_NOT_YET && timeout_s == 0) {  // this reader only polls
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    } else if (status == COUPLET_NOT_YET &&
               !past(called, std::min(timeout_s, 0.05))) {  // too early: one line of this is enough
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    pause(action);
  }
  count(handle, found->second.series);
}

void Actor::count(const std::string& handle, couplet_series* series) {
  couplet_series_statistics found{};
  found.struct_bytes = sizeof found;
  history_.begin("count", piece(",\"h\":\"%s\"", handle.c_str()));
  const couplet_status status = couplet_series_get_statistics(series, &found);
  history_.end(status,
               piece(",\"published\":%llu,\"first\":%llu,\"delivered\":%llu,\"lost\":%llu,\"skipped\":%llu,"
                     "\"pending\":%llu",
                     static_cast<unsigned long long>(found.published), static_cast<unsigned long long>(found.first),
                     static_cast<unsigned long long>(found.delivered), static_cast<unsigned long long>(found.lost),
                     static_cast<unsigned long long>(found.skipped), static_cast<unsigned long long>(found.pending)));
}

void Actor::close_one(const std::string& handle, couplet_series* series) {
  history_.begin("close", piece(",\"h\":\"%s\"", handle.c_str()));
  history_.end(couplet_series_close(series));
}

void Actor::close(const Action& action) {
  const std::string handle = action.text("as", action.text("series").c_str());
  if (const auto found = opened_.find(handle); found != opened_.end()) {
    close_one(handle, found->second.series);
    opened_.erase(found);
  } else if (const auto own = written_.find(handle); own != written_.end()) {
    close_one(handle, own->second.series);
    written_.erase(own);
  }
}

}  // namespace chaos
