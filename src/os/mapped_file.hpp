// Shared memory as a file: allocated in full, so that a full disk is an error here and never a SIGBUS later.
// Invariants: mode 0600; the size never changes while anybody may use it; the name may go, the memory stays mapped.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/status.hpp"

namespace couplet::os {

enum class Access { read_only, read_write };

class MappedFile {
 public:
  // Makes `path` (exists: there is such a file), `bytes` long, zero, allocated (no_space names file and bytes, and leaves
  // nothing behind), mapped for reading and writing with its pages touched.
  static Result<std::unique_ptr<MappedFile>> create(const std::string& path, std::size_t bytes);
  // Maps an existing file whole (not_found; protocol: it is empty or no plain file of this user). populate: page tables are
  // filled at once.
  static Result<std::unique_ptr<MappedFile>> open(const std::string& path, Access access, bool populate = true);
  // Unmaps. The file stays; see remove().
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_; }
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return {data_, bytes_}; }
  // The present name.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  // Takes the name `path` instead of the present one; a file of that name is replaced.
  Status rename_to(const std::string& path);
  // The same, but answers `exists` where the name is taken; the file then keeps its present name.
  Status link_to(const std::string& path);
  // Takes the name away; the memory stays mapped. ok also when the name is gone already.
  Status remove();

 private:
  MappedFile(std::string path, std::byte* data, std::size_t bytes);

  std::string path_;
  std::byte* data_;
  std::size_t bytes_;
};

}  // namespace couplet::os
