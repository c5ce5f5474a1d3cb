#include "os/directory.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <system_error>

#include "os/error.hpp"

namespace couplet::os {

Status make_private_directory(const std::string& path) {
  const bool made = ::mkdir(path.c_str(), 0700) == 0;
  if (!made && errno != EEXIST) {
    return system_failure(errno, fmt::format("cannot make directory {}", path));
  }
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) != 0) {
    return system_failure(errno, fmt::format("cannot inspect directory {}", path));
  }
  if (!S_ISDIR(facts.st_mode)) {
    return fail(Code::system, "{} is not a directory", path);
  }
  if (facts.st_uid != ::geteuid()) {
    return fail(Code::system, "directory {} belongs to another user (uid {})", path, facts.st_uid);
  }
  if ((facts.st_mode & 077U) != 0) {
    return fail(Code::system, "directory {} is open to other users (mode {:04o}); it has to have mode 0700", path,
                facts.st_mode & 0777U);
  }
  return {};
}

Result<std::vector<std::string>> list_directory(const std::string& path) {
  std::error_code error;
  std::filesystem::directory_iterator entry(path, error);
  std::vector<std::string> names;
  while (!error && entry != std::filesystem::directory_iterator()) {
    names.push_back(entry->path().filename().string());
    entry.increment(error);
  }
  if (error) {
    return system_failure(error.value(), fmt::format("cannot list directory {}", path));
  }
  std::sort(names.begin(), names.end());
  return names;
}

Status remove_file(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
    return system_failure(errno, fmt::format("cannot remove {}", path));
  }
  return {};
}

Status remove_directory(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (error && error.value() != ENOENT) {
    return system_failure(error.value(), fmt::format("cannot remove directory {}", path));
  }
  return {};
}

std::string temporary_name(const std::string& directory, std::string_view prefix) {
  static std::atomic<std::uint64_t> counter{0};
  return fmt::format("{}/{}-{}-{}", directory, prefix, ::getpid(), counter.fetch_add(1, std::memory_order_relaxed));
}

}  // namespace couplet::os
