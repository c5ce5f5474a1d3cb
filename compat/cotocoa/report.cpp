#include "report.hpp"

#include <mpi.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace ctca {
namespace {

std::string self_name = "CoToCoA";  // NOLINT: the interface allows one instance per process

void say(std::string_view function, std::string_view text) noexcept {
  std::fprintf(stderr, "%s: %.*s: %.*s\n", self_name.c_str(), static_cast<int>(function.size()), function.data(),
               static_cast<int>(text.size()), text.data());
  std::fflush(stderr);
}

// MPI_Abort ends the launcher's processes so quickly that a sentence which is still in a pipe is lost. This waits until
// the pipe is empty, for at most a second.
void wait_until_read() noexcept {
  constexpr int max_looks = 1000;
  constexpr timespec pause{0, 1'000'000};
  int unread = 0;
  for (int look = 0; look < max_looks && ioctl(STDERR_FILENO, FIONREAD, &unread) == 0 && unread > 0; ++look) {
    nanosleep(&pause, nullptr);
  }
  nanosleep(&pause, nullptr);  // the process that has read it passes it on
}

}  // namespace

void call_self(std::string name) {
  self_name = std::move(name);
}

void fatal(std::string_view function, std::string_view text) noexcept {
  std::fflush(stdout);
  say(function, text);
  wait_until_read();
  int initialized = 0;
  int finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (initialized != 0 && finalized == 0) {
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  }
  std::_Exit(EXIT_FAILURE);
}

void remark(std::string_view function, std::string_view text) noexcept {
  say(function, text);
}

void check(const char* function, couplet_status status) {
  if (status < 0) {
    fatal(function, couplet_error_text());
  }
}

void check_mpi(const char* function, int code) {
  if (code != MPI_SUCCESS) {
    fatal(function, "a call of MPI failed");
  }
}

}  // namespace ctca
