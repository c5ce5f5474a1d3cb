// Files of the simulated nodes: each node has a tree of its own below /sim. Data lies in memory that all processes
// share at one address, as if each had mapped it there, and stays until the test process ends.
#pragma once

#include <sys/stat.h>

#include <algorithm>
#include <cstring>

#include "kernel.hpp"

namespace world {

class OpenFile;
class DatagramSocket;

struct Inode {
  mode_t mode = 0;  // with the type
  std::uint64_t number = 0;
  std::byte* data = nullptr;
  std::size_t size = 0;
  std::size_t capacity = 0;
  const Object* lock_owner = nullptr;   // of F_OFD_SETLK
  const Object* flock_owner = nullptr;  // of flock
  std::weak_ptr<DatagramSocket> socket;
};

// One node's tree: every name, with its whole path. Directories are inodes, too.
class FileTree {
 public:
  FileTree();
  [[nodiscard]] std::shared_ptr<Inode> find(const std::string& path) const;
  // exists, or no directory: nullptr and errno.
  std::shared_ptr<Inode> make(const std::string& path, mode_t mode);
  // 0, or -1 and errno.
  int remove(const std::string& path, bool directory);
  int rename(const std::string& from, const std::string& to);
  int link(const std::string& from, const std::string& to);
  [[nodiscard]] std::vector<std::string> names_in(const std::string& directory) const;
  [[nodiscard]] std::vector<std::string> all() const;
  // Bytes that files may have here; more is ENOSPC.
  void set_capacity(std::size_t bytes) noexcept { capacity_ = bytes; }
  [[nodiscard]] bool reserve(Inode& inode, std::size_t bytes);

 private:
  std::map<std::string, std::shared_ptr<Inode>> names_;
  std::size_t capacity_ = std::size_t{1} << 30;
  std::size_t used_ = 0;
};

// The tree of a node; made when it is first asked for.
[[nodiscard]] FileTree& files_of(int node);
// Of the node of the calling process.
[[nodiscard]] FileTree& own_files();
// "/sim/..." without a slash at the end; empty: it is not simulated.
[[nodiscard]] std::string simulated_path(const char* path);
// Is this memory that of a simulated file?
[[nodiscard]] bool is_file_memory(const void* address) noexcept;

class OpenFile final : public Object {
 public:
  OpenFile(std::shared_ptr<Inode> of, int open_flags) : inode(std::move(of)), flags(open_flags) {}
  [[nodiscard]] unsigned readiness() const override { return 0x5; }  // POLLIN | POLLOUT
  void closed() override {
    inode->lock_owner = inode->lock_owner == this ? nullptr : inode->lock_owner;
    inode->flock_owner = inode->flock_owner == this ? nullptr : inode->flock_owner;
  }
  const std::shared_ptr<Inode> inode;
  const int flags;
  std::string path;  // of a directory, to look up names below it
  std::size_t offset = 0;
};

}  // namespace world
