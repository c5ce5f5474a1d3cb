// When the thread that watches several series rings.
#include "series/publication_watch.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <thread>

#include "os/descriptor.hpp"
#include "support/child.hpp"
#include "unit/message/memory.hpp"
#include "unit/series/fixture.hpp"

namespace couplet::series {
namespace {

class PublicationWatchTest : public testing_fixture::Series {
 protected:
  std::shared_ptr<SeriesFile> open_file() {
    return std::move(SeriesFile::open(world.directory() + "/" + world.series_files().front())).value();
  }
  [[nodiscard]] bool rings() const {
    pollfd one{bell.number(), POLLIN, 0};
    return ::poll(&one, 1, 20'000) == 1;
  }

  os::Descriptor bell{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::unique_ptr<PublicationWatch> watch = std::move(PublicationWatch::open(bell)).value();
};

// Issue 9, fault 10: the relay waited only for the late step that one reader wanted, while another reader wanted an
// earlier one.
TEST_F(PublicationWatchTest, OneReadersChoiceDelaysNoOther) {
  const auto writer = create(4);
  put(*writer, 0);
  const auto file = open_file();
  watch->ask(file, 2);
  watch->ask(file, 1000);  // a reader that wants every thousandth step
  put(*writer, 1);
  EXPECT_TRUE(rings());
}

TEST_F(PublicationWatchTest, ALowerTargetIsHeardWhileTheThreadSleepsForAHigherOne) {
  const auto writer = create(4);
  const auto file = open_file();
  watch->ask(file, 1000);
  while (file->control().published.wake_at.load() != 1000) {
    std::this_thread::yield();
  }
  watch->ask(file, 1);
  put(*writer, 0);
  EXPECT_TRUE(rings());
}

// Hostile review: an allocation that failed in the thread ended the user's program.
TEST_F(PublicationWatchTest, AThreadWithoutMemoryRingsInsteadOfWatching) {
  const auto writer = create(4);
  std::vector<std::shared_ptr<SeriesFile>> files;  // more than the thread has room for
  for (int number = 0; number < 8; ++number) {
    files.push_back(open_file());
  }
  {
    const test::NoMemoryElsewhere none;
    for (const auto& file : files) {
      watch->ask(file, 1000);
    }
    EXPECT_TRUE(rings());
  }
  // It watches again as soon as there is memory.
  ASSERT_TRUE(test::eventually([&] { return files.front()->control().published.wake_at.load() == 1000; }));
  std::uint64_t count = 0;
  while (::read(bell.number(), &count, sizeof count) > 0) {
  }
  watch->ask(files.front(), 1);
  put(*writer, 0);
  EXPECT_TRUE(rings());
}

}  // namespace
}  // namespace couplet::series
