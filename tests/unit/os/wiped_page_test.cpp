// A page that a forked process does not inherit.
#include "os/wiped_page.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

namespace couplet::os {
namespace {

TEST(WipedPage, IsOfThisProcessOnly) {
  const WipedPage page;
  ASSERT_NE(page.data(), nullptr);
  EXPECT_EQ(page.data()[0], std::byte{0});
  std::memset(page.data(), 7, 16);
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(static_cast<int>(page.data()[15]));
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), page.is_wiped() ? 0 : 7);
  EXPECT_EQ(page.data()[15], std::byte{7});
}

}  // namespace
}  // namespace couplet::os
