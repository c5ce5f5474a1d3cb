#include "link/file/file_beat.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "link/file/file_inbox.hpp"
#include "os/clock.hpp"
#include "os/directory.hpp"
#include "support/child.hpp"
#include "support/temporary_directory.hpp"

namespace couplet::link {
namespace {

using test::eventually;
using testing::ElementsAre;

constexpr std::uint64_t interval_ns = 10'000'000;

// A process that beats until it is killed.
struct Owner {
  explicit Owner(const std::string& path)
      : child([&path] {
          const auto beat = FileBeat::start(path, interval_ns);
          while (beat.ok()) {
            ::pause();
          }
          return 1;
        }) {
    EXPECT_TRUE(eventually([&] { return beats(path); }));
  }
  static bool beats(const std::string& path) {
    FileBeatWatch watch(path, 1);
    return watch.beats_within(1'000'000);
  }
  test::Child child;
};

TEST(FileBeat, AStoppedOwnerIsNotSilent) {
  test::TemporaryDirectory directory;
  Owner owner(directory / "beat");
  ::kill(owner.child.process(), SIGSTOP);
  FileBeatWatch watch(directory / "beat", 1);
  const std::uint64_t until = os::now_ns() + 100'000'000;
  while (os::now_ns() < until) {
    ASSERT_EQ(watch.silent_ns(os::now_ns()), 0U);
    ::usleep(1000);
  }
  EXPECT_FALSE(watch.has_ended());
}

TEST(FileBeat, TheDeathOfItsOwnerIsProven) {
  test::TemporaryDirectory directory;
  Owner owner(directory / "beat");
  EXPECT_FALSE(owner_has_ended(directory / "beat"));
  owner.child.kill();
  EXPECT_TRUE(owner_has_ended(directory / "beat"));
  FileBeatWatch watch(directory / "beat", 1);
  EXPECT_FALSE(watch.beats_within(1'000'000'000));
}

TEST(FileBeat, IsNotSilentIfTheObserverHasNoDescriptorLeft) {
  test::TemporaryDirectory directory;
  const std::string path = directory / "beat";
  std::ofstream(path) << "00000000000000000007\n";
  FileBeatWatch watch(path, 1);
  std::uint64_t now_ns = 1'000'000'000;
  EXPECT_EQ(watch.silent_ns(now_ns), 0U);
  EXPECT_EQ(watch.silent_ns(now_ns += 100'000'000), 100'000'000U);
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const std::uint64_t silent_ns = watch.silent_ns(now_ns += 100'000'000);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(silent_ns, 0U);
  EXPECT_EQ(watch.silent_ns(now_ns += 100'000'000), 100'000'000U);
}

TEST(FileBeat, ABeatThatAnotherKernelHasWrittenProvesNothing) {
  test::TemporaryDirectory directory;
  const std::string path = directory / "beat";
  std::ofstream(path) << "00000000000000000007\n";
  EXPECT_FALSE(owner_has_ended(path));
  std::ofstream(path) << "00000000000000000007\nlock 01234567-89ab-cdef-0123-456789abcdef 1 2\n";
  EXPECT_FALSE(owner_has_ended(path));
}

TEST(FileBeat, ItsOwnerLeavesInGoodOrder) {
  test::TemporaryDirectory directory;
  const std::string path = directory / "beat";
  auto beat = FileBeat::start(path, interval_ns).value();
  FileBeatWatch watch(path, 1);
  EXPECT_TRUE(watch.beats_within(1'000'000'000));
  beat.reset();
  static_cast<void>(watch.silent_ns(os::now_ns()));
  EXPECT_FALSE(watch.has_ended());
  EXPECT_EQ(::access(path.c_str(), F_OK), -1);
}

TEST(FileBeat, HasOneOwnerAndASuccessor) {
  test::TemporaryDirectory directory;
  const std::string path = directory / "beat";
  Owner owner(path);
  EXPECT_EQ(FileBeat::start(path, interval_ns).code(), Code::exists);
  owner.child.kill();
  const auto successor = FileBeat::start(path, interval_ns);
  ASSERT_TRUE(successor.ok()) << successor.status().text();
  EXPECT_FALSE(owner_has_ended(path));
}

// A process with an inbox, in which another process has begun a connection.
struct Inhabitant {
  explicit Inhabitant(const FileAddress& address)
      : child([&address] {
          const auto inbox = FileInbox::open(address, {});
          while (inbox.ok()) {
            ::pause();
          }
          return 1;
        }) {
    EXPECT_TRUE(eventually([&] { return Owner::beats(address.beat_path()); }));
    EXPECT_EQ(::mkdir((address.path() + "/call-1").c_str(), 0700), 0);
  }
  test::Child child;
};

TEST(FileInbox, WhatADeadRunHasLeftIsRemovedAtOnce) {
  test::TemporaryDirectory directory;
  Inhabitant dead({directory.path(), 1, "0-0"});
  Inhabitant half_dead({directory.path(), 2, "0-0"});
  Inhabitant alive({directory.path(), 2, "1-0"});
  dead.child.kill();
  half_dead.child.kill();
  const auto inbox = FileInbox::open({directory.path(), 3, "0-0"}, {});
  ASSERT_TRUE(inbox.ok()) << inbox.status().text();
  EXPECT_THAT(os::list_directory(directory.path()).value(),
              ElementsAre("run-0000000000000002", "run-0000000000000003"));
  EXPECT_THAT(os::list_directory(directory / "run-0000000000000002").value(), ElementsAre("0-0", "1-0"));
}

TEST(FileInbox, AProcessThatIsStoppedForDaysKeepsItsInbox) {
  test::TemporaryDirectory directory;
  const FileAddress address{directory.path(), 1, "0-0"};
  Inhabitant stopped(address);
  ::kill(stopped.child.process(), SIGSTOP);
  const timespec old[2] = {{.tv_sec = 1'000'000, .tv_nsec = 0}, {.tv_sec = 1'000'000, .tv_nsec = 0}};
  for (const std::string& path :
       {address.beat_path(), address.path(), address.path().substr(0, address.path().rfind('/'))}) {
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), old, 0), 0) << path;
  }
  const auto inbox = FileInbox::open({directory.path(), 2, "0-0"}, {});
  ASSERT_TRUE(inbox.ok()) << inbox.status().text();
  EXPECT_TRUE(inbox_is_open(address));
}

TEST(FileInbox, TheLastOneOfARunRemovesWhatTheDeadHaveLeft) {
  test::TemporaryDirectory directory;
  Inhabitant dead({directory.path(), 1, "0-0"});
  auto inbox = FileInbox::open({directory.path(), 1, "1-0"}, {}).value();
  auto other = FileInbox::open({directory.path(), 1, "2-0"}, {}).value();
  dead.child.kill();
  other.reset();
  EXPECT_THAT(os::list_directory(directory / "run-0000000000000001").value(), ElementsAre("0-0", "1-0"));
  inbox.reset();
  EXPECT_THAT(os::list_directory(directory.path()).value(), ElementsAre());
}

}  // namespace
}  // namespace couplet::link
