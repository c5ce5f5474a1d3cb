// A decomposition of 4,096 boxes on each of 100 writer ranks.
#include "unit/series/fixture.hpp"

namespace couplet::series {
namespace {

using namespace testing_fixture;

constexpr std::int64_t writer_count = 100;
constexpr std::int64_t boxes_of_each = 4096;
constexpr std::int64_t all_columns = writer_count * boxes_of_each;

std::vector<layout::Box> columns_of(std::int64_t writer) {
  std::vector<layout::Box> boxes;
  for (std::int64_t number = 0; number < boxes_of_each; ++number) {  // the ranks take turns
    const std::int64_t column = number * writer_count + writer;
    boxes.push_back(box_of(0, 2, column, column + 1));
  }
  return boxes;
}

class ManyWriters final : public universe::SeriesRegistry {
 public:
  ManyWriters() {
    record_.name = "eta";
    record_.program = "ocean";
    record_.fields.push_back({"", COUPLET_INT32, {2, all_columns}});
    record_.slots = 2;
    for (std::int64_t writer = 0; writer < writer_count; ++writer) {
      auto& part = record_.parts.emplace_back();
      part.writer = static_cast<channel::PeerId>(writer);
      part.node = 1;
      part.boxes.push_back(columns_of(writer));
      part.file = fmt::format("series-{}", writer);
    }
  }
  Result<universe::SeriesRecord> announce(const universe::SeriesRecord&, std::uint64_t) override {
    return Code::unsupported;
  }
  Result<universe::SeriesRecord> find(const std::string&, std::int64_t, std::uint64_t) override { return record_; }
  Status writer_closed(const std::string&, std::uint64_t) override { return {}; }
  Status reader_opened(const std::string&, std::uint64_t, std::int32_t, std::uint64_t) override { return {}; }
  Status withdraw(const std::string&, std::uint64_t, std::uint64_t) override { return {}; }
  Status reader_closed(const std::string&, std::uint64_t) override { return {}; }
  Result<channel::PeerId> relay_of(std::uint16_t, std::uint64_t) override { return Code::unsupported; }

 private:
  universe::SeriesRecord record_;
};

// Its parts are local slots that hold one step, as a relay would have filled them: each element is its column.
class Reading final : public FakeEnvironment {
 public:
  explicit Reading(const SeriesWorld& world) : FakeEnvironment(world, 500, "nowcast") {}
  [[nodiscard]] universe::SeriesRegistry& registry() noexcept override { return registry_; }
  Result<std::unique_ptr<Part>> open_part(const universe::SeriesRecord& record, std::size_t part, const PartWish& wish,
                                          std::uint64_t) override {
    std::vector<wire::SeriesField> all = {
        make_field("", COUPLET_INT32, record.fields[0].shape, record.parts[part].boxes[0])};
    wire::SeriesGeometry geometry;
    geometry.name = record.name;
    geometry.program = record.program;
    geometry.fields = cut_fields(all, wish.fields);
    geometry.slot_count = 2;
    geometry.reader_entries = 1;
    COUPLET_TRY_VALUE(auto file, SeriesFile::create(fmt::format("{}/slots-{}", node_directory(), part), geometry));
    begin_write(file->slot_header(0), 0);
    auto* value = reinterpret_cast<std::int32_t*>(file->slot(0));
    for (const auto& box : boxes_of(file->geometry().fields[0])) {
      *value++ = static_cast<std::int32_t>(box.start[1]);
      *value++ = -static_cast<std::int32_t>(box.start[1]);
    }
    end_write(file->slot_header(0), 0, 77);
    file->control().claimed.claimed.store(1);
    static_cast<void>(publish(file->control().published, 1));
    return make_mapped_part(*this, std::move(file), "relay");
  }

 private:
  ManyWriters registry_;
};

// With a quadratic step anywhere in open this takes minutes.
TEST_F(Series, FourHundredThousandBoxesAreOpenedAndRead) {
  Reading environment(world);
  ReaderOptions options;
  options.mode = Mode::follow;
  const std::uint64_t begun_ns = os::now_ns();
  auto reader = Reader::open(environment, team, "eta", options, soon());
  ASSERT_TRUE(reader.ok()) << reader.status().text();
  RecordProperty("open_ms", static_cast<int>((os::now_ns() - begun_ns) / 1'000'000));
  Batch batch;
  ASSERT_TRUE((*reader)->read(1, 1, soon(), nullptr, 0, batch).ok());
  EXPECT_EQ(batch.steps[0], 77);
  const auto* value = reinterpret_cast<const std::int32_t*>(batch.data);
  for (std::int64_t column = 0; column < all_columns; ++column) {
    ASSERT_EQ(value[column], column);
    ASSERT_EQ(value[all_columns + column], -column);
  }
}

}  // namespace
}  // namespace couplet::series
