#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstring>

#include "os/directory.hpp"
#include "os/lock.hpp"
#include "os/mapped_file.hpp"
#include "support/child.hpp"
#include "support/temporary_directory.hpp"

namespace couplet::os {
namespace {

using test::Child;
using test::TemporaryDirectory;

class FilesTest : public ::testing::Test {
 protected:
  TemporaryDirectory directory_;
};

TEST_F(FilesTest, AMappedFileIsPrivateAllocatedAndShared) {
  auto made = MappedFile::create(directory_ / "a", 10000);
  ASSERT_TRUE(made.ok()) << made.status().text();
  EXPECT_EQ((*made)->size(), 10000U);
  struct stat facts {};
  ASSERT_EQ(::stat((*made)->path().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0600U);
  EXPECT_GE(facts.st_blocks * 512, 10000);
  (*made)->data()[9999] = std::byte{42};
  auto seen = MappedFile::open(directory_ / "a", Access::read_only);
  ASSERT_TRUE(seen.ok()) << seen.status().text();
  EXPECT_EQ((*seen)->data()[9999], std::byte{42});
  EXPECT_EQ((*seen)->data()[0], std::byte{0});
  EXPECT_EQ(MappedFile::create(directory_ / "a", 10).code(), Code::exists);
  EXPECT_EQ(MappedFile::open(directory_ / "b", Access::read_only).code(), Code::not_found);
  EXPECT_EQ(MappedFile::create(directory_ / "c", 0).code(), Code::argument);
}

TEST_F(FilesTest, ItsNameChangesAndGoesTheMemoryStays) {
  auto file = MappedFile::create(directory_ / "a", 4096);
  ASSERT_TRUE(file.ok());
  auto other = MappedFile::create(directory_ / "taken", 4096);
  EXPECT_EQ((*file)->link_to(directory_ / "taken").code(), Code::exists);
  EXPECT_EQ((*file)->path(), directory_ / "a");
  EXPECT_TRUE((*file)->link_to(directory_ / "b").ok());
  EXPECT_NE(::access((directory_ / "a").c_str(), F_OK), 0);
  EXPECT_TRUE((*file)->rename_to(directory_ / "taken").ok()) << "renaming replaces";
  EXPECT_TRUE((*file)->remove().ok());
  EXPECT_TRUE((*file)->remove().ok()) << "a name that is gone is no error";
  (*file)->data()[5] = std::byte{1};
  EXPECT_EQ(list_directory(directory_.path())->size(), 0U);
}

// Fault 14 of series: the files of a superseded incarnation stayed until the universe ended.
TEST_F(FilesTest, AFileGoesOnlyIfNobodyShowsItsUse) {
  const std::string path = directory_ / "a";
  const std::string sign = directory_ / "mapped";
  Child other([&] {  // it begins before there is a mapping that it could inherit
    Result<std::unique_ptr<MappedFile>> seen = Code::not_found;
    static_cast<void>(test::eventually([&] {
      seen = MappedFile::open(path, Access::read_write, false, Use::shown);
      return seen.ok();
    }));
    static_cast<void>(MappedFile::create(sign, 1));
    return ::pause();
  });
  auto made = MappedFile::create(path, 4096, Use::shown);
  ASSERT_TRUE(made.ok()) << made.status().text();
  ASSERT_TRUE(test::eventually([&] { return ::access(sign.c_str(), F_OK) == 0; }));
  EXPECT_EQ(*MappedFile::remove_if_unused(path), false);
  std::move(made).value().reset();
  EXPECT_EQ(*MappedFile::remove_if_unused(path), false) << "the other process maps it, and has closed its descriptor";
  other.kill();
  EXPECT_EQ(*MappedFile::remove_if_unused(path), true);
  EXPECT_EQ(MappedFile::open(path, Access::read_write, false, Use::shown).code(), Code::not_found);
  EXPECT_EQ(*MappedFile::remove_if_unused(path), true) << "it is gone already";
}

TEST_F(FilesTest, AnUnshownUseDoesNotKeepAFile) {
  const std::string path = directory_ / "a";
  auto made = MappedFile::create(path, 4096);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(*MappedFile::remove_if_unused(path), true);
  (*made)->data()[5] = std::byte{1};  // the memory stays
}

TEST_F(FilesTest, NoSpaceNamesFileAndBytesAndLeavesNothing) {
  struct statvfs facts {};
  ASSERT_EQ(::statvfs(directory_.path().c_str(), &facts), 0);
  const std::size_t too_much = (facts.f_blocks + 1000) * facts.f_frsize;
  auto file = MappedFile::create(directory_ / "huge", too_much);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.code(), Code::no_space) << file.status().text();
  EXPECT_NE(file.status().text().find("huge"), std::string::npos);
  EXPECT_NE(file.status().text().find(std::to_string(too_much)), std::string::npos);
  EXPECT_TRUE(list_directory(directory_.path())->empty());
}

// The system ends a process with SIGXFSZ if it makes a file beyond its limit.
TEST_F(FilesTest, AFileBeyondTheLimitOfItsSizeIsRefused) {
  constexpr std::size_t limit_bytes = 65536;
  Child limited([&] {
    ::signal(SIGXFSZ, SIG_DFL);
    const struct rlimit limit {
      limit_bytes, limit_bytes
    };
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    if (!MappedFile::create(directory_ / "fits", limit_bytes).ok()) return 2;
    const auto large = MappedFile::create(directory_ / "large", limit_bytes + 1);
    if (large.code() != Code::no_space) return 3;
    for (const char* const part : {"large", "65537", "65536", "RLIMIT_FSIZE"}) {
      if (large.status().text().find(part) == std::string::npos) return 4;
    }
    return 0;
  });
  EXPECT_EQ(limited.join(), 0);
  EXPECT_EQ(list_directory(directory_.path())->size(), 1U);
}

TEST_F(FilesTest, WhatIsNoPlainFileIsNotMapped) {
  ASSERT_TRUE(make_private_directory(directory_ / "folder").ok());
  EXPECT_FALSE(MappedFile::open(directory_ / "folder", Access::read_only).ok());
  ASSERT_EQ(::symlink("/etc/passwd", (directory_ / "link").c_str()), 0);
  EXPECT_FALSE(MappedFile::open(directory_ / "link", Access::read_only).ok());
  ASSERT_EQ(::mknod((directory_ / "empty").c_str(), S_IFREG | 0600, 0), 0);
  EXPECT_EQ(MappedFile::open(directory_ / "empty", Access::read_only).code(), Code::protocol);
}

TEST_F(FilesTest, DirectoriesArePrivateOrRefused) {
  EXPECT_TRUE(make_private_directory(directory_ / "mine").ok());
  EXPECT_TRUE(make_private_directory(directory_ / "mine").ok()) << "it may exist";
  ASSERT_EQ(::chmod((directory_ / "mine").c_str(), 0755), 0);
  EXPECT_EQ(make_private_directory(directory_ / "mine").code(), Code::system);
  ASSERT_EQ(::symlink("/tmp", (directory_ / "link").c_str()), 0);
  EXPECT_EQ(make_private_directory(directory_ / "link").code(), Code::system);
  EXPECT_EQ(make_private_directory(directory_ / "no/parent").code(), Code::not_found);
  EXPECT_EQ(list_directory(directory_ / "nowhere").code(), Code::not_found);
  EXPECT_EQ(*list_directory(directory_.path()), (std::vector<std::string>{"link", "mine"}));
  EXPECT_TRUE(remove_directory(directory_ / "mine").ok());
  EXPECT_TRUE(remove_directory(directory_ / "mine").ok());
  EXPECT_TRUE(remove_file(directory_ / "mine").ok());
  EXPECT_NE(temporary_name("a", "b"), temporary_name("a", "b"));
}

TEST_F(FilesTest, ALifeLockIsSeenInThisProcessAndInOthers) {
  const std::string path = directory_ / "lock";
  EXPECT_FALSE(is_locked(path));
  EXPECT_EQ(LockProbe::open(path).code(), Code::not_found);
  auto lock = LifeLock::take(path);
  ASSERT_TRUE(lock.ok()) << lock.status().text();
  auto probe = LockProbe::open(path);
  ASSERT_TRUE(probe.ok());
  EXPECT_TRUE((*probe)->held());
  EXPECT_EQ(LifeLock::take(path).code(), Code::exists);
  EXPECT_EQ(Child([&] { return is_locked(path) ? 1 : 0; }).join(), 1);
  ASSERT_EQ(::unlink(path.c_str()), 0);
  EXPECT_TRUE((*probe)->held()) << "the lock is the file's, not the name's";
  lock->reset();
  EXPECT_FALSE((*probe)->held());
}

TEST_F(FilesTest, TheKernelReleasesTheLockOfAKilledProcess) {
  const std::string path = directory_ / "lock";
  Child child([&] {
    auto lock = LifeLock::take(path);
    ::pause();
    return lock.ok() ? 0 : 1;
  });
  ASSERT_TRUE(test::eventually([&] { return is_locked(path); }));
  auto probe = LockProbe::open(path);
  ASSERT_TRUE(probe.ok());
  child.kill();
  EXPECT_FALSE((*probe)->held());
}

TEST_F(FilesTest, AFileThatIsLargerThanAnyFileCanBeIsALackOfSpace) {
  const auto file = MappedFile::create(directory_ / "huge", std::size_t{1} << 62);
  EXPECT_EQ(file.code(), Code::no_space) << file.status().text();
}

TEST_F(FilesTest, AForkedChildDoesNotKeepItsParentsLock) {
  const std::string path = directory_ / "lock";
  auto lock = LifeLock::take(path);
  auto probe = LockProbe::open(path);
  ASSERT_TRUE(lock.ok() && probe.ok());
  int lines[2];
  ASSERT_EQ(::pipe(lines), 0);
  Child child([&] {
    char byte = 0;
    const bool told = ::read(lines[0], &byte, 1) == 1;
    // It cannot find out, so no process is declared dead.
    return told && (*probe)->held() ? 7 : 1;
  });
  lock->reset();
  EXPECT_TRUE(test::eventually([&] { return !(*probe)->held(); })) << "the child lives and must not hold it";
  ASSERT_EQ(::write(lines[1], "x", 1), 1);
  EXPECT_EQ(child.join(), 7);
  ::close(lines[0]);
  ::close(lines[1]);
}

}  // namespace
}  // namespace couplet::os
