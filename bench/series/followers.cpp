// What sleeping followers cost a writer. Program ocean puts a step into a series that all ranks of program sleepers
// follow, and one into a series without a reader, in turn, with a pause after each put in which all fall asleep again.
// Each follower takes one element of each step. Prints one JSON object for each case with all samples, from which
// bench/suite_series.py computes the figures.
// usage: COUPLET_HUB=... series_followers {ocean | sleepers} RANK FOLLOWERS [CASE...]
#include <unistd.h>

#include <set>

#include "bench/series/measure.hpp"

namespace couplet::bench {
namespace {

constexpr std::uint64_t slots = 64;
constexpr int rounds = 200;
constexpr useconds_t pause_us = 10'000;

struct Size {
  const char* name;
  std::int64_t elements;  // int32
};
constexpr Size sizes[] = {{"8B", 2}, {"64KiB", 16 << 10}, {"3MB", extent* extent}};

std::string case_name(const Size& size) {
  return std::string("put+followers/") + size.name;
}

couplet_universe* join_as(const char* program, std::int32_t rank, std::int32_t size) {
  couplet_join_options options;
  couplet_join_options_init(&options);
  options.rank = rank;
  options.size = size;
  couplet_universe* universe = nullptr;
  must(couplet_join(program, &options, &universe), "join");
  return universe;
}

couplet_series* create(couplet_universe* universe, const std::string& name, std::int64_t elements) {
  const std::int64_t start = 0;
  couplet_series_create_options options;
  couplet_series_create_options_init(&options);
  options.slots = slots;
  couplet_series* series = nullptr;
  must(couplet_series_create(universe, name.c_str(), COUPLET_INT32, 1, &elements, &start, &elements, &options, &series),
       "create");
  return series;
}

// Reads each step as it comes, until the writer has closed the series.
void follow(couplet_universe* universe, couplet_group* group, const std::string& name) {
  const std::int64_t start = 0;
  const std::int64_t stop = 1;
  couplet_series_open_options options;
  couplet_series_open_options_init(&options);
  options.start = &start;
  options.stop = &stop;
  options.dimensions = 1;
  options.mode = COUPLET_SERIES_FOLLOW;
  options.from = COUPLET_SERIES_FROM_NEXT;
  couplet_series* series = nullptr;
  must(couplet_series_open(universe, name.c_str(), &options, &series), "open");
  std::int32_t ocean = 0;
  must(couplet_universe_find_rank(universe, "ocean", 0, &ocean), "find_rank");
  must(couplet_send(group, &ocean, 1, COUPLET_INT32, ocean, 0), "send");
  couplet_status status = COUPLET_OK;
  while (status == COUPLET_OK) {
    couplet_series_batch batch;
    batch.struct_bytes = sizeof batch;
    status = couplet_series_read(series, 1, slots, -1, nullptr, 0, &batch);
  }
  must(status == COUPLET_END ? COUPLET_OK : status, "read");
  must(couplet_series_close(series), "close");
}

void write(couplet_universe* universe, couplet_group* group, const Size& size, std::int32_t followers) {
  const std::string name = case_name(size);
  couplet_series* const watched = create(universe, name, size.elements);
  couplet_series* const alone = create(universe, name + " alone", size.elements);
  for (std::int32_t count = 0; count < followers; ++count) {
    std::int32_t word = 0;
    must(couplet_recv(group, &word, 1, COUPLET_INT32, COUPLET_ANY_SOURCE, 0, nullptr), "recv");
  }
  const std::byte* const field = touched_memory(static_cast<std::uint64_t>(size.elements) * 4);
  std::int64_t step = 0;
  const auto put = [&](couplet_series* series) {
    ::usleep(pause_us);
    return 1e6 * timed([&] { must(couplet_series_put(series, field, step), "put"); });
  };
  const std::vector<Method> methods = {{"ours", [&] { return put(watched); }},
                                       {"limit_no_reader", [&] { return put(alone); }}};
  Samples samples;
  for (std::size_t round = 0; round < rounds; ++round) {
    take_round(methods, round, samples);
    ++step;
  }
  print(name, "us", samples);
  must(couplet_series_close(watched), "close");
  must(couplet_series_close(alone), "close");
}

void run(const std::string& program, std::int32_t rank, std::int32_t followers, const std::set<std::string>& wanted) {
  couplet_universe* const universe = program == "ocean" ? join_as("ocean", 0, 1) : join_as("sleepers", rank, followers);
  couplet_group* group = nullptr;
  must(couplet_universe_group(universe, &group), "group");
  for (const Size& size : sizes) {
    if (!wanted.empty() && !wanted.contains(case_name(size))) {
      continue;
    }
    if (program == "ocean") {
      write(universe, group, size, followers);
    } else {
      follow(universe, group, case_name(size));
    }
  }
  must(couplet_leave(universe), "leave");
}

}  // namespace
}  // namespace couplet::bench

int main(int argc, char** argv) {
  if (argc < 4) {
    couplet::bench::give_up("usage: series_followers {ocean | sleepers} RANK FOLLOWERS [CASE...]");
  }
  couplet::bench::run(argv[1], std::atoi(argv[2]), std::atoi(argv[3]), {argv + 4, argv + argc});
  return 0;
}
