#include "os/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "os/descriptor.hpp"
#include "os/error.hpp"
#include "os/file_size_limit.hpp"
#include "os/populate.hpp"

namespace couplet::os {
namespace {

Result<std::byte*> map(int descriptor, const std::string& path, std::size_t bytes, bool write) {
  const int protection = write ? PROT_READ | PROT_WRITE : PROT_READ;
  void* const data = ::mmap(nullptr, bytes, protection, MAP_SHARED, descriptor, 0);
  if (data == MAP_FAILED) {
    return system_failure(errno, fmt::format("cannot map {} bytes of {}", bytes, path));
  }
  return static_cast<std::byte*>(data);
}

// The mapping refers to the open file description, whose lock therefore stays when the descriptor is closed. False:
// another process has locked the file in a way that excludes this.
Result<bool> lock_whole(int descriptor, short type, const std::string& path) {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  if (::fcntl(descriptor, F_OFD_SETLK, &range) == 0) {
    return true;
  }
  if (errno == EAGAIN || errno == EACCES) {
    return false;
  }
  return system_failure(errno, fmt::format("cannot lock {}", path));
}

// not_found: it is being removed, or has been since it was opened. Where files cannot be locked, nobody removes them
// either.
Status show_use(int descriptor, const std::string& path) {
  const auto locked = lock_whole(descriptor, F_RDLCK, path);
  struct stat facts {};
  if ((locked.ok() && !*locked) || (::fstat(descriptor, &facts) == 0 && facts.st_nlink == 0)) {
    return fail(Code::not_found, "{} is being removed", path);
  }
  return {};
}

}  // namespace

MappedFile::MappedFile(std::string path, std::byte* data, std::size_t bytes)
    : path_(std::move(path)), data_(data), bytes_(bytes) {}

MappedFile::~MappedFile() {
  ::munmap(data_, bytes_);
}

Result<std::unique_ptr<MappedFile>> MappedFile::create(const std::string& path, std::size_t bytes, Use use) {
  if (bytes == 0) {
    return fail(Code::argument, "cannot create {} with 0 bytes", path);
  }
  COUPLET_TRY(check_file_size(path, bytes));
  Descriptor file(retry_interrupted([&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600); }));
  if (!file) {
    return system_failure(errno, fmt::format("cannot create {}", path));
  }
  if (const Status shown = use == Use::shown ? show_use(file.number(), path) : Status(); !shown.ok()) {
    ::unlink(path.c_str());
    return shown;
  }
  int error = ::fchmod(file.number(), 0600) == 0 ? 0 : errno;  // independent of the umask
  if (error == 0) {
    do {
      error = ::posix_fallocate(file.number(), 0, static_cast<off_t>(bytes));
    } while (error == EINTR);
  }
  if (error != 0) {
    ::unlink(path.c_str());
    return system_failure(error, fmt::format("cannot allocate {} bytes for {}", bytes, path));
  }
  auto data = map(file.number(), path, bytes, true);
  if (!data) {
    ::unlink(path.c_str());
    return data.status();
  }
  populate_pages(*data, bytes, true);
  return std::unique_ptr<MappedFile>(new MappedFile(path, *data, bytes));
}

Result<std::unique_ptr<MappedFile>> MappedFile::open(const std::string& path, Access access, bool populate, Use use) {
  const bool write = access == Access::read_write;
  const int flags = (write ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  Descriptor file(retry_interrupted([&] { return ::open(path.c_str(), flags); }));
  if (!file) {
    return system_failure(errno, fmt::format("cannot open {}", path));
  }
  COUPLET_TRY(use == Use::shown ? show_use(file.number(), path) : Status());
  struct stat facts {};
  if (::fstat(file.number(), &facts) != 0) {
    return system_failure(errno, fmt::format("cannot inspect {}", path));
  }
  if (!S_ISREG(facts.st_mode) || facts.st_size <= 0 || facts.st_uid != ::geteuid()) {
    return fail(Code::protocol, "{} is empty or not a plain file of this user", path);
  }
  const auto bytes = static_cast<std::size_t>(facts.st_size);
  COUPLET_TRY_VALUE(auto* const data, map(file.number(), path, bytes, write));
  if (populate) {
    populate_pages(data, bytes, write);
  }
  return std::unique_ptr<MappedFile>(new MappedFile(path, data, bytes));
}

Status MappedFile::rename_to(const std::string& path) {
  if (::rename(path_.c_str(), path.c_str()) != 0) {
    return system_failure(errno, fmt::format("cannot rename {} to {}", path_, path));
  }
  path_ = path;
  return {};
}

Status MappedFile::link_to(const std::string& path) {
  if (::link(path_.c_str(), path.c_str()) != 0) {
    return system_failure(errno, fmt::format("cannot link {} to {}", path_, path));
  }
  ::unlink(path_.c_str());
  path_ = path;
  return {};
}

// A process that opens the file meanwhile cannot show its use, and is told so.
Result<bool> MappedFile::remove_if_unused(const std::string& path) {
  Descriptor file(
      retry_interrupted([&] { return ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK); }));
  if (!file) {
    return errno == ENOENT ? Result<bool>(true) : system_failure(errno, fmt::format("cannot open {}", path));
  }
  COUPLET_TRY_VALUE(const bool unused, lock_whole(file.number(), F_WRLCK, path));
  if (unused && ::unlink(path.c_str()) != 0 && errno != ENOENT) {
    return system_failure(errno, fmt::format("cannot remove {}", path));
  }
  return unused;
}

Status MappedFile::remove() {
  if (::unlink(path_.c_str()) != 0 && errno != ENOENT) {
    return system_failure(errno, fmt::format("cannot remove {}", path_));
  }
  return {};
}

}  // namespace couplet::os
