#include <algorithm>
#include <filesystem>
#include <numeric>
#include <thread>

#include "world.hpp"

namespace couplet::task {
namespace {

constexpr std::int64_t rows = 7;
constexpr std::int64_t columns = 5;

layout::Box box_of(std::int64_t row, std::int64_t row_end, std::int64_t column, std::int64_t column_end) {
  layout::Box box;
  box.dimensions = 2;
  box.start = {row, column};
  box.stop = {row_end, column_end};
  return box;
}

// The owner fills in row-major numbers, the other process reads and writes parts, and the owner then sees what was
// written.
void exchange(Route route, bool own_memory, bool other_node) {
  std::atomic<int> stage{0};
  run_programs({{"owner", 1}, {"other", 1}}, [&](const std::string& program, Rank& rank) {
    Areas areas(rank.mailbox);
    if (program == "owner") {
      std::vector<double> memory(rows * columns);
      AreaSpecification wanted{"field", COUPLET_DOUBLE, {rows, columns}, own_memory ? memory.data() : nullptr, true};
      auto area = areas.create(wanted);
      ASSERT_TRUE(area) << area.status().text();
      EXPECT_EQ(areas.create(wanted).code(), Code::exists);
      auto* const data = reinterpret_cast<double*>((*area)->memory());
      ASSERT_TRUE((*area)->begin(soon()).ok());
      std::iota(data, data + rows * columns, 0.0);
      ASSERT_TRUE((*area)->end().ok());
      EXPECT_EQ((*area)->end().code(), Code::state);
      stage = 1;
      const auto written = [&] { return stage == 2; };
      while (!written()) {
        rank.party.engine->poll();  // serves, if that is needed
      }
      EXPECT_EQ(data[0], -1);
      EXPECT_EQ(data[2 * columns + 1], -21);
      EXPECT_EQ(data[3 * columns + 2], -32);
      EXPECT_EQ(data[3 * columns + 3], 18);
      stage = 3;
      return;
    }
    rank.environment.node_ = other_node ? 1 : 0;
    auto area = areas.open("field", 0, soon());
    ASSERT_TRUE(area) << area.status().text();
    EXPECT_STREQ(route_name((*area)->route()), route_name(route));
    EXPECT_EQ((*area)->specification().shape, (std::vector<std::int64_t>{rows, columns}));
    while (stage < 1) {
      std::this_thread::yield();
    }
    std::uint64_t stamp = 0;
    std::vector<double> some(6);
    ASSERT_TRUE((*area)->read({box_of(2, 4, 1, 4), 0, 0}, some.data(), soon(), &stamp).ok());
    EXPECT_EQ(some, (std::vector<double>{11, 12, 13, 16, 17, 18}));
    EXPECT_EQ(stamp, 1U);
    ASSERT_TRUE((*area)->read({std::nullopt, 30, 5}, some.data(), soon(), nullptr).ok());
    EXPECT_EQ(some[4], 34);
    const double values[] = {-21, -22, -31, -32};
    ASSERT_TRUE((*area)->write({box_of(2, 4, 1, 3), 0, 0}, values, soon(), &stamp).ok());
    const double first = -1;
    ASSERT_TRUE((*area)->write({std::nullopt, 0, 1}, &first, soon(), &stamp).ok());
    EXPECT_EQ(stamp, 3U);
    Status status = (*area)->read({std::nullopt, 34, 2}, some.data(), soon(), nullptr);
    EXPECT_EQ(status.code(), Code::shape);
    EXPECT_NE(status.text().find("2 elements from offset 34 are outside it, it has 35"), std::string::npos)
        << status.text();
    EXPECT_EQ((*area)->read({box_of(0, 8, 0, 1), 0, 0}, some.data(), soon(), nullptr).code(), Code::shape);
    EXPECT_EQ((*area)->read({std::nullopt, 0, 1}, nullptr, soon(), nullptr).code(), Code::argument);
    EXPECT_EQ((*area)->begin(soon()).code(), Code::state);
    stage = 2;
    while (stage < 3) {
      std::this_thread::yield();
    }
  });
}

TEST(Area, OfTheLibrarysMemoryIsMapped) {
  exchange(Route::mapped, false, false);
}
TEST(Area, OfTheOwnersMemoryIsReachedInHisProcess) {
  exchange(Route::memory, true, false);
}
TEST(Area, OnAnotherNodeIsServed) {
  exchange(Route::served, true, true);
}

TEST(Area, OneCallIsServedUpToALimit) {
  std::atomic<bool> done{false};
  run_programs({{"owner", 1}, {"other", 1}}, [&](const std::string& program, Rank& rank) {
    Areas areas(rank.mailbox);
    std::vector<double> memory(4);  // so much of it is looked at
    if (program == "owner") {
      auto area = areas.create({"large", COUPLET_DOUBLE, {std::int64_t{1} << 28}, memory.data(), false});
      ASSERT_TRUE(area) << area.status().text();
      while (!done) {
        rank.party.engine->poll();
      }
      return;
    }
    rank.environment.node_ = 1;
    auto area = areas.open("large", 0, soon());
    ASSERT_TRUE(area) << area.status().text();
    const Status read = (*area)->read({std::nullopt, 0, std::uint64_t{1} << 27}, memory.data(), soon(), nullptr);
    EXPECT_EQ(read.code(), Code::limit);
    EXPECT_NE(read.text().find("at most 1072693248 bytes in one call, and these are 1073741824"), std::string::npos)
        << read.text();
    EXPECT_EQ((*area)->write({std::nullopt, 0, std::uint64_t{1} << 27}, memory.data(), soon(), nullptr).code(),
              Code::limit);
    EXPECT_TRUE((*area)->read({std::nullopt, 0, 4}, memory.data(), soon(), nullptr).ok());
    done = true;
  });
}

TEST(Area, UnknownAreaNamesThoseThatAreThere) {
  std::atomic<bool> done{false};
  run_programs({{"owner", 1}, {"other", 1}}, [&](const std::string& program, Rank& rank) {
    Areas areas(rank.mailbox);
    if (program == "owner") {
      auto area = areas.create({"field", COUPLET_INT32, {3}, nullptr, false});
      ASSERT_TRUE(area) << area.status().text();
      while (!done) {
        rank.party.engine->poll();
      }
      return;
    }
    auto missing = areas.open("flied", 0, os::deadline_after(0.2));
    for (const auto until = soon(); missing.code() == Code::timeout && os::now_ns() < until;) {  // the owner is late
      missing = areas.open("flied", 0, os::deadline_after(0.2));
    }
    EXPECT_EQ(missing.code(), Code::not_found);
    EXPECT_NE(missing.status().text().find("rank 0 has no area 'flied'; it has 'field'"), std::string::npos)
        << missing.status().text();
    EXPECT_EQ(areas.create({"x", 77, {3}, nullptr, false}).code(), Code::type);
    EXPECT_EQ(areas.create({"x", COUPLET_INT8, {}, nullptr, false}).code(), Code::shape);
    EXPECT_EQ(areas.create({"", COUPLET_INT8, {3}, nullptr, false}).code(), Code::argument);
    done = true;
  });
}

TEST(Area, AnOwnerWhoMakesNoCallIsNamed) {
  std::atomic<bool> done{false};
  run_programs({{"owner", 1}, {"other", 1}}, [&](const std::string& program, Rank& rank) {
    Areas areas(rank.mailbox);
    if (program == "owner") {
      while (!done) {
        std::this_thread::yield();
      }
      return;
    }
    const auto silent = areas.open("field", 0, os::deadline_after(0.05));
    EXPECT_EQ(silent.code(), Code::timeout);
    EXPECT_NE(silent.status().text().find("rank 0, the owner of area 'field', does not answer"), std::string::npos);
    rank.environment.gone_ = 0;
    EXPECT_EQ(areas.open("field", 0, soon()).code(), Code::peer_lost);
    done = true;
  });
}

// A writer that died during a write is named to readers, and the next writer takes over.
TEST(Area, AWriterWhoDiedIsNamedAndTheNextTakesOver) {
  std::atomic<bool> done{false};
  run_programs({{"owner", 1}, {"other", 1}, {"dead", 1}}, [&](const std::string& program, Rank& rank) {
    Areas areas(rank.mailbox);
    if (program == "owner") {
      auto area = areas.create({"field", COUPLET_INT32, {3}, nullptr, true});
      ASSERT_TRUE(area) << area.status().text();
      while (!done) {
        rank.party.engine->poll();
      }
    } else if (program == "other") {
      auto area = areas.open("field", 0, soon());
      ASSERT_TRUE(area) << area.status().text();
      auto& image = wire::area_header((*area)->memory() - wire::area_page_bytes);
      image.stamp = wire::area_stamp(5, wire::area_mark(2, 0));  // rank 2 writes for the sixth time
      std::int32_t data[] = {1, 2, 3};
      const Part whole{std::nullopt, 0, 3};
      const Status late = (*area)->read(whole, data, os::deadline_after(0.01), nullptr);
      EXPECT_EQ(late.code(), Code::timeout);
      EXPECT_NE(late.text().find("rank 2 did not end its write until the timeout"), std::string::npos) << late.text();
      EXPECT_EQ((*area)->write(whole, data, os::deadline_after(0.01), nullptr).code(), Code::timeout);
      rank.environment.gone_ = 2;
      const Status status = (*area)->read(whole, data, soon(), nullptr);
      EXPECT_EQ(status.code(), Code::peer_lost);
      EXPECT_NE(status.text().find("rank 2 died while it wrote it"), std::string::npos) << status.text();
      std::uint64_t stamp = 0;
      EXPECT_TRUE((*area)->write(whole, data, soon(), &stamp).ok());
      EXPECT_EQ(stamp, 7U);
      EXPECT_TRUE((*area)->read(whole, data, soon(), nullptr).ok());
      done = true;
    }
  });
}

// The error said that other processes kept writing it.
TEST(Area, AnOwnerThatHasNotCalledEndIsNamed) {
  std::atomic<int> stage{0};
  run_programs({{"owner", 1}, {"other", 1}}, [&](const std::string& program, Rank& rank) {
    Areas areas(rank.mailbox);
    if (program == "owner") {
      auto area = areas.create({"field", COUPLET_INT32, {3}, nullptr, true});
      ASSERT_TRUE(area) << area.status().text();
      ASSERT_TRUE((*area)->begin(soon()).ok());
      stage = 1;
      while (stage < 2) {
        rank.party.engine->poll();
      }
      return;
    }
    auto area = areas.open("field", 0, soon());
    ASSERT_TRUE(area) << area.status().text();
    while (stage < 1) {
      std::this_thread::yield();
    }
    std::int32_t data[] = {1, 2, 3};
    const Status late = (*area)->read({std::nullopt, 0, 3}, data, os::deadline_after(0.01), nullptr);
    EXPECT_EQ(late.code(), Code::timeout);
    EXPECT_NE(late.text().find("its owner did not end its write until the timeout"), std::string::npos) << late.text();
    const Status ended = (*area)->end();
    EXPECT_EQ(ended.code(), Code::state);
    EXPECT_NE(ended.text().find("only the owner"), std::string::npos) << ended.text();
    stage = 2;
  });
}

// A process that was stopped while it wrote kept the processes that waited for it from being interrupted.
TEST(Area, AWaitForAStampedAreaCanBeInterrupted) {
  run_programs({{"owner", 1}, {"other", 1}}, [&](const std::string& program, Rank& rank) {
    Areas areas(rank.mailbox);
    if (program == "other") {
      return;
    }
    auto area = areas.create({"field", COUPLET_INT32, {3}, nullptr, true});
    ASSERT_TRUE(area) << area.status().text();
    auto& image = wire::area_header((*area)->memory() - wire::area_page_bytes);
    image.stamp = wire::area_stamp(5, wire::area_mark(1, 0));
    int asked = 0;
    rank.party.engine->set_interrupt([&] { return ++asked > 1; });
    std::int32_t data[] = {1, 2, 3};
    const Part whole{std::nullopt, 0, 3};
    EXPECT_EQ((*area)->read(whole, data, os::never, nullptr).code(), Code::interrupted);
    EXPECT_EQ((*area)->begin(os::never).code(), Code::interrupted);
    rank.party.engine->set_interrupt({});
  });
}

// The mark of a writer that died and was started again stayed for ever, since its rank was alive.
TEST(Area, TheMarkOfAnEarlierIncarnationIsTakenOver) {
  std::atomic<bool> done{false};
  run_programs({{"owner", 1}, {"other", 1}, {"again", 1}}, [&](const std::string& program, Rank& rank) {
    Areas areas(rank.mailbox);
    if (program == "owner") {
      auto area = areas.create({"field", COUPLET_INT32, {3}, nullptr, true});
      ASSERT_TRUE(area) << area.status().text();
      while (!done) {
        rank.party.engine->poll();
      }
    } else if (program == "other") {
      auto area = areas.open("field", 0, soon());
      ASSERT_TRUE(area) << area.status().text();
      auto& image = wire::area_header((*area)->memory() - wire::area_page_bytes);
      image.stamp = wire::area_stamp(5, wire::area_mark(2, 0));
      std::int32_t data[] = {1, 2, 3};
      const Part whole{std::nullopt, 0, 3};
      EXPECT_EQ((*area)->write(whole, data, os::deadline_after(0.01), nullptr).code(), Code::timeout);
      rank.environment.restarted_ = 2;
      EXPECT_TRUE((*area)->write(whole, data, soon(), nullptr).ok());
      // This is later than what this process has heard of.
      image.stamp = wire::area_stamp(9, wire::area_mark(2, 2));
      EXPECT_EQ((*area)->write(whole, data, os::deadline_after(0.01), nullptr).code(), Code::timeout);
      done = true;
    }
  });
}

// The memory of a mapped area stays readable when its owner has died. Its last contents were read as if the owner were
// alive.
TEST(Area, TheDeathOfItsOwnerIsToldToWhoReadsMappedMemory) {
  std::atomic<bool> done{false};
  run_programs({{"owner", 1}, {"other", 1}}, [&](const std::string& program, Rank& rank) {
    Areas areas(rank.mailbox);
    if (program == "owner") {
      auto area = areas.create({"field", COUPLET_INT32, {3}, nullptr, false});
      ASSERT_TRUE(area) << area.status().text();
      while (!done) {
        rank.party.engine->poll();
      }
      return;
    }
    auto area = areas.open("field", 0, soon());
    ASSERT_TRUE(area) << area.status().text();
    ASSERT_EQ((*area)->route(), Route::mapped);
    std::int32_t data[3] = {};
    const Part whole{std::nullopt, 0, 3};
    ASSERT_TRUE((*area)->read(whole, data, soon(), nullptr).ok());
    // No call moves anything here: the next check of the owner finds it.
    rank.environment.restarted_ = 0;
    Status status;
    for (const auto until = soon(); status.ok() && os::now_ns() < until;) {
      status = (*area)->read(whole, data, soon(), nullptr);
    }
    EXPECT_EQ(status.code(), Code::peer_lost);
    EXPECT_NE(status.text().find("area 'field' of rank 0: its owner is gone"), std::string::npos) << status.text();
    EXPECT_EQ((*area)->write(whole, data, soon(), nullptr).code(), Code::peer_lost);
    done = true;
  });
}

// Does the work when it is destroyed.
class AtEnd {
 public:
  explicit AtEnd(std::function<void()> work) : work_(std::move(work)) {}
  AtEnd(const AtEnd&) = delete;
  AtEnd& operator=(const AtEnd&) = delete;
  ~AtEnd() { work_(); }

 private:
  std::function<void()> work_;
};

// The owner closed its area and used the memory for something else, and others still wrote into it. The writes did not
// fail, so that neither side heard of it.
void close_under_a_writer(bool own_memory, bool is_stamped) {
  constexpr std::uint64_t count = 512;
  constexpr int areas_closed = 40;
  std::atomic<int> opened{0};
  std::atomic<int> told{0};
  run_programs({{"owner", 1}, {"other", 1}}, [&](const std::string& program, Rank& rank) {
    Areas areas(rank.mailbox);
    const AtEnd all_told([&] { opened = told = areas_closed; });  // also if this rank has failed
    for (int round = 0; round < areas_closed; ++round) {
      const std::string name = fmt::format("a{}", round);
      if (program == "owner") {
        std::vector<std::int64_t> memory(count, 0);
        auto area = areas.create({name, COUPLET_INT64, {count}, own_memory ? memory.data() : nullptr, is_stamped});
        ASSERT_TRUE(area) << area.status().text();
        while (opened <= round) {
          rank.party.engine->poll();
        }
        ASSERT_TRUE((*area)->close().ok());
        std::fill(memory.begin(), memory.end(), 42);
        while (told <= round) {
          rank.party.engine->poll();
        }
        EXPECT_EQ(std::count(memory.begin(), memory.end(), 42), static_cast<long>(count)) << name;
        continue;
      }
      auto area = areas.open(name, 0, soon());
      ASSERT_TRUE(area) << area.status().text();
      ASSERT_EQ((*area)->route(), own_memory ? Route::memory : Route::mapped);
      std::vector<std::int64_t> data(count, -7);
      const Part whole{std::nullopt, 0, count};
      ASSERT_TRUE((*area)->write(whole, data.data(), soon(), nullptr).ok());
      ++opened;
      Status status;
      for (const auto until = soon(); status.ok() && os::now_ns() < until;) {
        status = (*area)->write(whole, data.data(), soon(), nullptr);
      }
      EXPECT_EQ(status.code(), Code::not_found);
      EXPECT_NE(status.text().find(fmt::format("area '{}' of rank 0: its owner has closed it", name)),
                std::string::npos)
          << status.text();
      EXPECT_EQ((*area)->read(whole, data.data(), soon(), nullptr).code(), Code::not_found);
      ++told;
    }
  });
}
TEST(Area, TheOwnersMemoryIsNotWrittenAfterItHasClosedTheArea) {
  close_under_a_writer(true, false);
}
TEST(Area, TheOwnersMemoryIsNotWrittenAfterItHasClosedTheStampedArea) {
  close_under_a_writer(true, true);
}
TEST(Area, AWriteIntoTheLibrarysMemoryOfAClosedAreaIsNotLostSilently) {
  close_under_a_writer(false, false);
}

// The pages' marks of writers: see wire::AreaHeaderImage::writers.
wire::AreaHeaderImage& page_of(const TestEnvironment& environment, std::unique_ptr<os::MappedFile>& file) {
  for (const auto& entry : std::filesystem::directory_iterator(environment.node_directory())) {
    file = std::move(os::MappedFile::open(entry.path(), os::Access::read_write, false)).value();
  }
  return wire::area_header(file->data());
}

// The proof is gone from the owner's memory, as if its process number belonged to another process now.
TEST(Area, NothingIsWrittenIntoTheMemoryOfAnotherProcess) {
  std::atomic<bool> written{false};
  std::atomic<bool> another{false};
  std::atomic<bool> told{false};
  run_programs({{"owner", 1}, {"other", 1}}, [&](const std::string& program, Rank& rank) {
    Areas areas(rank.mailbox);
    const AtEnd all_told([&] { written = another = told = true; });  // also if this rank has failed
    std::int32_t memory[3] = {};
    if (program == "owner") {
      auto area = areas.create({"field", COUPLET_INT32, {3}, memory, false});
      ASSERT_TRUE(area) << area.status().text();
      while (!written) {
        rank.party.engine->poll();
      }
      EXPECT_EQ(memory[1], 7);
      memory[1] = 0;
      std::unique_ptr<os::MappedFile> file;
      const std::uint64_t nonce = page_of(rank.environment, file).nonce;
      auto* const bytes = reinterpret_cast<char*>(&areas);
      for (std::size_t at = 0; at + sizeof nonce <= sizeof areas; at += sizeof nonce) {
        if (std::memcmp(bytes + at, &nonce, sizeof nonce) == 0) {
          std::memset(bytes + at, 0, sizeof nonce);
          another = true;
        }
      }
      ASSERT_TRUE(another);
      while (!told) {
        rank.party.engine->poll();
      }
      EXPECT_EQ(memory[1], 0);
      return;
    }
    auto area = areas.open("field", 0, soon());
    ASSERT_TRUE(area) << area.status().text();
    ASSERT_EQ((*area)->route(), Route::memory);
    const std::int32_t data[3] = {7, 7, 7};
    const Part whole{std::nullopt, 0, 3};
    ASSERT_TRUE((*area)->write(whole, data, soon(), nullptr).ok());
    written = true;
    while (!another) {
      std::this_thread::yield();
    }
    EXPECT_EQ((*area)->write(whole, data, soon(), nullptr).code(), Code::peer_lost);
    EXPECT_EQ((*area)->read(whole, memory, soon(), nullptr).code(), Code::peer_lost);
  });
}

// The owner reuses its memory when close has returned, so close waits for a process that is in the middle of a write,
// but not for one that has died there.
TEST(Area, CloseWaitsForAWriterThatLivesAndForNoDeadOne) {
  std::atomic<bool> marked{false};
  std::atomic<bool> done{false};
  std::atomic<bool> ended{false};
  run_programs({{"owner", 1}, {"other", 1}, {"dead", 1}}, [&](const std::string& program, Rank& rank) {
    Areas areas(rank.mailbox);
    if (program == "owner") {
      std::int32_t memory[3] = {};
      auto area = areas.create({"field", COUPLET_INT32, {3}, memory, false});
      ASSERT_TRUE(area) << area.status().text();
      rank.environment.gone_ = 2;
      while (!marked) {
        rank.party.engine->poll();
      }
      EXPECT_TRUE((*area)->close().ok());
      EXPECT_TRUE(ended);
      done = true;
    } else if (program == "other") {
      auto area = areas.open("field", 0, soon());
      ASSERT_TRUE(area) << area.status().text();
      std::unique_ptr<os::MappedFile> file;
      auto& page = page_of(rank.environment, file);
      page.writers[7] = wire::area_mark(1, 0);
      page.writers[9] = wire::area_mark(2, 0);
      marked = true;
      while (page.closed == 0) {
        std::this_thread::yield();
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));  // a copy that takes a while
      EXPECT_FALSE(done);
      ended = true;
      page.writers[7] = 0;
    }
  });
}

// A writer that is stopped in the middle of a write neither keeps the owner for ever, nor is the owner told that its
// memory is its own again.
TEST(Area, CloseNamesAWriterThatDoesNotEnd) {
  run_programs({{"owner", 1}, {"stopped", 1}}, [&](const std::string& program, Rank& rank) {
    if (program != "owner") {
      return;
    }
    Areas areas(rank.mailbox, 20'000'000);
    std::int32_t memory[3] = {};
    auto area = areas.create({"field", COUPLET_INT32, {3}, memory, false});
    ASSERT_TRUE(area) << area.status().text();
    std::unique_ptr<os::MappedFile> file;
    page_of(rank.environment, file).writers[0] = wire::area_mark(1, 0);
    const Status closed = (*area)->close();
    EXPECT_EQ(closed.code(), Code::timeout);
    EXPECT_NE(closed.text().find("area 'field' of rank 0: rank 1 is still writing"), std::string::npos)
        << closed.text();
  });
}

// All entries for writers are taken: by living processes, then by dead ones.
TEST(Area, AWriterTakesTheEntryOfADeadOneIfNoneIsFree) {
  std::atomic<bool> done{false};
  run_programs({{"owner", 1}, {"other", 1}, {"dead", 1}}, [&](const std::string& program, Rank& rank) {
    Areas areas(rank.mailbox);
    if (program == "owner") {
      std::int32_t memory[3] = {};
      auto area = areas.create({"field", COUPLET_INT32, {3}, memory, false});
      ASSERT_TRUE(area) << area.status().text();
      while (!done) {
        rank.party.engine->poll();
      }
      EXPECT_EQ(memory[1], 2);
      rank.environment.gone_ = 2;
      EXPECT_TRUE((*area)->close().ok());
    } else if (program == "other") {
      auto area = areas.open("field", 0, soon());
      ASSERT_TRUE(area) << area.status().text();
      std::unique_ptr<os::MappedFile> file;
      auto& page = page_of(rank.environment, file);
      for (auto& writer : page.writers) {
        writer = wire::area_mark(2, 0);
      }
      const std::int32_t data[] = {1, 2, 3};
      const Part whole{std::nullopt, 0, 3};
      EXPECT_EQ((*area)->write(whole, data, os::deadline_after(0.01), nullptr).code(), Code::timeout);
      rank.environment.gone_ = 2;
      EXPECT_TRUE((*area)->write(whole, data, soon(), nullptr).ok());
      done = true;
    }
  });
}

// Two processes write and two read the whole stamped area. What is read is from one write.
TEST(Area, AStampedAreaIsNeverReadInPieces) {
  constexpr std::uint64_t count = 4096;
  constexpr int writes = 400;
  std::atomic<int> ready{0};
  std::atomic<int> ended{0};
  run_programs({{"owner", 1}, {"writer", 1}, {"reader", 2}}, [&](const std::string& program, Rank& rank) {
    Areas areas(rank.mailbox);
    std::unique_ptr<Area> area;
    if (program == "owner") {
      auto made = areas.create({"a", COUPLET_INT64, {count}, nullptr, true});
      ASSERT_TRUE(made) << made.status().text();
      area = std::move(made).value();
      while (ready < 3) {
        rank.party.engine->poll();
      }
      auto* const data = reinterpret_cast<std::int64_t*>(area->memory());
      for (int round = 1; round <= writes; ++round) {
        ASSERT_TRUE(area->begin(soon()).ok());
        std::fill_n(data, count, round);
        ASSERT_TRUE(area->end().ok());
      }
      ++ended;
      while (ended < 4) {
        std::this_thread::yield();
      }
      return;
    }
    auto made = areas.open("a", 0, soon());
    ASSERT_TRUE(made) << made.status().text();
    area = std::move(made).value();
    ++ready;
    std::vector<std::int64_t> data(count);
    if (program == "writer") {
      for (int round = 1; round <= writes; ++round) {
        std::fill(data.begin(), data.end(), -round);
        ASSERT_TRUE(area->write({std::nullopt, 0, count}, data.data(), soon(), nullptr).ok());
      }
      ++ended;
    } else {
      std::uint64_t last = 0;
      while (ended < 2 || last == 0) {
        std::uint64_t stamp = 0;
        const Status status = area->read({std::nullopt, 0, count}, data.data(), soon(), &stamp);
        ASSERT_TRUE(status.ok()) << status.text();
        ASSERT_GE(stamp, last);
        last = stamp;
        for (const std::int64_t value : data) {
          ASSERT_EQ(value, data.front());
        }
      }
      ++ended;
    }
  });
}

}  // namespace
}  // namespace couplet::task
