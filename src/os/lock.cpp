#include "os/lock.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "os/error.hpp"

namespace couplet::os {
namespace {

struct flock whole_file() noexcept {
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  return range;
}

}  // namespace

Result<std::unique_ptr<LifeLock>> LifeLock::take(const std::string& path) {
  Descriptor file(
      retry_interrupted([&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600); }));
  if (!file) {
    return system_failure(errno, fmt::format("cannot open {} to lock it", path));
  }
  COUPLET_TRY(take_life_lock(file, path));
  return std::unique_ptr<LifeLock>(new LifeLock(std::move(file)));
}

Status take_life_lock(const Descriptor& file, const std::string& path) {
  auto range = whole_file();
  if (::fcntl(file.number(), F_OFD_SETLK, &range) == 0) {
    return {};
  }
  if (errno == EAGAIN || errno == EACCES) {
    return fail(Code::exists, "{} is locked by another process", path);
  }
  return system_failure(errno, fmt::format("cannot lock {}", path));
}

bool is_life_locked(const Descriptor& file) noexcept {
  if (!file.mine()) {
    return true;
  }
  auto range = whole_file();
  if (::fcntl(file.number(), F_OFD_GETLK, &range) != 0) {
    return true;
  }
  return range.l_type != F_UNLCK;
}

Result<std::unique_ptr<LockProbe>> LockProbe::open(const std::string& path) {
  Descriptor file(
      retry_interrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK); }));
  if (!file) {
    return system_failure(errno, fmt::format("cannot open {} to look at its lock", path));
  }
  return std::unique_ptr<LockProbe>(new LockProbe(std::move(file)));
}

bool LockProbe::held() const noexcept {
  return is_life_locked(file_);
}

bool is_locked(const std::string& path) {
  auto probe = LockProbe::open(path);
  return probe.ok() && (*probe)->held();
}

}  // namespace couplet::os
