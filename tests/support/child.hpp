// A forked child process of a test. It ends by itself if the test hangs.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

namespace couplet::test {

class Child {
 public:
  // Runs body() in a child, and uses its int as the exit status. The parent's clean-up does not run there.
  template <typename Body>
  explicit Child(Body&& body) : process_(::fork()) {
    if (process_ == 0) {
      ::alarm(120);
      ::_exit(std::forward<Body>(body)());
    }
  }
  ~Child() {
    if (process_ > 0) {
      kill();
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  [[nodiscard]] pid_t process() const noexcept { return process_; }
  // Returns the exit status, or 1000 + signal if a signal ended it.
  [[nodiscard]] int join() {
    int status = 0;
    ::waitpid(std::exchange(process_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }
  void kill() {
    ::kill(process_, SIGKILL);
    EXPECT_EQ(join(), 1000 + SIGKILL);
  }

 private:
  pid_t process_;
};

// Polls `condition` for at most 30 s.
template <typename Condition>
[[nodiscard]] bool eventually(Condition&& condition) {
  for (int attempt = 0; attempt < 300000; ++attempt) {
    if (condition()) {
      return true;
    }
    ::usleep(100);
  }
  return false;
}

}  // namespace couplet::test
