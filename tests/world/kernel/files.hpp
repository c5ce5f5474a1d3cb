// Files of the simulated nodes. Each node has a tree of its own below /sim. The data is in memory that all simulated
// processes share at one address, as if each had mapped it there, and stays until the test process ends.
#pragma once

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "kernel.hpp"

namespace world {

class OpenFile;
class DatagramSocket;

struct Inode {
  mode_t mode = 0;  // type and permissions
  std::uint64_t number = 0;
  std::byte* data = nullptr;
  std::size_t size = 0;
  std::size_t capacity = 0;
  int links = 1;                         // the number of its names
  const Object* lock_owner = nullptr;    // which object has the lock of F_OFD_SETLK with F_WRLCK
  std::set<const Object*> lock_sharers;  // which objects have one with F_RDLCK
  const Object* flock_owner = nullptr;   // which object has the lock of flock
  std::weak_ptr<DatagramSocket> socket;
};

// The tree of one node: all names, each with its whole path. Directories are inodes, too.
class FileTree {
 public:
  FileTree();
  [[nodiscard]] std::shared_ptr<Inode> find(const std::string& path) const;
  // Returns nullptr, and sets errno, if the name exists or its directory does not.
  std::shared_ptr<Inode> make(const std::string& path, mode_t mode);
  // Returns 0; or -1, and sets errno.
  int remove(const std::string& path, bool directory);
  int rename(const std::string& from, const std::string& to);
  int link(const std::string& from, const std::string& to);
  [[nodiscard]] std::vector<std::string> names_in(const std::string& directory) const;
  [[nodiscard]] std::vector<std::string> all() const;
  // Sets how many bytes the files may have. Beyond that, writing fails with ENOSPC.
  void set_capacity(std::size_t bytes) noexcept { capacity_ = bytes; }
  [[nodiscard]] bool reserve(Inode& inode, std::size_t bytes);

 private:
  std::map<std::string, std::shared_ptr<Inode>> names_;
  std::size_t capacity_ = std::size_t{1} << 30;
  std::size_t used_ = 0;
};

// Returns the tree of a node, which is made on first use.
[[nodiscard]] FileTree& files_of(int node);
// Returns the tree of the calling process's node.
[[nodiscard]] FileTree& own_files();
// Returns a path "/sim/..." without a slash at the end, or "" if the path is not simulated.
[[nodiscard]] std::string simulated_path(const char* path);
// Is this memory that of a simulated file?
[[nodiscard]] bool is_file_memory(const void* address) noexcept;

class OpenFile final : public Object {
 public:
  OpenFile(std::shared_ptr<Inode> of, int open_flags) : inode(std::move(of)), flags(open_flags) {}
  [[nodiscard]] unsigned readiness() const override { return 0x5; }  // POLLIN | POLLOUT
  void closed() override {
    open = false;
    unlock_if_unused();
    inode->flock_owner = inode->flock_owner == this ? nullptr : inode->flock_owner;
  }
  const std::shared_ptr<Inode> inode;
  // A mapping keeps the locks of the description, also when the descriptor is closed.
  void mapped() { ++mappings; }
  void unmapped() override {
    --mappings;
    unlock_if_unused();
  }
  void unlock() {
    inode->lock_owner = inode->lock_owner == this ? nullptr : inode->lock_owner;
    inode->lock_sharers.erase(this);
  }
  void unlock_if_unused() {
    if (!open && mappings == 0) {
      unlock();
    }
  }
  const int flags;
  bool open = true;
  int mappings = 0;
  std::string path;  // the path of a directory, in which names are looked up
  std::size_t offset = 0;
};

}  // namespace world
