#include "runtime/tcp_meetings.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "channel/handshake_socket.hpp"
#include "os/clock.hpp"
#include "runtime/session_keys.hpp"

namespace couplet::runtime {
namespace {
constexpr std::uint64_t longest_look_ns = 200'000'000;  // of a process that looks at each tick
constexpr std::uint64_t neglect_ns = 1'000'000'000;
constexpr std::uint64_t yield_ns = 100'000'000;  // for the call of the other end, before the next one of our own
}  // namespace

struct TcpMeetings::Meeting {
  bool own_call = false;
  bool yielded = false;  // own call only: the peer has a connection; wait for it, or for its end
  channel::PeerId peer = channel::no_peer;
  std::uint16_t incarnation = 0;
  os::Endpoint target;  // own call only
  // How long it was waited for, by a process that looked: one that computes is late itself.
  std::uint64_t waited_ns = 0;
  std::uint64_t looked_ns = 0;
  bool neglected = false;                         // this process has let the other one wait
  std::unique_ptr<link::TcpConnector> connector;  // while connecting
  os::Descriptor socket;
  std::optional<channel::Handshake> handshake;
  int watched = -1;
};

Result<std::unique_ptr<TcpMeetings>> TcpMeetings::open(MeetingHost& host, engine::Engine& engine,
                                                       std::unique_ptr<link::TcpListener> listener,
                                                       const channel::Secret& secret,
                                                       const channel::HandshakeSelf& self,
                                                       const link::TcpOptions& options) {
  std::unique_ptr<TcpMeetings> meetings(new TcpMeetings(host, engine, std::move(listener), secret, self, options));
  engine.add(*meetings, engine::Rate::seldom);
  COUPLET_TRY(engine.watch(meetings->listener_->descriptor(), false, *meetings));
  meetings->listening_ = true;
  return meetings;
}

TcpMeetings::TcpMeetings(MeetingHost& host, engine::Engine& engine, std::unique_ptr<link::TcpListener> listener,
                         const channel::Secret& secret, const channel::HandshakeSelf& self,
                         const link::TcpOptions& options)
    : host_(host), engine_(engine), listener_(std::move(listener)), secret_(secret), self_(self), options_(options) {}

TcpMeetings::~TcpMeetings() {
  for (const auto& meeting : meetings_) {
    unwatch(*meeting);
  }
  engine_.unwatch(listener_->descriptor());
  engine_.remove(*this);
}

void TcpMeetings::unwatch(Meeting& meeting) {
  if (meeting.watched >= 0) {
    engine_.unwatch(std::exchange(meeting.watched, -1));
  }
}

TcpMeetings::Meeting* TcpMeetings::own_call_to(channel::PeerId peer) {
  const auto found = std::find_if(meetings_.begin(), meetings_.end(),
                                  [&](const auto& meeting) { return meeting->own_call && meeting->peer == peer; });
  return found == meetings_.end() ? nullptr : found->get();
}

Status TcpMeetings::call(channel::PeerId peer, std::uint16_t incarnation, const os::Endpoint& target) {
  auto meeting = std::make_unique<Meeting>();
  meeting->own_call = true;
  meeting->peer = peer;
  meeting->incarnation = incarnation;
  meeting->target = target;
  COUPLET_TRY(dial(*meeting));
  meetings_.push_back(std::move(meeting));
  return {};
}

Status TcpMeetings::dial(Meeting& meeting) {
  meeting.handshake.reset();
  meeting.socket.close();
  meeting.yielded = false;
  meeting.waited_ns = 0;
  meeting.looked_ns = os::now_ns();
  meeting.neglected = false;
  COUPLET_TRY_VALUE(meeting.connector, link::TcpConnector::open(meeting.target));
  COUPLET_TRY(engine_.watch(meeting.connector->descriptor(), true, *this));
  meeting.watched = meeting.connector->descriptor();
  return {};
}

void TcpMeetings::hang_up(channel::PeerId peer) {
  for (const auto& meeting : meetings_) {
    if (meeting->own_call && meeting->peer == peer) {
      meeting->peer = channel::no_peer;
    }
  }
}

// Callers that cannot be taken now do not keep us awake: they are looked at again at each tick.
void TcpMeetings::listen(bool wanted) {
  if (wanted == listening_) {
    return;
  }
  if (wanted) {
    listening_ = engine_.watch(listener_->descriptor(), false, *this).ok();
  } else {
    engine_.unwatch(listener_->descriptor());
    listening_ = false;
  }
}

int TcpMeetings::take_callers(std::uint64_t now_ns) {
  int taken = 0;
  bool all = false;
  const auto unproven = static_cast<std::size_t>(
      std::count_if(meetings_.begin(), meetings_.end(), [](const auto& meeting) { return !meeting->own_call; }));
  for (std::size_t room = most_unproven_callers - std::min(unproven, most_unproven_callers); room > 0; --room) {
    auto socket = listener_->accept();
    if (!socket) {
      all = socket.code() == Code::not_yet;  // else there may be no descriptor left
      break;
    }
    auto meeting = std::make_unique<Meeting>();
    meeting->socket = std::move(*socket);
    meeting->looked_ns = now_ns;
    const auto from = os::peer_endpoint(meeting->socket);
    const std::string name = "a connection from " + (from ? os::endpoint_text(*from) : std::string("somewhere"));
    meeting->handshake.emplace(channel::Handshake::accept(secret_, self_, name));
    if (engine_.watch(meeting->socket.number(), false, *this).ok()) {
      meeting->watched = meeting->socket.number();
      meetings_.push_back(std::move(meeting));
      ++taken;
    }
  }
  listen(all);
  return taken;
}

int TcpMeetings::poll(std::uint64_t now_ns, int /*budget*/) {
  if (now_ns == 0) {
    now_ns = os::now_ns();
  }
  int work = take_callers(now_ns);
  for (std::size_t index = 0; index < meetings_.size();) {
    if (drive(*meetings_[index], now_ns)) {
      ++index;
      continue;
    }
    ++work;
    meetings_.erase(meetings_.begin() + static_cast<std::ptrdiff_t>(index));
  }
  return work;
}

// Somebody who is connected answers when it comes to it, or is reported lost; a caller may be anybody.
bool TcpMeetings::is_late(Meeting& meeting, std::uint64_t now_ns) {
  const std::uint64_t gap_ns = now_ns - std::min(now_ns, std::exchange(meeting.looked_ns, now_ns));
  meeting.waited_ns += std::min(gap_ns, longest_look_ns);
  meeting.neglected = meeting.neglected || gap_ns > neglect_ns;
  if (!meeting.own_call) {
    return meeting.waited_ns > caller_patience_ns;
  }
  return meeting.connector && meeting.waited_ns > call_patience_ns;
}

bool TcpMeetings::drive(Meeting& meeting, std::uint64_t now_ns) {
  if (meeting.own_call && meeting.peer == channel::no_peer) {
    unwatch(meeting);
    return false;  // another connection has made this call superfluous
  }
  const bool late = is_late(meeting, now_ns);
  if (meeting.yielded && meeting.waited_ns < yield_ns) {
    return true;
  }
  Status status = meeting.yielded ? dial(meeting) : Status();
  if (status.ok() && meeting.connector) {
    status = connect(meeting);
  }
  if (status.ok()) {
    status = channel::drive_handshake(*meeting.handshake, meeting.socket, host_.meeting_name(meeting.peer),
                                      [&](channel::Handshake& /*handshake*/) { decide(meeting); });
  }
  if (status.code() == Code::not_yet) {
    if (late) {
      give_up(meeting, fail(Code::peer_lost, "{} has not answered within {} s", host_.meeting_name(meeting.peer),
                            call_patience_ns / 1'000'000'000));
    }
    return !late;
  }
  if (status.ok()) {
    conclude(meeting);
    return false;
  }
  if (meeting.own_call && status.code() == Code::exists) {
    unwatch(meeting);
    meeting.yielded = true;
    meeting.waited_ns = 0;
    meeting.socket.close();
    return true;
  }
  if (meeting.own_call && meeting.neglected && meeting.handshake && status.code() == Code::peer_lost) {
    unwatch(meeting);
    status = dial(meeting);  // who was called had to take us for a stranger that says nothing
    if (status.ok()) {
      return true;
    }
  }
  give_up(meeting, status);
  return false;
}

Status TcpMeetings::connect(Meeting& meeting) {
  COUPLET_TRY_VALUE(auto socket, meeting.connector->poll());
  unwatch(meeting);
  meeting.connector.reset();
  meeting.socket = std::move(socket);
  COUPLET_TRY(engine_.watch(meeting.socket.number(), false, *this));
  meeting.watched = meeting.socket.number();
  meeting.handshake.emplace(channel::Handshake::initiate(secret_, self_, {meeting.peer, meeting.incarnation},
                                                         host_.meeting_name(meeting.peer)));
  return {};
}

void TcpMeetings::decide(Meeting& meeting) {
  const auto& peer = meeting.handshake->peer();
  Status may = host_.may_enter(peer);
  if (may.code() == Code::not_yet) {
    return;
  }
  const Meeting* own = own_call_to(peer.id);
  if (may.ok() && own != nullptr && !own->yielded && !channel::connection_wins(peer.id, self_.id)) {
    may = fail(Code::exists, "both have called; the call of the lower number stands");
  }
  if (may.ok()) {
    meeting.peer = peer.id;
    meeting.handshake->accept_peer();
  } else {
    meeting.handshake->refuse(may);
  }
}

void TcpMeetings::conclude(Meeting& meeting) {
  unwatch(meeting);
  const auto& proven = meeting.handshake->peer();
  if (!meeting.own_call) {
    if (Meeting* own = own_call_to(meeting.peer)) {
      own->peer = channel::no_peer;  // the caller's connection stands
    }
  }
  auto lane = link::make_tcp_lane(std::move(meeting.socket), options_, session_keys(proven));
  if (lane) {
    host_.met(meeting.peer, std::move(*lane), proven);
  } else if (meeting.own_call) {
    host_.not_met(meeting.peer, lane.status());
  }
}

void TcpMeetings::give_up(Meeting& meeting, const Status& why) {
  unwatch(meeting);
  if (meeting.own_call) {
    host_.not_met(meeting.peer, why);
  }
}

}  // namespace couplet::runtime
