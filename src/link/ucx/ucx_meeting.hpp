// How two processes get a lane over UCX, over a socket that has passed the handshake: each says where its worker is and
// by which token it wants to be called, says hello through UCX, and tells the other one when it has heard it. So no
// lane is made over a way that UCX takes for possible and that carries nothing.
// Invariants: nothing blocks; a meeting that fails says why to the other process, if it can. docs/formats/ucx.md.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/status.hpp"
#include "link/link.hpp"
#include "link/session_keys.hpp"
#include "link/ucx/ucx_worker.hpp"
#include "os/descriptor.hpp"

namespace couplet::link {

struct UcxConnection;

class UcxMeeting {
 public:
  // Takes the socket. Returns system, and unsupported as make_ucx_lane.
  static Result<std::unique_ptr<UcxMeeting>> open(std::shared_ptr<UcxWorker> worker, os::Descriptor socket,
                                                  const std::optional<SessionKeys>& keys);
  ~UcxMeeting();
  UcxMeeting(const UcxMeeting&) = delete;
  UcxMeeting& operator=(const UcxMeeting&) = delete;

  // Does what can be done now. Returns ok if lane() can be called; not_yet: call again when the socket is ready or the
  // worker has made progress; unsupported if UCX has no way between the two, as it says here or there; peer_lost,
  // protocol, version, system.
  Status poll();
  // REQUIRES: poll() has returned ok; called once.
  Result<std::unique_ptr<Lane>> lane();
  // Ends the meeting: the other process is told why.
  void give_up(const Status& why) noexcept;

  [[nodiscard]] int descriptor() const noexcept;
  [[nodiscard]] bool wants_write() const noexcept { return !output_.empty(); }

 private:
  // introducing: the other side's introduction is awaited; greeting: its hello and its verdict; done.
  enum class State : std::uint8_t { introducing, greeting, done };
  UcxMeeting(std::unique_ptr<UcxConnection> connection, const std::optional<SessionKeys>& keys);
  Status send();
  Status receive(Result<std::size_t> (*length_of)(std::string_view));
  Status introduce();
  Status greet();

  std::unique_ptr<UcxConnection> connection_;
  std::optional<SessionKeys> keys_;
  State state_ = State::introducing;
  std::string output_;
  std::string input_;
  bool has_said_reached_ = false;
};

}  // namespace couplet::link
