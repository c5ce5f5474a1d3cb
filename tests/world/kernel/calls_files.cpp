// Files and directories.
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <set>

#include "calls.hpp"
#include "files.hpp"

namespace world {
namespace {

constexpr mode_t permissions = 07777;

int fill_facts(const Inode& inode, struct stat* facts) {
  *facts = {};
  facts->st_mode = inode.mode;
  facts->st_uid = ::geteuid();
  facts->st_ino = inode.number;
  facts->st_dev = 42;
  facts->st_nlink = static_cast<nlink_t>(inode.links);
  facts->st_size = static_cast<off_t>(inode.size);
  return 0;
}

int stat_path(const std::string& path, struct stat* facts) {
  kernel->step();
  const auto inode = own_files().find(path);
  return inode ? fill_facts(*inode, facts) : failed(ENOENT);
}

int open_path(const std::string& path, int flags, mode_t mode) {
  kernel->step();
  auto& files = own_files();
  auto inode = files.find(path);
  if (inode && (flags & O_CREAT) != 0 && (flags & O_EXCL) != 0) {
    return failed(EEXIST);
  }
  if (!inode && (flags & O_CREAT) == 0) {
    return failed(ENOENT);
  }
  if (!inode && !(inode = files.make(path, S_IFREG | (mode & permissions)))) {
    return -1;
  }
  if (S_ISSOCK(inode->mode)) {
    return failed(ENXIO);
  }
  if ((flags & O_DIRECTORY) != 0 && !S_ISDIR(inode->mode)) {
    return failed(ENOTDIR);
  }
  if ((flags & O_TRUNC) != 0) {
    inode->size = 0;
  }
  auto file = std::make_shared<OpenFile>(inode, flags);
  file->path = path;
  return kernel->attach(std::move(file));
}

ssize_t write_at(OpenFile& file, const void* data, std::size_t bytes, std::size_t offset) {
  Inode& inode = *file.inode;
  if (!own_files().reserve(inode, offset + bytes)) {
    return failed(ENOSPC);
  }
  std::memcpy(inode.data + offset, data, bytes);
  inode.size = std::max(inode.size, offset + bytes);
  return static_cast<ssize_t>(bytes);
}

ssize_t read_at(const OpenFile& file, void* data, std::size_t bytes, std::size_t offset) {
  const Inode& inode = *file.inode;
  const std::size_t there = offset < inode.size ? std::min(bytes, inode.size - offset) : 0;
  if (there != 0) {
    std::memcpy(data, inode.data + offset, there);
  }
  return static_cast<ssize_t>(there);
}

// What a process reads about its system. The real files would show the load of the real machine, and a seed would not
// always give the same run.
bool is_system_file(const char* path) {
  return std::strncmp(path, "/proc/", std::strlen("/proc/")) == 0;
}

std::string below(int directory, const char* name) {
  const auto file = kernel->object_as<OpenFile>(directory);
  return file ? file->path + "/" + name : std::string();
}

// The state of listing a directory.
struct Listing {
  int descriptor = -1;
  std::vector<std::string> names;
  std::size_t next = 0;
  struct dirent entry {};
};
std::set<const void*> listings;

Listing* listing_of(void* directory) {
  return listings.count(directory) != 0 ? static_cast<Listing*>(directory) : nullptr;
}

}  // namespace

// Also called by calls_sockets.cpp, whose calls take sockets and files.
ssize_t write_file(OpenFile& file, const void* data, std::size_t bytes) {
  const ssize_t written = write_at(file, data, bytes, (file.flags & O_APPEND) != 0 ? file.inode->size : file.offset);
  file.offset += written > 0 ? static_cast<std::size_t>(written) : 0;
  return written;
}

ssize_t read_file(OpenFile& file, void* data, std::size_t bytes) {
  const ssize_t read = read_at(file, data, bytes, file.offset);
  file.offset += static_cast<std::size_t>(read);
  return read;
}

}  // namespace world

using world::failed;
using world::inside;
using world::kernel;
using world::OpenFile;
using world::own_files;
using world::simulated_path;

WORLD_CALL(int, open, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const auto mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if (inside() && world::is_system_file(path)) {
    return failed(ENOENT);
  }
  const auto simulated = inside() ? simulated_path(path) : std::string();
  return simulated.empty() ? WORLD_REAL(open)(path, flags, mode) : world::open_path(simulated, flags, mode);
}

WORLD_CALL(int, openat, int directory, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const auto mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if (!inside()) {
    return WORLD_REAL(openat)(directory, path, flags, mode);
  }
  const auto simulated = directory >= world::first_descriptor ? world::below(directory, path) : simulated_path(path);
  return simulated.empty() ? WORLD_REAL(openat)(directory, path, flags, mode)
                           : world::open_path(simulated, flags, mode);
}

WORLD_CALL(int, fchmod, int descriptor, mode_t mode) {
  const auto file = inside() ? kernel->object_as<OpenFile>(descriptor) : nullptr;
  if (!file) {
    return WORLD_REAL(fchmod)(descriptor, mode);
  }
  file->inode->mode = (file->inode->mode & ~world::permissions) | mode;
  return 0;
}

WORLD_CALL(int, ftruncate, int descriptor, off_t bytes) {
  const auto file = inside() ? kernel->object_as<OpenFile>(descriptor) : nullptr;
  if (!file) {
    return WORLD_REAL(ftruncate)(descriptor, bytes);
  }
  kernel->step();
  if (!own_files().reserve(*file->inode, static_cast<std::size_t>(bytes))) {
    return failed(ENOSPC);
  }
  file->inode->size = static_cast<std::size_t>(bytes);
  return 0;
}

WORLD_CALL(int, posix_fallocate, int descriptor, off_t offset, off_t bytes) {
  const auto file = inside() ? kernel->object_as<OpenFile>(descriptor) : nullptr;
  if (!file) {
    return WORLD_REAL(posix_fallocate)(descriptor, offset, bytes);
  }
  kernel->step();
  const auto end = static_cast<std::size_t>(offset + bytes);
  if (!own_files().reserve(*file->inode, end)) {
    return ENOSPC;
  }
  file->inode->size = std::max(file->inode->size, end);
  return 0;
}

WORLD_CALL(ssize_t, pread, int descriptor, void* data, std::size_t bytes, off_t offset) {
  const auto file = inside() ? kernel->object_as<OpenFile>(descriptor) : nullptr;
  return file ? world::read_at(*file, data, bytes, static_cast<std::size_t>(offset))
              : WORLD_REAL(pread)(descriptor, data, bytes, offset);
}

WORLD_CALL(ssize_t, pwrite, int descriptor, const void* data, std::size_t bytes, off_t offset) {
  const auto file = inside() ? kernel->object_as<OpenFile>(descriptor) : nullptr;
  return file ? world::write_at(*file, data, bytes, static_cast<std::size_t>(offset))
              : WORLD_REAL(pwrite)(descriptor, data, bytes, offset);
}

WORLD_CALL(int, fstat, int descriptor, struct stat* facts) {
  const auto file = inside() ? kernel->object_as<OpenFile>(descriptor) : nullptr;
  return file ? world::fill_facts(*file->inode, facts) : WORLD_REAL(fstat)(descriptor, facts);
}

WORLD_CALL(int, stat, const char* path, struct stat* facts) {
  const auto simulated = inside() ? simulated_path(path) : std::string();
  return simulated.empty() ? WORLD_REAL(stat)(path, facts) : world::stat_path(simulated, facts);
}

WORLD_CALL(int, lstat, const char* path, struct stat* facts) {
  const auto simulated = inside() ? simulated_path(path) : std::string();
  return simulated.empty() ? WORLD_REAL(lstat)(path, facts) : world::stat_path(simulated, facts);
}

WORLD_CALL(int, access, const char* path, int mode) {
  const auto simulated = inside() ? simulated_path(path) : std::string();
  if (simulated.empty()) {
    return WORLD_REAL(access)(path, mode);
  }
  return simulated.starts_with("/sim/libexec/") || own_files().find(simulated) ? 0 : failed(ENOENT);
}

WORLD_CALL(int, mkdir, const char* path, mode_t mode) {
  const auto simulated = inside() ? simulated_path(path) : std::string();
  if (simulated.empty()) {
    return WORLD_REAL(mkdir)(path, mode);
  }
  kernel->step();
  return own_files().make(simulated, S_IFDIR | (mode & world::permissions)) ? 0 : -1;
}

WORLD_CALL(int, rmdir, const char* path) {
  const auto simulated = inside() ? simulated_path(path) : std::string();
  if (simulated.empty()) {
    return WORLD_REAL(rmdir)(path);
  }
  kernel->step();
  return own_files().remove(simulated, true);
}

WORLD_CALL(int, unlink, const char* path) {
  const auto simulated = inside() ? simulated_path(path) : std::string();
  if (simulated.empty()) {
    return WORLD_REAL(unlink)(path);
  }
  kernel->step();
  return own_files().remove(simulated, false);
}

WORLD_CALL(int, unlinkat, int directory, const char* path, int flags) {
  const auto simulated = inside() ? world::below(directory, path) : std::string();
  if (simulated.empty()) {
    return WORLD_REAL(unlinkat)(directory, path, flags);
  }
  kernel->step();
  return own_files().remove(simulated, (flags & AT_REMOVEDIR) != 0);
}

WORLD_CALL(int, remove, const char* path) {
  const auto simulated = inside() ? simulated_path(path) : std::string();
  if (simulated.empty()) {
    return WORLD_REAL(remove)(path);
  }
  kernel->step();
  const auto inode = own_files().find(simulated);
  return own_files().remove(simulated, inode && S_ISDIR(inode->mode));
}

WORLD_CALL(int, rename, const char* from, const char* to) {
  const auto simulated = inside() ? simulated_path(from) : std::string();
  if (simulated.empty()) {
    return WORLD_REAL(rename)(from, to);
  }
  kernel->step();
  return own_files().rename(simulated, simulated_path(to));
}

WORLD_CALL(int, link, const char* from, const char* to) {
  const auto simulated = inside() ? simulated_path(from) : std::string();
  if (simulated.empty()) {
    return WORLD_REAL(link)(from, to);
  }
  kernel->step();
  return own_files().link(simulated, simulated_path(to));
}

WORLD_CALL(int, flock, int descriptor, int operation) {
  const auto file = inside() ? kernel->object_as<OpenFile>(descriptor) : nullptr;
  if (!file) {
    return WORLD_REAL(flock)(descriptor, operation);
  }
  kernel->step();
  const auto*& owner = file->inode->flock_owner;
  if ((operation & LOCK_UN) != 0) {
    owner = owner == file.get() ? nullptr : owner;
    return 0;
  }
  if (owner != nullptr && owner != file.get()) {
    return failed(EWOULDBLOCK);  // no process waits in this call
  }
  owner = file.get();
  return 0;
}

WORLD_CALL(int, fcntl, int descriptor, int command, ...) {
  va_list rest;
  va_start(rest, command);
  void* const argument = va_arg(rest, void*);
  va_end(rest);
  if (!inside() || descriptor < world::first_descriptor) {
    return WORLD_REAL(fcntl)(descriptor, command, argument);
  }
  const auto file = kernel->object_as<OpenFile>(descriptor);
  if (!file) {
    return kernel->object(descriptor) ? 0 : failed(EBADF);
  }
  if (command != F_OFD_SETLK && command != F_OFD_GETLK) {
    return 0;
  }
  kernel->step();
  auto* const range = static_cast<struct flock*>(argument);
  const auto*& owner = file->inode->lock_owner;
  auto& sharers = file->inode->lock_sharers;
  const bool taken = owner != nullptr && owner != file.get();
  const bool shared = sharers.size() > sharers.count(file.get());
  if (command == F_OFD_GETLK) {
    range->l_type = static_cast<short>(taken ? F_WRLCK : shared ? F_RDLCK : F_UNLCK);
    return 0;
  }
  if (range->l_type != F_UNLCK && (taken || (shared && range->l_type == F_WRLCK))) {
    return failed(EAGAIN);
  }
  file->unlock();
  if (range->l_type == F_WRLCK) {
    owner = file.get();
  } else if (range->l_type == F_RDLCK) {
    sharers.insert(file.get());
  }
  return 0;
}

WORLD_CALL(DIR*, fdopendir, int descriptor) {
  const auto file = inside() ? kernel->object_as<OpenFile>(descriptor) : nullptr;
  if (!file) {
    return WORLD_REAL(fdopendir)(descriptor);
  }
  kernel->step();
  auto* const listing = new world::Listing{descriptor, own_files().names_in(file->path), 0, {}};
  world::listings.insert(listing);
  return reinterpret_cast<DIR*>(listing);
}

WORLD_CALL(DIR*, opendir, const char* path) {
  const auto simulated = inside() ? simulated_path(path) : std::string();
  if (simulated.empty()) {
    return WORLD_REAL(opendir)(path);
  }
  const int descriptor = world::open_path(simulated, O_RDONLY | O_DIRECTORY, 0);
  return descriptor < 0 ? nullptr : ::fdopendir(descriptor);
}

WORLD_CALL(struct dirent*, readdir, DIR* directory) {
  auto* const listing = world::listing_of(directory);
  if (listing == nullptr) {
    return WORLD_REAL(readdir)(directory);
  }
  if (listing->next == listing->names.size()) {
    return nullptr;
  }
  const auto& name = listing->names[listing->next++];
  std::memcpy(listing->entry.d_name, name.c_str(), name.size() + 1);
  listing->entry.d_type = DT_UNKNOWN;
  if (const auto file = kernel->object_as<OpenFile>(listing->descriptor)) {
    const auto inode = own_files().find(file->path + "/" + name);
    const bool is_directory = inode && S_ISDIR(inode->mode);
    listing->entry.d_type = static_cast<unsigned char>(is_directory ? DT_DIR : DT_REG);
  }
  return &listing->entry;
}

WORLD_CALL(int, closedir, DIR* directory) {
  auto* const listing = world::listing_of(directory);
  if (listing == nullptr) {
    return WORLD_REAL(closedir)(directory);
  }
  world::listings.erase(listing);
  if (inside()) {
    kernel->close(listing->descriptor);
  }
  delete listing;
  return 0;
}

WORLD_CALL(int, dirfd, DIR* directory) {
  const auto* const listing = world::listing_of(directory);
  return listing == nullptr ? WORLD_REAL(dirfd)(directory) : listing->descriptor;
}

WORLD_CALL(void*, mmap, void* address, std::size_t bytes, int protection, int flags, int descriptor, off_t offset) {
  const auto file =
      inside() && descriptor >= world::first_descriptor ? kernel->object_as<OpenFile>(descriptor) : nullptr;
  if (!file) {
    return WORLD_REAL(mmap)(address, bytes, protection, flags, descriptor, offset);
  }
  kernel->step();
  file->mapped();
  kernel->process().mappings.emplace(file->inode->data + offset, file);
  return file->inode->data + offset;
}

WORLD_CALL(int, munmap, void* address, std::size_t bytes) {
  if (!world::is_file_memory(address)) {
    return WORLD_REAL(munmap)(address, bytes);
  }
  if (inside()) {
    auto& mappings = kernel->process().mappings;
    if (const auto found = mappings.find(address); found != mappings.end()) {
      found->second->unmapped();
      mappings.erase(found);
    }
  }
  return 0;
}

WORLD_CALL(int, madvise, void* address, std::size_t bytes, int advice) {
  return world::is_file_memory(address) ? 0 : WORLD_REAL(madvise)(address, bytes, advice);
}
