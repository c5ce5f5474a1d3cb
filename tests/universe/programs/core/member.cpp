// A member of a universe that obeys a test, line by line, and prints the results: for tests/universe.
// usage: member PROGRAM [RANK SIZE] [--timeout S] [--relay] [--version N] [--vanish]
// --vanish: it ends when the hub has signed its ticket, and before it is present
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <iostream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "channel/handshake_socket.hpp"
#include "link/tcp_contact.hpp"
#include "os/clock.hpp"
#include "runtime/control_lanes.hpp"
#include "universe/features.hpp"
#include "universe/join.hpp"
#include "wire/message.hpp"
#include "wire/relay_messages.hpp"

namespace {

using namespace couplet;

void say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

std::string words(const Status& status) {
  if (status.ok()) {
    return "ok";
  }
  return std::string(code_name(static_cast<couplet_status>(status.code()))) + " " + status.text();
}

universe::SeriesRecord record_of(universe::Membership& member, const std::string& name) {
  universe::SeriesRecord record;
  record.name = name;
  record.program = member.programs()[static_cast<std::size_t>(member.program())].name;
  record.fields = {{"", COUPLET_DOUBLE, {4}}};
  record.slots = 2;
  record.creation = os::now_ns();
  universe::SeriesPart part;
  part.writer = member.id();
  part.node = member.node();
  part.boxes = {{{1, {0}, {4}}}};
  part.file = "series-" + name;
  record.parts.push_back(part);
  return record;
}

// Tells the hub that this member has opened the newest incarnation of the series.
Status open_reader(universe::SeriesRegistry& registry, const std::string& name, std::uint64_t deadline_ns) {
  const auto record = registry.find(name, -1, 0);
  return registry.reader_opened(name, record.ok() ? record->incarnation : 0, 0, deadline_ns);
}

// Tells the hub something `times` times, and waits for no answer.
void babble(universe::SeriesRegistry& registry, int times) {
  for (int count = 0; count < times; ++count) {
    static_cast<void>(registry.reader_closed("nothing", universe::unanswered));
  }
}

// Connects to a member, proves the secret, and presents itself as rank `posing_as`. Returns the socket.
Result<os::Descriptor> call(universe::Membership& member, channel::PeerId peer, channel::PeerId posing_as) {
  const auto& info = member.peer(peer);
  const os::Endpoint target = link::tcp_listener(info.contacts);
  COUPLET_TRY_VALUE(auto socket, os::connect_tcp(target));
  channel::HandshakeSelf self;
  self.id = posing_as;
  self.incarnation = member.peer(posing_as).incarnation;
  self.run_id = member.run_id();
  self.credentials = member.security().credentials;
  self.features = universe::handshake_features(channel::Protection::none);
  const std::string name = member.peer_name(peer);
  auto handshake = channel::Handshake::initiate(member.security().secret, self, {peer, info.incarnation}, name);
  for (const auto deadline = os::deadline_after(10); os::now_ns() < deadline;) {
    pollfd entry{socket.number(), static_cast<short>(handshake.output().empty() ? POLLIN : POLLIN | POLLOUT), 0};
    static_cast<void>(::poll(&entry, 1, 100));
    if (os::connect_result(socket, target).code() == Code::not_yet) {
      continue;
    }
    const auto status = channel::drive_handshake(handshake, socket, name, [](channel::Handshake&) {});
    if (status.ok()) {
      return socket;
    }
    if (status.code() != Code::not_yet) {
      return status;
    }
  }
  return fail(Code::timeout, "{} does not answer", name);
}

// Returns a frame of a message as it is sent over tcp. claimed: the length that the frame gives for its payload.
std::string frame_of(std::uint8_t kind, std::uint64_t first, std::size_t payload_bytes, std::size_t claimed) {
  wire::FrameHeader header;
  header.kind = kind;
  header.first = first;
  header.second = 0x4142434445464748;
  header.payload_bytes = static_cast<std::uint32_t>(claimed);
  const std::vector<std::byte> payload(payload_bytes);
  wire::seal_frame(header, payload, true);
  std::array<std::byte, wire::frame_header_bytes> image{};
  wire::encode_frame(header, image);
  return std::string(reinterpret_cast<const char*>(image.data()), image.size()) + std::string(payload_bytes, '\0');
}

// Returns messages that no correct program would send.
std::map<std::string, std::string> nonsense() {
  using wire::message_frame_kind;
  using wire::MessageKind;
  std::string garbage(65536, '\0');
  std::mt19937 random(1);  // NOLINT(cert-msc51-cpp): the same each time
  for (char& each : garbage) {
    each = static_cast<char>(random());
  }
  const auto eager = message_frame_kind(MessageKind::eager);
  const auto envelope = message_frame_kind(MessageKind::envelope);
  const auto data = message_frame_kind(MessageKind::data);
  const auto subscribe = wire::relay_frame_kind(wire::RelayKind::subscribe);
  return {{"garbage", garbage},
          {"cut-header", frame_of(eager, 1000, 1000, 1000).substr(0, 17)},
          {"cut-payload", frame_of(eager, 1000, 1000, 1000).substr(0, 500)},
          {"oversized", frame_of(eager, 0xFFFFFFFF, 1000, 0xFFFFFFFF) + garbage},
          {"not-its-length", frame_of(eager, 7, 1000, 1000)},
          {"endless-message", frame_of(envelope, ~std::uint64_t{0}, wire::envelope_bytes, wire::envelope_bytes)},
          {"no-envelope", frame_of(envelope, 1, 1000, 1000)},
          {"data-of-nothing", frame_of(data, std::uint64_t{1} << 60, 1000, 1000)},
          {"unknown-family", frame_of(0x6F, 0, 1000, 1000)},
          {"no-subscription", frame_of(subscribe, 1000, 1000, 1000)}};
}

// Calls the peer that the line names first, and presents itself as the rank that it names then.
std::string pose(universe::Membership& member, std::istream& line) {
  channel::PeerId peer = 0;
  channel::PeerId posing_as = 0;
  line >> peer >> posing_as;
  return words(call(member, peer, posing_as).status());
}

// Sends it, and then nothing further. Returns "ended" once the other side has closed the connection.
std::string talk_nonsense(universe::Membership& member, channel::PeerId peer, const std::string& kind) {
  auto socket = call(member, peer, member.id());
  if (!socket.ok()) {
    return words(socket.status());
  }
  const auto bytes = nonsense().at(kind);
  for (std::size_t sent = 0; sent < bytes.size();) {
    const auto more = os::send_some(*socket, bytes.data() + sent, bytes.size() - sent);
    if (more.ok()) {
      sent += *more;
    } else if (more.code() != Code::not_yet) {
      break;
    }
  }
  static_cast<void>(::shutdown(socket->number(), SHUT_WR));
  std::array<char, 4096> said{};
  for (const auto deadline = os::deadline_after(10); os::now_ns() < deadline;) {
    pollfd entry{socket->number(), POLLIN, 0};
    static_cast<void>(::poll(&entry, 1, 100));
    const auto more = os::receive_some(*socket, said.data(), said.size());
    if (!more.ok() && more.code() != Code::not_yet) {
      return "ended";
    }
  }
  return "is still listened to";
}

class Session {
 public:
  explicit Session(std::unique_ptr<universe::Membership> member)
      : member_(std::move(member)), engine_(member_->doorbell(), {}) {
    static_cast<void>(member_->attach(&engine_));
    member_->on_lost(
        [this](channel::PeerId id, const Status& why) { losses_.push_back(std::to_string(id) + " " + why.text()); },
        {});
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() { static_cast<void>(member_->attach(nullptr)); }

  bool command(std::istringstream& line) {
    std::string word;
    std::string name;
    double number = 0;
    line >> word;
    auto& registry = member_->registry();
    const auto soon = os::deadline_after(10);
    if (word == "leave") {
      say("left " + words(member_->leave(soon)));
      return false;
    }
    if (word == "lost") {
      const auto status =
          engine_.wait([&] { return !losses_.empty(); }, os::deadline_after(20), [] { return "a loss"; });
      say(status.ok() ? "lost " + losses_.front() : words(status));
      if (status.ok()) {
        losses_.erase(losses_.begin());
      }
    } else if (word == "alive") {
      line >> number;
      say("alive " + words(universe::alive(*member_, static_cast<channel::PeerId>(number))));
    } else if (word == "hub") {
      const auto status =
          engine_.wait([&] { return !member_->hub().ok(); }, os::deadline_after(20), [] { return "the hub's end"; });
      say(status.ok() ? "hub " + words(member_->hub()) : words(status));
    } else if (word == "announce") {
      line >> name;
      const auto record = registry.announce(record_of(*member_, name), soon);
      say(record.ok() ? "announced " + std::to_string(record->incarnation) : words(record.status()));
    } else if (word == "find") {
      line >> name >> number;
      const auto record = registry.find(name, -1, os::deadline_after(number));
      say(record.ok() ? "found " + record->name + " of " + record->program + (record->closed ? " closed" : "")
                      : words(record.status()));
    } else if (word == "opened" || word == "closed" || word == "written") {
      line >> name;
      const auto status = word == "opened"   ? open_reader(registry, name, soon)
                          : word == "closed" ? registry.reader_closed(name, soon)
                                             : registry.writer_closed(name, soon);
      say(word + " " + words(status));
    } else if (word == "news") {
      line >> name >> number;
      const auto known = [&] { return registry.news(name).incarnation >= static_cast<std::int64_t>(number); };
      const auto status = engine_.wait(known, os::deadline_after(20), [] { return "news"; });
      say("news " + words(status));
    } else if (word == "babble") {
      line >> number;
      babble(registry, static_cast<int>(number));
      say("babbled");
    } else if (word == "setting") {
      line >> name;
      say("setting " + member_->setting(name));
    } else if (word == "nonsense") {
      line >> number >> name;
      say("nonsense " + talk_nonsense(*member_, static_cast<channel::PeerId>(number), name));
    } else if (word == "relay_of") {
      double timeout_s = 1;
      int times = 1;
      line >> number >> timeout_s >> times;
      Result<channel::PeerId> relay = Code::internal;
      for (; times > 0; --times) {
        relay = registry.relay_of(static_cast<std::uint16_t>(number), os::deadline_after(timeout_s));
      }
      say(relay.ok() ? "relay " + std::to_string(*relay) : words(relay.status()));
    } else {
      say(word == "pose" ? "pose " + pose(*member_, line) : "unknown " + word);
    }
    return true;
  }

 private:
  std::unique_ptr<universe::Membership> member_;
  engine::Engine engine_;
  std::vector<std::string> losses_;
};

}  // namespace

int main(int count, char** arguments) {
  universe::JoinRequest request;
  bool relay = false;
  bool vanishes = false;
  std::uint16_t version = channel::highest_protocol_version;
  std::vector<std::string> plain;
  for (int index = 1; index < count; ++index) {
    const std::string word = arguments[index];
    if (word == "--timeout") {
      request.timeout_s = std::stod(arguments[++index]);
      request.timeout_given = true;
    } else if (word == "--vanish") {
      vanishes = true;
    } else if (word == "--relay") {
      relay = true;
    } else if (word == "--version") {
      version = static_cast<std::uint16_t>(std::stoi(arguments[++index]));
    } else {
      plain.push_back(word);
    }
  }
  request.program = plain.empty() ? std::string("relay") : plain[0];
  if (plain.size() == 3) {
    request.rank = std::stoi(plain[1]);
    request.size = std::stoi(plain[2]);
  }
  auto options = universe::join_options(request);
  if (!options.ok()) {
    say("error " + words(options.status()));
    return 1;
  }
  options->relay = relay;
  options->lowest_version = options->highest_version = version;
  options->make_lane = runtime::tcp_control_lanes();
  options->note = [](const std::string& text) { say("note " + text); };
  options->contacts = [vanishes](universe::Membership& self, const os::Endpoint& local) -> Result<link::ContactList> {
    if (vanishes) {
      return fail(Code::interrupted, "it has the ticket of universe rank {} (incarnation {})", self.id(),
                  self.security().credentials->ticket.incarnation);
    }
    auto endpoint = local;
    endpoint.port = 4711;
    link::ContactList contacts;
    contacts.add(link::tcp_transport_name, link::tcp_contact(endpoint));
    return contacts;
  };
  auto member = universe::join(std::move(*options));
  if (!member.ok()) {
    say("error " + words(member.status()));
    return 1;
  }
  const auto& self = (*member)->peer((*member)->id());
  say(fmt::format("joined {} {} {} {} {}", (*member)->id(), (*member)->size(), self.incarnation, self.node,
                  (*member)->node_directory()));
  Session session(std::move(*member));
  std::string text;
  while (std::getline(std::cin, text)) {
    std::istringstream line(text);
    if (!session.command(line)) {
      return 0;
    }
  }
  return 0;
}
