#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>

#include "lane_tests.hpp"
#include "link/file/file_inbox.hpp"
#include "link/file/file_lane.hpp"
#include "os/directory.hpp"
#include "support/child.hpp"
#include "support/temporary_directory.hpp"

namespace couplet::link {
namespace {

using test::eventually;
using testing::HasSubstr;

constexpr FileOrigin origin{.run_id = 0x4711, .incarnation = 1};

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

// Two ends of one connection in a directory of its own.
struct FilePair {
  explicit FilePair(const FileOptions& options = {}) {
    auto first = FileConnection::dial(directory.path(), origin, options).value();
    path = first->path();
    auto second = FileConnection::accept(path, origin, options).value();
    dialer = make_file_lane(std::move(first)).value();
    acceptor = make_file_lane(std::move(second)).value();
  }
  ~FilePair() {
    dialer.reset();
    acceptor.reset();
  }
  void push(std::uint32_t number, std::uint32_t bytes) {
    Sending sending;
    sending.begin(number, bytes);
    ASSERT_TRUE(eventually([&] { return sending.push(*dialer) != 0; }));
  }
  // Polls the acceptor for a while, and returns its last answer.
  int poll_for(CheckingReceiver& receiver, int polls) {
    int answer = 0;
    for (int count = 0; count < polls && answer >= 0; ++count) {
      ::usleep(100);
      answer = acceptor->poll(receiver, 8);
    }
    return answer;
  }
  [[nodiscard]] std::vector<std::string> names() const { return os::list_directory(path).value(); }

  test::TemporaryDirectory directory;
  std::string path;
  std::unique_ptr<Lane> dialer;
  std::unique_ptr<Lane> acceptor;
};

FileOptions quick() {
  return {.max_look_ns = 100'000, .max_full_ns = 20'000'000, .max_damaged_ns = 20'000'000};
}

TEST(FileLink, FramesOfAllSizesArriveInBothWays) {
  FilePair pair;
  expect_all_arrive(*pair.dialer, *pair.acceptor, true, 40);
  expect_all_arrive(*pair.acceptor, *pair.dialer, false, 40);
}

TEST(FileLink, FilesAreRotatedAndRemovedByTheirReader) {
  FilePair pair({.max_body_bytes = 2000, .max_file_bytes = 5000, .max_unread_bytes = 20'000, .max_look_ns = 100'000});
  expect_all_arrive(*pair.dialer, *pair.acceptor, true, 30);
  std::uint64_t stored = 0;
  for (const std::string& name : pair.names()) {
    struct stat facts {};
    ASSERT_EQ(::stat((pair.path + "/" + name).c_str(), &facts), 0);
    EXPECT_LE(facts.st_size, 5000 + 2000 + 2 * 48) << name;
    EXPECT_EQ(facts.st_mode & 0777U, 0600U) << name;
    stored += static_cast<std::uint64_t>(facts.st_size);
  }
  EXPECT_LT(pair.names().size(), 6U);
  EXPECT_LT(stored, 30'000U);
  EXPECT_THAT(pair.names(), testing::Not(testing::Contains("d0"))) << "it was read";
}

TEST(FileLink, AnUnreadDirectionTakesABoundedNumberOfBytes) {
  FilePair pair({.max_body_bytes = 2000, .max_unread_bytes = 20'000});
  Sending sending;
  sending.begin(0, 1U << 20U);
  std::uint64_t taken = 0;
  for (int idle = 0; idle < 10;) {
    ASSERT_EQ(sending.push(*pair.dialer), 0);
    idle = sending.taken == taken ? idle + 1 : 0;
    taken = sending.taken;
  }
  EXPECT_LE(taken, 20'000U);
  EXPECT_FALSE(pair.dialer->writable());
}

TEST(FileLink, AHalfWrittenRecordIsNotYetOne) {
  FilePair pair(quick());
  pair.push(0, 3000);
  const std::string whole = read_file(pair.path + "/d0");
  CheckingReceiver receiver(false);
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{39}, std::size_t{48}, whole.size() - 1}) {
    write_file(pair.path + "/d0", whole.substr(0, bytes));
    EXPECT_EQ(pair.poll_for(receiver, 20), 0) << bytes << ": " << pair.acceptor->failure().text();
    // Pages of the file may become visible in any order.
    write_file(pair.path + "/d0", whole.substr(0, bytes) + std::string(whole.size() - bytes, '\0'));
    EXPECT_EQ(pair.poll_for(receiver, 20), 0) << bytes << ": " << pair.acceptor->failure().text();
  }
  write_file(pair.path + "/d0", whole);
  EXPECT_TRUE(eventually([&] { return pair.acceptor->poll(receiver, 8) == 1; }));
  EXPECT_TRUE(receiver.good);
}

TEST(FileLink, ARecordThatStaysDamagedBeforeLaterOnesIsAnError) {
  FilePair pair(quick());
  pair.push(0, 3000);
  pair.push(1, 10);
  std::string content = read_file(pair.path + "/d0");
  content[500] = static_cast<char>(content[500] ^ 1);
  write_file(pair.path + "/d0", content);
  CheckingReceiver receiver(false);
  EXPECT_TRUE(eventually([&] { return pair.acceptor->poll(receiver, 8) < 0; }));
  EXPECT_EQ(pair.acceptor->failure().code(), Code::protocol);
  EXPECT_THAT(pair.acceptor->failure().text(), HasSubstr("record 0 is damaged"));
  EXPECT_EQ(receiver.frames, 0U);
}

TEST(FileLink, FilesOfAnotherRunAreToldByTheirRunId) {
  FilePair pair(quick());
  FilePair other(quick());
  pair.push(0, 10);
  std::string content = read_file(pair.path + "/d0");
  std::vector<std::byte> stale(48);
  wire::encode_file_record({.kind = wire::FileRecordKind::read, .incarnation = 1, .run_id = 0x4712}, {}, stale);
  write_file(pair.path + "/d0", std::string(reinterpret_cast<const char*>(stale.data()), stale.size()));
  CheckingReceiver receiver(false);
  EXPECT_TRUE(eventually([&] { return pair.acceptor->poll(receiver, 8) < 0; }));
  EXPECT_EQ(pair.acceptor->failure().code(), Code::mismatch);
  EXPECT_THAT(pair.acceptor->failure().text(), HasSubstr("0000000000004712"));
}

TEST(FileLink, AFullFileSystemIsWaitedForAndThenNamed) {
  bool full = false;
  FileOptions options = quick();
  options.write = [&full](int file, const void* bytes, std::size_t count, off_t offset) -> ssize_t {
    if (full) {
      errno = ENOSPC;
      return -1;
    }
    return ::pwrite(file, bytes, count, offset);
  };
  FilePair pair(options);
  CheckingReceiver receiver(true);
  CheckingReceiver none(true);
  pair.push(0, 10);
  EXPECT_TRUE(eventually([&] { return pair.acceptor->poll(receiver, 8) == 1; }));
  full = true;
  Sending sending;
  sending.begin(1, 3000);
  ASSERT_EQ(sending.push(*pair.dialer), 1) << "one record waits";
  sending.begin(2, 3000);
  ASSERT_EQ(sending.push(*pair.dialer), 0) << "but not a second one";
  full = false;
  EXPECT_TRUE(eventually([&] { return sending.push(*pair.dialer) == 1; }));
  EXPECT_TRUE(eventually([&] {
    static_cast<void>(pair.acceptor->poll(receiver, 8));
    return receiver.frames == 3;
  }));
  EXPECT_TRUE(receiver.good);
  full = true;
  sending.begin(3, 10);
  EXPECT_TRUE(eventually([&] { return sending.push(*pair.dialer) < 0 || pair.dialer->poll(none, 1) < 0; }));
  EXPECT_EQ(pair.dialer->failure().code(), Code::no_space);
  EXPECT_THAT(pair.dialer->failure().text(), HasSubstr(pair.path));
}

TEST(FileLink, AnErrorOfTheDeviceIsNamed) {
  FileOptions options = quick();
  options.write = [](int, const void*, std::size_t, off_t) -> ssize_t {
    errno = EIO;
    return -1;
  };
  FilePair pair(options);
  Sending sending;
  sending.begin(0, 10);
  EXPECT_EQ(sending.push(*pair.dialer), -1);
  EXPECT_EQ(pair.dialer->failure().code(), Code::system);
  EXPECT_THAT(pair.dialer->failure().text(), HasSubstr("Input/output error"));
}

TEST(FileLink, ALimitOfTheSizeOfFilesIsNoSpace) {
  FilePair pair(quick());
  Sending sending;
  sending.begin(0, 10);
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  struct rlimit small = before;
  small.rlim_cur = 1;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_EQ(sending.push(*pair.dialer), -1);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(pair.dialer->failure().code(), Code::no_space);
  EXPECT_THAT(pair.dialer->failure().text(), HasSubstr("RLIMIT_FSIZE"));
}

TEST(FileLink, AVanishedDirectoryIsNamedOnBothSides) {
  FilePair pair(quick());
  pair.push(0, 10);
  ASSERT_TRUE(os::remove_directory(pair.path).ok());
  CheckingReceiver receiver(true);
  for (Lane* const lane : {pair.dialer.get(), pair.acceptor.get()}) {
    EXPECT_TRUE(eventually([&] { return lane->poll(receiver, 8) < 0; }));
    EXPECT_EQ(lane->failure().code(), Code::system);
    EXPECT_THAT(lane->failure().text(), HasSubstr("has vanished"));
  }
}

TEST(FileLink, TheSideThatGoesLastRemovesTheDirectory) {
  FilePair pair;
  pair.push(0, 10);
  pair.dialer.reset();
  CheckingReceiver receiver(true);
  EXPECT_TRUE(eventually([&] { return pair.acceptor->poll(receiver, 8) < 0; }));
  EXPECT_EQ(receiver.frames, 1U) << "what was written before the end is read";
  EXPECT_EQ(pair.acceptor->failure().code(), Code::end);
  EXPECT_TRUE(os::list_directory(pair.path).ok());
  pair.acceptor.reset();
  EXPECT_EQ(os::list_directory(pair.path).code(), Code::not_found);
}

TEST(FileLink, AConnectionThatIsGivenUpIsBroken) {
  test::TemporaryDirectory directory;
  auto first = FileConnection::dial(directory.path(), origin, quick()).value();
  auto lane = make_file_lane(FileConnection::accept(first->path(), origin, quick()).value()).value();
  std::memcpy(first->body(4), "last", 4);
  ASSERT_TRUE(first->send(4).ok());
  first->give_up();
  first.reset();
  CheckingReceiver receiver(true);
  EXPECT_TRUE(eventually([&] { return lane->poll(receiver, 1) < 0; }));
  EXPECT_EQ(lane->failure().code(), Code::protocol) << "what was written before is read first";
  auto second = FileConnection::dial(directory.path(), origin, quick()).value();
  lane = make_file_lane(FileConnection::accept(second->path(), origin, quick()).value()).value();
  second->give_up();
  second.reset();
  EXPECT_TRUE(eventually([&] { return lane->poll(receiver, 1) < 0; }));
  EXPECT_EQ(lane->failure().code(), Code::peer_lost);
  EXPECT_THAT(lane->failure().text(), HasSubstr("given the connection up"));
}

TEST(FileLink, ADialToADeadProcessLeavesNothing) {
  test::TemporaryDirectory directory;
  const std::string path = directory / "beat";
  {
    test::Child owner([&path] {
      const auto beat = FileBeat::start(path, 10'000'000);
      while (beat.ok()) {
        ::pause();
      }
      return 1;
    });
    FileBeatWatch watch(path, 1);
    ASSERT_TRUE(eventually([&] { return watch.beats_within(1'000'000); }));
  }
  auto connection = FileConnection::dial(directory.path(), origin, quick()).value();
  connection->watch_beat(path);
  Status looked;
  EXPECT_TRUE(eventually([&] {
    looked = connection->finish_look(false, os::now_ns());
    return looked.error();
  }));
  EXPECT_EQ(looked.code(), Code::peer_lost);
  EXPECT_TRUE(connection->peer_has_died());
  connection.reset();
  EXPECT_THAT(os::list_directory(directory.path()).value(), testing::ElementsAre("beat"));
}

TEST(FileLink, SilenceOfTheHeartIsNoticedAndABeatIsHeard) {
  test::TemporaryDirectory directory;
  const std::string path = directory / "beat";
  FileOptions options = quick();
  options.max_silence_ns = 300'000'000;
  options.beat_interval_ns = 10'000'000;
  auto beat = FileBeat::start(path, options.beat_interval_ns).value();
  auto first = FileConnection::dial(directory.path(), origin, options).value();
  auto second = FileConnection::accept(first->path(), origin, options).value();
  first->watch_beat(path);
  auto lane = make_file_lane(std::move(first)).value();
  CheckingReceiver receiver(true);
  const std::uint64_t until = os::now_ns() + 600'000'000;
  while (os::now_ns() < until) {
    ASSERT_EQ(lane->poll(receiver, 1), 0) << lane->failure().text();
    ::usleep(1000);
  }
  beat.reset();
  EXPECT_TRUE(eventually([&] { return lane->poll(receiver, 1) < 0; }));
  EXPECT_EQ(lane->failure().code(), Code::peer_lost);
  EXPECT_THAT(lane->failure().text(), HasSubstr("heartbeat"));
}

TEST(FileInbox, IsPrivateAndLeavesNothing) {
  test::TemporaryDirectory directory;
  const FileAddress address{directory / "shared", 0x4711, "3-1"};
  auto inbox = FileInbox::open(address, {}).value();
  EXPECT_TRUE(inbox_is_open(address));
  struct stat facts {};
  ASSERT_EQ(::stat(address.path().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0700U);
  auto caller = FileConnection::dial(address.path(), origin, {}).value();
  const auto calls = inbox->take_calls(10).value();
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(inbox->take_calls(10)->size(), 0U) << "each is returned once";
  auto taken = FileConnection::accept(calls[0], origin, {}).value();
  auto not_taken = FileConnection::dial(address.path(), origin, {}).value();
  caller.reset();
  taken.reset();
  inbox.reset();
  EXPECT_FALSE(inbox_is_open(address));
  EXPECT_TRUE(not_taken->peer_has_ended()) << "its dialer is told";
  not_taken.reset();
  EXPECT_EQ(os::list_directory(address.directory).value(), std::vector<std::string>());
}

// A process that is killed and started again many times. Other processes may need the proof that a life is over.
TEST(FileInbox, ManyLivesOfAProcessLeaveOneInbox) {
  test::TemporaryDirectory directory;
  const std::string shared = directory / "shared";
  for (const char* const name : {"2-1", "3-1", "3-2", "3-3", "3-4"}) {
    const FileAddress address{shared, 0x4711, name};
    test::Child owner([&address] {
      const auto inbox = FileInbox::open(address, {});
      while (inbox.ok()) {
        ::pause();
      }
      return 1;
    });
    FileBeatWatch watch(address.beat_path(), 1);
    ASSERT_TRUE(eventually([&] { return watch.beats_within(1'000'000); }));
  }
  const auto last = FileInbox::open({shared, 0x4711, "3-5"}, {}).value();
  EXPECT_THAT(os::list_directory(shared + "/run-0000000000004711").value(),
              testing::UnorderedElementsAre("2-1", "3-4", "3-5"));
}

TEST(FileInbox, ADirectoryThatOthersMayEnterIsRefused) {
  test::TemporaryDirectory directory;
  ASSERT_EQ(::mkdir((directory / "open").c_str(), 0755), 0);
  ASSERT_EQ(::chmod((directory / "open").c_str(), 0755), 0);
  const auto inbox = FileInbox::open({directory / "open", 1, "0-0"}, {});
  EXPECT_EQ(inbox.code(), Code::system);
  EXPECT_THAT(inbox.status().text(), HasSubstr("open to other users"));
  EXPECT_EQ(FileInbox::open({"relative", 1, "0-0"}, {}).code(), Code::config);
}

TEST(FileInbox, WhatAnOldRunHasLeftIsRemovedAndAYoungOneIsNot) {
  test::TemporaryDirectory directory;
  const std::string shared = directory / "shared";
  // As if processes of both runs had been killed.
  for (const std::string& run : {std::string("1"), std::string("2")}) {
    for (const std::string& path :
         {shared, shared + "/run-000000000000000" + run, shared + "/run-000000000000000" + run + "/0-0",
          shared + "/run-000000000000000" + run + "/0-0/call-1"}) {
      ASSERT_TRUE(os::make_private_directory(path).ok());
    }
    write_file(shared + "/run-000000000000000" + run + "/0-0/beat", "00000000000000000007\n");
  }
  const timespec old[2] = {{.tv_sec = 1'000'000, .tv_nsec = 0}, {.tv_sec = 1'000'000, .tv_nsec = 0}};
  const std::string stale = shared + "/run-0000000000000001";
  for (const std::string& path : {stale + "/0-0/beat", stale + "/0-0", stale}) {
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), old, 0), 0) << path;
  }
  auto inbox = FileInbox::open({shared, 3, "0-0"}, {}).value();
  EXPECT_THAT(os::list_directory(shared).value(), testing::ElementsAre("run-0000000000000002", "run-0000000000000003"));
}

}  // namespace
}  // namespace couplet::link
