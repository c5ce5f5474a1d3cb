#include "conformance/series_suite.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <random>
#include <set>
#include <thread>

#include "base/types.hpp"

namespace couplet::conformance {

using layout::Box;
using series::Mode;
using series::Reader;
using series::Writer;
using testing::SeriesWorld;
using testing::SoloTeam;
using testing::TeamRoom;
using testing::ThreadTeam;

namespace {

constexpr double patience_s = 100;
constexpr channel::PeerId first_reader_peer = 1000;
// Of a writer that never waits. tools/stress sets COUPLET_STRESS.
std::int64_t many_steps() {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  return 10'000;
#else
  return std::getenv("COUPLET_STRESS") != nullptr ? 200'000 : 40'000;
#endif
}

std::int64_t step_of(std::int64_t number) {
  return 3 + 5 * number;
}

double time_of(std::int64_t step) {
  return 0.25 * static_cast<double>(step);
}

// Returns byte `at` of element `flat` of a field in a step.
std::byte byte_of(std::int64_t step, std::size_t field, std::uint64_t flat, std::size_t at) {
  const std::uint64_t mixed = (static_cast<std::uint64_t>(step) * 0x9E3779B97F4A7C15U) ^
                              ((flat + (std::uint64_t{field} << 40)) * 0xC2B2AE3D27D4EB4FU);
  return static_cast<std::byte>(mixed >> (8 * (at % 8)));
}

template <typename Visit>
void for_each_element(const Box& box, const std::vector<std::int64_t>& shape, Visit&& visit) {  // visit(index, flat)
  std::array<std::int64_t, layout::max_dimensions> index = box.start;
  const std::uint64_t count = box.elements();
  for (std::uint64_t number = 0; number < count; ++number) {
    std::uint64_t flat = 0;
    for (std::size_t dimension = 0; dimension < shape.size(); ++dimension) {
      flat = flat * static_cast<std::uint64_t>(shape[dimension]) + static_cast<std::uint64_t>(index[dimension]);
    }
    visit(index, flat);
    for (std::size_t dimension = shape.size(); dimension-- > 0;) {
      if (++index[dimension] < box.stop[dimension]) {
        break;
      }
      index[dimension] = box.start[dimension];
    }
  }
}

// The elements of a box of a field in memory with any strides, and with other elements around them.
class LooseArray {
 public:
  // gaps: there are ghost cells around the box in each dimension; dimensions are in any order, some of them backwards.
  LooseArray(const Box& box, const CoupledField& field, std::size_t number, std::uint64_t steps, std::mt19937* gaps)
      : box_(box), field_(&field), number_(number), element_bytes_(find_type(field.type)->element_bytes) {
    const auto dimensions = static_cast<std::size_t>(box.dimensions);
    std::vector<std::size_t> order(dimensions);  // slowest first
    std::iota(order.begin(), order.end(), 0);
    if (gaps != nullptr) {
      std::shuffle(order.begin(), order.end(), *gaps);
    }
    strides_.assign(dimensions + 1, 0);
    auto stride = static_cast<std::int64_t>(element_bytes_);
    std::int64_t offset = 0;
    for (std::size_t at = dimensions; at-- > 0;) {
      const std::size_t dimension = order[at];
      const std::int64_t ghosts = gaps != nullptr ? static_cast<std::int64_t>((*gaps)() % 3) : 0;
      const bool backwards = gaps != nullptr && (*gaps)() % 4 == 0;
      const std::int64_t extent = box.extent(static_cast<int>(dimension));
      strides_[dimension + 1] = backwards ? -stride : stride;
      offset += stride * (ghosts + (backwards ? std::max<std::int64_t>(extent - 1, 0) : 0));
      stride *= extent + 2 * ghosts;
    }
    strides_[0] = stride + (gaps != nullptr ? 24 : 0);
    memory_.assign(steps * static_cast<std::uint64_t>(strides_[0]), untouched);
    first_ = static_cast<std::size_t>(offset);
  }
  [[nodiscard]] std::byte* data() { return memory_.data() + first_; }
  [[nodiscard]] const std::int64_t* strides() const { return strides_.data(); }  // the stride of the steps comes first
  [[nodiscard]] std::uint64_t bytes() const { return memory_.size(); }

  void fill(std::int64_t step) {
    visit(0, step, [](std::byte& byte, std::byte value) { byte = value; });
  }
  [[nodiscard]] bool is_whole(std::uint64_t at, std::int64_t step) {
    bool whole = true;
    visit(at, step, [&](std::byte& byte, std::byte value) { whole = whole && byte == value; });
    return whole;
  }
  // Returns true if the memory around the elements of the first `steps` steps is unchanged.
  [[nodiscard]] bool untouched_around(std::uint64_t steps) {
    auto copy = memory_;
    for (std::uint64_t at = 0; at < steps; ++at) {
      visit(at, 0, [](std::byte& byte, std::byte) { byte = untouched; });
    }
    const bool good = std::all_of(memory_.begin(), memory_.end(), [](std::byte byte) { return byte == untouched; });
    memory_ = std::move(copy);
    return good;
  }

 private:
  static constexpr std::byte untouched{0xA5};
  template <typename Use>
  void visit(std::uint64_t at, std::int64_t step, Use&& use) {
    std::byte* const start = data() + static_cast<std::int64_t>(at) * strides_[0];
    for_each_element(box_, field_->shape, [&](const auto& index, std::uint64_t flat) {
      std::byte* element = start;
      for (std::size_t dimension = 0; dimension + 1 < strides_.size(); ++dimension) {
        element += (index[dimension] - box_.start[dimension]) * strides_[dimension + 1];
      }
      for (std::size_t byte = 0; byte < element_bytes_; ++byte) {
        use(element[byte], byte_of(step, number_, flat, byte));
      }
    });
  }
  Box box_;
  const CoupledField* field_;
  std::size_t number_;
  std::size_t element_bytes_;
  std::vector<std::int64_t> strides_;
  std::vector<std::byte> memory_;
  std::size_t first_ = 0;
};

void fill(std::byte* data, const Box& box, const CoupledField& field, std::size_t number, std::int64_t step) {
  const std::size_t element_bytes = find_type(field.type)->element_bytes;
  for_each_element(box, field.shape, [&](const auto&, std::uint64_t flat) {
    for (std::size_t at = 0; at < element_bytes; ++at) {
      *data++ = byte_of(step, number, flat, at);
    }
  });
}

bool is_whole(const std::byte* data, const Box& box, const CoupledField& field, std::size_t number, std::int64_t step) {
  const std::size_t element_bytes = find_type(field.type)->element_bytes;
  bool whole = true;
  for_each_element(box, field.shape, [&](const auto&, std::uint64_t flat) {
    for (std::size_t at = 0; at < element_bytes; ++at) {
      whole = *data++ == byte_of(step, number, flat, at) && whole;
    }
  });
  return whole;
}

void random_delay(std::mt19937& random) {
  const auto kind = static_cast<unsigned>(random() % 16);
  const auto turns = static_cast<unsigned>(random() % 3000);
  for (unsigned turn = 0; kind < 4 && turn < turns; ++turn) {
    os::pause();
  }
  if (kind == 4) {
    std::this_thread::yield();
  } else if (kind == 5) {
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
  }
}

void write_in_place(Writer& writer, const std::vector<CoupledField>& fields, std::int64_t step) {
  auto slot = writer.claim(step);
  ASSERT_TRUE(slot.ok()) << slot.status().text();
  for (const auto& piece : writer.pieces()) {
    fill(*slot + piece.offset_bytes, piece.box, fields[piece.field], piece.field, step);
  }
  ASSERT_TRUE(writer.publish().ok());
}

void write_all(const Coupling& coupling, Writer& writer, std::size_t rank, std::int64_t steps) {
  std::mt19937 random(coupling.seed * 1000 + static_cast<unsigned>(rank));
  const auto fields = coupling.all_fields();
  std::vector<LooseArray> loose;
  std::vector<series::Array> arrays;
  for (const auto& piece : writer.pieces()) {
    loose.emplace_back(piece.box, fields[piece.field], piece.field, 1, coupling.gaps ? &random : nullptr);
    arrays.push_back({loose.back().data(), coupling.gaps ? loose.back().strides() + 1 : nullptr});
  }
  for (std::int64_t number = 0; number < steps; ++number) {
    if (number >= coupling.steps) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));  // the others close meanwhile
    }
    const std::int64_t step = step_of(number);
    if (coupling.times) {
      ASSERT_TRUE(writer.set_time(time_of(step)).ok());
    }
    if (number % 3 == 2) {
      write_in_place(writer, fields, step);
    } else {
      for (auto& each : loose) {
        each.fill(step);
      }
      const Status status =
          arrays.size() == 1 && !coupling.gaps ? writer.put(arrays[0].data, step) : writer.put(arrays, step);
      ASSERT_TRUE(status.ok()) << status.text();
    }
    if (coupling.delays) {
      random_delay(random);
    }
  }
  ASSERT_TRUE(writer.close(os::deadline_after(patience_s)).ok());
}

void check_equation(Reader& reader, Report& report) {
  report.statistics = reader.count();
  const auto& s = report.statistics;
  report.unequal += s.published - s.first == s.delivered + s.lost + s.skipped + s.pending ? 0U : 1U;
}

// Checks step number `at` of the batch, in the reader's memory or in the arrays.
bool is_sound(const Coupling& coupling, const std::vector<CoupledField>& fields, const series::Batch& batch,
              std::uint64_t at, std::size_t rank, std::vector<LooseArray>& arrays) {
  const std::int64_t step = batch.steps[at];
  bool sound = step == step_of(static_cast<std::int64_t>(batch.ordinals[at])) &&
               (coupling.times ? batch.times[at] == time_of(step) : std::isnan(batch.times[at]));
  for (std::size_t index = 0; index < fields.size(); ++index) {
    const auto& data = batch.fields[index];
    sound = sound && (arrays.empty() ? is_whole(data.data + at * data.step_bytes, fields[index].readers[rank],
                                                fields[index], index, step)
                                     : arrays[index].is_whole(at, step));
  }
  return sound;
}

void read_all(const Coupling& coupling, Reader& reader, std::size_t rank, Report& report) {
  std::mt19937 random(coupling.seed * 1000 + 500 + static_cast<unsigned>(rank));
  const auto fields = coupling.all_fields();
  std::vector<LooseArray> arrays;
  std::vector<series::Out> outs;
  for (std::size_t index = 0; coupling.gaps && index < fields.size(); ++index) {
    arrays.emplace_back(fields[index].readers[rank], fields[index], index, coupling.up_to, &random);
    outs.push_back({arrays.back().data(), arrays.back().bytes(), arrays.back().strides()});
  }
  series::Batch batch;
  for (;;) {
    report.last = reader.read(coupling.at_least, coupling.up_to, os::deadline_after(patience_s), outs, batch);
    if (report.last.code() == Code::mismatch && report.mismatches.size() < 10) {
      report.mismatches.push_back(report.last.text());
      continue;
    }
    if (!report.last.ok()) {
      break;
    }
    for (std::uint64_t number = 0; number < batch.count; ++number) {
      report.steps.push_back(batch.steps[number]);
      report.wrong += is_sound(coupling, fields, batch, number, rank, arrays) ? 0U : 1U;
    }
    check_equation(reader, report);
    if (coupling.delays) {
      random_delay(random);
    }
  }
  for (auto& array : arrays) {
    report.wrong += array.untouched_around(coupling.up_to) ? 0U : 1U;
  }
  check_equation(reader, report);
}

}  // namespace

std::vector<CoupledField> Coupling::all_fields() const {
  if (!fields.empty()) {
    return fields;
  }
  CoupledField one{"", type, shape, {}, readers};
  for (const Box& box : writers) {
    one.writers.push_back({box});
  }
  return {one};
}

void SeriesConformance::SetUp() {
  const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  for (const auto& skipped : GetParam().skips) {
    if (name.starts_with(skipped + "/")) {
      GTEST_SKIP() << GetParam().name << " cannot do this";
    }
  }
}

std::vector<Report> SeriesConformance::run(const Coupling& coupling, std::int64_t surplus) {
  SeriesWorld world;
  if (GetParam().prepare) {
    GetParam().prepare(world);
  }
  const auto deadline = os::deadline_after(patience_s);
  const auto fields = coupling.all_fields();
  TeamRoom writers(static_cast<int>(fields.front().writers.size()));
  TeamRoom readers(static_cast<int>(fields.front().readers.size()));
  std::vector<Report> reports(fields.front().readers.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < fields.front().writers.size(); ++rank) {
    threads.emplace_back([&, rank] {
      testing::FakeEnvironment environment(world, static_cast<channel::PeerId>(rank), "ocean");
      ThreadTeam team(writers, static_cast<int>(rank));
      series::WriterOptions options;
      options.slots = coupling.slots;
      options.required_readers.emplace();
      if (coupling.required) {
        options.required_readers->push_back("nowcast");
      }
      series::WriterSpecification specification;
      specification.name = "eta";
      for (const auto& field : fields) {
        specification.fields.push_back({field.name, field.type, field.shape, field.writers[rank]});
      }
      auto writer = Writer::create(environment, team, specification, options, deadline);
      ASSERT_TRUE(writer.ok()) << writer.status().text();
      const bool is_last = rank + 1 == fields.front().writers.size();
      write_all(coupling, **writer, rank, coupling.steps + (is_last ? surplus : 0));
    });
  }
  for (std::size_t rank = 0; rank < reports.size(); ++rank) {
    threads.emplace_back([&, rank] {
      const auto environment =
          GetParam().reader(world, static_cast<channel::PeerId>(first_reader_peer + rank), "nowcast");
      ThreadTeam together(readers, static_cast<int>(rank));
      SoloTeam alone;
      message::Team& team = coupling.collective ? static_cast<message::Team&>(together) : alone;
      series::ReaderOptions options;
      for (const auto& field : fields) {
        options.fields.push_back({field.name, field.readers[rank], field.type});
      }
      options.mode = coupling.mode;
      options.openers = static_cast<std::int32_t>(reports.size());
      options.streaming_bytes = coupling.seed % 2 == 0 ? 0 : layout::default_streaming_bytes;  // both ways to store
      auto reader = Reader::open(*environment, team, "eta", options, deadline);
      ASSERT_TRUE(reader.ok()) << reader.status().text();
      read_all(coupling, **reader, rank, reports[rank]);
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  return reports;
}

void SeriesConformance::expect_sound(const std::vector<Report>& reports) {
  for (std::size_t rank = 0; rank < reports.size(); ++rank) {
    const Report& report = reports[rank];
    EXPECT_EQ(report.last.code(), Code::end) << "reader rank " << rank << ": " << report.last.text();
    EXPECT_EQ(report.wrong, 0U) << "reader rank " << rank;
    EXPECT_EQ(report.unequal, 0U) << "reader rank " << rank;
    EXPECT_EQ(report.statistics.pending, 0U) << "reader rank " << rank;
    EXPECT_EQ(report.statistics.delivered, report.steps.size()) << "reader rank " << rank;
    EXPECT_TRUE(std::is_sorted(report.steps.begin(), report.steps.end()));
    EXPECT_EQ(std::set<std::int64_t>(report.steps.begin(), report.steps.end()).size(), report.steps.size());
  }
}

std::vector<Box> grid(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& counts) {
  std::vector<Box> boxes = {layout::whole(shape)};
  for (std::size_t dimension = 0; dimension < shape.size(); ++dimension) {
    std::vector<Box> cut;
    for (const Box& box : boxes) {
      for (std::int64_t index = 0; index < counts[dimension]; ++index) {
        Box part = box;
        part.start[dimension] = index == 0 ? 0 : shape[dimension] * index / counts[dimension] + 1;
        part.stop[dimension] =
            index + 1 == counts[dimension] ? shape[dimension] : shape[dimension] * (index + 1) / counts[dimension] + 1;
        cut.push_back(part);
      }
    }
    boxes = cut;
  }
  return boxes;
}

namespace {

TEST_P(SeriesConformance, ThreeByThreeWritersToTwoByTwoReaders) {
  Coupling coupling;
  coupling.shape = {31, 47};
  coupling.writers = grid(coupling.shape, {3, 3});
  coupling.readers = grid(coupling.shape, {2, 2});
  coupling.type = COUPLET_DOUBLE;
  for (const bool collective : {true, false}) {
    coupling.collective = collective;
    const auto reports = run(coupling);
    expect_sound(reports);
    for (const Report& report : reports) {
      EXPECT_EQ(report.steps.size(), static_cast<std::size_t>(coupling.steps));
      EXPECT_EQ(report.statistics.lost, 0U);
    }
  }
}

TEST_P(SeriesConformance, MoreReadersThanWritersAndTheOtherWayRound) {
  Coupling coupling;
  coupling.shape = {40, 9};
  coupling.writers = grid(coupling.shape, {1, 1});
  coupling.readers = grid(coupling.shape, {5, 1});
  expect_sound(run(coupling));
  std::swap(coupling.writers, coupling.readers);
  const auto reports = run(coupling);
  expect_sound(reports);
  EXPECT_EQ(reports[0].steps.size(), static_cast<std::size_t>(coupling.steps));
}

TEST_P(SeriesConformance, EmptyBoxesTakePart) {
  Coupling coupling;
  coupling.shape = {8, 6};
  coupling.writers = grid(coupling.shape, {2, 1});
  coupling.writers.push_back({2, {8, 0}, {8, 6}});
  coupling.readers = grid(coupling.shape, {1, 2});
  coupling.readers.push_back({2, {0, 3}, {8, 3}});
  const auto reports = run(coupling);
  expect_sound(reports);
  for (const Report& report : reports) {
    EXPECT_EQ(report.steps, reports[0].steps);
  }
}

TEST_P(SeriesConformance, TwoHundredRandomDecompositions) {
  constexpr std::array<couplet_type, 7> types = {COUPLET_BYTE,  COUPLET_INT16,  COUPLET_INT32,         COUPLET_INT64,
                                                 COUPLET_FLOAT, COUPLET_DOUBLE, COUPLET_COMPLEX_DOUBLE};
  constexpr std::array<std::int64_t, 4> longest = {400, 40, 14, 8};
  for (unsigned seed = 0; seed < 200 && !HasFailure(); ++seed) {
    std::mt19937 random(seed);
    const auto pick = [&](std::int64_t low, std::int64_t high) {
      return std::uniform_int_distribution<std::int64_t>(low, high)(random);
    };
    Coupling coupling;
    coupling.seed = seed;
    coupling.type = types[seed % types.size()];
    const std::size_t dimensions = 1 + seed % 4;
    std::vector<std::int64_t> counts(dimensions, 1);
    for (std::size_t dimension = 0; dimension < dimensions; ++dimension) {
      coupling.shape.push_back(pick(5, longest[dimensions - 1]));
    }
    counts[static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(dimensions) - 1))] = pick(1, 3);
    counts[0] = std::max(counts[0], pick(1, 2));
    coupling.writers = grid(coupling.shape, counts);
    for (std::int64_t reader = pick(1, 3); reader > 0; --reader) {
      Box box = layout::whole(coupling.shape);
      for (std::size_t dimension = 0; dimension < dimensions; ++dimension) {
        box.start[dimension] = pick(0, coupling.shape[dimension] - 1);
        box.stop[dimension] = pick(box.start[dimension] + 1, coupling.shape[dimension]);
      }
      coupling.readers.push_back(box);
    }
    coupling.collective = pick(0, 1) == 1;
    coupling.steps = 6;
    coupling.slots = static_cast<std::uint64_t>(pick(2, 5));
    coupling.up_to = static_cast<std::uint64_t>(pick(1, 5));
    const auto reports = run(coupling);
    expect_sound(reports);
    for (const Report& report : reports) {
      EXPECT_EQ(report.steps.size(), 6U) << "seed " << seed;
    }
  }
}

// Divides [0, shape) into `count` boxes of any sizes.
std::vector<Box> shattered(std::mt19937& random, const std::vector<std::int64_t>& shape, std::size_t count) {
  std::vector<Box> boxes = {layout::whole(shape)};
  while (boxes.size() < count) {
    Box& box = boxes[random() % boxes.size()];
    const std::size_t dimension = random() % shape.size();
    if (box.stop[dimension] - box.start[dimension] < 2) {
      continue;
    }
    const std::int64_t cut =
        std::uniform_int_distribution<std::int64_t>(box.start[dimension] + 1, box.stop[dimension] - 1)(random);
    Box rest = box;
    box.stop[dimension] = cut;
    rest.start[dimension] = cut;
    boxes.push_back(rest);
  }
  return boxes;
}

TEST_P(SeriesConformance, TwoHundredRandomDecompositionsOfSeveralFieldsIntoSeveralBoxes) {
  constexpr std::array<couplet_type, 7> types = {COUPLET_DOUBLE, COUPLET_BYTE,  COUPLET_FLOAT,         COUPLET_INT16,
                                                 COUPLET_INT64,  COUPLET_INT32, COUPLET_COMPLEX_DOUBLE};
  constexpr std::array<std::int64_t, 4> longest = {300, 30, 12, 7};
  for (unsigned seed = 0; seed < 200 && !HasFailure(); ++seed) {
    std::mt19937 random(seed + 77);
    const auto pick = [&](std::int64_t low, std::int64_t high) {
      return std::uniform_int_distribution<std::int64_t>(low, high)(random);
    };
    Coupling coupling;
    coupling.seed = seed;
    const auto writers = static_cast<std::size_t>(pick(1, 3));
    const auto readers = static_cast<std::size_t>(pick(1, 3));
    for (std::int64_t count = pick(1, 4); count > 0; --count) {
      CoupledField field;
      field.name = fmt::format("field {}", count);
      field.type = types[(seed + static_cast<std::size_t>(count)) % types.size()];
      const auto dimensions = static_cast<std::size_t>(pick(1, 4));
      for (std::size_t dimension = 0; dimension < dimensions; ++dimension) {
        field.shape.push_back(pick(6, longest[dimensions - 1]));
      }
      field.writers.resize(writers);
      for (const Box& box : shattered(random, field.shape, static_cast<std::size_t>(pick(1, 6)))) {
        field.writers[random() % writers].push_back(box);
      }
      for (std::size_t reader = 0; reader < readers; ++reader) {
        Box box = layout::whole(field.shape);
        for (std::size_t dimension = 0; dimension < dimensions; ++dimension) {
          box.start[dimension] = pick(0, field.shape[dimension] - 1);
          box.stop[dimension] = pick(box.start[dimension], field.shape[dimension]);  // may be empty
        }
        field.readers.push_back(box);
      }
      coupling.fields.push_back(field);
    }
    coupling.collective = pick(0, 1) == 1;
    coupling.gaps = pick(0, 1) == 1;
    coupling.times = pick(0, 1) == 1;
    coupling.steps = 6;
    coupling.slots = static_cast<std::uint64_t>(pick(2, 5));
    coupling.up_to = static_cast<std::uint64_t>(pick(1, 5));
    const auto reports = run(coupling);
    expect_sound(reports);
    for (const Report& report : reports) {
      EXPECT_EQ(report.steps.size(), 6U) << "seed " << seed;
    }
  }
}

TEST_P(SeriesConformance, FollowersOfOneTeamSeeTheSameSteps) {
  Coupling coupling;
  coupling.shape = {30, 20};
  coupling.writers = grid(coupling.shape, {2, 1});
  coupling.readers = grid(coupling.shape, {1, 3});
  coupling.steps = 2000;
  coupling.mode = Mode::follow;
  coupling.up_to = 4;
  coupling.delays = true;
  coupling.seed = 1;
  const auto reports = run(coupling);
  expect_sound(reports);
  for (const Report& report : reports) {
    EXPECT_EQ(report.steps, reports[0].steps);
    EXPECT_GT(report.steps.size(), 0U);
  }
}

TEST_P(SeriesConformance, FourFollowersOfAWriterThatNeverWaits) {
  Coupling coupling;
  coupling.shape = {32, 24};
  coupling.writers = grid(coupling.shape, {1, 1});
  coupling.readers = {layout::whole(coupling.shape), grid(coupling.shape, {2, 2})[1], layout::whole(coupling.shape),
                      grid(coupling.shape, {3, 2})[4]};
  coupling.steps = many_steps();
  coupling.mode = Mode::follow;
  coupling.collective = false;
  coupling.up_to = 4;
  coupling.delays = true;
  const auto reports = run(coupling);
  expect_sound(reports);
  std::uint64_t lost = 0;
  for (const Report& report : reports) {
    lost += report.statistics.lost;
    RecordProperty("delivered", static_cast<int>(report.statistics.delivered));
    RecordProperty("lost_torn", static_cast<int>(report.statistics.lost_torn));
  }
  EXPECT_GT(lost, 0U);  // otherwise this tests nothing
}

TEST_P(SeriesConformance, FourHoldersWithRandomDelaysLoseNothing) {
  Coupling coupling;
  coupling.shape = {16, 12};
  coupling.writers = grid(coupling.shape, {1, 1});
  coupling.readers.assign(4, layout::whole(coupling.shape));
  coupling.steps = 5000;
  coupling.collective = false;
  coupling.delays = true;
  coupling.up_to = 8;
  const auto reports = run(coupling);
  expect_sound(reports);
  for (const Report& report : reports) {
    EXPECT_EQ(report.statistics.lost, 0U);
    EXPECT_EQ(report.steps.size(), 5000U);
  }
}

}  // namespace
}  // namespace couplet::conformance
