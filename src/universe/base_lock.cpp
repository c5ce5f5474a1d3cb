#include "universe/base_lock.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "os/clock.hpp"
#include "os/directory.hpp"
#include "os/error.hpp"
#include "os/host.hpp"

namespace couplet::universe {
namespace {

constexpr int nap_ms = 10;  // pause between two tries to take the lock

std::string holder_of(const os::Descriptor& file) {
  std::array<char, 64> text{};
  const ssize_t bytes = ::pread(file.number(), text.data(), text.size() - 1, 0);
  return bytes > 0 ? std::string(text.data(), static_cast<std::size_t>(bytes)) : std::string("an unknown process");
}

void say_holder(const os::Descriptor& file) {
  const auto text = fmt::format("process {}", os::process_id());
  if (::ftruncate(file.number(), 0) == 0) {
    // Only for the text that a waiting process shows.
    static_cast<void>(!::pwrite(file.number(), text.data(), text.size(), 0));
  }
}

}  // namespace

Status BaseLock::wait_for(const os::Descriptor& file, const std::string& path, const LockWait& wait) {
  const auto begin = os::now_ns();
  while (::flock(file.number(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return os::system_failure(errno, fmt::format("cannot lock {}", path));
    }
    if (wait.interrupted && wait.interrupted()) {
      return Code::interrupted;
    }
    const auto now = os::now_ns();
    if (now >= wait.deadline_ns) {
      return fail(Code::timeout, "waited {:.1f} s for the lock {}, which {} on host {} holds; it may be stopped",
                  static_cast<double>(now - begin) / 1e9, path, holder_of(file), os::host_name());
    }
    static_cast<void>(::poll(nullptr, 0, nap_ms));
  }
  return {};
}

Result<BaseLock> BaseLock::take(const std::string& base, const LockWait& wait) {
  const auto path = base + "/lock";
  while (true) {
    os::Descriptor file(
        os::retry_interrupted([&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600); }));
    if (!file && errno == ENOENT) {  // the base itself was removed meanwhile
      COUPLET_TRY(make_base(base));
      continue;
    }
    if (!file) {
      return os::system_failure(errno, fmt::format("cannot open {}", path));
    }
    COUPLET_TRY(wait_for(file, path, wait));
    struct stat held {};
    struct stat named {};
    if (::fstat(file.number(), &held) == 0 && ::stat(path.c_str(), &named) == 0 && held.st_ino == named.st_ino &&
        held.st_dev == named.st_dev) {
      say_holder(file);
      return BaseLock(base, std::move(file));
    }
  }
}

Status BaseLock::make_base(const std::string& base) {
  if (::mkdir(base.c_str(), 0700) != 0 && errno != EEXIST) {
    return os::system_failure(errno, fmt::format("cannot make the run directory {}", base));
  }
  return {};
}

void BaseLock::tidy() const {
  const auto names = os::list_directory(base_);
  if (!names.ok() || *names != std::vector<std::string>{"lock"}) {
    return;
  }
  ::unlink((base_ + "/lock").c_str());
  if (os::run_directory() == base_ && ::getenv("COUPLET_RUN_DIR") == nullptr) {
    ::rmdir(base_.c_str());
  }
}

}  // namespace couplet::universe
