#include "runtime/tcp_transport.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/retry.hpp"
#include "channel/handshake_socket.hpp"
#include "os/clock.hpp"
#include "runtime/dial_purpose.hpp"
#include "runtime/session_keys.hpp"

namespace couplet::runtime {
namespace {

using link::Address;
using link::Lane;
using link::Origin;
using link::Party;
using link::Purpose;

constexpr int max_callers_in_a_poll = 64;
constexpr std::uint64_t accept_interval_ns = 50'000;
constexpr std::size_t max_looks_in_a_poll = 16;

Status consider_guest(TcpGuests* guests, const link::Offer& offer) {
  return guests != nullptr ? guests->consider(offer)
                           : fail(Code::unsupported, "the setting 'links' of the peer does not name ucx");
}

}  // namespace

struct TcpTransport::Meeting {
  bool own = false;  // true: a dial of this process
  bool over = false;
  channel::Unproven::Id caller = 0;  // if not own
  Party peer{.id = channel::no_peer};
  Purpose purpose = Purpose::first;
  unsigned lanes = 0;
  os::Endpoint target;
  LookedTime waited;
  std::unique_ptr<link::TcpConnector> connector;  // while it is connecting
  os::Descriptor socket;
  std::optional<channel::Handshake> handshake;
  int watched = -1;
  bool watched_write = false;
};

Result<std::unique_ptr<TcpTransport>> TcpTransport::open(link::TransportHost& host,
                                                         std::unique_ptr<link::TcpListener> listener,
                                                         const channel::Secret& secret,
                                                         const channel::HandshakeSelf& self,
                                                         const TcpTransportOptions& options) {
  std::unique_ptr<TcpTransport> transport(new TcpTransport(host, std::move(listener), secret, self, options));
  COUPLET_TRY(host.watch(*transport, transport->listener_->descriptor(), false));
  transport->listening_ = true;
  return transport;
}

TcpTransport::TcpTransport(link::TransportHost& host, std::unique_ptr<link::TcpListener> listener,
                           const channel::Secret& secret, const channel::HandshakeSelf& self,
                           const TcpTransportOptions& options)
    : host_(host),
      listener_(std::move(listener)),
      secret_(secret),
      self_(self),
      options_(options),
      unproven_({.max_callers = options.max_unproven_callers}) {}

TcpTransport::~TcpTransport() {
  for (const auto& meeting : meetings_) {
    unwatch(*meeting);
  }
  if (listening_) {
    host_.unwatch(listener_->descriptor());
  }
}

void TcpTransport::unwatch(Meeting& meeting) {
  if (meeting.watched >= 0) {
    host_.unwatch(std::exchange(meeting.watched, -1));
  }
}

TcpTransport::Meeting* TcpTransport::own_dial_to(std::uint32_t peer) {
  const auto found = std::find_if(meetings_.begin(), meetings_.end(), [&](const auto& meeting) {
    return meeting->own && !meeting->over && meeting->peer.id == peer;
  });
  return found == meetings_.end() ? nullptr : found->get();
}

std::string TcpTransport::name_for(const Meeting& meeting) const {
  return meeting.peer.id == channel::no_peer ? "a caller" : host_.name_of(meeting.peer.id);
}

// ---- dialing --------------------------------------------------------------------------------------------------------

Result<std::unique_ptr<Lane>> TcpTransport::dial(const Address& peer, Purpose purpose) {
  COUPLET_TRY_VALUE(const os::Endpoint target, link::tcp_endpoint(peer.contact));
  auto meeting = std::make_unique<Meeting>();
  meeting->own = true;
  meeting->peer = peer.party;
  meeting->purpose = purpose;
  meeting->lanes = peer.lanes;
  meeting->target = target;
  COUPLET_TRY_VALUE(meeting->connector, link::TcpConnector::open(target));
  COUPLET_TRY(host_.watch(*this, meeting->connector->descriptor(), true));
  meeting->watched = meeting->connector->descriptor();
  meetings_.push_back(std::move(meeting));
  return Code::not_yet;
}

// The meeting is removed at the next poll, since this may be called from inside one.
void TcpTransport::cancel(std::uint32_t peer) {
  while (Meeting* const meeting = own_dial_to(peer)) {
    unwatch(*meeting);
    meeting->over = true;
  }
}

Status TcpTransport::connect(Meeting& meeting) {
  COUPLET_TRY_VALUE(auto socket, meeting.connector->poll());
  unwatch(meeting);
  meeting.connector.reset();
  meeting.socket = std::move(socket);
  COUPLET_TRY(host_.watch(*this, meeting.socket.number(), false));
  meeting.watched = meeting.socket.number();
  channel::HandshakeSelf self = self_;
  self.features |= purpose_features(meeting.purpose);
  if (meeting.purpose == Purpose::more) {
    self.features |= lanes_features(meeting.lanes);
  }
  meeting.handshake.emplace(channel::Handshake::initiate(secret_, self, {meeting.peer.id, meeting.peer.incarnation},
                                                         host_.name_of(meeting.peer.id)));
  return {};
}

// ---- callers --------------------------------------------------------------------------------------------------------

// Callers that cannot be taken now do not keep this process awake. They are checked again at each tick.
void TcpTransport::listen(bool wanted) {
  if (wanted == listening_) {
    return;
  }
  if (wanted) {
    listening_ = host_.watch(*this, listener_->descriptor(), false).ok();
  } else {
    host_.unwatch(listener_->descriptor());
    listening_ = false;
  }
}

int TcpTransport::take_callers(std::uint64_t now_ns) {
  int taken = 0;
  bool wake = true;
  next_accept_ns_ = now_ns + accept_interval_ns;
  while (taken < max_callers_in_a_poll) {
    wake = unproven_.has_room(now_ns);
    if (!wake) {
      break;
    }
    auto socket = listener_->accept();
    if (!socket && socket.code() == Code::limit) {
      const auto victim = unproven_.victim();
      if (victim) {
        send_away(*victim);
        continue;
      }
    }
    if (!socket) {
      wake = socket.code() == Code::not_yet;
      break;
    }
    ++taken;
    // It is gone again if it cannot be watched.
    static_cast<void>(take_caller(std::move(*socket), now_ns));
  }
  listen(wake);
  return taken;
}

Status TcpTransport::take_caller(os::Descriptor socket, std::uint64_t now_ns) {
  const auto from = os::peer_endpoint(socket);
  if (!from) {
    return from.status();  // the caller has closed the connection
  }
  auto meeting = std::make_unique<Meeting>();
  meeting->caller = next_caller_++;
  meeting->socket = std::move(socket);
  meeting->waited.look(now_ns);
  meeting->handshake.emplace(
      channel::Handshake::accept(secret_, self_, "a connection from " + os::endpoint_text(*from)));
  COUPLET_TRY(host_.watch(*this, meeting->socket.number(), false));
  meeting->watched = meeting->socket.number();
  if (const auto displaced = unproven_.admit(meeting->caller, from->address, now_ns)) {
    send_away(*displaced);
  }
  Meeting& taken = *meetings_.emplace_back(std::move(meeting));
  look_at(taken, now_ns);  // handles what it has sent while it waited in the queue
  return {};
}

void TcpTransport::send_away(channel::Unproven::Id caller) {
  unproven_.remove(caller);
  for (const auto& meeting : meetings_) {
    if (meeting->caller == caller) {
      unwatch(*meeting);
      meeting->socket.close();
      meeting->over = true;
    }
  }
}

// ---- all ------------------------------------------------------------------------------------------------------------

// Each look at a caller is a system call. So only a few silent callers are checked in each poll.
int TcpTransport::poll(std::uint64_t now_ns) {
  if (now_ns == 0) {
    now_ns = os::now_ns();
  }
  // To accept is a system call, also if nobody calls. A caller wakes this process if it sleeps, and waits for at most
  // accept_interval_ns if this process polls.
  int work = listening_ && now_ns < next_accept_ns_ ? 0 : take_callers(now_ns);
  for (std::size_t count = std::min(meetings_.size(), max_looks_in_a_poll); count > 0; --count) {
    next_look_ = next_look_ + 1 < meetings_.size() ? next_look_ + 1 : 0;
    work += look_at(*meetings_[next_look_], now_ns);
  }
  std::erase_if(meetings_, [](const auto& meeting) { return meeting->over; });
  return work;
}

int TcpTransport::woken(int descriptor, std::uint64_t now_ns) {
  if (now_ns == 0) {
    now_ns = os::now_ns();
  }
  if (descriptor == listener_->descriptor()) {
    return take_callers(now_ns);
  }
  int work = 0;
  for (std::size_t index = 0; index < meetings_.size(); ++index) {
    if (meetings_[index]->watched == descriptor) {
      work = look_at(*meetings_[index], now_ns);
      break;
    }
  }
  std::erase_if(meetings_, [](const auto& meeting) { return meeting->over; });
  return work;
}

void TcpTransport::tick(std::uint64_t now_ns) {
  take_callers(now_ns);
  for (std::size_t index = 0; index < meetings_.size(); ++index) {  // more may be added meanwhile
    look_at(*meetings_[index], now_ns);
  }
  std::erase_if(meetings_, [](const auto& meeting) { return meeting->over; });
}

int TcpTransport::look_at(Meeting& meeting, std::uint64_t now_ns) {
  if (meeting.over || drive(meeting, now_ns)) {
    return 0;
  }
  unproven_.remove(meeting.caller);
  meeting.over = true;
  return 1;
}

// Says why a meeting is late. A dialer that is connected waits until the peer comes to it, or the peer's system is
// found to be gone. A caller may be any process.
Status TcpTransport::why_late(Meeting& meeting, std::uint64_t now_ns) const {
  meeting.waited.look(now_ns);
  if (meeting.own && meeting.connector && meeting.waited.total_ns() > options_.max_connecting_ns) {
    return fail(Code::peer_lost, "{} has not answered within {} s", os::endpoint_text(meeting.target),
                options_.max_connecting_ns / 1'000'000'000);
  }
  if (!meeting.own && meeting.waited.total_ns() > options_.max_unproven_ns) {
    return fail(Code::timeout, "a caller has not proven itself");
  }
  return {};
}

bool TcpTransport::drive(Meeting& meeting, std::uint64_t now_ns) {
  const Status late = why_late(meeting, now_ns);
  Status status = meeting.connector ? connect(meeting) : Status();
  if (status.ok()) {
    status = channel::drive_handshake(*meeting.handshake, meeting.socket, name_for(meeting),
                                      [&](channel::Handshake& /*handshake*/) { decide(meeting); });
  }
  if (status.code() == Code::not_yet && late.ok()) {
    note_progress(meeting);
    return true;
  }
  if (status.ok()) {
    conclude(meeting);
  } else {
    give_up(meeting, late.ok() ? status : late);
  }
  return false;
}

void TcpTransport::note_progress(Meeting& meeting) {
  if (!meeting.handshake) {
    return;
  }
  if (!meeting.own && meeting.handshake->peer().id != channel::no_peer) {
    unproven_.spoke(meeting.caller);  // its first message was signed with the secret
  }
  if (meeting.handshake->state() == channel::HandshakeState::deciding) {
    // Nothing is read until it is decided, at a tick: a caller that hangs up would keep this process awake.
    unwatch(meeting);
    return;
  }
  const bool write = !meeting.handshake->output().empty();
  if (meeting.watched < 0 || write != meeting.watched_write) {
    meeting.watched = meeting.socket.number();
    meeting.watched_write = write;
    static_cast<void>(host_.watch(*this, meeting.watched, write));
  }
}

void TcpTransport::decide(Meeting& meeting) {
  const auto& proven = meeting.handshake->peer();
  meeting.purpose = purpose_of(proven.features);
  const link::Offer offer{
      .peer = {proven.id, proven.incarnation}, .purpose = meeting.purpose, .lanes = lanes_of(proven.features)};
  const bool is_guest = (proven.features & channel::feature_ucx) != 0;
  Status may = is_guest ? consider_guest(options_.guests, offer) : host_.consider(*this, offer);
  if (may.code() == Code::not_yet) {
    return;
  }
  // A dial that has not got through to the peer's system does not stand in the way of one that has.
  const Meeting* const own = own_dial_to(proven.id);
  if (may.ok() && !is_guest && own != nullptr && own->handshake && !channel::connection_wins(proven.id, self_.id)) {
    may = fail(Code::exists, "both have dialed; the dial of the lower number is used");
  }
  if (may.ok()) {
    meeting.peer = {proven.id, proven.incarnation};
    meeting.handshake->accept_peer();
  } else {
    meeting.handshake->refuse(may);
  }
}

void TcpTransport::conclude(Meeting& meeting) {
  unwatch(meeting);
  meeting.over = true;
  const auto& proven = meeting.handshake->peer();
  if (!meeting.own && (proven.features & channel::feature_ucx) != 0) {
    options_.guests->take({meeting.peer, meeting.purpose}, proven, std::move(meeting.socket));
    return;
  }
  if (!meeting.own && meeting.purpose != Purpose::more) {
    auto& newest = newest_callers_[meeting.peer.id];
    if (meeting.caller < newest) {
      return;  // the peer has given this connection up, and dialed again since
    }
    newest = meeting.caller;
  }
  auto lane = link::make_tcp_lane(std::move(meeting.socket), options_.lane, session_keys(proven));
  if (!lane) {
    if (meeting.own) {
      host_.not_connected(*this, meeting.peer, lane.status());
    }
    return;
  }
  if (!meeting.own) {
    cancel(meeting.peer.id);  // the caller's connection is used
  }
  host_.connected(*this, {meeting.peer, meeting.purpose}, std::move(*lane),
                  meeting.own ? Origin::dialed : Origin::offered);
}

void TcpTransport::give_up(Meeting& meeting, const Status& why) {
  unwatch(meeting);
  meeting.over = true;
  meeting.connector.reset();
  meeting.socket.close();
  if (meeting.own) {
    host_.not_connected(*this, meeting.peer, why);
  }
}

}  // namespace couplet::runtime
