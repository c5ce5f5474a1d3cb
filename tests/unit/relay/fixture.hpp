// A series of 7 x 11 int32, and one connection. One side is a server or a remote, the other side is the test, which
// sends and receives single frames of the family relay.
#pragma once

#include <sys/socket.h>

#include "link/tcp/tcp_lane.hpp"
#include "relay/relay.hpp"
#include "support/recorder.hpp"
#include "unit/series/fixture.hpp"

namespace couplet::relay::testing_fixture {

using series::testing_fixture::box_of;
using series::testing_fixture::columns;
using series::testing_fixture::field;
using series::testing_fixture::rows;
using series::testing_fixture::soon;
using test::Recorder;
using testing::FakeEnvironment;
using wire::RelayKind;

inline constexpr std::size_t step_bytes = rows * columns * sizeof(std::int32_t);
inline constexpr channel::PeerId relay_peer = channel::first_relay_peer;

inline channel::Handlers handlers_of(channel::FrameHandler& handler) {
  channel::Handlers handlers{};
  handlers[static_cast<std::size_t>(wire::FrameFamily::relay)] = &handler;
  return handlers;
}

// The two ends of a connection. The test has the far one.
class Connection {
 public:
  // `peer` is the process that the near end sees at the other end.
  Connection(channel::PeerId peer, const std::string& name, channel::FrameHandler& near_handler) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
    near_ = std::make_unique<channel::Channel>(peer, name, handlers_of(near_handler));
    far_ = std::make_unique<channel::Channel>(0, "the near end", handlers_of(heard_));
    near_->attach(std::move(link::make_tcp_lane(os::Descriptor(ends[0]))).value());
    far_->attach(std::move(link::make_tcp_lane(os::Descriptor(ends[1]))).value());
  }
  [[nodiscard]] channel::Channel& near_end() { return *near_; }
  void say(RelayKind kind, std::uint32_t number, std::uint64_t first = 0, std::uint64_t second = 0,
           std::int32_t tag = 0, std::span<const std::byte> payload = {}) {
    wire::FrameHeader header;
    header.kind = wire::relay_frame_kind(kind);
    header.context = number;
    header.first = first;
    header.second = second;
    header.tag = tag;
    EXPECT_TRUE(far_->try_send(header, payload));
  }
  int poll() { return near_->poll(64) + (far_ ? far_->poll(64) : 0); }
  // Acts as a process that dies.
  void die() { far_.reset(); }
  // Returns what the near end has sent and was not taken yet, without frames of the kind `credit` if `credits` is
  // false.
  std::vector<Recorder::Frame> take(bool credits = true) {
    std::vector<Recorder::Frame> frames = std::move(heard_.frames);
    heard_.frames.clear();
    if (!credits) {
      std::erase_if(frames, [](const auto& frame) { return kind_of(frame) == RelayKind::credit; });
    }
    return frames;
  }
  static RelayKind kind_of(const Recorder::Frame& frame) { return wire::relay_kind_of(frame.header); }
  [[nodiscard]] std::string failure() const {
    return near_->state() == channel::ChannelState::failed ? near_->failure().text() : "";
  }

 private:
  Recorder heard_;
  std::unique_ptr<channel::Channel> near_;
  std::unique_ptr<channel::Channel> far_;
};

}  // namespace couplet::relay::testing_fixture
