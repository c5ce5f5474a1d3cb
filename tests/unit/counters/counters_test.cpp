#include "counters/counters.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "wire/page.hpp"

namespace couplet::counters {
namespace {

TEST(Counters, EveryCounterHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (std::size_t index = 0; index < counter_count; ++index) {
    const auto name = counter_name(static_cast<Counter>(index));
    EXPECT_FALSE(name.empty());
    EXPECT_TRUE(names.insert(name).second) << name;
  }
  EXPECT_EQ(counter_name(Counter::count_), "unknown");
  EXPECT_LE(counter_count, wire::page_counter_capacity);
}

TEST(Counters, NamesKeepTheirPlaces) {
  EXPECT_EQ(counter_name(Counter::messages_sent_self), "messages_sent_self");
  EXPECT_EQ(counter_name(Counter::message_wait_ns), "message_wait_ns");
  EXPECT_EQ(counter_name(Counter::series_steps_written), "series_steps_written");
  EXPECT_EQ(counter_name(Counter::slept_ns), "slept_ns");
}

TEST(Counters, ThePageOfTheFormatNamesThemInOrder) {
  std::ifstream file(std::string(COUPLET_SOURCE_DIR) + "/docs/formats/page.md");
  std::stringstream text;
  text << file.rdbuf();
  const auto page = text.str();
  for (std::size_t index = 0; index < counter_count; ++index) {
    const auto line =
        "| " + std::to_string(index) + " | `" + std::string(counter_name(static_cast<Counter>(index))) + "` |";
    EXPECT_NE(page.find(line), std::string::npos) << line;
  }
}

TEST(Counters, CountsWithoutMemoryOfItsOwnAndWithIt) {
  Counters own;
  own.add(Counter::polls);
  own.add(Counter::polls, 41);
  EXPECT_EQ(own.get(Counter::polls), 42U);
  std::vector<std::atomic<std::uint64_t>> slots(wire::page_counter_capacity);
  Counters mapped(slots);
  mapped.add(Counter::sleeps, 7);
  mapped.set(Counter::relay_subscribers, 3);
  EXPECT_EQ(slots[static_cast<std::size_t>(Counter::sleeps)].load(), 7U);
  EXPECT_EQ(slots[static_cast<std::size_t>(Counter::relay_subscribers)].load(), 3U);
}

TEST(Counters, TooLittleMemoryIsNotUsed) {
  std::vector<std::atomic<std::uint64_t>> slots(counter_count - 1);
  Counters counters(slots);
  counters.add(Counter::slept_ns, 5);
  EXPECT_EQ(counters.get(Counter::slept_ns), 5U);
  EXPECT_EQ(slots[0].load(), 0U);
}

TEST(Counters, AReaderSeesNumbersThatOnlyGrow) {
  std::vector<std::atomic<std::uint64_t>> slots(wire::page_counter_capacity);
  Counters counters(slots);
  std::atomic<bool> stop{false};
  bool grows = true;
  std::thread reader([&] {
    std::uint64_t last = 0;
    while (!stop.load()) {
      const auto value = slots[static_cast<std::size_t>(Counter::polls)].load(std::memory_order_relaxed);
      grows = grows && value >= last;
      last = value;
    }
  });
  for (int round = 0; round < 100'000; ++round) {
    counters.add(Counter::polls);
  }
  stop = true;
  reader.join();
  EXPECT_TRUE(grows);
  EXPECT_EQ(counters.get(Counter::polls), 100'000U);
}

TEST(Counters, ALinkHasItsCounters) {
  EXPECT_EQ(of_link(Counter::messages_sent_self, link_kind("tcp")), Counter::messages_sent_tcp);
  EXPECT_EQ(of_link(Counter::message_bytes_received_self, link_kind("sim")), Counter::message_bytes_received_other);
  EXPECT_EQ(of_link(Counter::messages_received_self, link_kind("self")), Counter::messages_received_self);
  EXPECT_EQ(of_link(Counter::message_bytes_sent_self, link_kind("shm")), Counter::message_bytes_sent_shm);
}

}  // namespace
}  // namespace couplet::counters
