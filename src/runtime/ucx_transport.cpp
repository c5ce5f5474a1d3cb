#include "runtime/ucx_transport.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/retry.hpp"
#include "channel/handshake_socket.hpp"
#include "link/ucx/ucx_meeting.hpp"
#include "os/clock.hpp"
#include "runtime/dial_purpose.hpp"
#include "runtime/session_keys.hpp"

namespace couplet::runtime {
namespace {

using link::Address;
using link::Lane;
using link::Offer;
using link::Origin;
using link::Party;
using link::Purpose;

}  // namespace

struct UcxTransport::Meeting {
  bool own = false;  // true: a dial of this process
  bool over = false;
  Party peer{.id = channel::no_peer};
  Purpose purpose = Purpose::first;
  os::Endpoint target;
  LookedTime waited;
  // One of these at a time: the connection is made; the handshake runs; both sides meet.
  std::unique_ptr<link::TcpConnector> connector;
  os::Descriptor socket;
  std::optional<channel::Handshake> handshake;
  std::unique_ptr<link::UcxMeeting> meeting;
  int watched = -1;
  bool watched_write = false;

  [[nodiscard]] int descriptor() const noexcept {
    return meeting ? meeting->descriptor() : connector ? connector->descriptor() : socket.number();
  }
  [[nodiscard]] bool wants_write() const noexcept {
    return meeting ? meeting->wants_write() : connector != nullptr || !handshake->output().empty();
  }
};

Result<std::unique_ptr<UcxTransport>> UcxTransport::open(
    link::TransportHost& host, Result<std::shared_ptr<link::UcxWorker>> worker, const channel::Secret& secret,
    const channel::HandshakeSelf& self, const os::Endpoint& listens_at, const UcxTransportOptions& options) {
  std::unique_ptr<UcxTransport> transport(
      new UcxTransport(host, worker.ok() ? *worker : nullptr, worker.status(), secret, self, listens_at, options));
  if (transport->worker_) {
    COUPLET_TRY(host.watch(*transport, transport->worker_->descriptor(), false));
  }
  return transport;
}

UcxTransport::UcxTransport(link::TransportHost& host, std::shared_ptr<link::UcxWorker> worker, Status unavailable,
                           const channel::Secret& secret, const channel::HandshakeSelf& self,
                           const os::Endpoint& listens_at, const UcxTransportOptions& options)
    : host_(host),
      worker_(std::move(worker)),
      unavailable_(std::move(unavailable)),
      secret_(secret),
      self_(self),
      listens_at_(listens_at),
      options_(options) {}

UcxTransport::~UcxTransport() {
  for (const auto& meeting : meetings_) {
    unwatch(*meeting);
  }
  for (const Earlier& earlier : earlier_) {
    host_.unwatch(earlier.worker->descriptor());
  }
  if (worker_) {
    host_.unwatch(worker_->descriptor());
  }
}

void UcxTransport::watch(Meeting& meeting) {
  const bool write = meeting.wants_write();
  if (meeting.watched == meeting.descriptor() && meeting.watched_write == write) {
    return;
  }
  if (meeting.watched >= 0 && meeting.watched != meeting.descriptor()) {
    unwatch(meeting);
  }
  meeting.watched = meeting.descriptor();
  meeting.watched_write = write;
  static_cast<void>(host_.watch(*this, meeting.watched, write));  // every tick looks, too
}

void UcxTransport::unwatch(Meeting& meeting) {
  if (meeting.watched >= 0) {
    host_.unwatch(std::exchange(meeting.watched, -1));
  }
}

UcxTransport::Meeting* UcxTransport::own_dial_to(std::uint32_t peer) {
  const auto found = std::find_if(meetings_.begin(), meetings_.end(), [&](const auto& meeting) {
    return meeting->own && !meeting->over && meeting->peer.id == peer;
  });
  return found == meetings_.end() ? nullptr : found->get();
}

// ---- dialing --------------------------------------------------------------------------------------------------------

Result<std::unique_ptr<Lane>> UcxTransport::dial(const Address& peer, Purpose purpose) {
  COUPLET_TRY_VALUE(const os::Endpoint target, link::tcp_endpoint(peer.contact));
  COUPLET_TRY(Status(unavailable_));
  auto meeting = std::make_unique<Meeting>();
  meeting->own = true;
  meeting->peer = peer.party;
  meeting->purpose = purpose;
  meeting->target = target;
  COUPLET_TRY_VALUE(meeting->connector, link::TcpConnector::open(target));
  watch(*meeting);
  meetings_.push_back(std::move(meeting));
  return Code::not_yet;
}

// The meeting is removed at the next poll, since this may be called from inside one.
void UcxTransport::cancel(std::uint32_t peer) {
  while (Meeting* const meeting = own_dial_to(peer)) {
    unwatch(*meeting);
    meeting->over = true;
  }
}

Status UcxTransport::connect(Meeting& meeting) {
  COUPLET_TRY_VALUE(auto socket, meeting.connector->poll());
  unwatch(meeting);
  meeting.connector.reset();
  meeting.socket = std::move(socket);
  channel::HandshakeSelf self = self_;
  self.features |= channel::feature_ucx;
  self.features |= purpose_features(meeting.purpose);
  meeting.handshake.emplace(channel::Handshake::initiate(secret_, self, {meeting.peer.id, meeting.peer.incarnation},
                                                         host_.name_of(meeting.peer.id)));
  return {};
}

// ---- guests ---------------------------------------------------------------------------------------------------------

Status UcxTransport::consider(const Offer& offer) {
  COUPLET_TRY(host_.consider(*this, offer));
  COUPLET_TRY(Status(unavailable_));
  // A dial that has not got through to the peer's system does not stand in the way of one that has.
  const Meeting* const own = own_dial_to(offer.peer.id);
  return own != nullptr && !own->connector && !channel::connection_wins(offer.peer.id, self_.id)
             ? fail(Code::exists, "both have dialed; the dial of the lower number is used")
             : Status();
}

void UcxTransport::take(const Offer& offer, const channel::HandshakePeer& peer, os::Descriptor socket) {
  auto meeting = std::make_unique<Meeting>();
  meeting->peer = offer.peer;
  meeting->purpose = offer.purpose;
  if (!meet(*meeting, peer, std::move(socket)).ok()) {
    return;  // the peer sees the end of the connection
  }
  watch(*meeting);
  meetings_.push_back(std::move(meeting));
}

// ---- workers --------------------------------------------------------------------------------------------------------

// If no other worker can be opened now, the present one goes on.
void UcxTransport::renew_worker() {
  if (worker_->unused_endpoints() < options_.max_unused_endpoints) {
    return;
  }
  auto next = link::UcxWorker::open(worker_->options());
  if (!next.ok()) {
    return;
  }
  earlier_.reserve(earlier_.size() + 1);
  if (host_.watch(*this, (*next)->descriptor(), false).ok()) {
    earlier_.push_back({.worker = std::exchange(worker_, std::move(*next)), .ending = {}});
  }
}

// A lane, a meeting and an exchange own the worker that they use.
void UcxTransport::end_earlier(std::uint64_t now_ns) {
  std::erase_if(earlier_, [&](Earlier& earlier) {
    if (earlier.worker.use_count() > 1) {
      return false;
    }
    earlier.ending.look(now_ns);
    if (!earlier.worker->prepare_end() && earlier.ending.total_ns() < earlier.worker->options().max_ending_ns) {
      return false;
    }
    host_.unwatch(earlier.worker->descriptor());
    return true;
  });
}

// ---- meetings -------------------------------------------------------------------------------------------------------

Status UcxTransport::meet(Meeting& meeting, const channel::HandshakePeer& peer, os::Descriptor socket) {
  if (!peer.same_byte_order) {
    return fail(Code::unsupported, "UCX does not connect systems with different byte orders");
  }
  renew_worker();
  COUPLET_TRY_VALUE(meeting.meeting, link::UcxMeeting::open(worker_, std::move(socket), session_keys(peer)));
  return {};
}

int UcxTransport::poll(std::uint64_t now_ns) {
  int work = worker_ ? static_cast<int>(worker_->progress()) : 0;
  for (const Earlier& earlier : earlier_) {
    work += static_cast<int>(earlier.worker->progress());
  }
  if (meetings_.empty() && earlier_.empty()) {
    return work;
  }
  if (now_ns == 0) {
    now_ns = os::now_ns();
  }
  end_earlier(now_ns);
  for (std::size_t index = 0; index < meetings_.size(); ++index) {  // more may be added meanwhile
    Meeting& meeting = *meetings_[index];
    if (!meeting.over && !drive(meeting, now_ns)) {
      meeting.over = true;
      ++work;
    }
  }
  std::erase_if(meetings_, [](const auto& meeting) { return meeting->over; });
  return work;
}

void UcxTransport::tick(std::uint64_t now_ns) {
  poll(now_ns);
}

// Asking UCX to wake this process is the second look before it sleeps.
bool UcxTransport::ready() const {
  return (worker_ && !worker_->may_sleep()) ||
         std::any_of(earlier_.begin(), earlier_.end(),
                     [](const Earlier& earlier) { return !earlier.worker->may_sleep(); });
}

bool UcxTransport::drive(Meeting& meeting, std::uint64_t now_ns) {
  meeting.waited.look(now_ns);
  Status status = advance(meeting);
  if (status.code() == Code::not_yet) {
    if (meeting.waited.total_ns() <= options_.max_connecting_ns) {
      watch(meeting);
      return true;
    }
    const char* const what = meeting.connector ? "{} has not answered within {} s"
                             : meeting.meeting ? "nothing has come from {} through UCX within {} s"
                                               : "{} has not made the handshake within {} s";
    const std::string name = host_.name_of(meeting.peer.id);
    const std::uint64_t limit_s = options_.max_connecting_ns / 1'000'000'000;
    status = fail_formatted(meeting.meeting ? Code::unsupported : Code::peer_lost, what,
                            fmt::make_format_args(name, limit_s));
  }
  if (status.ok()) {
    conclude(meeting);
  } else {
    give_up(meeting, status);
  }
  return false;
}

// Returns ok when both sides have met.
Status UcxTransport::advance(Meeting& meeting) {
  if (meeting.connector) {
    COUPLET_TRY(connect(meeting));
  }
  if (!meeting.meeting) {
    COUPLET_TRY(channel::drive_handshake(*meeting.handshake, meeting.socket, host_.name_of(meeting.peer.id),
                                         [](channel::Handshake& /*handshake*/) {}));
    unwatch(meeting);
    COUPLET_TRY(meet(meeting, meeting.handshake->peer(), std::move(meeting.socket)));
  }
  return meeting.meeting->poll();
}

void UcxTransport::conclude(Meeting& meeting) {
  unwatch(meeting);
  meeting.over = true;
  auto lane = meeting.meeting->lane();
  if (!lane.ok()) {
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

void UcxTransport::give_up(Meeting& meeting, const Status& why) {
  unwatch(meeting);
  meeting.over = true;
  if (meeting.meeting) {
    meeting.meeting->give_up(why);
  }
  meeting.connector.reset();
  meeting.socket.close();
  if (meeting.own) {
    host_.not_connected(*this, meeting.peer, why);
  }
}

}  // namespace couplet::runtime
