// Series of very many boxes: 4,096 boxes on each of 100 writer ranks, and 30 fields on each of 10,000. One writer rank
// and one reader rank are real, and the others are simulated. Nothing may grow with the square of their number. `open`
// in the properties of a test is the time of the two real ranks (bench/run scale prints it).
#include "series/writer_proposal.hpp"
#include "unit/series/fixture.hpp"
#include "universe/series_record.hpp"

namespace couplet::series {
namespace {

using namespace testing_fixture;

struct Shape {
  std::int64_t writers = 0;
  std::int64_t boxes = 0;  // in each field of a writer
  std::size_t fields = 0;
  [[nodiscard]] std::int64_t columns() const { return writers * boxes; }
};

std::vector<layout::Box> columns_of(const Shape& shape, std::int64_t writer) {
  std::vector<layout::Box> boxes;
  for (std::int64_t number = 0; number < shape.boxes; ++number) {  // the ranks take turns
    const std::int64_t column = number * shape.writers + writer;
    boxes.push_back(box_of(0, 2, column, column + 1));
  }
  return boxes;
}

WriterSpecification specification_of(const Shape& shape, std::int64_t writer) {
  WriterSpecification specification;
  specification.name = "eta";
  for (std::size_t field = 0; field < shape.fields; ++field) {
    const std::string name = shape.fields == 1 ? "" : fmt::format("field {}", field);
    specification.fields.push_back({name, COUPLET_INT32, {2, shape.columns()}, columns_of(shape, writer)});
  }
  return specification;
}

// The register keeps what was announced as the bytes that go to the hub and back.
class BytesRegistry final : public universe::SeriesRegistry {
 public:
  Result<universe::SeriesRecord> announce(const universe::SeriesRecord& record, std::uint64_t) override {
    bytes = universe::encode_record(record);
    return record;
  }
  Result<universe::SeriesRecord> find(const std::string&, std::int64_t, std::uint64_t) override {
    return universe::decode_record(bytes);
  }
  Status writer_closed(const std::string&, std::uint64_t) override { return {}; }
  Status reader_opened(const std::string&, std::uint64_t, const universe::OpenerRanks&, std::uint64_t) override {
    return {};
  }
  void withdraw(const std::string&, std::uint64_t, std::uint64_t) override {}
  Status reader_closed(const std::string&, std::uint64_t) override { return {}; }
  Result<channel::PeerId> relay_of(std::uint16_t, std::uint64_t) override { return Code::unsupported; }

  std::string bytes;
};

class Process final : public FakeEnvironment {
 public:
  Process(const SeriesWorld& world, channel::PeerId self, const char* program, BytesRegistry& registry)
      : FakeEnvironment(world, self, program), registry_(registry) {}
  [[nodiscard]] universe::SeriesRegistry& registry() noexcept override { return registry_; }
  // Returns local slots that hold one step, as a relay would have filled them: each element of field f is its column
  // plus f, and negative in the second row.
  Result<std::unique_ptr<Part>> open_part(const universe::SeriesRecord& record, std::size_t part,
                                          const PartSelection& selection, std::uint64_t) override {
    std::vector<wire::SeriesField> all;
    for (std::size_t index = 0; index < record.fields.size(); ++index) {
      const auto& field = record.fields[index];
      all.push_back(make_field(field.name, field.type, field.shape, record.parts[part].boxes[index]));
    }
    wire::SeriesGeometry geometry;
    geometry.name = record.name;
    geometry.program = record.program;
    geometry.fields = cut_fields(all, selection.fields);
    geometry.slot_count = 2;
    geometry.reader_entries = 1;
    COUPLET_TRY_VALUE(auto file, SeriesFile::create(fmt::format("{}/slots-{}", node_directory(), part), geometry));
    begin_write(file->slot_header(0), 0);
    for (std::size_t index = 0; index < file->geometry().fields.size(); ++index) {
      const auto& field = file->geometry().fields[index];
      auto* value = reinterpret_cast<std::int32_t*>(file->slot(0) + field.offset_bytes);
      for (const auto& box : boxes_of(field)) {
        const auto first = static_cast<std::int32_t>(box.start[1] + static_cast<std::int64_t>(index));
        *value++ = first;
        *value++ = -first;
      }
    }
    end_write(file->slot_header(0), 0, 77);
    file->control().claimed.claimed.store(1);
    static_cast<void>(publish(file->control().published, 1));
    return make_mapped_part(*this, std::move(file), "relay");
  }

 private:
  BytesRegistry& registry_;
};

// Rank 0 of a team whose other ranks propose the same series with their own columns.
class ManyRanks final : public message::Team {
 public:
  explicit ManyRanks(const Shape& shape) : shape_(shape) {}
  [[nodiscard]] int rank() const noexcept override { return 0; }
  [[nodiscard]] int size() const noexcept override { return static_cast<int>(shape_.writers); }
  Status minimum(std::span<std::int64_t>, std::uint64_t) override { return {}; }
  Result<std::vector<std::string>> gather(const std::string& bytes, std::uint64_t) override {
    std::vector<std::string> all(static_cast<std::size_t>(shape_.writers), bytes);
    if (given_ns > 0) {  // not the proposals
      return all;
    }
    COUPLET_TRY_VALUE(Proposal proposal, decode_proposal(bytes, 0));
    for (std::int64_t rank = 1; rank < shape_.writers; ++rank) {
      proposal.peer = static_cast<channel::PeerId>(rank);
      proposal.specification = specification_of(shape_, rank);
      all[static_cast<std::size_t>(rank)] = encode_proposal(proposal);
    }
    given_ns = os::now_ns();
    return all;
  }
  std::uint64_t given_ns = 0;  // when this rank got the proposals of all

 private:
  Shape shape_;
};

int ms_since(std::uint64_t begin_ns) {
  return static_cast<int>((os::now_ns() - begin_ns) / 1'000'000);
}

class ManyBoxes : public Series {
 protected:
  void announce(const Shape& shape) {
    ocean_.node_number = 1;
    ManyRanks ranks(shape);
    WriterOptions options;
    options.slots = 2;
    auto writer = Writer::create(ocean_, ranks, specification_of(shape, 0), options, soon());
    ASSERT_TRUE(writer.ok()) << writer.status().text();
    RecordProperty("create_ms", ms_since(ranks.given_ns));
    RecordProperty("announced_bytes", static_cast<int>(registry_.bytes.size()));
  }
  // Opens the columns below `end` of all fields, and reads the step.
  void open_and_read(const Shape& shape, std::int64_t end) {
    ReaderOptions options;
    options.mode = Mode::follow;
    options.box = box_of(0, 2, 0, end);
    const std::uint64_t begun_ns = os::now_ns();
    auto reader = Reader::open(nowcast_, team, "eta", options, soon());
    ASSERT_TRUE(reader.ok()) << reader.status().text();
    RecordProperty("open_ms", ms_since(begun_ns));
    Batch batch;
    ASSERT_TRUE((*reader)->read(1, 1, soon(), nullptr, 0, batch).ok());
    EXPECT_EQ(batch.steps[0], 77);
    ASSERT_EQ(batch.field_count, shape.fields);
    for (std::size_t field = 0; field < shape.fields; ++field) {
      const auto* value = reinterpret_cast<const std::int32_t*>(batch.fields[field].data);
      for (std::int64_t column = 0; column < end; ++column) {
        ASSERT_EQ(value[column], column + static_cast<std::int64_t>(field));
        ASSERT_EQ(value[end + column], -value[column]);
      }
    }
  }

  BytesRegistry registry_;
  Process ocean_{world, 600, "ocean", registry_};
  Process nowcast_{world, 500, "nowcast", registry_};
};

// If the cost of any step grew with the square of the number of boxes, this would take minutes. Fault: the ranks
// exchanged their boxes as JSON, which took longer than everything else.
TEST_F(ManyBoxes, OfAHundredRanksWithFourThousandBoxesEach) {
  constexpr Shape shape{.writers = 100, .boxes = 4096, .fields = 1};
  ASSERT_NO_FATAL_FAILURE(announce(shape));
  open_and_read(shape, shape.columns());
}

TEST_F(ManyBoxes, OfTenThousandRanksWithThirtyFieldsEach) {
  constexpr Shape shape{.writers = 10'000, .boxes = 1, .fields = 30};
  ASSERT_NO_FATAL_FAILURE(announce(shape));
  open_and_read(shape, 100);
}

}  // namespace
}  // namespace couplet::series
