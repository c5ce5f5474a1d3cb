#include "files.hpp"

#include <sys/mman.h>

#include <cerrno>

namespace world {
namespace {

constexpr std::size_t page_bytes = 4096;
// Size of the address range; pages that are not touched cost nothing.
constexpr std::size_t arena_bytes = std::size_t{8} << 30;

struct Arena {
  std::byte* begin = nullptr;
  std::size_t used = 0;
};
Arena arena;
std::map<int, FileTree> trees;
std::uint64_t inodes = 0;

std::byte* take_memory(std::size_t bytes) {
  if (arena.begin == nullptr) {
    arena.begin = static_cast<std::byte*>(
        ::mmap(nullptr, arena_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  }
  auto* const taken = arena.begin + arena.used;
  arena.used += (bytes + page_bytes - 1) / page_bytes * page_bytes;
  return taken;
}

std::string parent_of(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

}  // namespace

FileTree::FileTree() {
  auto root = std::make_shared<Inode>();
  root->mode = S_IFDIR | 0700;
  root->number = ++inodes;
  names_["/sim"] = std::move(root);
}

FileTree& files_of(int node) {
  return trees[node];
}

FileTree& own_files() {
  return files_of(kernel->process().node);
}

std::string simulated_path(const char* path) {
  std::string text = path;
  if (text != "/sim" && !text.starts_with("/sim/")) {
    return {};
  }
  while (text.ends_with('/')) {
    text.pop_back();
  }
  return text;
}

bool is_file_memory(const void* address) noexcept {
  const auto* const byte = static_cast<const std::byte*>(address);
  return arena.begin != nullptr && byte >= arena.begin && byte < arena.begin + arena_bytes;
}

std::shared_ptr<Inode> FileTree::find(const std::string& path) const {
  const auto found = names_.find(path);
  return found == names_.end() ? nullptr : found->second;
}

std::shared_ptr<Inode> FileTree::make(const std::string& path, mode_t mode) {
  const auto parent = find(parent_of(path));
  if (!parent || !S_ISDIR(parent->mode)) {
    errno = parent ? ENOTDIR : ENOENT;
    return nullptr;
  }
  auto& place = names_[path];
  if (place) {
    errno = EEXIST;
    return nullptr;
  }
  place = std::make_shared<Inode>();
  place->mode = mode;
  place->number = ++inodes;
  return place;
}

int FileTree::remove(const std::string& path, bool directory) {
  const auto found = names_.find(path);
  if (found == names_.end()) {
    errno = ENOENT;
    return -1;
  }
  if (S_ISDIR(found->second->mode) != directory) {
    errno = directory ? ENOTDIR : EISDIR;
    return -1;
  }
  if (directory && !names_in(path).empty()) {
    errno = ENOTEMPTY;
    return -1;
  }
  if (--found->second->links == 0) {
    used_ -= std::min(used_, found->second->capacity);  // also of what is still mapped
  }
  names_.erase(found);
  return 0;
}

int FileTree::link(const std::string& from, const std::string& to) {
  const auto inode = find(from);
  if (!inode || !find(parent_of(to))) {
    errno = ENOENT;
    return -1;
  }
  if (find(to)) {
    errno = EEXIST;
    return -1;
  }
  names_[to] = inode;
  ++inode->links;
  return 0;
}

int FileTree::rename(const std::string& from, const std::string& to) {
  const auto inode = find(from);
  if (!inode || !find(parent_of(to))) {
    errno = ENOENT;
    return -1;
  }
  names_.erase(from);
  names_[to] = inode;
  return 0;
}

std::vector<std::string> FileTree::names_in(const std::string& directory) const {
  std::vector<std::string> found;
  const std::string prefix = directory + "/";
  for (auto each = names_.lower_bound(prefix); each != names_.end() && each->first.starts_with(prefix); ++each) {
    if (each->first.find('/', prefix.size()) == std::string::npos) {
      found.push_back(each->first.substr(prefix.size()));
    }
  }
  return found;
}

std::vector<std::string> FileTree::all() const {
  std::vector<std::string> found;
  for (const auto& [path, inode] : names_) {
    found.push_back(path);
  }
  return found;
}

bool FileTree::reserve(Inode& inode, std::size_t bytes) {
  if (bytes <= inode.capacity) {
    return true;
  }
  if (used_ + bytes > capacity_) {
    return false;
  }
  const std::size_t wanted = (bytes + page_bytes - 1) / page_bytes * page_bytes;
  auto* const data = take_memory(wanted);
  if (inode.size != 0) {
    std::memcpy(data, inode.data, inode.size);
  }
  used_ += wanted - inode.capacity;
  inode.data = data;
  inode.capacity = wanted;
  return true;
}

}  // namespace world
