// The fields of tests/languages in C++; see test_fields.py. Usage: fields_cpp writer|reader
#include <couplet/couplet.hpp>
#include <cstdlib>
#include <iostream>

namespace {

constexpr std::int64_t steps = 6;
constexpr std::int64_t rows = 4;
constexpr std::int64_t columns = 6;
constexpr std::int64_t levels = 5;
constexpr std::int64_t wide = columns + 2;

void require(bool condition, const char* what) {
  if (!condition) {
    std::cerr << "not true: " << what << '\n';
    std::exit(1);
  }
}
#define REQUIRE(condition) require((condition), #condition)

// The call must fail with this code and these words.
template <class Call>
void refused(couplet_status status, const std::string& words, Call&& call) {
  try {
    call();
  } catch (const couplet::Error& error) {
    const std::string text = error.what();
    if (error.code() == status && text.find(words) != std::string::npos) {
      return;
    }
    std::cerr << "another error: " << text << '\n';
  }
  require(false, words.c_str());
}

double density_of(std::int64_t step, std::int64_t row, std::int64_t column) {
  return static_cast<double>(100 * step + 10 * row + column);
}

void mistakes_of_writing(couplet::FieldsWriter& series, const std::vector<double>& density,
                         const std::vector<std::int32_t>& level) {
  const couplet::Array left(density.data(), {wide, 1});
  refused(COUPLET_ERROR_ARGUMENT, "3 boxes in 2 fields", [&] { static_cast<void>(series.put({left, left}, 70)); });
  refused(COUPLET_ERROR_TYPE, "'density'", [&] { static_cast<void>(series.put({level, left, level}, 70)); });
  refused(COUPLET_ERROR_SHAPE, "'density'", [&] { static_cast<void>(series.put({left, density, level}, 70)); });
  refused(COUPLET_ERROR_STEP, "29.5", [&] { series.set_time(29.5); });
}

void write_series(couplet::Universe& universe) {
  couplet::SeriesOptions options;
  options.slots = 4;
  options.required_readers = "reader";
  const std::vector<couplet::Box> boxes = {{{0, 0}, {rows, 2}}, {{0, 2}, {rows, columns}}};
  auto series = universe.create_series(
      "sky",
      {couplet::field<double>("density", {rows, columns}, boxes), couplet::field<std::int32_t>("level", {levels})},
      options);
  std::vector<double> with_ghosts((rows + 2) * wide);
  std::vector<std::int32_t> level(levels);
  for (std::int64_t step = 10; step <= 10 * steps; step += 10) {
    series.set_time(0.5 * static_cast<double>(step));
    for (std::size_t k = 0; k < level.size(); ++k) {
      level[k] = static_cast<std::int32_t>(step) + static_cast<std::int32_t>(k);
    }
    if (step % 20 == 0) {
      for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t column = 0; column < columns; ++column) {
          with_ghosts[static_cast<std::size_t>((row + 1) * wide + column + 1)] = density_of(step, row, column);
        }
      }
      const double* const first = &with_ghosts[wide + 1];
      REQUIRE(series.put({couplet::Array(first, {wide, 1}), couplet::Array(first + 2, {wide, 1}), level}, step));
      continue;
    }
    const auto slot = series.claim(step);
    REQUIRE(slot.has_value());
    for (std::size_t box = 0; box < 2; ++box) {
      const std::span<double> data = slot->get<double>("density", box);
      const std::int64_t from = box == 0 ? 0 : 2;
      const std::int64_t width = box == 0 ? 2 : columns - 2;
      for (std::int64_t at = 0; at < rows * width; ++at) {
        data[static_cast<std::size_t>(at)] = density_of(step, at / width, from + at % width);
      }
    }
    std::copy(level.begin(), level.end(), slot->get<std::int32_t>("level").begin());
    refused(COUPLET_ERROR_TYPE, "'level'", [&] { static_cast<void>(slot->get<float>("level")); });
    refused(COUPLET_ERROR_NOT_FOUND, "'vapour'", [&] { static_cast<void>(slot->get<float>("vapour")); });
    series.publish();
  }
  mistakes_of_writing(series, with_ghosts, level);
  REQUIRE(series.fields()[0].boxes.size() == 2 && series.fields()[1].name == "level");
  const couplet::Waits waits = series.waits();
  REQUIRE(waits.count == 0 ? waits.longest_for.empty() : waits.longest_for.find("'reader'") != std::string::npos);
  series.close();
}

void read_series(couplet::Universe& universe) {
  const couplet::Box middle{{1, 1}, {3, 5}};
  refused(COUPLET_ERROR_NOT_FOUND, "it has 'density', 'level'",
          [&] { static_cast<void>(universe.open_fields("sky", {{"vapour"}})); });
  auto series = universe.open_fields("sky", {{"level", couplet::Box{{1}, {4}}}, {"density", middle}});
  std::vector<double> turned(2 * 8);
  std::vector<std::int32_t> level(2 * 3);
  const std::vector<couplet::Array> outs = {level, couplet::Array(turned.data(), {8, 1, 2})};
  std::int64_t got = 0;
  for (int turn = 0;; ++turn) {
    const bool own = turn % 2 == 0;
    const auto batch = series.read({.up_to = 2}, own ? outs : std::vector<couplet::Array>());
    if (batch.ended()) {
      break;
    }
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const std::int64_t step = 10 * ++got;
      REQUIRE(batch.steps()[i] == step && batch.times()[i] == 0.5 * static_cast<double>(step));
      for (std::int64_t row = 1; row < 3; ++row) {
        for (std::int64_t column = 1; column < 5; ++column) {
          const auto at = static_cast<std::size_t>(own ? row - 1 + 2 * (column - 1) : 4 * (row - 1) + column - 1);
          const double value = own ? turned[8 * i + at] : batch.get<double>("density", i)[at];
          REQUIRE(value == density_of(step, row, column));
        }
      }
      REQUIRE(batch.get<std::int32_t>("level", i)[2] == step + 3);
    }
    refused(COUPLET_ERROR_TYPE, "'level'", [&] { static_cast<void>(batch.get<double>("level")); });
  }
  REQUIRE(got == steps);
  refused(COUPLET_ERROR_TYPE, "'level'", [&] { static_cast<void>(series.read({}, {turned, turned})); });
  series.close();
  auto by_time = universe.open_fields("sky", {}, {.mode = couplet::Mode::follow, .interval = 20});
  const auto batch = by_time.read({.up_to = 8});
  REQUIRE(batch.size() == 2 && batch.steps()[0] == 30 && batch.steps()[1] == 40 && batch.times()[1] == 20);
}

// Puts a part of a larger array of one field, and reads into such an array.
void one_field(couplet::Universe& universe) {
  auto writer = universe.create_series<double>("part", {2, 3}, {{0, 0}, {2, 3}}, {.slots = 2});
  auto reader = universe.open_series<double>("part", {.local = true});
  const std::vector<double> larger = {0, 1, 2, 3, 0, 0, 4, 5, 6, 0};
  writer.set_time(2.5);
  REQUIRE(writer.put(larger.data() + 1, {5, 1}, 1));
  refused(COUPLET_ERROR_SHAPE, "'part'", [&] { static_cast<void>(writer.put(larger.data(), {1}, 2)); });
  const auto batch = reader.read();
  REQUIRE(batch.times()[0] == 2.5 && batch.data()[2] == 3 && batch.data()[5] == 6);
  writer.set_time(4.5);
  REQUIRE(writer.put(larger.data(), {5, 1}, 2));
  auto timed = universe.open_series<double>("part", {.local = true});
  const std::vector<double> times = {2.5, 3};
  std::vector<double> out(12);
  refused(COUPLET_ERROR_ARGUMENT, "do not fit",
          [&] { static_cast<void>(timed.read_at(times, 30, std::span<double>(out).first(11))); });
  const auto between = timed.read_at(times, 30, out);
  REQUIRE(between.size() == 2 && between.data().data() == out.data() && between.times()[1] == 3 &&
          between.steps()[1] == 1);
  REQUIRE(out[2] == 3 && out[6 + 2] == 2.75 && out[6 + 5] == 5.75);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  couplet::Universe universe = couplet::join(role);
  if (role == "writer") {
    write_series(universe);
    one_field(universe);
  } else {
    read_series(universe);
  }
  const std::int32_t other = 1 - universe.rank();
  const std::vector<std::int32_t> done = {1};
  std::vector<std::int32_t> heard(1);
  universe.group().send(std::span<const std::int32_t>(done), other, 1);
  universe.group().recv(std::span<std::int32_t>(heard), other, 1);
  universe.leave();
  std::cout << "cpp " << role << ": " << steps << " steps\n";
}
