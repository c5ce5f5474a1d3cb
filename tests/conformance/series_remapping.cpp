// Remapping in every way of reading a series: weights of unlike grids, several writers and readers.
#include <cmath>
#include <thread>

#include "conformance/series_suite.hpp"
#include "os/clock.hpp"
#include "unit/series/remap_fixture.hpp"

namespace couplet::conformance {
namespace {

using series::testing_fixture::conservative;
using series::testing_fixture::product;
using series::testing_fixture::smooth_field;

constexpr std::int64_t ny = 90;
constexpr std::int64_t nx = 140;
constexpr std::int64_t my = 33;
constexpr std::int64_t mx = 47;
constexpr std::int64_t steps = 12;
constexpr std::int64_t first_reader_peer = 8;

struct Mapping {
  std::vector<std::int64_t> writers;  // a grid of so many
  std::size_t readers = 4;
};

void write_all(series::Writer& writer, const layout::Box& box) {
  std::vector<double> own;
  for (std::int64_t step = 0; step < steps; ++step) {
    const auto field = smooth_field(ny * nx, step);
    own.clear();
    for (std::int64_t row = box.start[0]; row < box.stop[0]; ++row) {
      own.insert(own.end(), field.begin() + row * nx + box.start[1], field.begin() + row * nx + box.stop[1]);
    }
    ASSERT_TRUE(writer.put(own.data(), step).ok());
  }
}

// Returns how many steps came.
std::int64_t read_all(series::Reader& reader, const series::Weights& weights) {
  std::int64_t count = 0;
  series::Batch batch;
  while (reader.read(1, 3, os::deadline_after(60), nullptr, 0, batch).ok()) {
    for (std::size_t at = 0; at < batch.count; ++at, ++count) {
      series::testing_fixture::expect_rows(batch, at, product(weights, smooth_field(ny * nx, batch.steps[at])));
    }
  }
  series::testing_fixture::expect_equation(reader.count());
  return count;
}

void couple(const SeriesWay& way, const Mapping& mapping) {
  testing::SeriesWorld world;
  if (way.prepare) {
    way.prepare(world);
  }
  const auto deadline = os::deadline_after(60);
  const auto boxes = grid({ny, nx}, mapping.writers);
  testing::TeamRoom writers(static_cast<int>(boxes.size()));
  testing::TeamRoom readers(static_cast<int>(mapping.readers));
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < boxes.size(); ++rank) {
    threads.emplace_back([&, rank] {
      testing::FakeEnvironment environment(world, static_cast<channel::PeerId>(rank), "ocean");
      testing::ThreadTeam team(writers, static_cast<int>(rank));
      series::WriterOptions options;
      options.slots = 4;
      options.required_readers = {"nowcast"};
      auto writer =
          series::Writer::create(environment, team, {"eta", COUPLET_DOUBLE, {ny, nx}, boxes[rank]}, options, deadline);
      ASSERT_TRUE(writer.ok()) << writer.status().text();
      write_all(**writer, boxes[rank]);
      ASSERT_TRUE((*writer)->close(deadline).ok());
    });
  }
  const auto count = static_cast<std::int64_t>(mapping.readers);
  for (std::int64_t rank = 0; rank < count; ++rank) {
    threads.emplace_back([&, rank] {
      const auto environment = way.reader(world, static_cast<channel::PeerId>(first_reader_peer + rank), "nowcast");
      testing::ThreadTeam together(readers, static_cast<int>(rank));
      const auto weights = conservative(ny, nx, my, mx, rank * my * mx / count, (rank + 1) * my * mx / count);
      series::ReaderOptions options;
      options.weights = series::testing_fixture::shared(weights);
      auto reader = series::Reader::open(*environment, together, "eta", options, deadline);
      ASSERT_TRUE(reader.ok()) << reader.status().text();
      EXPECT_EQ(read_all(**reader, weights), steps);
      EXPECT_TRUE((*reader)->close(deadline).ok());
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
}

TEST_P(SeriesConformance, RemapsFromThreeWritersToTwoReaders) {
  couple(GetParam(), {{3, 1}, 2});
}

TEST_P(SeriesConformance, RemapsFromSixWritersToFourReaders) {
  couple(GetParam(), {{3, 2}, 4});
}

}  // namespace
}  // namespace couplet::conformance
