#include "universe/hub/series_service.hpp"

#include <algorithm>

#include "universe/series_record.hpp"

namespace couplet::universe {
namespace {

std::string upload_of(RequestId request) {
  return fmt::format("request {}", request);
}
std::string upload_of(const RecordMessage& message) {
  return fmt::format("series {} {}", message.incarnation, message.name);
}

}  // namespace

// ---- announcing

void SeriesService::take(const Asker& asker, const AnnounceMessage& message) {
  if (!asker.released || asker.place.relay) {
    outbox_.answer(asker.connection, message.request,
                   fail(Code::state, "a series is announced by a process that has not joined as a rank"));
    return;
  }
  auto whole = uploads_.add(asker.connection, upload_of(message.request), message.part);
  if (!whole.ok()) {
    outbox_.answer(asker.connection, message.request, whole.status());
  } else if (whole->has_value()) {
    announced(asker, message.request, std::move(**whole));
  }
}

void SeriesService::announced(const Asker& asker, RequestId request, std::string description) {
  auto decoded = decode_record(description);
  auto status = decoded.ok() ? check(asker, *decoded) : decoded.status();
  if (!status.ok()) {
    outbox_.answer(asker.connection, request, status);
    return;
  }
  // A writer may have died while the announcement was on its way, and its next life may be here.
  const auto lives = [&](const SeriesPart& part) {
    const auto& info = seats_.find(part.writer)->info;
    const bool is_here = info.state == PeerState::present && info.incarnation == part.writer_incarnation;
    return part.writer == asker.peer || is_here || may_come(part);
  };
  const auto record = book_.announce(*decoded, std::make_shared<const std::string>(std::move(description)), lives);
  write_down();
  if (!record.ok()) {
    doubt_writers(decoded->name);
    outbox_.answer(asker.connection, request, record.status());
    return;
  }
  note_gone_programs();  // required readers that came and left before there was anything to read
  note("series", asker, record->name, record->incarnation);
  AnswerMessage reply;
  reply.request = request;
  reply.series = FoundSeries{record->incarnation, false, {}};
  outbox_.say(asker.connection, reply);
  if (record->incarnation > 0) {
    tell({{record->name, book_.peers_of(record->name, SeriesBook::Use::reads)}});
  }
  tell_opened(record->name);
  if (!book_.opened(record->name).empty()) {
    // Readers have described it to this hub, and opened it. Ranks that have not claimed it were not told.
    std::vector<channel::PeerId> writers;
    for (const auto& part : decoded->parts) {
      writers.push_back(part.writer);
    }
    tell({{record->name, std::move(writers)}});
  }
  const auto* const stored = book_.find(record->name, -1);
  if (stored == nullptr) {
    return;  // all writers have withdrawn, or are gone
  }
  for (const auto& key : waiting_.take_for_series(record->name, record->incarnation)) {
    found(key, *stored, 0);
  }
}

Status SeriesService::check(const Asker& asker, const SeriesRecord& record) const {
  const auto& program = seats_.program(asker.place.program);
  if (record.program != program.spec.name) {
    return fail(Code::argument, "series '{}' is announced for program '{}' by a rank of '{}'", record.name,
                record.program, program.spec.name);
  }
  const auto first = static_cast<channel::PeerId>(program.first_rank);
  for (const auto& part : record.parts) {
    if (part.writer < first || part.writer - first >= program.seats.size()) {
      return fail(Code::argument, "series '{}': its writer (universe rank {}) is no rank of '{}'", record.name,
                  part.writer, program.spec.name);
    }
  }
  if (record.parts.empty()) {
    return fail(Code::argument, "series '{}' is announced without a writer", record.name);
  }
  for (const auto& reader : record.required_readers) {
    if (seats_.index_of(reader) < 0) {
      return fail(Code::not_found, "series '{}': the required reader '{}' is no program of the universe; it has {}",
                  record.name, reader, seats_.quoted_names());
    }
  }
  return {};
}

// ---- finding

void SeriesService::take(const Asker& asker, const FindMessage& message) {
  const WaitingRequests::Key key(asker.connection, message.request);
  if (const auto* const stored = book_.find(message.name, message.newer_than); stored != nullptr) {
    found(key, *stored, 0);
    return;
  }
  doubt_writers(message.name);
  if (!message.wait) {
    actions_.tell_changes(asker.connection);
    AnswerMessage reply;
    reply.request = message.request;
    reply.code = Code::not_yet;
    reply.text = why_unknown(message.name);
    outbox_.say(asker.connection, reply);
  } else if (auto status = waiting_.wait_for_series(key, message.name, message.newer_than); !status.ok()) {
    outbox_.answer(asker.connection, message.request, status);
  }
}

void SeriesService::doubt_writers(const std::string& name) {
  if (!actions_.is_awaiting()) return;
  for (const auto writer : book_.peers_of(name, SeriesBook::Use::writes)) {
    if (const auto* const seat = seats_.find(writer); seat != nullptr && seat->awaited) {
      actions_.doubt(writer);
    }
  }
}

// A hub that was started again learns of a series from those that write or read it. Returns why it may not know of one
// yet, or an empty text.
std::string SeriesService::why_unknown(const std::string& name) const {
  const auto no_connection = [](const Seats::Program& program, std::ptrdiff_t rank, const char* why) {
    return fmt::format("the hub has no connection to program '{}' rank {}, which {}", program.spec.name, rank, why);
  };
  if (book_.is_awaited(name)) {
    for (const auto writer : book_.peers_of(name, SeriesBook::Use::writes)) {
      if (const auto* const seat = seats_.find(writer); seat != nullptr && seat->awaited) {
        const auto place = seats_.place_of(writer);
        return no_connection(seats_.program(place.program), place.rank, "may write it");
      }
    }
    return "the hub, which was started again, waits for its description";
  }
  for (const auto& program : seats_.programs()) {
    const auto found =
        std::find_if(program.seats.begin(), program.seats.end(), [](const Seat& seat) { return seat.awaited; });
    if (found != program.seats.end()) {
      return no_connection(program, found - program.seats.begin(), "may have created it");
    }
  }
  return {};
}

void SeriesService::take(const Asker& asker, const FetchMessage& message) {
  const auto* const stored = book_.find(message.name, -1);
  if (stored == nullptr || stored->record.incarnation != message.incarnation ||
      message.offset > stored->description->size()) {
    // The series was created again meanwhile, so the member has to find it anew.
    outbox_.answer(asker.connection, message.request, Code::restarted);
    return;
  }
  found({asker.connection, message.request}, *stored, message.offset);
}

void SeriesService::found(const WaitingRequests::Key& key, const SeriesBook::Stored& stored, std::uint64_t offset) {
  AnswerMessage reply;
  reply.request = key.second;
  FoundSeries series;
  series.incarnation = stored.record.incarnation;
  series.closed = stored.record.closed;
  series.part.record_bytes = stored.description->size();
  series.part.offset = offset;
  series.part.bytes = stored.description->substr(offset, max_part_bytes);
  reply.series = std::move(series);
  if (offset == 0) {
    actions_.tell_changes(key.first);
  }
  outbox_.say(key.first, reply);
}

// ---- opening and closing

void SeriesService::take(const Asker& asker, const NoteMessage& message, std::uint64_t now_ns) {
  if (!asker.released || asker.place.relay) {
    outbox_.answer(asker.connection, message.request,
                   fail(Code::state, "series '{}': this process is not a rank of the universe", message.name));
    return;
  }
  const char* event = "closed";
  Status status;
  switch (message.note) {
    case SeriesNote::writer_closed:
      tell(book_.writer_closed(asker.peer, message.name, message.creation, now_ns));
      break;
    case SeriesNote::withdrawn:
      event = "withdrawn";
      tell(book_.withdraw(asker.peer, message.name, message.creation, now_ns));
      break;
    case SeriesNote::creating:
      event = nullptr;
      status =
          book_.creating(asker.peer, seats_.program(asker.place.program).spec.name, message.name, message.creation);
      tell({{message.name, {asker.peer}}});  // other ranks may have brought news of it
      break;
    case SeriesNote::reader_opened:
      event = "opened";
      status = book_.reader_opened(asker.peer, seats_.program(asker.place.program).spec.name, message.name,
                                   {message.creation, message.openers});
      tell_opened(message.name);
      break;
    case SeriesNote::reader_closed:
      status = book_.reader_closed(asker.peer, message.name);
      break;
  }
  write_down();
  if (status.ok() && event != nullptr) {
    note(event, asker, message.name, 0);
  }
  outbox_.answer(asker.connection, message.request, status);
}

// ---- relays

void SeriesService::take(const Asker& asker, const RelayOfMessage& message) {
  const auto relay = channel::first_relay_peer + message.node;
  const auto* const seat = seats_.find(relay);
  // While members of an earlier hub come back, that hub may have known a node that this one does not know yet.
  if (message.node >= seats_.node_count() && !asker.recovering) {
    outbox_.answer(asker.connection, message.request,
                   fail(Code::not_found, "the universe has no node {}", message.node));
  } else if (seat != nullptr && seat->info.state == PeerState::present) {
    AnswerMessage reply;
    reply.request = message.request;
    reply.peer = relay;
    actions_.tell_changes(asker.connection);
    outbox_.say(asker.connection, reply);
  } else if (relay_mode_ == "none") {
    outbox_.answer(asker.connection, message.request,
                   fail(Code::unsupported, "node {} has no relay, and this universe starts none (relay = none)",
                        seats_.node_name(message.node)));
  } else if (!message.wait) {
    outbox_.answer(asker.connection, message.request, Code::not_yet);
  } else if (auto status = waiting_.wait_for_relay({asker.connection, message.request}, message.node); !status.ok()) {
    outbox_.answer(asker.connection, message.request, status);
  }
}

void SeriesService::relay_came(std::uint16_t node, channel::PeerId relay) {
  for (const auto& [connection, request] : waiting_.take_for_relay(node)) {
    AnswerMessage reply;
    reply.request = request;
    reply.peer = relay;
    actions_.tell_changes(connection);
    outbox_.say(connection, reply);
  }
}

// ---- members that come back

Status SeriesService::claim(const Asker& asker, const RejoinMessage& message, std::uint64_t now_ns) {
  const auto program = asker.place.relay ? std::string() : seats_.program(asker.place.program).spec.name;
  book_.forget_reader(asker.peer);
  for (const auto& claim : message.series) {
    const auto recall = book_.claim(asker.peer, program, claim);
    if (recall.ok() && *recall) {  // else it is known, not needed, or one too many: no reason to lose the member
      outbox_.say(asker.connection, RecallMessage{claim.name, claim.incarnation});
    }
  }
  tell(book_.rejoined(asker.peer, program, message, now_ns));
  write_down();
  tell_opened({});
  return {};
}

Status SeriesService::take(const Asker& asker, const RecordMessage& message, std::uint64_t now_ns) {
  COUPLET_TRY_VALUE(auto whole, uploads_.add(asker.connection, upload_of(message), message.part));
  if (!whole) {
    return {};
  }
  COUPLET_TRY_VALUE(auto record, decode_record(*whole));
  if (record.name != message.name) {
    return fail(Code::protocol, "a description of series '{}' was asked for, but one of series '{}' came", message.name,
                record.name);
  }
  record.incarnation = message.incarnation;
  book_.describe(
      record, std::make_shared<const std::string>(std::move(*whole)),
      [this](const SeriesPart& part) { return may_come(part); }, now_ns);
  write_down();
  note_gone_programs();  // required readers that left before this hub was started
  if (const auto* const stored = book_.find(record.name, -1); stored != nullptr) {
    for (const auto& key : waiting_.take_for_series(record.name, stored->record.incarnation)) {
      found(key, *stored, 0);
    }
    if (stored->record.closed) {
      tell({{record.name, book_.peers_of(record.name, SeriesBook::Use::reads)}});
    }
    tell_opened(record.name);
  }
  return {};
}

bool SeriesService::may_come(const SeriesPart& part) const {
  const auto* const seat = seats_.find(part.writer);
  return seat != nullptr && seat->awaited && seat->info.incarnation <= part.writer_incarnation;
}

// Nothing waits for a required reader program all of whose ranks have come and gone.
void SeriesService::note_gone_programs() {
  for (const auto& program : seats_.programs()) {
    if (program.was_present && program.present == 0) {
      book_.program_gone(program.spec.name);
    }
  }
}

void SeriesService::drop(ConnectionId connection) {
  uploads_.drop(connection);
  waiting_.drop(connection);
}

// ---- telling

void SeriesService::tell(const std::vector<SeriesBook::Change>& changes) {
  for (const auto& change : changes) {
    const auto* const stored = book_.find(change.name, -1);
    if (stored == nullptr) {
      continue;
    }
    const auto& record = stored->record;
    const auto news = payload_of(news_of(record));
    for (const auto peer : change.peers) {
      if (const auto connection = connection_of(peer); connection != 0) {
        outbox_.say_change(connection, news);
      }
    }
  }
}

SeriesMessage SeriesService::news_of(const SeriesRecord& record) const {
  return {record.name, record.program, record.incarnation, record.closed, book_.opened(record.name)};
}

void SeriesService::tell_opened(const std::string& name) {
  const auto may_open = [](const Seat& seat) {
    return seat.info.state != PeerState::left && seat.info.state != PeerState::lost;
  };
  const auto count = [&](const std::string& program) -> std::size_t {
    const std::int32_t index = seats_.index_of(program);
    if (index < 0) {
      return SIZE_MAX;
    }
    const auto& seats = seats_.program(index).seats;
    return static_cast<std::size_t>(std::count_if(seats.begin(), seats.end(), may_open));
  };
  const auto rank_may_open = [&](channel::PeerId rank) {
    const Seat* const seat = seats_.find(rank);
    return seat != nullptr && may_open(*seat);
  };
  tell(book_.newly_opened(name, {count, rank_may_open}));
}

void SeriesService::tell_all(ConnectionId connection, channel::PeerId peer) {
  for (const auto* const record : book_.used_by(peer)) {
    if (book_.find(record->name, -1) != nullptr) {  // otherwise nothing is known of it yet
      outbox_.say(connection, news_of(*record));
    }
  }
}

ConnectionId SeriesService::connection_of(channel::PeerId peer) const {
  const auto* const seat = seats_.find(peer);
  return seat == nullptr ? 0 : seat->connection;
}

void SeriesService::write_down() {
  for (auto& event : book_.take_notes()) {
    outbox_.note(std::move(event));
  }
}

void SeriesService::note(const char* what, const Asker& asker, const std::string& series, std::uint64_t incarnation) {
  HubEvent event;
  event.name = what;
  event.program = seats_.program(asker.place.program).spec.name;
  event.rank = asker.place.rank;
  event.peer = asker.peer;
  event.node = asker.host;
  event.series = series;
  const auto* const seat = seats_.find(asker.place);
  event.incarnation = series.empty() || std::string_view(what) != "series" ? seat->info.incarnation : incarnation;
  outbox_.note(std::move(event));
}

}  // namespace couplet::universe
