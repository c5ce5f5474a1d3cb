// Shared memory as a file. It is allocated in full, so that a full disk is an error here and never a SIGBUS later.
// Invariants: mode 0600; the size never changes while a process may use it; if the name is removed, the memory stays
// mapped.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/status.hpp"

namespace couplet::os {

enum class Access { read_only, read_write };

// Whether other processes can find out that this one maps the file. `shown`: the mapping has a shared lock of the file
// (an open file description lock, which needs no descriptor), until it is unmapped or the process has ended, for any
// reason. remove_if_unused() leaves the file alone meanwhile.
enum class Use { unshown, shown };

class MappedFile {
 public:
  // Makes `path` with `bytes` zero bytes, allocates it, maps it for reading and writing, and touches its pages. Returns
  // exists if there is such a file, and no_space, which names file and bytes, if the disk is full or files of this
  // process may not be so large; nothing is then left behind.
  static Result<std::unique_ptr<MappedFile>> create(const std::string& path, std::size_t bytes, Use use = Use::unshown);
  // Maps an existing file as a whole. Returns not_found, or protocol if it is empty or not a plain file of this user.
  // With `populate`, the page tables are filled at once. A use that is shown: also not_found if the file is just being
  // removed.
  static Result<std::unique_ptr<MappedFile>> open(const std::string& path, Access access, bool populate = true,
                                                  Use use = Use::unshown);
  // Unmaps the memory. The file stays; see remove().
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_; }
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return {data_, bytes_}; }
  // Returns the present name.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  // Takes the name `path` in place of the present one. A file of that name is replaced.
  Status rename_to(const std::string& path);
  // Does the same, but returns `exists` if the name is taken. The file then keeps its present name.
  Status link_to(const std::string& path);
  // Removes the name. The memory stays mapped. Also returns ok if the name is gone already.
  Status remove();
  // Removes a file unless a process shows its use of it. Returns false if one does; true if the file is gone.
  static Result<bool> remove_if_unused(const std::string& path);

 private:
  MappedFile(std::string path, std::byte* data, std::size_t bytes);

  std::string path_;
  std::byte* data_;
  std::size_t bytes_;
};

}  // namespace couplet::os
