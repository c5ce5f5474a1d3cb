// The hub's answers about series and relays, and its events as JSON.
#include <algorithm>

#include "universe/control_fields.hpp"
#include "universe/hub/hub_state.hpp"

namespace couplet::universe {

void HubState::take(ConnectionId connection, Client& client, const AnnounceMessage& message, std::uint64_t /*now_ns*/) {
  if (auto status = check_series(client, message.record); !status.ok()) {
    answer(connection, message.request, status);
    return;
  }
  auto record = series_.announce(message.record);
  if (!record.ok()) {
    answer(connection, message.request, record.status());
    return;
  }
  for (const auto& part : record->parts) {  // a writer that died while the announcement was on its way
    if (connection_of(part.writer) == 0) {
      tell_series(series_.peer_gone(part.writer, client.since_ns));
    }
  }
  for (const auto& program : programs_) {  // a required reader that came and went before there was anything to read
    if (program.was_present && program.present == 0) {
      series_.program_gone(program.spec.name);
    }
  }
  note("series", client, {}, record->name);
  events_.back().incarnation = record->incarnation;
  AnswerMessage reply;
  reply.request = message.request;
  reply.record = *record;
  say(connection, reply);
  if (record->incarnation > 0) {
    tell_series({{record->name, series_.readers_of(record->name)}});
  }
  answer_finds(*record);
}

Status HubState::check_series(const Client& client, const SeriesRecord& record) const {
  if (client.phase != Phase::released || client.relay) {
    return fail(Code::state, "series '{}' is announced by a process that has not joined as a rank", record.name);
  }
  const auto& program = programs_[static_cast<std::size_t>(client.program)];
  if (record.program != program.spec.name) {
    return fail(Code::argument, "series '{}' is announced for program '{}' by a rank of '{}'", record.name,
                record.program, program.spec.name);
  }
  const auto first = static_cast<channel::PeerId>(program.first_rank);
  for (const auto& part : record.parts) {
    if (part.writer < first || part.writer - first >= program.seats.size() || part.node >= nodes_.size()) {
      return fail(Code::argument, "series '{}': universe rank {} on node {} is no rank of program '{}'", record.name,
                  part.writer, part.node, program.spec.name);
    }
  }
  if (record.parts.empty()) {
    return fail(Code::argument, "series '{}' is announced without a writer", record.name);
  }
  const auto names = program_names();
  for (const auto& reader : record.required_readers) {
    if (std::find(names.begin(), names.end(), reader) == names.end()) {
      return fail(Code::not_found, "series '{}': the required reader '{}' is no program of the universe; it has {}",
                  record.name, reader, quoted_list(names));
    }
  }
  return {};
}

void HubState::take(ConnectionId connection, Client& client, const FindMessage& message, std::uint64_t /*now_ns*/) {
  if (const auto* const record = series_.find(message.name, message.newer_than); record != nullptr) {
    AnswerMessage reply;
    reply.request = message.request;
    reply.record = *record;
    say(connection, reply);
  } else if (!message.wait) {
    answer(connection, message.request, Code::not_yet);
  } else if (client.pending.size() >= most_pending_requests) {
    answer(connection, message.request,
           fail(Code::limit, "{} requests are waiting at the hub already", most_pending_requests));
  } else {
    client.pending[message.request] = message;
  }
}

void HubState::take(ConnectionId connection, Client& client, const NoteMessage& message, std::uint64_t now_ns) {
  if (client.phase != Phase::released || client.relay) {
    answer(connection, message.request,
           fail(Code::state, "series '{}': this process is no rank of the universe", message.name));
    return;
  }
  Status status;
  if (message.note == SeriesNote::writer_closed) {
    auto changes = series_.writer_closed(client.peer, message.name, now_ns);
    status = changes.status();
    if (changes.ok()) {
      tell_series(*changes);
    }
  } else if (message.note == SeriesNote::reader_opened) {
    status =
        series_.reader_opened(client.peer, programs_[static_cast<std::size_t>(client.program)].spec.name, message.name);
  } else {
    status = series_.reader_closed(client.peer, message.name);
  }
  if (status.ok()) {
    note(message.note == SeriesNote::reader_opened ? "opened" : "closed", client, {}, message.name);
  }
  answer(connection, message.request, status);
}

void HubState::take(ConnectionId connection, Client& client, const RelayOfMessage& message, std::uint64_t /*now_ns*/) {
  const auto mode = settings_.settings.find("relay");
  const auto found = relays_.find(message.node);
  if (message.node >= nodes_.size()) {
    answer(connection, message.request, fail(Code::not_found, "the universe has no node {}", message.node));
  } else if (found != relays_.end() && found->second.info.state == PeerState::present) {
    AnswerMessage reply;
    reply.request = message.request;
    reply.peer = channel::first_relay_peer + message.node;
    say(connection, reply);
  } else if (mode != settings_.settings.end() && mode->second == "none") {
    answer(connection, message.request,
           fail(Code::unsupported, "node {} has no relay, and this universe starts none (relay = none)",
                nodes_[message.node].name));
  } else if (!message.wait) {
    answer(connection, message.request, Code::not_yet);
  } else if (client.pending.size() >= most_pending_requests) {
    answer(connection, message.request,
           fail(Code::limit, "{} requests are waiting at the hub already", most_pending_requests));
  } else {
    client.pending[message.request] = message;
  }
}

void HubState::take(ConnectionId /*connection*/, Client& client, const CancelMessage& message,
                    std::uint64_t /*now_ns*/) {
  client.pending.erase(message.request);
}

void HubState::answer(ConnectionId connection, RequestId request, const Status& status) {
  AnswerMessage reply;
  reply.request = request;
  reply.code = status.code();
  reply.text = status.error() ? status.text() : std::string();
  say(connection, reply);
}

void HubState::answer_finds(const SeriesRecord& record) {
  for (auto& [connection, client] : clients_) {
    for (auto item = client.pending.begin(); item != client.pending.end();) {
      const auto* const find = std::get_if<FindMessage>(&item->second);
      if (find == nullptr || find->name != record.name || series_.find(record.name, find->newer_than) == nullptr) {
        ++item;
        continue;
      }
      AnswerMessage reply;
      reply.request = item->first;
      reply.record = record;
      say(connection, reply);
      item = client.pending.erase(item);
    }
  }
}

void HubState::answer_relays(std::uint16_t node, channel::PeerId relay) {
  for (auto& [connection, client] : clients_) {
    for (auto item = client.pending.begin(); item != client.pending.end();) {
      const auto* const asked = std::get_if<RelayOfMessage>(&item->second);
      if (asked == nullptr || asked->node != node) {
        ++item;
        continue;
      }
      AnswerMessage reply;
      reply.request = item->first;
      reply.peer = relay;
      say(connection, reply);
      item = client.pending.erase(item);
    }
  }
}

void HubState::tell_series(const std::vector<SeriesBook::Change>& changes) {
  for (const auto& change : changes) {
    const auto* const record = series_.find(change.name, -1);
    if (record == nullptr) {
      continue;
    }
    for (const auto reader : change.readers) {
      if (const auto connection = connection_of(reader); connection != 0 && !misses(connection)) {
        say(connection, SeriesMessage{record->name, record->program, record->incarnation, record->closed});
      }
    }
  }
}

std::string event_json(const HubEvent& event, double with_time_s) {
  Json json = {{"time_s", with_time_s}, {"event", event.name}};
  if (!event.program.empty()) {
    json["program"] = event.program;
    json["rank"] = event.rank;
    json["peer"] = event.peer;
    json["incarnation"] = event.incarnation;
  }
  if (!event.node.empty()) {
    json["node"] = event.node;
  }
  if (!event.series.empty()) {
    json["series"] = event.series;
  }
  if (!event.text.empty()) {
    json["text"] = event.text;
  }
  return text_of(json);
}

}  // namespace couplet::universe
