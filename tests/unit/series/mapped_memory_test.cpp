// What a reader maps: the slots of the writers whose elements it reads, with page tables for these elements only. Issue
// 9, fault 14: page tables cost 290 ms/GiB, also if a reader was only to be counted.
#include <fstream>
#include <sstream>
#include <thread>

#include "unit/series/fixture.hpp"

namespace couplet::series {
namespace {

using namespace testing_fixture;

// Returns how many bytes of each mapping of that file are in this process's page tables.
std::vector<std::uint64_t> resident_bytes_of(const std::string& file) {
  std::vector<std::uint64_t> found;
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.find('/') != std::string::npos) {
      inside = line.find("/" + file) != std::string::npos;
    }
    std::istringstream words(line);
    std::string key;
    std::uint64_t kib = 0;
    if (inside && words >> key >> kib && key == "Rss:") {
      found.push_back(kib << 10U);
      inside = false;
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

class MappedMemory : public Series {
 protected:
  static constexpr std::int64_t tall = 1024;
  static constexpr std::int64_t wide = 1024;
  static constexpr std::uint64_t slots = 8;
  static constexpr std::uint64_t slot_bytes = tall * wide / 2 * sizeof(std::int32_t);  // a half of the rows

  // Two writer ranks on this node. Each has half of the rows.
  void create_two() {
    testing::TeamRoom room(2);
    const auto creating = [&](int rank) {
      testing::ThreadTeam both(room, rank);
      const auto half = box_of(rank * tall / 2, (rank + 1) * tall / 2, 0, wide);
      auto made = Writer::create(rank == 0 ? writer_environment : other_, both,
                                 {"eta", COUPLET_INT32, {tall, wide}, half}, {.slots = slots}, soon());
      ASSERT_TRUE(made.ok()) << made.status().text();
      writers_[static_cast<std::size_t>(rank)] = std::move(made).value();
    };
    std::thread second(creating, 1);
    creating(0);
    second.join();
  }
  [[nodiscard]] std::vector<std::uint64_t> resident_of(int rank) const {
    const std::string part = fmt::format("{:08x}-", rank == 0 ? writer_environment.self() : other_.self());
    for (const std::string& file : world.series_files()) {
      if (file.find(part) != std::string::npos) {
        return resident_bytes_of(file);
      }
    }
    ADD_FAILURE() << "no file of writer " << rank;
    return {};
  }

  FakeEnvironment other_{world, 7, "ocean"};
  std::array<std::unique_ptr<Writer>, 2> writers_;
};

TEST_F(MappedMemory, OnlyWhatIsReadHasPageTables) {
  create_two();
  const auto before = resident_of(0);
  ASSERT_EQ(before.size(), 1U);  // the writer's
  ASSERT_GE(before[0], slots * slot_bytes);
  ReaderOptions options;
  options.box = box_of(10, 11, 0, wide);
  const auto reader = open(options);
  ASSERT_NE(reader, nullptr);
  const auto after = resident_of(0);
  ASSERT_EQ(after.size(), 2U);
  EXPECT_GE(after[0], slots * wide * sizeof(std::int32_t));  // the first reads find their page tables
  EXPECT_LE(after[0], slots * slot_bytes / 4);
}

TEST_F(MappedMemory, AWriterThatIsNotReadIsNotMapped) {
  create_two();
  ReaderOptions options;
  options.box = box_of(0, tall / 2, 0, wide);
  const auto reader = open(options);
  ASSERT_NE(reader, nullptr);
  EXPECT_EQ(resident_of(0).size(), 2U);
  EXPECT_EQ(resident_of(1).size(), 1U);
}

}  // namespace
}  // namespace couplet::series
