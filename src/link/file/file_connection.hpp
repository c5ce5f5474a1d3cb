// One connection between two processes: a directory with the files of both directions. It turns bodies into records and
// back, and says when to look again. file_lane makes a lane of it. Before that, runtime moves the bytes of a handshake
// over it.
// Invariants: nothing blocks but the calls of the file system; what was written before the end is read; the side that
// goes last removes the directory; nobody looks at a file more often than the options say.
// Format: docs/formats/file.md. Tests: tests/unit/link/file_link_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/status.hpp"
#include "link/file/file_directory.hpp"
#include "link/file/file_options.hpp"
#include "link/file/file_peer.hpp"
#include "link/file/file_reader.hpp"
#include "link/file/file_writer.hpp"
#include "os/timer.hpp"

namespace couplet::link {

// Which of both sides of a connection this one is.
enum class FileSide : std::uint8_t { dialer, acceptor };

// The names of connections in the inbox of the process that is dialed begin so. The rest is a random number.
inline constexpr std::string_view file_call_prefix = "call-";
// The name of the heartbeat of a process that has no inbox and dials the hub, in the directory of its connection.
inline constexpr std::string_view file_dialer_beat = "beat-d";

class FileConnection {
 public:
  // Makes a connection in the inbox of the process that is dialed. Returns not_found if there is no inbox, no_space,
  // and system.
  static Result<std::unique_ptr<FileConnection>> dial(const std::string& inbox, const FileOrigin& origin,
                                                      const FileOptions& options);
  // Takes the other side of a connection, whose directory is `path`.
  static Result<std::unique_ptr<FileConnection>> accept(const std::string& path, const FileOrigin& origin,
                                                        const FileOptions& options);
  // Ends this side: writes the end, and removes what nobody needs any longer.
  ~FileConnection();
  FileConnection(const FileConnection&) = delete;
  FileConnection& operator=(const FileConnection&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return directory_.path(); }
  [[nodiscard]] const FileOptions& options() const noexcept { return options_; }
  // Returns the descriptor that can be read when it is time to look.
  [[nodiscard]] int descriptor() const noexcept { return timer_->descriptor(); }
  [[nodiscard]] bool due(std::uint64_t now_ns) const noexcept { return now_ns >= next_look_ns_; }

  // Returns the largest body that can be written now. 0: none.
  [[nodiscard]] std::size_t room() const noexcept { return state_ == State::open ? writer_.room() : 0; }
  // Returns the memory for the next body. REQUIRES: 1 to room() bytes.
  [[nodiscard]] std::byte* body(std::size_t bytes) { return writer_.body(bytes); }
  // Writes the body. It is taken unless an error is returned: no_space, system.
  Status send(std::size_t bytes);
  // Writes what waits, as FileWriter::flush.
  Status flush() { return writer_.flush(); }
  // Returns the next body, which is valid until the next call; not_yet; end if the peer has ended its direction; or the
  // failure of the reader.
  Result<std::span<const std::byte>> receive();
  // Takes what the peer says about its reading, up to the next body, which receive() then returns.
  void take_notices();
  // Has the peer ended its direction, and was everything before that taken?
  [[nodiscard]] bool peer_has_ended() {
    take_notices();
    return held_.empty() && reader_.failure().code() == Code::end;
  }
  // Does what is left to do after sends and receives, and sets the time of the next look. `moved`: something has come.
  // `untaken`: more may be there, but the owner has not taken it yet.
  // Returns the failure of the writer; peer_lost if the peer's process has died, its heartbeat has stopped, or it has
  // given this connection up; or system if the directory has vanished.
  Status finish_look(bool moved, std::uint64_t now_ns, bool untaken = false);
  // Looks again soon, since an answer is likely.
  void expect_answer(std::uint64_t now_ns);
  // From now on, this heartbeat says whether the peer is there.
  void watch_beat(const std::string& path) { peer_.watch_beat(path); }
  // Writes the end of this direction.
  void shut() noexcept;
  // Ends this side without the end of its direction: the other side takes the connection for broken.
  void give_up() noexcept { state_ = State::shut; }
  // Has the peer's process died, by proof?
  [[nodiscard]] bool peer_has_died() const noexcept { return peer_.has_died(); }
  // Has the peer's heartbeat stopped for too long?
  [[nodiscard]] bool peer_is_silent() const noexcept { return peer_.is_silent(); }

  // Moves the bytes of a handshake, like the calls of a socket: returns not_yet, and end.
  Result<std::size_t> send_some(std::span<const std::byte> bytes);
  Result<std::size_t> receive_some(std::span<std::byte> bytes);
  // Says whether bytes are left that receive_some has not returned.
  [[nodiscard]] bool has_rest() const noexcept { return !rest_.empty(); }

 private:
  // shutting: the end waits to be written.
  enum class State : std::uint8_t { open, shutting, shut };

  FileConnection(FileDirectory directory, FileSide side, const FileOrigin& origin, const FileOptions& options,
                 std::unique_ptr<os::Timer> timer);
  static Result<std::unique_ptr<FileConnection>> open(const std::string& path, FileSide side, const FileOrigin& origin,
                                                      const FileOptions& options);
  void wake_in(std::uint64_t delay_ns, std::uint64_t now_ns);

  FileOptions options_;
  FileOrigin origin_;
  FileSide side_;
  FileDirectory directory_;
  FileWriter writer_;
  FileReader reader_;
  std::unique_ptr<os::Timer> timer_;
  FilePeer peer_;
  std::uint64_t next_look_ns_ = 0;
  std::uint64_t delay_ns_;
  std::uint64_t told_bytes_ = 0;     // how much the peer knows to be read
  std::span<const std::byte> held_;  // a body that receive() has not returned yet
  std::span<const std::byte> rest_;
  State state_ = State::open;
};

}  // namespace couplet::link
