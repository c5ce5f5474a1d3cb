// Moves bytes between sockets and connections of files, in a thread of its own: what one side sends, the other one
// receives. So a connection that is made for sockets, that between a member and the hub, goes through a directory. It
// looks into no byte: the handshake and the frames are those of both ends.
// Invariants: at most one buffer of each direction is held; an end on one side ends the other one after everything that
// came before it was passed on; the thread ends with the object.
// Tests: tests/unit/link/file_bridge_test.cpp, tests/universe/test_file_hub.py.
#pragma once

#include <memory>

#include "base/status.hpp"
#include "link/file/file_beat.hpp"
#include "link/file/file_connection.hpp"
#include "link/file/file_inbox.hpp"
#include "os/socket.hpp"

namespace couplet::link {

class FileBridge {
 public:
  // Bridges one connection and one connected socket.
  static Result<std::unique_ptr<FileBridge>> join(std::unique_ptr<FileConnection> connection, os::Descriptor socket,
                                                  std::unique_ptr<FileBeat> beat);
  // Takes all connections that are made to the inbox, and bridges each with a new socket to `target`. Connections that
  // an earlier owner of the inbox has left are given up, so that their other ends notice that it has gone.
  static Result<std::unique_ptr<FileBridge>> serve(std::unique_ptr<FileInbox> inbox, const os::Endpoint& target,
                                                   const FileOptions& options);
  // Passes on what has been sent so far, and ends.
  ~FileBridge();
  FileBridge(const FileBridge&) = delete;
  FileBridge& operator=(const FileBridge&) = delete;

 private:
  struct State;
  explicit FileBridge(std::unique_ptr<State> state);
  static Result<std::unique_ptr<FileBridge>> start(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace couplet::link
