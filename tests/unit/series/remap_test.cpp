#include "series/remap.hpp"

#include "unit/series/remap_fixture.hpp"

namespace couplet::series {
namespace {

using namespace testing_fixture;

constexpr std::int64_t ny = 12;
constexpr std::int64_t nx = 18;

// An array of 12 x 18 doubles in two boxes of one writer.
class Remapping : public Series {
 protected:
  std::unique_ptr<Writer> make(couplet_type type = COUPLET_DOUBLE) {
    WriterSpecification specification;
    specification.name = "sst";
    specification.fields = {{"", type, {ny, nx}, {box_of(0, 5, 0, nx), box_of(5, ny, 0, nx)}}};
    auto writer = Writer::create(writer_environment, team, specification, {.slots = 4}, soon());
    EXPECT_TRUE(writer.ok()) << writer.status().text();
    return writer.ok() ? std::move(writer).value() : nullptr;
  }
  static void put_field(Writer& writer, std::int64_t step) {
    const auto values = smooth_field(ny * nx, step);
    const std::array<Array, 2> arrays = {{{values.data()}, {values.data() + 5 * nx}}};
    const Status status = writer.put(arrays, step);
    ASSERT_TRUE(status.ok()) << status.text();
  }
  Result<std::unique_ptr<Reader>> look(Weights weights, ReaderOptions options = {}) {
    options.weights = shared(std::move(weights));
    return Reader::open(reader_environment, team, "sst", options, soon());
  }
  void expect_refused(Weights weights, Code code, const std::string& words, ReaderOptions options = {}) {
    const auto opened = look(std::move(weights), std::move(options));
    EXPECT_EQ(opened.code(), code);
    EXPECT_NE(opened.status().text().find(words), std::string::npos) << opened.status().text();
  }
};

TEST_F(Remapping, EachStepIsDeliveredAsTheProductWithTheWeights) {
  auto writer = make();
  const Weights weights = conservative(ny, nx, 7, 5, 0, 35);
  auto opened = look(weights);
  ASSERT_TRUE(opened.ok()) << opened.status().text();
  auto& reader = **opened;
  EXPECT_EQ(reader.describe().fields[0].shape, std::vector<std::int64_t>{35});
  EXPECT_EQ(reader.describe().fields[0].step_bytes, 35 * sizeof(double));
  for (const std::int64_t step : {1, 2, 3}) {
    put_field(*writer, step);
  }
  Batch batch;
  ASSERT_TRUE(read(reader, 3, 3, batch).ok());
  ASSERT_EQ(batch.count, 3U);
  for (std::size_t at = 0; at < 3; ++at) {
    expect_rows(batch, at, product(weights, smooth_field(ny * nx, batch.steps[at])));
  }
  EXPECT_EQ(reader.count().bytes, 3 * 35 * sizeof(double));
  expect_equation(reader.count());
}

TEST_F(Remapping, RowsWithoutEntriesOrWithAMaskedSourceGetTheFillValue) {
  auto writer = make();
  Weights weights = conservative(ny, nx, 7, 5, 0, 35);
  weights.row_offsets.insert(weights.row_offsets.begin(), 0);  // a first row without entries
  weights.source_mask.assign(ny * nx, 1);
  weights.source_mask[3 * nx + 4] = 0;
  weights.fill = -999;
  const auto wanted = product(weights, smooth_field(ny * nx, 1));
  EXPECT_EQ(std::count(wanted.begin(), wanted.end(), -999), 3);  // two rows share the masked point
  auto opened = look(weights);
  ASSERT_TRUE(opened.ok()) << opened.status().text();
  put_field(*writer, 1);
  Batch batch;
  ASSERT_TRUE(read(**opened, 1, 1, batch).ok());
  expect_rows(batch, 0, wanted);
}

TEST_F(Remapping, ARankWithoutRowsFollowsTheSteps) {
  auto writer = make();
  Weights weights;
  weights.source_points = ny * nx;
  weights.row_offsets = {0};
  auto opened = look(weights);
  ASSERT_TRUE(opened.ok()) << opened.status().text();
  put_field(*writer, 4);
  Batch batch;
  ASSERT_TRUE(read(**opened, 1, 1, batch).ok());
  EXPECT_EQ(batch.steps[0], 4);
  EXPECT_EQ(batch.step_bytes, 0U);
}

TEST_F(Remapping, OneFarPointAndAnArrayWithGapsWork) {
  auto writer = make();
  Weights weights;
  weights.source_points = ny * nx;
  weights.row_offsets = {0, 1, 1, 3};
  weights.sources = {ny * nx - 1, 0, ny * nx - 1};
  weights.values = {2, 1, -1};
  weights.fill = 7;
  auto opened = look(weights);
  ASSERT_TRUE(opened.ok()) << opened.status().text();
  put_field(*writer, 1);
  put_field(*writer, 2);
  std::vector<double> out(20, 0.5);
  const std::array<std::int64_t, 2> strides = {10 * sizeof(double), 3 * sizeof(double)};
  const Out one{out.data(), out.size() * sizeof(double), strides.data()};
  Batch batch;
  ASSERT_TRUE((*opened)->read(2, 2, soon(), std::span(&one, 1), batch).ok());
  for (std::size_t at = 0; at < 2; ++at) {
    const auto wanted = product(weights, smooth_field(ny * nx, batch.steps[at]));
    EXPECT_NEAR(out[10 * at], wanted[0], 1e-13);
    EXPECT_EQ(out[10 * at + 3], 7);
    EXPECT_NEAR(out[10 * at + 6], wanted[2], 1e-13);
    EXPECT_EQ(out[10 * at + 1], 0.5);
  }
}

TEST_F(Remapping, MisuseIsNamed) {
  auto writer = make();
  const Weights good = conservative(ny, nx, 7, 5, 0, 35);
  Weights bad = good;
  bad.sources[5] = ny * nx;
  expect_refused(bad, Code::argument, "source 216 of entry 5 is outside [0, 216)");
  bad = good;
  bad.sources[5] = -1;
  expect_refused(bad, Code::argument, "source -1 of entry 5");
  bad = good;
  std::swap(bad.row_offsets[2], bad.row_offsets[3]);
  expect_refused(bad, Code::argument, "row_offsets must not descend: row 2");
  bad = good;
  bad.row_offsets[0] = 1;
  expect_refused(bad, Code::argument, "row_offsets must begin with 0");
  bad = good;
  bad.values[3] = std::nan("");
  expect_refused(bad, Code::argument, "of entry 3 is not finite");
  bad = good;
  bad.values.pop_back();
  expect_refused(bad, Code::argument, "row_offsets end with");
  bad = good;
  bad.source_mask.assign(5, 1);
  expect_refused(bad, Code::argument, "source_mask has 5 marks for 216");
  bad = good;
  bad.source_points = 300;
  expect_refused(bad, Code::shape, "has 216 elements, but the weights are for 300 source points");
  ReaderOptions boxed;
  boxed.box = box_of(0, 2, 0, 2);
  expect_refused(good, Code::argument, "a reader with weights is given no box", boxed);
}

TEST_F(Remapping, ElementsThatAreNoRealNumbersAreRefused) {
  auto writer = make(COUPLET_INT64);
  expect_refused(conservative(ny, nx, 7, 5, 0, 35), Code::type, "weights are for elements of type float or double");
}

TEST_F(Remapping, SourcePointsThatNobodyWritesAreNamed) {
  WriterSpecification specification;
  specification.name = "sst";
  specification.fields = {{"", COUPLET_DOUBLE, {ny, nx}, {box_of(0, 5, 0, nx), box_of(6, ny, 0, nx)}}};
  auto writer = Writer::create(writer_environment, team, specification, {.slots = 4}, soon());
  ASSERT_TRUE(writer.ok());
  expect_refused(conservative(ny, nx, 7, 5, 0, 35), Code::shape,
                 "18 of the 216 source points that the weights need are written by no rank; the first one is 90");
  Weights masked = conservative(ny, nx, 7, 5, 0, 35);
  masked.source_mask.assign(ny * nx, 1);
  std::fill_n(masked.source_mask.begin() + 5 * nx, nx, 0);
  EXPECT_TRUE(look(masked).ok());  // nobody has to write a point that is masked
}

// The second copy of a step that is replaced meanwhile is not delivered: nothing is made of a mixture.
TEST_F(Remapping, AStepThatIsReplacedIsLostAndNotRemapped) {
  auto writer = make();
  ReaderOptions options;
  options.mode = Mode::follow;
  const Weights weights = conservative(ny, nx, 7, 5, 0, 35);
  auto opened = look(weights, options);
  ASSERT_TRUE(opened.ok());
  for (std::int64_t step = 0; step < 40; ++step) {
    put_field(*writer, step);
    if (step % 7 == 6) {
      Batch batch;
      ASSERT_TRUE(read(**opened, 1, 8, batch).ok());
      for (std::size_t at = 0; at < batch.count; ++at) {
        expect_rows(batch, at, product(weights, smooth_field(ny * nx, batch.steps[at])));
      }
    }
  }
  expect_equation((*opened)->count());
  EXPECT_GT((*opened)->count().lost, 0U);
}

}  // namespace
}  // namespace couplet::series
