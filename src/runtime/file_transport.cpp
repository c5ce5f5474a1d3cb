#include "runtime/file_transport.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/retry.hpp"
#include "channel/handshake_socket.hpp"
#include "link/file/file_lane.hpp"
#include "os/clock.hpp"
#include "runtime/dial_purpose.hpp"
#include "runtime/session_keys.hpp"

namespace couplet::runtime {
namespace {

using link::Address;
using link::Contact;
using link::Lane;
using link::Origin;
using link::Party;
using link::Purpose;

std::string inbox_name(const Party& party) {
  return fmt::format("{}-{}", party.id, party.incarnation);
}

}  // namespace

struct FileTransport::Meeting {
  bool own = false;  // true: a dial of this process
  bool over = false;
  Party peer{.id = channel::no_peer};
  Purpose purpose = Purpose::first;
  LookedTime waited;
  std::unique_ptr<link::FileConnection> connection;  // nullptr: the peer has no inbox yet
  std::optional<channel::Handshake> handshake;
};

Contact FileTransport::contact_of(const Party& party) {
  const std::string name = inbox_name(party);
  return Contact(std::as_bytes(std::span(name)));
}

Result<std::unique_ptr<FileTransport>> FileTransport::open(link::TransportHost& host, const std::string& directory,
                                                           const channel::Secret& secret,
                                                           const channel::HandshakeSelf& self,
                                                           const FileTransportOptions& options) {
  const link::FileAddress own{directory, self.run_id, inbox_name({self.id, self.incarnation})};
  COUPLET_TRY_VALUE(auto inbox, link::FileInbox::open(own, options.files));
  COUPLET_TRY_VALUE(auto timer, os::Timer::open());
  std::unique_ptr<FileTransport> transport(
      new FileTransport(host, std::move(inbox), std::move(timer), secret, self, options));
  COUPLET_TRY(host.watch(*transport, transport->timer_->descriptor(), false));
  transport->timer_->set(transport->delay_ns_);
  return transport;
}

FileTransport::FileTransport(link::TransportHost& host, std::unique_ptr<link::FileInbox> inbox,
                             std::unique_ptr<os::Timer> timer, const channel::Secret& secret,
                             const channel::HandshakeSelf& self, const FileTransportOptions& options)
    : host_(host),
      inbox_(std::move(inbox)),
      timer_(std::move(timer)),
      secret_(secret),
      self_(self),
      options_(options),
      delay_ns_(options.files.min_look_ns) {}

FileTransport::~FileTransport() {
  host_.unwatch(timer_->descriptor());
}

FileTransport::Meeting* FileTransport::own_dial_to(std::uint32_t peer) {
  const auto found = std::find_if(meetings_.begin(), meetings_.end(), [&](const auto& meeting) {
    return meeting->own && !meeting->over && meeting->peer.id == peer;
  });
  return found == meetings_.end() ? nullptr : found->get();
}

link::FileAddress FileTransport::address_of(const Party& party) const {
  return {inbox_->address().directory, self_.run_id, inbox_name(party)};
}

std::string FileTransport::name_for(const Meeting& meeting) const {
  return meeting.peer.id == channel::no_peer ? "a caller" : host_.name_of(meeting.peer.id);
}

// ---- dialing --------------------------------------------------------------------------------------------------------

Result<std::unique_ptr<Lane>> FileTransport::dial(const Address& peer, Purpose purpose) {
  const auto contact = peer.contact.bytes();
  const std::string_view name(reinterpret_cast<const char*>(contact.data()), contact.size());
  if (!link::is_inbox_name(name)) {
    return fail(Code::unsupported, "it has no inbox");
  }
  auto meeting = std::make_unique<Meeting>();
  meeting->own = true;
  meeting->peer = peer.party;
  meeting->purpose = purpose;
  meetings_.push_back(std::move(meeting));
  next_look_ns_ = 0;
  timer_->set(0);
  return Code::not_yet;
}

// The meeting is removed at the next poll, since this may be called from inside one.
void FileTransport::cancel(std::uint32_t peer) {
  while (Meeting* const meeting = own_dial_to(peer)) {
    meeting->over = true;
    meeting->connection.reset();
  }
}

// Begins the connection of a dial if the peer has an inbox. Otherwise returns not_yet.
Status FileTransport::connect(Meeting& meeting) {
  const link::FileAddress address = address_of(meeting.peer);
  if (!link::inbox_is_open(inbox_->address())) {
    return fail(Code::system, "the shared directory {} has vanished", inbox_->address().path());
  }
  if (!link::inbox_is_open(address)) {
    return Code::not_yet;
  }
  auto connection = link::FileConnection::dial(address.path(), {self_.run_id, self_.incarnation}, options_.files);
  if (!connection.ok()) {
    return connection.code() == Code::not_found ? Status(Code::not_yet) : connection.status();
  }
  meeting.connection = std::move(*connection);
  meeting.connection->watch_beat(address.beat_path());
  channel::HandshakeSelf self = self_;
  self.features |= purpose_features(meeting.purpose);
  meeting.handshake.emplace(channel::Handshake::initiate(secret_, self, {meeting.peer.id, meeting.peer.incarnation},
                                                         host_.name_of(meeting.peer.id)));
  return {};
}

// ---- callers --------------------------------------------------------------------------------------------------------

int FileTransport::take_callers() {
  const auto callers = static_cast<std::size_t>(
      std::count_if(meetings_.begin(), meetings_.end(), [](const auto& meeting) { return !meeting->own; }));
  const std::size_t bound = options_.max_unproven_callers;
  const auto calls = inbox_->take_calls(bound - std::min(callers, bound));
  if (!calls.ok()) {
    return 0;  // each dial and each lane says that the directory has vanished
  }
  for (const std::string& path : *calls) {
    auto connection = link::FileConnection::accept(path, {self_.run_id, self_.incarnation}, options_.files);
    if (!connection.ok()) {
      if (link::may_be_taken_later(connection.code())) {
        inbox_->put_back(path);
      }
      continue;  // otherwise its dialer has removed it, or it is not ours
    }
    auto meeting = std::make_unique<Meeting>();
    meeting->connection = std::move(*connection);
    meeting->handshake.emplace(channel::Handshake::accept(secret_, self_, "a caller"));
    meetings_.push_back(std::move(meeting));
  }
  return static_cast<int>(calls->size());
}

// ---- meetings -------------------------------------------------------------------------------------------------------

int FileTransport::poll(std::uint64_t now_ns) {
  if (now_ns == 0) {
    now_ns = os::now_ns();
  }
  if (now_ns < next_look_ns_) {
    return 0;
  }
  int work = take_callers();
  // Callers come first: if both dial, the decision about a caller has to find the dial of this process.
  for (const bool own : {false, true}) {
    for (std::size_t index = 0; index < meetings_.size(); ++index) {  // more may be added meanwhile
      Meeting& meeting = *meetings_[index];
      if (meeting.own == own && !meeting.over && !drive(meeting, now_ns)) {
        meeting.over = true;
        ++work;
      }
    }
  }
  std::erase_if(meetings_, [](const auto& meeting) { return meeting->over; });
  const bool busy = work != 0 || std::any_of(meetings_.begin(), meetings_.end(), [&](const auto& meeting) {
                      return meeting->waited.total_ns() < options_.files.max_look_ns;
                    });
  look_after(busy ? options_.files.min_look_ns : std::min(options_.files.max_look_ns, 2 * delay_ns_), now_ns);
  return work;
}

void FileTransport::look_after(std::uint64_t delay_ns, std::uint64_t now_ns) {
  delay_ns_ = delay_ns;
  next_look_ns_ = now_ns + delay_ns;
  timer_->set(delay_ns);
}

// Says why a meeting is late. A dialer waits while the heartbeat of the peer goes on, since the peer may compute.
Status FileTransport::why_late(Meeting& meeting, std::uint64_t now_ns) const {
  meeting.waited.look(now_ns);
  if (meeting.own && !meeting.connection && meeting.waited.total_ns() > options_.max_connecting_ns) {
    return fail(Code::peer_lost, "it has no inbox {}", address_of(meeting.peer).path());
  }
  if (!meeting.own && meeting.handshake->peer().id == channel::no_peer &&
      meeting.waited.total_ns() > options_.max_unproven_ns) {
    return fail(Code::timeout, "a caller has not proven itself");
  }
  return {};
}

bool FileTransport::drive(Meeting& meeting, std::uint64_t now_ns) {
  const Status late = why_late(meeting, now_ns);
  Status status = meeting.connection ? Status() : connect(meeting);
  if (status.ok()) {
    auto& files = *meeting.connection;
    const channel::HandshakeBytes bytes{
        .send = [&files](std::span<const std::byte> out) { return files.send_some(out); },
        .receive = [&files](std::span<std::byte> in) { return files.receive_some(in); },
    };
    status = channel::drive_handshake(*meeting.handshake, bytes, name_for(meeting),
                                      [&](channel::Handshake& /*handshake*/) { decide(meeting); });
  }
  if (status.code() == Code::not_yet && meeting.connection) {
    if (const Status looked = meeting.connection->finish_look(false, now_ns); looked.error()) {
      status = looked;
    }
  }
  if (status.code() == Code::not_yet && late.ok()) {
    return true;
  }
  if (status.ok()) {
    conclude(meeting);
  } else {
    give_up(meeting, late.ok() ? status : late);
  }
  return false;
}

void FileTransport::decide(Meeting& meeting) {
  const auto& proven = meeting.handshake->peer();
  meeting.purpose = purpose_of(proven.features);
  Status may = host_.consider(*this, {{proven.id, proven.incarnation}, meeting.purpose});
  if (may.code() == Code::not_yet) {
    return;
  }
  if (may.ok() && meeting.connection->peer_has_ended()) {
    may = fail(Code::peer_lost, "it has cancelled its dial");
  }
  // A dial that has not found the peer's inbox does not stand in the way of one that has.
  const Meeting* const own = own_dial_to(proven.id);
  if (may.ok() && own != nullptr && own->connection && !channel::connection_wins(proven.id, self_.id)) {
    may = fail(Code::exists, "both have dialed; the dial of the lower number is used");
  }
  if (may.ok()) {
    meeting.peer = {proven.id, proven.incarnation};
    meeting.handshake->accept_peer();
  } else {
    meeting.handshake->refuse(may);
  }
}

void FileTransport::conclude(Meeting& meeting) {
  meeting.over = true;
  meeting.connection->watch_beat(address_of(meeting.peer).beat_path());
  auto lane = link::make_file_lane(std::move(meeting.connection), session_keys(meeting.handshake->peer()));
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

void FileTransport::give_up(Meeting& meeting, const Status& why) {
  meeting.over = true;
  const bool died = meeting.connection && meeting.connection->peer_has_died();
  const bool silent = meeting.connection && meeting.connection->peer_is_silent();
  meeting.connection.reset();
  if (meeting.own) {
    host_.not_connected(*this, meeting.peer, {silent ? Status(Code::timeout, why.text()) : why, died});
  }
}

}  // namespace couplet::runtime
