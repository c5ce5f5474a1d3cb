// Many light-weight members of one universe in one process. Each is a control connection to the hub and nothing else.
// usage: universe HUB SECRET_FILE MEMBERS. It joins, and then obeys one command on each line: "rejoin" (after the hub
// was killed and started again) or "leave". It answers each, and the joining, with one JSON object: seconds, and bytes
// of messages in each direction.
#include <sys/epoll.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "channel/identity.hpp"
#include "channel/secret.hpp"
#include "link/shm/shm_transport.hpp"
#include "link/tcp_contact.hpp"
#include "os/clock.hpp"
#include "runtime/control_lanes.hpp"
#include "universe/control_connection.hpp"
#include "universe/features.hpp"

namespace {

using namespace couplet;
using namespace couplet::universe;

constexpr std::size_t members_per_node = 64;
constexpr std::size_t max_dialing = 512;  // connections that are being made at the same time
constexpr double patience_s = 120;

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "universe: %s\n", why.c_str());
  std::exit(1);
}

struct Member {
  std::size_t rank = 0;
  std::unique_ptr<ControlConnection> connection;
  int watched = -1;
  bool watched_write = false;
  bool introduced = false;
  PlacedMessage placed;
  channel::Credentials credentials = channel::fresh_credentials();
};

class Crowd {
 public:
  Crowd(std::string hub, channel::Secret secret, std::size_t count)
      : target_(os::resolve(hub).value()), secret_(std::move(secret)), members_(count), poller_(::epoll_create1(0)) {
    for (std::size_t rank = 0; rank < count; ++rank) {
      members_[rank].rank = rank;
    }
  }

  // Dials for every member, and waits until all have been told that the universe is complete (again).
  void join(bool again) {
    again_ = again;
    done_ = 0;
    for (auto& member : members_) {
      drop(member);
      to_dial_.push_back(member.rank);
    }
    run("members joined");
  }
  void leave() {
    done_ = 0;
    for (auto& member : members_) {
      say(member, LeaveMessage{});
      watch(member);
    }
    run("members left");
  }

  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;

 private:
  void run(const char* what) {
    const auto deadline = os::deadline_after(patience_s);
    std::vector<epoll_event> events(1024);
    while (done_ < members_.size()) {
      while (!to_dial_.empty() && dialing_ < max_dialing) {
        dial(members_[to_dial_.front()]);
        to_dial_.pop_front();
      }
      const int count = ::epoll_wait(poller_, events.data(), static_cast<int>(events.size()), 100);
      for (int index = 0; index < count; ++index) {
        serve(members_[events[static_cast<std::size_t>(index)].data.u64]);
      }
      if (os::now_ns() > deadline) {
        give_up(fmt::format("only {} of {} {}", done_, members_.size(), what));
      }
    }
  }

  void dial(Member& member) {
    auto socket = os::connect_tcp(target_);
    if (!socket.ok()) {
      give_up(socket.status().text());
    }
    channel::HandshakeSelf self;
    self.role = wire::Role::rank;
    self.features = handshake_features(channel::Protection::none);
    self.credentials = std::make_shared<const channel::Credentials>(member.credentials);
    if (member.credentials.ticket.is_signed) {
      self.id = member.placed.peer;
      self.incarnation = member.placed.incarnation;
    }
    member.connection = ControlConnection::initiate(std::move(*socket), target_, secret_, self, "the hub", lanes_);
    member.introduced = false;
    ++dialing_;
    watch(member);
  }

  void serve(Member& member) {
    if (member.connection == nullptr) {
      return;
    }
    member.connection->poll();
    if (!member.introduced && member.connection->state() == ControlConnection::State::open) {
      member.introduced = true;
      --dialing_;
      introduce(member);
    }
    while (auto arrived = member.connection->take()) {
      received_bytes += arrived->payload.size();
      auto message = decode_hub_message(arrived->payload);
      if (!message.ok()) {
        give_up(message.status().text());
      }
      heard(member, *message);
    }
    if (member.connection->state() == ControlConnection::State::ended) {
      drop(member);
    } else {
      watch(member);
    }
  }

  void introduce(Member& member) {
    if (!again_) {
      say(member, JoinMessage{false, "crowd", static_cast<std::int32_t>(member.rank),
                              static_cast<std::int32_t>(members_.size()), patience_s, "host"});
      return;
    }
    RejoinMessage message;
    message.run_id = run_id_;
    message.released = true;
    message.peer = member.placed.peer;
    message.incarnation = member.placed.incarnation;
    message.node = member.placed.node;
    message.node_key = key(member);
    message.host = "host";
    message.contact = contact(member);
    message.programs = member.placed.programs;
    say(member, message);
  }

  void heard(Member& member, HubMessage& message) {
    if (auto* const admitted = std::get_if<AdmittedMessage>(&message)) {
      run_id_ = admitted->run_id;
      say(member, NodeMessage{key(member)});
    } else if (auto* const placed = std::get_if<PlacedMessage>(&message)) {
      member.placed = std::move(*placed);
      auto& ticket = member.credentials.ticket;
      ticket.peer = member.placed.peer;
      ticket.incarnation = member.placed.incarnation;
      ticket.is_signed = true;
      ticket.signature = member.placed.signature;
      member.credentials.hub_key = member.connection->peer().key;
      say(member, PresentMessage{contact(member)});
    } else if (auto* const refused = std::get_if<RefusedMessage>(&message)) {
      give_up(refused->text);
    }
    const bool told =
        std::holds_alternative<CompleteMessage>(message) || std::holds_alternative<GoodbyeMessage>(message);
    done_ += told ? std::size_t{1} : 0;
  }

  // What a process publishes that is dialed over tcp and shm. Nothing is listening at this address.
  static Contact contact(const Member& member) {
    os::Endpoint endpoint;
    endpoint.address = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 192, 0, 2, 1};
    endpoint.port = 4711;
    Contact contact{.process = static_cast<std::uint32_t>(1 + member.rank), .transports = {}};
    contact.transports.add(link::tcp_transport_name, link::tcp_contact(endpoint));
    contact.transports.add("shm", link::ShmTransport::contact_of(member.rank));
    return contact;
  }

  static std::string key(const Member& member) { return fmt::format("node-{}", member.rank / members_per_node); }

  void say(Member& member, const MemberMessage& message) {
    if (member.connection == nullptr) {
      give_up("the hub has hung up");
    }
    auto bytes = std::make_shared<const std::string>(encode(message));
    sent_bytes += bytes->size();
    member.connection->send(control_message, std::move(bytes));
  }

  void watch(Member& member) {
    const int descriptor = member.connection->descriptor();
    const bool write = member.connection->wants_write();
    if (descriptor == member.watched && write == member.watched_write) {
      return;
    }
    epoll_event event{};
    event.events = EPOLLIN | (write ? EPOLLOUT : 0U);
    event.data.u64 = member.rank;
    if (descriptor >= 0) {
      ::epoll_ctl(poller_, descriptor == member.watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, descriptor, &event);
    }
    member.watched = descriptor;
    member.watched_write = write;
  }

  void drop(Member& member) {
    member.connection.reset();
    member.watched = -1;
  }

  os::Endpoint target_;
  channel::Secret secret_;
  LaneMaker lanes_ = runtime::tcp_control_lanes();
  std::vector<Member> members_;
  std::deque<std::size_t> to_dial_;
  std::size_t dialing_ = 0;
  std::size_t done_ = 0;
  bool again_ = false;
  std::uint64_t run_id_ = 0;
  int poller_;
};

template <typename Work>
void timed(Crowd& crowd, const char* what, const Work& work) {
  crowd.sent_bytes = 0;
  crowd.received_bytes = 0;
  const auto begin = os::now_ns();
  work();
  std::printf("{\"what\": \"%s\", \"seconds\": %.4f, \"sent_bytes\": %llu, \"received_bytes\": %llu}\n", what,
              static_cast<double>(os::now_ns() - begin) / 1e9, static_cast<unsigned long long>(crowd.sent_bytes),
              static_cast<unsigned long long>(crowd.received_bytes));
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) {
    give_up("usage: universe HUB SECRET_FILE MEMBERS");
  }
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  auto secret = channel::read_or_make_secret(arguments[2]);
  if (!secret.ok()) {
    give_up(secret.status().text());
  }
  Crowd crowd(arguments[1], std::move(*secret), std::strtoul(arguments[3], nullptr, 10));
  timed(crowd, "join", [&] { crowd.join(false); });
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "rejoin") {
      timed(crowd, "rejoin", [&] { crowd.join(true); });
    } else if (line == "leave") {
      timed(crowd, "leave", [&] { crowd.leave(); });
      break;
    }
  }
  return 0;
}
