// The file with the key of a hub: nothing that is there is replaced, and one living hub has it.
#include "channel/hub_key_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "support/temporary_directory.hpp"
#include "support/tickets.hpp"

namespace couplet::channel {
namespace {

class HubKeyFileTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string contents() const {
    std::stringstream text;
    text << std::ifstream(path_).rdbuf();
    return text.str();
  }
  void write(const std::string& text) const {
    std::ofstream(path_) << text;
    ASSERT_EQ(::chmod(path_.c_str(), 0600), 0);
  }
  // The text with which making the key of another hub at this path is refused.
  [[nodiscard]] std::string refusal() const {
    const auto made = HubKeyFile::make(path_, HubKey(random_secret()));
    EXPECT_EQ(made.code(), Code::exists);
    return made.status().text();
  }

  test::TemporaryDirectory directory_;
  std::string path_ = directory_.path() + "/hub-key";
  HubKey key_{test::seed_of(1)};
  std::string run_ = "8b27846a5b6cb47e";  // the run of this key
};

TEST_F(HubKeyFileTest, AHubThatIsStartedAgainReadsItsKey) {
  ASSERT_TRUE(HubKeyFile::make(path_, key_).ok());
  struct stat information {};
  ASSERT_EQ(::stat(path_.c_str(), &information), 0);
  EXPECT_EQ(information.st_mode & 07777U, 0600U);
  const auto again = HubKeyFile::take_over(path_, key_.run_id());
  ASSERT_TRUE(again.ok()) << again.status().text();
  EXPECT_EQ((*again)->key().public_key(), key_.public_key());
  EXPECT_TRUE((*again)->is_locked());
}

TEST_F(HubKeyFileTest, AHubWithoutItsKeyIsToldWhatItNeeds) {
  const auto missing = HubKeyFile::take_over(path_, 0x4711);
  EXPECT_EQ(missing.code(), Code::config);
  EXPECT_EQ(missing.status().text(),
            "the members of run 0000000000004711 take back only a hub with the key of the first one, which " + path_ +
                " does not have: name the file that has it (--key-file)");
  ASSERT_TRUE(HubKeyFile::make(path_, key_).ok());
  const auto wrong = HubKeyFile::take_over(path_, 0x4711);
  EXPECT_EQ(wrong.code(), Code::config);
  EXPECT_EQ(wrong.status().text(), path_ + " has the key of the hub of run " + run_ + ", not of run 0000000000004711");
}

// Fault: a hub that was started again without --resume replaced the key, and its members were lost for good.
TEST_F(HubKeyFileTest, TheKeyOfAnotherRunIsNotReplaced) {
  ASSERT_TRUE(HubKeyFile::make(path_, key_).ok());
  const auto before = contents();
  EXPECT_EQ(refusal(), path_ + " has the key of the hub of run " + run_ +
                           ": to go on with that run, start the hub with --resume " + run_ +
                           "; if that run has ended, remove the file");
  EXPECT_EQ(contents(), before);
}

// Fault: the file was removed, whatever it was, and it was not said if the key could not be written then.
TEST_F(HubKeyFileTest, WhatIsNoKeyIsNotReplaced) {
  write("precious\n");
  EXPECT_EQ(refusal(), path_ +
                           " exists, and is no key of a hub. It is not replaced: name a file for the key of this hub "
                           "that does not exist yet (--key-file)");
  EXPECT_EQ(contents(), "precious\n");
  write(std::string(100'000, 'x'));
  EXPECT_NE(refusal().find("is no key of a hub"), std::string::npos);
  EXPECT_EQ(contents().size(), 100'000U);
}

TEST_F(HubKeyFileTest, WhatIsNoFileIsNotReplaced) {
  const auto refuses = [&] {
    EXPECT_NE(refusal().find("exists, and is not a file that a hub has made"), std::string::npos) << refusal();
    const auto taken = HubKeyFile::take_over(path_, key_.run_id());
    EXPECT_FALSE(taken.ok());
    EXPECT_EQ(taken.status().text().find("secret"), std::string::npos) << taken.status().text();
  };
  ASSERT_EQ(::mkdir(path_.c_str(), 0700), 0);
  refuses();
  EXPECT_TRUE(std::filesystem::is_directory(path_));
  ASSERT_EQ(::rmdir(path_.c_str()), 0);
  const std::string target = directory_.path() + "/target";
  std::ofstream(target) << "precious\n";
  ASSERT_EQ(::symlink(target.c_str(), path_.c_str()), 0);
  refuses();
  EXPECT_TRUE(std::filesystem::is_symlink(path_));
  EXPECT_EQ(std::filesystem::file_size(target), 9U);
  ASSERT_EQ(::unlink(target.c_str()), 0);
  refuses();  // a link to nothing
  EXPECT_FALSE(std::filesystem::exists(target));
  ASSERT_EQ(::unlink(path_.c_str()), 0);
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  refuses();
  EXPECT_TRUE(std::filesystem::is_fifo(path_));
}

TEST_F(HubKeyFileTest, AKeyThatCannotBeStoredIsAnError) {
  std::ofstream(directory_.path() + "/file") << "x";
  const auto made = HubKeyFile::make(directory_.path() + "/file/key", key_);
  EXPECT_FALSE(made.ok());
  EXPECT_NE(made.status().text().find("cannot make the key file"), std::string::npos) << made.status().text();
}

TEST_F(HubKeyFileTest, TheTextsNameTheKeyFile) {
  for (const auto* const text : {"", "x", "0101"}) {
    write(text);
    const auto taken = HubKeyFile::take_over(path_, key_.run_id());
    EXPECT_EQ(taken.code(), Code::config) << text;
    EXPECT_EQ(taken.status().text(),
              "the key file " + path_ + " does not begin with a line of 64 hexadecimal digits, a hub's seed");
  }
  ASSERT_EQ(::chmod(path_.c_str(), 0640), 0);
  EXPECT_EQ(HubKeyFile::take_over(path_, key_.run_id()).status().text(),
            "the key file " + path_ + " has mode 0640: others may read it; use: chmod 600 " + path_);
}

// Fault: a second hub took over a run while its first one lived.
TEST_F(HubKeyFileTest, ALivingHubKeepsItsKeyToItself) {
  auto first = HubKeyFile::make(path_, key_);
  ASSERT_TRUE(first.ok()) << first.status().text();
  for (const std::string holder : {"process 12 on host a", "process 3"}) {
    (*first)->name_holder(holder);
    const auto second = HubKeyFile::take_over(path_, key_.run_id());
    EXPECT_EQ(second.code(), Code::exists);
    EXPECT_EQ(second.status().text(),
              "the hub of run " + run_ + " lives, and has locked " + path_ + ": " + holder + ". A run has one hub");
    EXPECT_EQ(refusal(), path_ + " has the key of the hub of run " + run_ + ", which lives: " + holder +
                             ". Name another file for the key of this hub (--key-file)");
  }
  EXPECT_EQ(contents(), "0101010101010101010101010101010101010101010101010101010101010101\nprocess 3");
  first->reset();
  EXPECT_TRUE(HubKeyFile::take_over(path_, key_.run_id()).ok());
}

TEST_F(HubKeyFileTest, WhoTakesOverAFileOfDigitsOnlyDoesNotSpoilIt) {
  write(std::string(32, '0') + std::string(32, '1'));
  const HubKey key(parse_secret(std::string(32, '0') + std::string(32, '1')).value());
  for (int hub = 0; hub < 2; ++hub) {
    const auto taken = HubKeyFile::take_over(path_, key.run_id());
    ASSERT_TRUE(taken.ok()) << taken.status().text();
    (*taken)->name_holder("process 12");
  }
}

TEST_F(HubKeyFileTest, AHubRemovesItsOwnFileOnly) {
  auto file = HubKeyFile::make(path_, key_);
  ASSERT_TRUE(file.ok());
  ASSERT_EQ(::unlink(path_.c_str()), 0);
  write("precious\n");
  (*file)->remove();
  EXPECT_EQ(contents(), "precious\n");
  ASSERT_EQ(::unlink(path_.c_str()), 0);
  file = HubKeyFile::make(path_, key_);
  ASSERT_TRUE(file.ok());
  (*file)->remove();
  EXPECT_FALSE(std::filesystem::exists(path_));
}

}  // namespace
}  // namespace couplet::channel
