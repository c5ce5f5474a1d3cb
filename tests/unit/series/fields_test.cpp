// Several fields that belong to one step, several boxes of one rank, arrays with gaps, and physical times.
#include <cmath>
#include <cstring>
#include <numeric>
#include <thread>

#include "unit/series/fixture.hpp"

namespace couplet::series {
namespace {

using namespace testing_fixture;

layout::Box line(std::int64_t start, std::int64_t stop) {
  layout::Box box;
  box.dimensions = 1;
  box.start[0] = start;
  box.stop[0] = stop;
  return box;
}

// density: 4 x 6 doubles in two boxes; level: 5 int32.
class Fields : public Series {
 protected:
  Fields() {
    specification.name = "sky";
    specification.fields = {{"density", COUPLET_DOUBLE, {4, 6}, {box_of(0, 4, 0, 2), box_of(0, 4, 2, 6)}},
                            {"level", COUPLET_INT32, {5}, {line(0, 5)}}};
    std::iota(left.begin(), left.end(), 1.0);
    std::iota(right.begin(), right.end(), 101.0);
    std::iota(level.begin(), level.end(), 7);
  }
  Result<std::unique_ptr<Writer>> make(std::uint64_t slots = 4) {
    return Writer::create(writer_environment, team, specification, {.slots = slots}, soon());
  }
  Status put(Writer& writer, std::int64_t step) {
    const std::array<Array, 3> arrays = {{{left.data()}, {right.data()}, {level.data()}}};
    return writer.put(arrays, step);
  }
  Result<std::unique_ptr<Reader>> look(std::vector<FieldChoice> fields, ReaderOptions options = {}) {
    options.fields = std::move(fields);
    return Reader::open(reader_environment, team, "sky", options, soon());
  }
  void expect_refused(Code code, const std::string& words) {
    const auto made = make();
    EXPECT_EQ(made.code(), code);
    EXPECT_NE(made.status().text().find(words), std::string::npos) << made.status().text();
    EXPECT_TRUE(world.series_files().empty());
  }

  WriterSpecification specification;
  std::array<double, 8> left{};
  std::array<double, 16> right{};
  std::array<std::int32_t, 5> level{};
};

TEST_F(Fields, EachHasItsOwnArrayInABatch) {
  auto writer = std::move(make()).value();
  auto reader = std::move(look({})).value();
  ASSERT_TRUE(put(*writer, 3).ok());
  level[4] = 70;
  ASSERT_TRUE(put(*writer, 5).ok());
  Batch batch;
  ASSERT_TRUE(read(*reader, 2, 8, batch).ok());
  ASSERT_EQ(batch.count, 2U);
  ASSERT_EQ(batch.field_count, 2U);
  EXPECT_EQ(batch.fields[0].step_bytes, 24 * sizeof(double));
  EXPECT_EQ(batch.fields[1].step_bytes, 5 * sizeof(std::int32_t));
  EXPECT_EQ(batch.data, batch.fields[0].data);
  const auto* density = reinterpret_cast<const double*>(batch.fields[0].data);
  EXPECT_EQ(std::vector(density, density + 6), (std::vector<double>{1, 2, 101, 102, 103, 104}));
  EXPECT_EQ(std::vector(density + 24 + 18, density + 48), (std::vector<double>{7, 8, 113, 114, 115, 116}));
  const auto* levels = reinterpret_cast<const std::int32_t*>(batch.fields[1].data);
  EXPECT_EQ(std::vector(levels, levels + 10), (std::vector<std::int32_t>{7, 8, 9, 10, 11, 7, 8, 9, 10, 70}));
  EXPECT_EQ(reader->count().bytes, 2 * (24 * sizeof(double) + 20));
}

TEST_F(Fields, AReaderChoosesFieldsAndABoxOfEach) {
  auto writer = std::move(make()).value();
  auto reader = std::move(look({{"level", line(1, 3)}, {"density", box_of(1, 3, 1, 3)}})).value();
  ASSERT_TRUE(put(*writer, 3).ok());
  Batch batch;
  ASSERT_TRUE(read(*reader, 1, 8, batch).ok());
  const auto* levels = reinterpret_cast<const std::int32_t*>(batch.fields[0].data);
  EXPECT_EQ(std::vector(levels, levels + 2), (std::vector<std::int32_t>{8, 9}));
  const auto* density = reinterpret_cast<const double*>(batch.fields[1].data);
  EXPECT_EQ(std::vector(density, density + 4), (std::vector<double>{4, 105, 6, 109}));
  const auto described = reader->describe();
  ASSERT_EQ(described.fields.size(), 2U);
  EXPECT_EQ(described.fields[1].name, "density");
  EXPECT_EQ(described.fields[1].boxes, std::vector{box_of(1, 3, 1, 3)});
  EXPECT_EQ(described.fields[1].shape, (std::vector<std::int64_t>{4, 6}));
  EXPECT_EQ(writer->describe().fields[0].boxes.size(), 2U);
}

TEST_F(Fields, AChoiceThatCannotBeIsNamed) {
  auto writer = std::move(make()).value();
  const auto expect = [&](Code code, const std::string& words, std::vector<FieldChoice> fields) {
    const auto opened = look(std::move(fields));
    EXPECT_EQ(opened.code(), code);
    EXPECT_NE(opened.status().text().find(words), std::string::npos) << opened.status().text();
  };
  expect(Code::not_found, "no field 'vapour'; it has 'density', 'level'", {{"vapour"}});
  expect(Code::argument, "field 'level' is chosen twice", {{"level"}, {"level"}});
  expect(Code::type, "field 'level' has elements of type int32, not double", {{"level", std::nullopt, COUPLET_DOUBLE}});
  expect(Code::type, "field 'level': 77 is no element type; it has elements of type int32",
         {{"level", std::nullopt, 77}});
  expect(Code::shape, "field 'density': the reader's box", {{"density", box_of(0, 5, 0, 6)}});
  expect(Code::shape, "field 'density': the reader's box has 1 dimension", {{"density", line(0, 4)}});
}

TEST_F(Fields, ElementsOfAFieldThatNobodyWritesCannotBeRead) {
  specification.fields[0].boxes.pop_back();
  auto writer = std::move(make()).value();
  EXPECT_TRUE(look({{"level"}}).ok());
  EXPECT_TRUE(look({{"density", box_of(0, 4, 0, 2)}}).ok());
  const auto uncovered = look({});
  EXPECT_EQ(uncovered.code(), Code::shape);
  EXPECT_NE(uncovered.status().text().find("field 'density': 16 of the 24 elements"), std::string::npos);
}

TEST_F(Fields, MistakesAtCreationAreNamed) {
  const auto sound = specification;
  specification.fields[1].name = "";
  expect_refused(Code::argument, "field 1 needs a name");
  specification.fields[1].name = "density";
  expect_refused(Code::argument, "two fields 'density'");
  specification.fields[1].name = std::string(64, 'f');
  expect_refused(Code::argument, "1 to 63 bytes");
  specification = sound;
  specification.fields[1].type = 77;
  expect_refused(Code::type, "field 'level': 77");
  specification = sound;
  specification.fields[0].boxes[1] = box_of(0, 4, 1, 6);
  expect_refused(Code::shape,
                 "field 'density': the boxes [0, 4) x [0, 2) of writer rank 0 and [0, 4) x [1, 6) of rank 0");
  specification = sound;
  specification.fields[0].boxes.push_back(box_of(4, 5, 0, 6));
  expect_refused(Code::shape, "field 'density': the writer's box");
  specification.fields.clear();
  expect_refused(Code::limit, "0 fields");
  specification.fields.resize(65, sound.fields[0]);
  expect_refused(Code::limit, "65 fields");
  specification = sound;
  specification.fields[1].boxes.resize(5000, line(0, 0));
  expect_refused(Code::limit, "this writer rank has ");
}

TEST_F(Fields, MistakesOfPutAreNamedAndNothingHasHappened) {
  auto writer = std::move(make()).value();
  const std::array<Array, 3> arrays = {{{left.data()}, {right.data()}, {level.data()}}};
  const auto expect = [&](Code code, const std::string& words, std::span<const Array> given) {
    const Status status = writer->put(given, 1);
    EXPECT_EQ(status.code(), code);
    EXPECT_NE(status.text().find(words), std::string::npos) << status.text();
  };
  expect(Code::argument, "2 arrays are given, this rank has 3 boxes in 2 fields", std::span(arrays).first(2));
  auto without = arrays;
  without[1].data = nullptr;
  expect(Code::argument, "field 'density': the array of the box [0, 4) x [2, 6) is missing", without);
  auto far = arrays;
  const std::array<std::int64_t, 2> strides = {INT64_MAX / 2, 8};
  far[0].strides = strides.data();
  expect(Code::argument, "field 'density': the array: a stride of", far);
  EXPECT_EQ(writer->put(left.data(), 1).code(), Code::argument);  // one array
  ASSERT_TRUE(writer->put(arrays, 1).ok());
  EXPECT_EQ(writer->put(arrays, 1).code(), Code::step);
}

TEST_F(Fields, ClaimedFieldsStandWhereThePiecesSay) {
  auto writer = std::move(make()).value();
  auto reader = std::move(look({{"level"}})).value();
  auto slot = writer->claim(1);
  ASSERT_TRUE(slot.ok());
  ASSERT_EQ(writer->pieces().size(), 3U);
  EXPECT_EQ(writer->pieces()[1].offset_bytes, 64U);
  EXPECT_EQ(writer->pieces()[2].offset_bytes % 64, 0U);
  std::memcpy(*slot + writer->pieces()[2].offset_bytes, level.data(), sizeof level);
  ASSERT_TRUE(writer->publish().ok());
  Batch batch;
  ASSERT_TRUE(read(*reader, 1, 1, batch).ok());
  EXPECT_EQ(std::memcmp(batch.data, level.data(), sizeof level), 0);
}

// ---- arrays with gaps ----

class Strided : public Series {};

TEST_F(Strided, GhostCellsAreLeftOutOnBothSides) {
  auto writer = create(4);
  auto reader = open();
  constexpr std::int64_t ghosts = 2;
  constexpr std::int64_t wide = columns + 2 * ghosts;
  std::vector<std::int32_t> with_ghosts((rows + 2 * ghosts) * wide, -1);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      with_ghosts[static_cast<std::size_t>((row + ghosts) * wide + column + ghosts)] =
          element(9, row * columns + column);
    }
  }
  const std::array<std::int64_t, 2> strides = {wide * 4, 4};
  const Array array{&with_ghosts[ghosts * wide + ghosts], strides.data()};
  ASSERT_TRUE(writer->put(std::span(&array, 1), 9).ok());
  put(*writer, 10);
  // One column as the fastest dimension, backwards, every second place of the target.
  std::vector<std::int32_t> turned(2 * 2 * rows * columns, -1);
  const std::array<std::int64_t, 3> out_strides = {2 * rows * columns * 4, -8, rows * 8};
  const Out out{turned.data() + 2 * (rows - 1), 0, out_strides.data()};
  Batch batch;
  ASSERT_TRUE(reader->read(2, 2, soon(), std::span(&out, 1), batch).ok());
  ASSERT_EQ(batch.count, 2U);
  for (std::int64_t step = 0; step < 2; ++step) {
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t column = 0; column < columns; ++column) {
        const auto at = static_cast<std::size_t>(step * 2 * rows * columns + 2 * (rows - 1 - row) + 2 * rows * column);
        ASSERT_EQ(turned[at], element(9 + step, row * columns + column));
        ASSERT_EQ(turned[at + 1], -1);
      }
    }
  }
}

TEST_F(Strided, OneValueMayStandForAllElements) {
  auto writer = create(4);
  auto reader = open();
  const std::int32_t value = 17;
  const std::array<std::int64_t, 2> strides = {0, 0};
  const Array array{&value, strides.data()};
  ASSERT_TRUE(writer->put(std::span(&array, 1), 1).ok());
  Batch batch;
  ASSERT_TRUE(read(*reader, 1, 1, batch).ok());
  const auto* values = reinterpret_cast<const std::int32_t*>(batch.data);
  EXPECT_TRUE(std::all_of(values, values + rows * columns, [](std::int32_t each) { return each == 17; }));
}

TEST_F(Strided, MistakesOfOutAreNamedAndNothingIsDelivered) {
  auto writer = create(4);
  auto reader = open();
  put(*writer, 1);
  std::vector<std::int32_t> memory(rows * columns);
  const auto expect = [&](const std::string& words, std::span<const Out> outs) {
    Batch batch;
    const Status status = reader->read(1, 1, soon(), outs, batch);
    EXPECT_EQ(status.code(), Code::argument);
    EXPECT_NE(status.text().find(words), std::string::npos) << status.text();
  };
  const std::array<Out, 2> two = {{{memory.data(), 4 * memory.size()}, {memory.data(), 4 * memory.size()}}};
  expect("2 arrays to read into are given, 1 field is read", two);
  const Out small{memory.data(), 4 * memory.size() - 1};
  expect("1 step of 308 bytes does not fit", std::span(&small, 1));
  const std::array<std::int64_t, 3> folded = {0, 44, 0};
  const Out fold{memory.data(), 0, folded.data()};
  expect("out has a stride of 0 in dimension 1", std::span(&fold, 1));
  const std::array<std::int64_t, 3> far = {0, INT64_MIN, 4};
  const Out away{memory.data(), 0, far.data()};
  expect("out: a stride of", std::span(&away, 1));
  Batch batch;
  ASSERT_TRUE(reader->read(1, 1, soon(), std::span(two).first(1), batch).ok());
  EXPECT_EQ(batch.steps[0], 1);
}

// ---- times ----

class Times : public Series {};

TEST_F(Times, BelongToTheStepThatIsPublishedNext) {
  auto writer = create(4);
  auto reader = open();
  ASSERT_TRUE(writer->set_time(0.5).ok());
  put(*writer, 1);
  put(*writer, 2);
  ASSERT_TRUE(writer->set_time(0.5).ok());  // not before the last one
  ASSERT_TRUE(writer->claim(3).ok());
  ASSERT_TRUE(writer->set_time(0.75).ok());
  ASSERT_TRUE(writer->publish().ok());
  Batch batch;
  ASSERT_TRUE(read(*reader, 3, 3, batch).ok());
  EXPECT_EQ(batch.times[0], 0.5);
  EXPECT_TRUE(std::isnan(batch.times[1]));
  EXPECT_EQ(batch.times[2], 0.75);
}

TEST_F(Times, ThatMakeNoSenseAreRefused) {
  auto writer = create(4);
  EXPECT_EQ(writer->set_time(std::numeric_limits<double>::quiet_NaN()).code(), Code::argument);
  EXPECT_EQ(writer->set_time(std::numeric_limits<double>::infinity()).code(), Code::argument);
  ASSERT_TRUE(writer->set_time(4).ok());
  put(*writer, 1);
  const Status back = writer->set_time(3.5);
  EXPECT_EQ(back.code(), Code::step);
  EXPECT_NE(back.text().find("time 3.5 comes before 4"), std::string::npos) << back.text();
}

TEST_F(Times, OfOneStepMustAgreeOverTheWriterRanks) {
  testing::TeamRoom room(2);
  FakeEnvironment other(world, 5, "ocean");
  std::array<std::unique_ptr<Writer>, 2> writers;
  const auto creating = [&](int rank) {
    testing::ThreadTeam both(room, rank);
    const layout::Box box = box_of(rank * 3, rank == 0 ? 3 : rows, 0, columns);
    auto made = Writer::create(rank == 0 ? writer_environment : other, both,
                               {"eta", COUPLET_INT32, {rows, columns}, box}, {.slots = 4}, soon());
    ASSERT_TRUE(made.ok()) << made.status().text();
    writers[static_cast<std::size_t>(rank)] = std::move(made).value();
  };
  std::thread second(creating, 1);
  creating(0);
  second.join();
  auto reader = open();
  for (int rank = 0; rank < 2; ++rank) {
    ASSERT_TRUE(writers[static_cast<std::size_t>(rank)]->set_time(1.0 + rank).ok());
    put(*writers[static_cast<std::size_t>(rank)], 8);
  }
  Batch batch;
  const Status status = read(*reader, 1, 1, batch);
  EXPECT_EQ(status.code(), Code::mismatch);
  EXPECT_NE(status.text().find("step 8 has time 1 on writer rank 0, but time 2 on writer rank 1"), std::string::npos)
      << status.text();
}

}  // namespace
}  // namespace couplet::series
