// An open directory of the transport `file`, and the files in it. Below: POSIX. Used by file_writer, file_reader and
// file_connection. Private to link/file/.
// Invariants: every name is relative to the open directory, links are not followed, and files have mode 0600.
#pragma once

#include <string>

#include "base/status.hpp"
#include "os/descriptor.hpp"

namespace couplet::link {

// Says whether only this kernel writes to the file system of the file, so that what one process has written is seen by
// all others at once, and locks are dependable.
[[nodiscard]] bool is_on_local_file_system(const os::Descriptor& file) noexcept;

class FileDirectory {
 public:
  // Opens an existing directory. Returns not_found if there is none, and system if others may enter it.
  static Result<FileDirectory> open(const std::string& path);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  // Returns false in a forked child.
  [[nodiscard]] bool mine() const noexcept { return file_.mine(); }
  // Says whether all processes see at once what another one has written. Otherwise a writer hands its bytes to the
  // server, and a reader opens its file anew to see them.
  [[nodiscard]] bool coherent() const noexcept { return coherent_; }
  // Makes a file. Returns no_space, and system if the directory has vanished.
  [[nodiscard]] Result<os::Descriptor> make(const std::string& name) const;
  // Opens a file to read. Returns not_found if there is none, and system if the directory has vanished.
  [[nodiscard]] Result<os::Descriptor> open_file(const std::string& name) const;
  void remove(const std::string& name) const noexcept;
  [[nodiscard]] bool has(const std::string& name) const noexcept;
  // Returns a system error if the directory was removed.
  [[nodiscard]] Status check() const;

 private:
  FileDirectory(std::string path, os::Descriptor file, bool coherent)
      : path_(std::move(path)), file_(std::move(file)), coherent_(coherent) {}
  [[nodiscard]] Status failure(int error, const char* what, const std::string& name) const;

  std::string path_;
  os::Descriptor file_;
  bool coherent_;
};

}  // namespace couplet::link
