// A hub and members without sockets or time of day, for the tests of HubState.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "universe/hub/hub_state.hpp"

namespace couplet::universe {

struct Received {
  HubMessage message;
};

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

  HubState& hub() { return hub_; }
  void advance(double seconds) {
    now_ns_ += static_cast<std::uint64_t>(seconds * 1e9);
    hub_.tick(now_ns_);
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
    send(connection, PresentMessage{{}, static_cast<std::uint16_t>(4000 + connection), 100 + connection, connection});
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
  [[nodiscard]] std::vector<wire::PeerEntry> table(ConnectionId connection) {
    std::vector<wire::PeerEntry> entries;
    for (const auto& part : tables_[connection]) {
      auto decoded = wire::decode_peer_table(std::as_bytes(std::span(*part)));
      EXPECT_TRUE(decoded.ok()) << decoded.status().text();
      if (decoded.ok()) {
        entries.insert(entries.end(), decoded->begin(), decoded->end());
      }
    }
    return entries;
  }
  [[nodiscard]] std::uint64_t table_bytes(ConnectionId connection) {
    std::uint64_t bytes = 0;
    for (const auto& part : tables_[connection]) {
      bytes += part->size();
    }
    return bytes;
  }
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
    for (const auto& output : hub_.take_outputs()) {
      closed_[output.to] = closed_[output.to] || output.last;
      if (output.kind == control_peer_table) {
        tables_[output.to].push_back(output.payload);
        continue;
      }
      auto message = decode_hub_message(*output.payload);
      ASSERT_TRUE(message.ok()) << message.status().text() << " in " << *output.payload;
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
  std::map<ConnectionId, std::vector<std::shared_ptr<const std::string>>> tables_;
  std::map<ConnectionId, bool> closed_;
  std::map<ConnectionId, bool> presented_;
  std::vector<HubEvent> events_;
};

}  // namespace couplet::universe
