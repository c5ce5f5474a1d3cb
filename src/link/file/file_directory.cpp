#include "link/file/file_directory.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "os/error.hpp"

namespace couplet::link {
namespace {

// The magic numbers of statfs(2) of file systems that live on this system alone.
constexpr std::array<unsigned long, 8> local_file_systems = {
    0x01021994,  // tmpfs
    0xEF53,      // ext2, ext3, ext4
    0x58465342,  // XFS
    0x9123683E,  // Btrfs
    0x794C7630,  // overlayfs
    0x858458F6,  // ramfs
    0xF2F52010,  // F2FS
    0x2FC12FC1,  // ZFS
};

}  // namespace

bool is_on_local_file_system(const os::Descriptor& file) noexcept {
  struct statfs facts {};
  if (::fstatfs(file.number(), &facts) != 0) {
    return false;
  }
  const auto type = static_cast<unsigned long>(facts.f_type) & 0xFFFFFFFFUL;
  return std::find(local_file_systems.begin(), local_file_systems.end(), type) != local_file_systems.end();
}

Result<FileDirectory> FileDirectory::open(const std::string& path) {
  os::Descriptor file(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!file) {
    return os::system_failure(errno, fmt::format("cannot open directory {}", path));
  }
  struct stat facts {};
  if (::fstat(file.number(), &facts) != 0) {
    return os::system_failure(errno, fmt::format("cannot inspect directory {}", path));
  }
  if (facts.st_uid != ::geteuid() || (facts.st_mode & 077U) != 0) {
    return fail(Code::system,
                "directory {} has owner {} and mode {:04o}; it has to belong to uid {} and have mode 0700", path,
                facts.st_uid, facts.st_mode & 0777U, ::geteuid());
  }
  const bool coherent = is_on_local_file_system(file);
  return FileDirectory(path, std::move(file), coherent);
}

Status FileDirectory::failure(int error, const char* what, const std::string& name) const {
  if (Status vanished = check(); vanished.error()) {
    return vanished;
  }
  return os::system_failure(error, fmt::format("cannot {} {}/{}", what, path_, name));
}

Status FileDirectory::check() const {
  struct stat facts {};
  if (::fstat(file_.number(), &facts) != 0) {
    return fail(Code::system, "the shared directory {} can no longer be read: {}", path_,
                os::system_failure(errno, "fstat").text());
  }
  if (facts.st_nlink == 0) {
    return fail(Code::system, "the shared directory {} has vanished", path_);
  }
  return {};
}

Result<os::Descriptor> FileDirectory::make(const std::string& name) const {
  os::Descriptor file(
      ::openat(file_.number(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) {
    return failure(errno, "make", name);
  }
  return file;
}

Result<os::Descriptor> FileDirectory::open_file(const std::string& name) const {
  os::Descriptor file(::openat(file_.number(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file) {
    return failure(errno, "open", name);
  }
  if (!coherent_) {
    // A size that this system has kept from before would hide what was appended since.
    struct statx facts {};
    static_cast<void>(::statx(file.number(), "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_SIZE, &facts));
  }
  return file;
}

void FileDirectory::remove(const std::string& name) const noexcept {
  static_cast<void>(::unlinkat(file_.number(), name.c_str(), 0));
}

bool FileDirectory::has(const std::string& name) const noexcept {
  return ::faccessat(file_.number(), name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

}  // namespace couplet::link
