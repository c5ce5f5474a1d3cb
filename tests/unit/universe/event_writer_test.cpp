#include "universe/hub/event_writer.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "support/temporary_directory.hpp"

namespace couplet::universe {
namespace {

// Blocking writes of events stopped the hub.
TEST(EventWriter, APipeThatNobodyReadsBlocksNothingAndWhatIsLeftOutIsCounted) {
  const test::TemporaryDirectory directory;
  const auto path = directory.path() + "/events";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EventWriter writer;
  ASSERT_TRUE(writer.open(path).ok());
  const HubEvent event{.name = "joined", .text = std::string(1000, 'x')};
  for (int count = 0; count < 3000; ++count) {  // far more than the pipe and the queue hold
    writer.add(event, 0);
    writer.flush();
  }
  EXPECT_GT(writer.dropped(), 1000U);
  const os::Descriptor reader(::open(path.c_str(), O_RDONLY | O_NONBLOCK));
  std::string text(8U << 20U, '\0');
  std::size_t bytes = 0;
  const auto read_all = [&] {
    for (ssize_t count = 1; count > 0;) {
      count = ::read(reader.number(), text.data() + bytes, text.size() - bytes);
      bytes += count > 0 ? static_cast<std::size_t>(count) : 0;
    }
  };
  for (int round = 0; round < 100; ++round) {
    read_all();
    writer.flush();
  }
  writer.add({.name = "over"}, 0);
  writer.flush();
  read_all();
  text.resize(bytes);
  EXPECT_NE(text.find(fmt::format("{} events were not written", writer.dropped())), std::string::npos);
  EXPECT_TRUE(text.ends_with("\n"));
  EXPECT_NE(text.find("\"event\":\"over\""), std::string::npos);
}

TEST(EventWriter, AFileIsAppendedTo) {
  const test::TemporaryDirectory directory;
  const auto path = directory.path() + "/events";
  for (const auto* const name : {"joined", "left"}) {
    EventWriter writer;
    ASSERT_TRUE(writer.open(path).ok());
    writer.add({.name = name}, 0);
    writer.flush();
  }
  struct stat facts {};
  ASSERT_EQ(::stat(path.c_str(), &facts), 0);
  EXPECT_GT(facts.st_size, 40);
  EventWriter nowhere;
  EXPECT_FALSE(nowhere.open(directory.path() + "/no/such/directory").ok());
}

// The thread that writes it may be slower than what comes.
TEST(EventWriter, EachEventForAFileIsWrittenOrCounted) {
  const test::TemporaryDirectory directory;
  const auto path = directory.path() + "/events";
  std::uint64_t events = 20000;
  std::uint64_t dropped = 0;
  {
    EventWriter writer;
    ASSERT_TRUE(writer.open(path).ok());
    const HubEvent event{.name = "joined", .text = std::string(1000, 'x')};
    for (std::uint64_t count = 0; count < events; ++count) {
      writer.add(event, 0);
      writer.flush();
    }
    while (writer.dropped() > dropped) {  // until there is room for the line that counts them
      dropped = writer.dropped();
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      writer.add({.name = "over"}, 0);
      ++events;
      writer.flush();
    }
  }
  std::ifstream file(path);
  std::uint64_t written = 0;
  std::uint64_t counted = 0;
  for (std::string line; std::getline(file, line);) {
    ASSERT_TRUE(line.starts_with('{') && line.ends_with('}')) << line;
    const bool counts = line.find("\"dropped\"") != std::string::npos;
    written += counts ? 0 : 1;
    counted += counts ? std::stoull(line.substr(line.find("\"text\":\"") + 8)) : 0;
  }
  EXPECT_EQ(written + counted, events);
  EXPECT_EQ(counted, dropped);
}

}  // namespace
}  // namespace couplet::universe
