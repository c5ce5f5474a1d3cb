#include "channel/secret.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

namespace couplet::channel {
namespace {

namespace fs = std::filesystem;

class SecretFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "couplet-secret-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string write(const std::string& name, const std::string& text, mode_t mode = 0600) {
    const std::string path = folder_ / name;
    std::ofstream(path) << text;
    chmod(path.c_str(), mode);
    return path;
  }
  fs::path folder_;
};

const std::string digits = "000102030405060708090a0b0c0d0e0f101112131415161718191A1B1C1D1E1F";

TEST_F(SecretFile, is_read) {
  auto secret = read_secret(write("good", "  " + digits + "\n"));
  ASSERT_TRUE(secret.ok()) << secret.status().text();
  EXPECT_EQ(secret->bytes()[31], 0x1F);
  EXPECT_EQ(secret->bytes()[1], 0x01);
}

TEST_F(SecretFile, must_be_private) {
  for (const mode_t mode : {0640U, 0604U, 0660U, 0610U}) {
    auto secret = read_secret(write("open", digits, mode));
    EXPECT_EQ(secret.code(), Code::authentication);
    EXPECT_NE(secret.status().text().find("chmod 600"), std::string::npos) << secret.status().text();
    EXPECT_EQ(read_or_make_secret(folder_ / "open").code(), Code::authentication);
  }
}

TEST_F(SecretFile, must_hold_a_secret) {
  for (const std::string& text : {std::string(), std::string("short"), digits + "00", digits.substr(1) + "g",
                                  digits + std::string(1000, ' ') + "x"}) {
    auto secret = read_secret(write("bad", text));
    EXPECT_EQ(secret.code(), Code::config) << text;
    EXPECT_EQ(secret.status().text().find(text.empty() ? "?" : text), std::string::npos);  // never shown
  }
  EXPECT_EQ(read_secret(folder_).code(), Code::config);
  EXPECT_EQ(read_secret(folder_ / "none").code(), Code::not_found);
}

TEST_F(SecretFile, is_made_on_first_use_by_many_at_once) {
  const std::string path = folder_ / "a" / "b" / "secret";
  std::vector<std::array<std::uint8_t, secret_bytes>> seen(8);
  std::vector<std::thread> threads;
  for (auto& bytes : seen) {
    threads.emplace_back([&] {
      auto secret = read_or_make_secret(path);
      ASSERT_TRUE(secret.ok()) << secret.status().text();
      bytes = secret->bytes();
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  for (const auto& bytes : seen) {
    EXPECT_EQ(bytes, seen[0]);
  }
  struct stat information {};
  ASSERT_EQ(stat(path.c_str(), &information), 0);
  EXPECT_EQ(information.st_mode & 07777U, 0600U);
  ASSERT_EQ(stat((folder_ / "a").c_str(), &information), 0);
  EXPECT_EQ(information.st_mode & 07777U, 0700U);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "a" / "b"), fs::directory_iterator()), 1);
}

TEST_F(SecretFile, path_comes_from_the_environment) {
  setenv("COUPLET_SECRET_FILE", "/x/y", 1);
  EXPECT_EQ(*secret_path(), "/x/y");
  unsetenv("COUPLET_SECRET_FILE");
  setenv("XDG_CONFIG_HOME", "/config", 1);
  EXPECT_EQ(*secret_path(), "/config/couplet/secret");
  unsetenv("XDG_CONFIG_HOME");
  setenv("HOME", "/users/me", 1);
  EXPECT_EQ(*secret_path(), "/users/me/.config/couplet/secret");
}

}  // namespace
}  // namespace couplet::channel
