// The connection between members and the hub through a shared directory: the address "file:/shared/directory". The file
// `hub` in the directory says which run the hub serves, and the hub has an inbox there like a member.
// Invariants: the bytes are those of the connection over tcp, handshake first; a directory has at most one hub at a
// time.
// Format: docs/formats/file.md. Tests: tests/universe/test_file_hub.py.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "link/file/file_bridge.hpp"
#include "os/socket.hpp"
#include "universe/join.hpp"

namespace couplet::runtime {

// Returns the directory of such an address, or "" if the hub's address is another one.
[[nodiscard]] std::string directory_of_hub(std::string_view hub);

// The directory's side of a hub that listens at a port of its own host.
class FileHub {
 public:
  // Returns exists if another hub serves the directory: of hubs that start together, one succeeds. Blocking: up to 3 s
  // for a hub of which only its heartbeat says whether it lives.
  static Result<std::unique_ptr<FileHub>> open(const std::string& directory, std::uint64_t run_id,
                                               const os::Endpoint& hub);
  ~FileHub();
  FileHub(const FileHub&) = delete;
  FileHub& operator=(const FileHub&) = delete;

 private:
  FileHub(std::function<void()> remove_pointer, std::unique_ptr<link::FileBridge> bridge)
      : remove_pointer_(std::move(remove_pointer)), bridge_(std::move(bridge)) {}
  std::function<void()> remove_pointer_;
  std::unique_ptr<link::FileBridge> bridge_;
};

// Lets options.hub be such an address.
void allow_file_hub(universe::JoinOptions& options);

}  // namespace couplet::runtime
