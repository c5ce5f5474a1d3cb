#include "link/file/file_bridge.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "os/clock.hpp"
#include "os/error.hpp"

namespace couplet::link {
namespace {

constexpr std::size_t bridge_buffer_bytes = 64U << 10U;
constexpr std::size_t max_bridged = 4096;
constexpr int max_pieces = 64;  // that one turn moves in one direction
constexpr int connect_timeout_ms = 1000;

// One socket and one connection of files.
class Pair {
 public:
  Pair(std::unique_ptr<FileConnection> connection, os::Descriptor socket, std::unique_ptr<FileBeat> beat)
      : connection_(std::move(connection)), beat_(std::move(beat)), socket_(std::move(socket)) {}

  void watch(std::vector<pollfd>& watched) const {
    const bool reads = !from_socket_ended_ && connection_->room() != 0;
    const bool writes = out_sent_ != out_bytes_;
    watched.push_back({socket_.number(), static_cast<short>((reads ? POLLIN : 0) | (writes ? POLLOUT : 0)), 0});
    watched.push_back({connection_->descriptor(), POLLIN, 0});
  }

  // Moves what can be moved. Returns false if both directions have ended, or one has failed.
  bool turn(std::uint64_t now_ns) {
    bool moved = false;
    const Status in = from_socket();
    const bool due = connection_->due(now_ns);
    const Status out = due || out_sent_ != out_bytes_ ? to_socket(moved) : Status(Code::not_yet);
    if (due && !files_failed_) {
      static_cast<void>(files(connection_->finish_look(moved, now_ns, out_sent_ != out_bytes_)));
    }
    if (files_failed_ && !to_socket_ended_ && !connection_->peer_has_died()) {
      break_off();
    }
    return !files_failed_ && !in.error() && !out.error() && !(from_socket_ended_ && to_socket_ended_);
  }

  // Ends the files after what the socket has sent so far.
  void end() { static_cast<void>(from_socket()); }

 private:
  // Notes that a call to the files has failed.
  Status files(Status status) {
    files_failed_ = files_failed_ || status.error();
    return status;
  }

  // The files have failed, and both processes may live. An end on either side would say that the other process has
  // ended, so both sides are told of a break: the member then dials again, and the hub waits for it.
  void break_off() {
    connection_->give_up();
    os::abort_on_close(socket_);
  }

  Status from_socket() {
    for (int piece = 0; piece < max_pieces && !from_socket_ended_; ++piece) {
      COUPLET_TRY(files(connection_->flush()));
      const std::size_t room = std::min(connection_->room(), bridge_buffer_bytes);
      if (room == 0) {
        return {};
      }
      std::array<std::byte, bridge_buffer_bytes> bytes;
      const auto received = os::receive_some(socket_, bytes.data(), room);
      if (received.code() == Code::end) {
        from_socket_ended_ = true;
        connection_->shut();
        return {};
      }
      COUPLET_TRY(received.status());
      std::copy_n(bytes.begin(), *received, connection_->body(*received));
      COUPLET_TRY(files(connection_->send(*received)));
      connection_->expect_answer(os::now_ns());
    }
    return {};
  }

  Status to_socket(bool& moved) {
    for (int piece = 0; piece < max_pieces && !to_socket_ended_; ++piece) {
      if (out_sent_ == out_bytes_) {
        const auto received = connection_->receive_some(out_);
        if (received.code() == Code::end) {
          to_socket_ended_ = true;
          ::shutdown(socket_.number(), SHUT_WR);
          return {};
        }
        COUPLET_TRY(files(received.status()));
        moved = true;
        out_bytes_ = *received;
        out_sent_ = 0;
      }
      COUPLET_TRY_VALUE(const std::size_t sent,
                        os::send_some(socket_, out_.data() + out_sent_, out_bytes_ - out_sent_));
      out_sent_ += sent;
    }
    return {};
  }

  std::unique_ptr<FileConnection> connection_;
  std::unique_ptr<FileBeat> beat_;  // ends before the connection, in whose directory it is
  os::Descriptor socket_;
  std::array<std::byte, bridge_buffer_bytes> out_;
  std::size_t out_bytes_ = 0;
  std::size_t out_sent_ = 0;
  bool from_socket_ended_ = false;
  bool to_socket_ended_ = false;
  bool files_failed_ = false;
};

// Waits until the socket is connected to a port of this host.
Result<os::Descriptor> connected_to(const os::Endpoint& target) {
  COUPLET_TRY_VALUE(auto socket, os::connect_tcp(target));
  pollfd watched{socket.number(), POLLOUT, 0};
  static_cast<void>(::poll(&watched, 1, connect_timeout_ms));
  COUPLET_TRY(os::connect_result(socket, target));
  return socket;
}

}  // namespace

struct FileBridge::State {
  std::vector<std::unique_ptr<Pair>> pairs;
  std::unique_ptr<FileInbox> inbox;  // nullptr: no further ones come
  os::Endpoint target;
  FileOptions options;
  os::Descriptor stop;
  std::uint64_t next_look_ns = 0;
  std::thread thread;

  void take_calls(std::uint64_t now_ns) {
    if (!inbox || now_ns < next_look_ns) {
      return;
    }
    next_look_ns = now_ns + options.max_look_ns;
    const auto calls = inbox->take_calls(max_bridged - std::min(max_bridged, pairs.size()));
    if (!calls.ok()) {
      return;  // each dial says so
    }
    for (const std::string& path : *calls) {
      auto socket = connected_to(target);
      auto connection = may_be_taken_later(socket.code())
                            ? Result<std::unique_ptr<FileConnection>>(socket.status())
                            : FileConnection::accept(path, {.run_id = inbox->address().run_id}, options);
      if (may_be_taken_later(connection.code())) {
        inbox->put_back(path);
        continue;
      }
      if (connection.ok() && socket.ok()) {
        (*connection)->watch_beat(fmt::format("{}/{}", path, file_dialer_beat));
        pairs.push_back(std::make_unique<Pair>(std::move(*connection), std::move(*socket), nullptr));
      }
    }
  }

  // Returns false if the bridge was told to end.
  bool wait(std::vector<pollfd>& watched) {
    watched.clear();
    watched.push_back({stop.number(), POLLIN, 0});
    for (const auto& pair : pairs) {
      pair->watch(watched);
    }
    const int timeout_ms = inbox ? static_cast<int>(std::max<std::uint64_t>(1, options.max_look_ns / 1'000'000)) : -1;
    static_cast<void>(::poll(watched.data(), watched.size(), timeout_ms));
    return watched.front().revents == 0;
  }

  void run() {
    std::vector<pollfd> watched;
    while ((inbox || !pairs.empty()) && wait(watched)) {
      const std::uint64_t now_ns = os::now_ns();
      std::erase_if(pairs, [now_ns](const auto& pair) { return !pair->turn(now_ns); });
      take_calls(now_ns);
    }
    for (const auto& pair : pairs) {
      pair->end();
    }
    pairs.clear();
  }
};

FileBridge::FileBridge(std::unique_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<FileBridge>> FileBridge::join(std::unique_ptr<FileConnection> connection, os::Descriptor socket,
                                                     std::unique_ptr<FileBeat> beat) {
  auto state = std::make_unique<State>();
  state->pairs.push_back(std::make_unique<Pair>(std::move(connection), std::move(socket), std::move(beat)));
  return start(std::move(state));
}

Result<std::unique_ptr<FileBridge>> FileBridge::serve(std::unique_ptr<FileInbox> inbox, const os::Endpoint& target,
                                                      const FileOptions& options) {
  COUPLET_TRY_VALUE(const auto left, inbox->take_calls(SIZE_MAX));
  for (const std::string& path : left) {
    // It is not removed, since its dialer has files open in it, and some file systems keep them.
    const auto connection = FileConnection::accept(path, {.run_id = inbox->address().run_id}, options);
    if (connection.ok()) {
      (*connection)->give_up();
    } else if (may_be_taken_later(connection.code())) {
      return connection.status();
    }
  }
  auto state = std::make_unique<State>();
  state->inbox = std::move(inbox);
  state->target = target;
  state->options = options;
  return start(std::move(state));
}

Result<std::unique_ptr<FileBridge>> FileBridge::start(std::unique_ptr<State> state) {
  state->stop = os::Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!state->stop) {
    return os::system_failure(errno, "cannot make an event for a bridge over files");
  }
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  Status started;
  try {
    state->thread = std::thread([self = state.get()] { self->run(); });
  } catch (const std::exception& why) {
    started = fail(Code::limit, "no thread for a bridge over files: {}", why.what());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  COUPLET_TRY(started);
  return std::unique_ptr<FileBridge>(new FileBridge(std::move(state)));
}

FileBridge::~FileBridge() {
  if (!state_->stop.mine()) {
    static_cast<void>(state_.release());  // a forked child has no such thread
    return;
  }
  const std::uint64_t one = 1;
  static_cast<void>(::write(state_->stop.number(), &one, sizeof one));
  state_->thread.join();
}

}  // namespace couplet::link
