// A hub and members without sockets or time of day, for the tests of HubState.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "universe/hub/hub_state.hpp"
#include "universe/series_record.hpp"

namespace couplet::universe {

struct Received {
  HubMessage message;
};

// What a member was told of a peer.
struct Told {
  channel::PeerId peer = 0;
  PeerState state = PeerState::absent;
  std::uint16_t incarnation = 0;
  std::uint16_t node = unknown_node;
  std::string why;
};

// Where the process of a connection listens.
inline os::Endpoint endpoint_of_connection(ConnectionId connection) {
  return {.port = static_cast<std::uint16_t>(4000 + connection)};
}

class HubWorld {
 public:
  explicit HubWorld(const std::string& programs, double linger_s = -1) : hub_(settings(programs, linger_s)) {}

  static HubSettings settings(const std::string& programs, double linger_s) {
    HubSettings result;
    auto parsed = parse_programs(programs);
    EXPECT_TRUE(parsed.ok()) << parsed.status().text();
    result.programs = parsed.ok() ? *parsed : std::vector<ProgramSpec>();
    result.linger_s = linger_s;
    result.run_id = 0x1234;
    result.settings = {{"encrypt", "false"}};
    return result;
  }

  explicit HubWorld(HubSettings settings) : hub_(std::move(settings)) {}

  HubState& hub() { return hub_; }
  [[nodiscard]] std::uint64_t now_ns() const { return now_ns_; }
  // If false, changes are told when they are due, as time passes; by default at once.
  void tell_at_once(bool at_once) { at_once_ = at_once; }
  void advance(double seconds) {
    now_ns_ += static_cast<std::uint64_t>(seconds * 1e9);
    hub_.tick(now_ns_);
    hub_.flush(now_ns_);
    pump();
  }

  ConnectionId connect() {
    hub_.connected(next_, now_ns_);
    return next_++;
  }
  void send(ConnectionId from, const MemberMessage& message) {
    auto decoded = decode_member_message(encode(message));  // as it would come from a socket
    ASSERT_TRUE(decoded.ok()) << decoded.status().text();
    hub_.received(from, *decoded, now_ns_);
    pump();
  }
  void cut(ConnectionId connection, const std::string& why = "its connection ended") {
    hub_.disconnected(connection, why, now_ns_);
    pump();
  }

  void reset(ConnectionId connection) {
    hub_.cut_off(connection, "its connection was reset", now_ns_);
    pump();
  }

  ConnectionId join(const std::string& program, int rank, int size, double timeout_s = 60,
                    const std::string& node = "a") {
    const auto connection = connect();
    send(connection, JoinMessage{false, program, rank, size, timeout_s, "host-" + node});
    finish(connection, node);
    return connection;
  }
  ConnectionId join_relay(const std::string& node) {
    const auto connection = connect();
    send(connection, JoinMessage{true, {}, 0, 1, 60, "host-" + node});
    finish(connection, node);
    return connection;
  }
  void finish(ConnectionId connection, const std::string& node) {
    if (has<AdmittedMessage>(connection) && !has<PlacedMessage>(connection)) {
      send(connection, NodeMessage{"key-" + node});
    }
    if (has<PlacedMessage>(connection) && !presented_[connection]) {
      present(connection);
    }
  }
  void present(ConnectionId connection) {
    presented_[connection] = true;
    send(connection, PresentMessage{contact_of_connection(connection)});
  }
  static Contact contact_of_connection(ConnectionId connection) {
    Contact contact{.process = static_cast<std::uint32_t>(100 + connection), .transports = {}};
    contact.transports.add(link::tcp_transport_name, link::tcp_contact(endpoint_of_connection(connection)));
    return contact;
  }
  // In as many parts as it needs.
  void announce(ConnectionId from, RequestId request, const SeriesRecord& record) {
    const auto description = encode_record(record);
    for (std::uint64_t offset = 0; offset < description.size(); offset += max_part_bytes) {
      send(from, AnnounceMessage{request, {description.size(), offset, description.substr(offset, max_part_bytes)}});
    }
  }
  // What an answer has found, if it came in one part.
  static SeriesRecord record_in(const AnswerMessage& answer) {
    EXPECT_TRUE(answer.series.has_value());
    auto record = answer.series ? decode_record(answer.series->part.bytes) : Result<SeriesRecord>(Code::internal);
    EXPECT_TRUE(record.ok()) << record.status().text();
    return record.ok() ? *record : SeriesRecord();
  }

  template <typename T>
  [[nodiscard]] std::vector<T> all(ConnectionId connection) {
    std::vector<T> found;
    for (const auto& each : inbox_[connection]) {
      if (const auto* const message = std::get_if<T>(&each.message)) {
        found.push_back(*message);
      }
    }
    return found;
  }
  template <typename T>
  [[nodiscard]] const T* find_last(ConnectionId connection) {
    const auto& inbox = inbox_[connection];
    for (auto each = inbox.rbegin(); each != inbox.rend(); ++each) {
      if (const auto* const message = std::get_if<T>(&each->message)) {
        return message;
      }
    }
    return nullptr;
  }
  template <typename T>
  [[nodiscard]] bool has(ConnectionId connection) {
    return find_last<T>(connection) != nullptr;
  }
  template <typename T>
  [[nodiscard]] T last(ConnectionId connection) {
    const auto* const found = find_last<T>(connection);
    EXPECT_NE(found, nullptr) << "connection " << connection << " got no such message";
    return found == nullptr ? T{} : *found;
  }
  // What `connection` knows of a peer; state absent where it was told nothing.
  [[nodiscard]] Told known(ConnectionId connection, channel::PeerId peer) {
    Told found;
    found.peer = peer;
    for (const auto& message : all<StatesMessage>(connection)) {
      for (const auto& group : message.groups) {
        for (const auto& run : group.runs) {
          if (peer >= run.first && peer - run.first < run.count) {
            const bool news = found.state != run.state || found.incarnation != run.incarnation;
            found = {peer, run.state, run.incarnation, run.node, news ? group.why : found.why};
          }
        }
      }
    }
    return found;
  }
  // The changes that it was told after it had been let in.
  [[nodiscard]] std::vector<Told> changes(ConnectionId connection) {
    std::vector<Told> changes;
    bool complete = false;
    for (const auto& each : inbox_[connection]) {
      complete = complete || std::holds_alternative<CompleteMessage>(each.message);
      const auto* const states = std::get_if<StatesMessage>(&each.message);
      if (!complete || states == nullptr) {
        continue;
      }
      for (const auto& group : states->groups) {
        for (const auto& run : group.runs) {
          for (std::uint32_t index = 0; index < run.count; ++index) {
            changes.push_back({run.first + index, run.state, run.incarnation, run.node, group.why});
          }
        }
      }
    }
    return changes;
  }
  // The connection whose contact it was told for this peer; 0: none.
  [[nodiscard]] ConnectionId known_connection(ConnectionId connection, channel::PeerId peer) {
    ConnectionId known = 0;
    for (const auto& message : all<ContactsMessage>(connection)) {
      for (const auto& entry : message.entries) {
        known = entry.peer == peer ? entry.contact.process - 100 : known;
      }
    }
    return known;
  }
  [[nodiscard]] std::vector<std::string> node_names(ConnectionId connection) {
    std::vector<std::string> names;
    for (const auto& message : all<NodesMessage>(connection)) {
      names.resize(std::max(names.size(), message.first + message.names.size()));
      std::copy(message.names.begin(), message.names.end(), names.begin() + message.first);
    }
    return names;
  }
  [[nodiscard]] std::uint64_t bytes_to(ConnectionId connection) { return bytes_[connection]; }
  [[nodiscard]] std::size_t messages() const { return messages_; }
  [[nodiscard]] bool closed(ConnectionId connection) { return closed_[connection]; }
  [[nodiscard]] std::vector<std::string> event_names() const {
    std::vector<std::string> names;
    for (const auto& event : events_) {
      names.push_back(event.name);
    }
    return names;
  }
  [[nodiscard]] const std::vector<HubEvent>& events() const { return events_; }
  void pump() {
    if (at_once_ && hub_.due_ns() != UINT64_MAX) {
      hub_.flush(std::max(now_ns_, hub_.due_ns()));
    }
    for (const auto& output : hub_.take_outputs()) {
      closed_[output.to] = closed_[output.to] || output.last;
      bytes_[output.to] += output.payload->size();
      ++messages_;
      ASSERT_LE(output.payload->size(), max_message_bytes);
      auto message = decode_hub_message(*output.payload);
      ASSERT_TRUE(message.ok()) << message.status().text();
      inbox_[output.to].push_back({std::move(*message)});
    }
    for (auto& event : hub_.take_events()) {
      events_.push_back(std::move(event));
    }
  }

 private:
  HubState hub_;
  std::uint64_t now_ns_ = 1'000'000'000;
  ConnectionId next_ = 1;
  std::map<ConnectionId, std::vector<Received>> inbox_;
  bool at_once_ = true;
  std::size_t messages_ = 0;
  std::map<ConnectionId, std::uint64_t> bytes_;
  std::map<ConnectionId, bool> closed_;
  std::map<ConnectionId, bool> presented_;
  std::vector<HubEvent> events_;
};

}  // namespace couplet::universe
