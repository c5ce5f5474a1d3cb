// A 7 x 11 array of int32 whose every element says which step and place it is of, one writer and one reader.
#pragma once

#include <gtest/gtest.h>

#include "series/reader.hpp"
#include "series/writer.hpp"
#include "support/series_world.hpp"

namespace couplet::series::testing_fixture {

using couplet::testing::FakeEnvironment;
using couplet::testing::SeriesWorld;
using couplet::testing::SoloTeam;

inline constexpr std::int64_t rows = 7;
inline constexpr std::int64_t columns = 11;
inline constexpr double patience_s = 20;

inline std::uint64_t soon() {
  return os::deadline_after(patience_s);
}

inline layout::Box box_of(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
  layout::Box box;
  box.dimensions = 2;
  box.start = {a, c};
  box.stop = {b, d};
  return box;
}

inline std::int32_t element(std::int64_t step, std::int64_t index) {
  return static_cast<std::int32_t>(step * 1000003 + index * 31);
}

inline std::vector<std::int32_t> field(std::int64_t step) {
  std::vector<std::int32_t> values(rows * columns);
  for (std::size_t index = 0; index < values.size(); ++index) {
    values[index] = element(step, static_cast<std::int64_t>(index));
  }
  return values;
}

// Every element of every step of the batch is that step's.
inline void expect_content(const Batch& batch, const layout::Box& box) {
  const auto* value = reinterpret_cast<const std::int32_t*>(batch.data);
  for (std::uint64_t number = 0; number < batch.count; ++number) {
    for (std::int64_t row = box.start[0]; row < box.stop[0]; ++row) {
      for (std::int64_t column = box.start[1]; column < box.stop[1]; ++column) {
        ASSERT_EQ(*value++, element(batch.steps[number], row * columns + column)) << "step " << batch.steps[number];
      }
    }
  }
}

inline void expect_equation(const Statistics& s) {
  EXPECT_EQ(s.published - s.first, s.delivered + s.lost + s.skipped + s.pending);
}

class Series : public ::testing::Test {
 protected:
  std::unique_ptr<Writer> create(std::uint64_t slots, WriterOptions options = {}) {
    options.slots = slots;
    auto writer = Writer::create(writer_environment, team,
                                 {"eta", COUPLET_INT32, {rows, columns}, box_of(0, rows, 0, columns)}, options, soon());
    EXPECT_TRUE(writer.ok()) << writer.status().text();
    return writer.ok() ? std::move(writer).value() : nullptr;
  }
  std::unique_ptr<Reader> open(ReaderOptions options = {}) {
    auto reader = Reader::open(reader_environment, team, "eta", options, soon());
    EXPECT_TRUE(reader.ok()) << reader.status().text();
    return reader.ok() ? std::move(reader).value() : nullptr;
  }
  void put(Writer& writer, std::int64_t step) {
    const Status status = writer.put(field(step).data(), step);
    ASSERT_TRUE(status.ok()) << status.text();
  }
  static Status read(Reader& reader, std::uint64_t at_least, std::uint64_t up_to, Batch& batch,
                     double timeout_s = patience_s) {
    return reader.read(at_least, up_to, os::deadline_after(timeout_s), nullptr, 0, batch);
  }

  SeriesWorld world;
  SoloTeam team;
  FakeEnvironment writer_environment{world, 0, "ocean"};
  FakeEnvironment reader_environment{world, 1, "nowcast"};
};

}  // namespace couplet::series::testing_fixture
