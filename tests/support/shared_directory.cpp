#include "support/shared_directory.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>

#include "base/assert.hpp"

namespace couplet::test {

namespace {

constexpr const char* shared_memory = "/dev/shm";
constexpr const char* prefix = "couplet-testing-";
constexpr time_t being_made_s = 60;  // a directory has its lock by then

// Returns the descriptor that holds the lock of a directory, or -1 if another process holds the lock.
int take_lock(const std::filesystem::path& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor >= 0 && flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    close(descriptor);
    return -1;
  }
  return descriptor;
}

// Removes what killed tests have left: directories of our own that no process has locked.
void remove_leftovers() {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(shared_memory, ignored)) {
    struct stat facts {};
    if (!entry.path().filename().string().starts_with(prefix) || lstat(entry.path().c_str(), &facts) != 0 ||
        facts.st_uid != geteuid() || facts.st_ctime > time(nullptr) - being_made_s) {
      continue;
    }
    if (const int lock = take_lock(entry.path()); lock >= 0) {
      std::filesystem::remove_all(entry.path(), ignored);
      close(lock);
    }
  }
}

}  // namespace

SharedDirectory::SharedDirectory() : owner_(getpid()), path_(std::string(shared_memory) + "/" + prefix + "XXXXXX") {
  static const bool swept = (remove_leftovers(), true);
  COUPLET_ASSERT(swept && mkdtemp(path_.data()) != nullptr);
  lock_ = take_lock(path_);
  COUPLET_ASSERT(lock_ >= 0);
}

SharedDirectory::~SharedDirectory() {
  if (getpid() == owner_) {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
    close(lock_);
  }
}

}  // namespace couplet::test
