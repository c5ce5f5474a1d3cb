// The requests of a member to the hub's register of series.
#include "os/clock.hpp"
#include "universe/member.hpp"
#include "universe/series_record.hpp"

namespace couplet::universe {
namespace {

// How long to wait for the hub's answer to a question that it can answer at once, even if the caller does not want to
// wait.
constexpr std::uint64_t answer_grace_ns = 5'000'000'000;
// How long to wait for it if the caller's time is over already.
constexpr std::uint64_t doubt_grace_ns = 200'000'000;

// A process whose calls are so far apart dials a lost hub in each of them.
constexpr std::uint64_t seldom_ns = 500'000'000;
// How long a call waits at most for a hub that is away and answers a dial.
constexpr std::uint64_t max_wait_for_return_ns = 200'000'000;
// A call waits for the hub for at most the time since the last such call, divided by this number: a call that needs the
// hub and would fail without it, and one that has done its work without the hub.
constexpr std::uint64_t divisor_for_a_failure = 10;
constexpr std::uint64_t divisor_between_steps = 50;

// Of the questions about newer incarnations of a series; a name has no such character.
std::string key_of(const std::string& series) {
  return series + '\n';
}

}  // namespace

// If the hub is away and answers a dial, a call waits until it has taken this process back: for at most a part of the
// time since the last such call, so that a hub that does not answer costs little.
bool Member::catch_up(CatchUp extent) {
  const bool may_wait = engine_ != nullptr && !engine_->is_polling() && !left_ && complete_;
  hear();
  const auto now = os::now_ns();
  const auto since_ns = extent != CatchUp::read ? redial_.since_last_call(now) : 0;
  if (extent != CatchUp::read && may_wait && !hub_status_.ok()) {
    const auto divisor = extent == CatchUp::ask ? divisor_for_a_failure : divisor_between_steps;
    const auto patience_ns = std::min(since_ns / divisor, max_wait_for_return_ns);
    if (since_ns >= seldom_ns) {
      redial_.hurry();
    }
    dial_again(now);
    const auto is_decided = [&] {
      return hub_status_.ok() || connection_ == nullptr || connection_->state() == ControlConnection::State::ended;
    };
    static_cast<void>(wait(is_decided, now + patience_ns, "the hub to take this process back"));
  }
  if (extent == CatchUp::ask && may_wait && hub_status_.ok()) {
    const auto deadline_ns = requests_.ask_for_changes(os::now_ns());
    const auto answered = [&] { return requests_.has_all_changes() || !answers_may_come(); };
    static_cast<void>(wait(answered, deadline_ns, "catching up with the hub"));
  }
  hear();
  return liveness_.has_news();
}

Status Member::may_ask(const std::string& what) const {
  if (left_) {
    return fail(Code::state, "{}: this process has left the universe", what);
  }
  return answers_may_come() ? Status() : hub_status_.within(what);
}

// Waits for the answer to a request that has begun.
Result<AnswerMessage> Member::await_answer(RequestId request, std::uint64_t deadline_ns, const std::string& what,
                                           bool interruptible) {
  const auto answered = [&] { return requests_.is_answered(request) || !answers_may_come(); };
  auto status = wait(answered, deadline_ns, what, interruptible);
  if (answers_may_come() && requests_.keep(request)) {
    const bool hub_is_why = status.code() == Code::timeout && !hub_status_.ok();
    return hub_is_why ? fail(Code::timeout, "{}: {}", status.text(), hub_status_.text()) : status;
  }
  if (!hub_status_.ok() && !requests_.is_answered(request)) {
    static_cast<void>(requests_.finish(request));
    return hub_status_.within(what);
  }
  auto reply = requests_.finish(request);
  if (reply) {
    if (reply->code == Code::ok || reply->code == Code::not_yet) {
      return std::move(*reply);
    }
    return Status(reply->code, reply->text);
  }
  if (!requests_.is_open(request)) {
    say(CancelMessage{request});
  }
  return status;
}

Result<SeriesRecord> Member::announce(const SeriesRecord& record, std::uint64_t deadline_ns) {
  const auto what = fmt::format("announcing series '{}' to the hub", record.name);
  auto description = std::make_shared<const std::string>(encode_record(record));
  if (description->size() > max_record_bytes) {
    return fail(Code::limit, "{}: its description has {} bytes, at most {} are possible", what, description->size(),
                max_record_bytes);
  }
  COUPLET_TRY(may_ask(what));
  const auto request = requests_.next();
  requests_.begin_announcement(request, description);
  COUPLET_TRY_VALUE(const auto reply, await_answer(request, deadline_ns, what));
  if (!reply.series) {
    return fail(Code::protocol, "the hub's answer about series '{}' has no description", record.name);
  }
  account_.writes(record.name, reply.series->incarnation, record.creation, std::move(description));
  auto announced = record;
  announced.incarnation = reply.series->incarnation;
  announced.closed = false;
  return announced;
}

// If this process is just coming back, the hub may read its `rejoin`, which does not name this creation, after the
// first rank's announcement. So it is said behind `rejoin`. If `rejoin` has not been sent, this message is dropped, and
// `rejoin` names the creation.
Status Member::creating(const std::string& name, std::uint64_t creation) {
  COUPLET_TRY(account_.creates(name, creation));
  if (!hub_status_.ok()) {
    say(NoteMessage{.request = requests_.next(), .note = SeriesNote::creating, .name = name, .creation = creation});
  }
  return {};
}

void Member::created(const std::string& name, std::uint64_t creation, std::optional<std::uint64_t> incarnation) {
  account_.creates_no_longer(name, creation);
  if (incarnation) {
    account_.writes(name, *incarnation, creation, nullptr);
  }
}

// The hub answers a question that waits only once there is a series. Before a first opening comes a question that it
// answers at once, so that a series that does not exist is told from a hub that does not answer. A look for a newer
// incarnation that has no time left leaves its question with the hub, and waits for no answer.
Result<SeriesRecord> Member::find(const std::string& name, std::int64_t newer_than, std::uint64_t deadline_ns) {
  COUPLET_TRY(check_series_name(name));  // the hub drops a member that sends what it cannot decode
  const auto what = fmt::format("looking for series '{}'", name);
  const auto key = newer_than >= 0 ? fmt::format("{}{}", key_of(name), newer_than) : std::string();
  const auto ask = [&](bool waits, std::uint64_t until_ns, bool interruptible) -> Result<AnswerMessage> {
    COUPLET_TRY(may_ask(what));
    const auto request = requests_.begin_or_go_on(key, [&](RequestId number) {
      return FindMessage{number, name, newer_than, waits};
    });
    auto reply = await_answer(request, until_ns, what, interruptible);
    if (!reply.ok()) {
      return reply.code() == Code::timeout && waits ? Status(Code::not_yet) : reply.status();
    }
    if (reply->code == Code::not_yet) {
      return reply->text.empty() ? Status(Code::not_yet) : Status(Code::not_yet, reply->text);
    }
    return reply;
  };
  const auto now = os::now_ns();
  const bool may_wait = newer_than >= 0 || deadline_ns > now;
  auto reply = ask(newer_than >= 0, may_wait ? deadline_ns : now + answer_grace_ns, may_wait);
  if (newer_than < 0 && reply.code() == Code::timeout) {
    return fail(Code::timeout, "{}: the hub has not answered in time", reply.status().text());
  }
  if (newer_than < 0 && may_wait && reply.code() == Code::not_yet) {
    const Status doubt = reply.status();
    reply = ask(true, deadline_ns, true);
    if (reply.code() == Code::not_yet && doubt.text() != Status(Code::not_yet).text()) {
      // It may be known only to a process that had not come back to the hub.
      reply = ask(false, os::now_ns() + doubt_grace_ns, false);
      if (reply.code() == Code::timeout) {
        return doubt;
      }
    }
  }
  if (!reply.ok()) {
    return reply.status();
  }
  if (!reply->series) {
    return fail(Code::protocol, "the hub's answer about series '{}' has no description", name);
  }
  COUPLET_TRY_VALUE(auto record, decode_record(reply->series->part.bytes));
  if (record.name != name) {
    return fail(Code::protocol, "the hub's answer to series '{}' describes '{}'", name, record.name);
  }
  record.incarnation = reply->series->incarnation;
  record.closed = reply->series->closed;
  account_.found(name, record.incarnation, record.creation,
                 std::make_shared<const std::string>(std::move(reply->series->part.bytes)));
  return record;
}

void Member::learned(const SeriesRecord& record, const std::string& description) {
  account_.found(record.name, record.incarnation, record.creation, std::make_shared<const std::string>(description));
}

Status Member::note_series(NoteMessage note, std::uint64_t deadline_ns) {
  if (deadline_ns == unanswered) {
    note.request = requests_.next();
    say(note);
    return {};
  }
  // The account says already what a writer has done. If this connection breaks, the next `rejoin` says it; if a
  // `rejoin` that does not say it is under way, this follows it. Saying it twice changes nothing.
  const bool is_noted = note.note == SeriesNote::writer_closed || note.note == SeriesNote::withdrawn;
  if (is_noted && !hub_status_.ok()) {
    note.request = requests_.next();
    say(note);
  }
  const auto what = fmt::format("telling the hub about series '{}'", note.name);
  COUPLET_TRY(may_ask(what));
  const auto request = requests_.next();
  note.request = request;
  requests_.begin(request, std::move(note));
  return await_answer(request, deadline_ns, what).status();
}

Status Member::writer_closed(const std::string& name, std::uint64_t deadline_ns) {
  const auto creation = account_.creation(name);
  account_.closed_writer(name);
  return note_series({.note = SeriesNote::writer_closed, .name = name, .creation = creation}, deadline_ns);
}

void Member::withdraw(const std::string& name, std::uint64_t creation, std::uint64_t deadline_ns) {
  if (left_) {
    return;
  }
  account_.withdraws(name, creation);
  static_cast<void>(note_series({.note = SeriesNote::withdrawn, .name = name, .creation = creation}, deadline_ns));
}

Status Member::reader_opened(const std::string& name, std::uint64_t incarnation, const OpenerRanks& openers,
                             std::uint64_t deadline_ns) {
  const auto creation = account_.creation_of(name, incarnation);
  COUPLET_TRY(note_series({.note = SeriesNote::reader_opened, .name = name, .openers = openers, .creation = creation},
                          deadline_ns));
  account_.opened(name, incarnation, openers);
  return {};
}

Status Member::reader_closed(const std::string& name, std::uint64_t deadline_ns) {
  for (const auto request : requests_.end_all_kept(key_of(name))) {
    say(CancelMessage{request});
  }
  auto status = note_series({.note = SeriesNote::reader_closed, .name = name}, deadline_ns);
  if (!status.ok() && !hub_status_.ok()) {  // a `rejoin` under way says that it is open; the request is not sent again
    say(NoteMessage{.request = requests_.next(), .note = SeriesNote::reader_closed, .name = name});
  }
  account_.closed_reader(name);
  return status;
}

SeriesRegistry::News Member::news(const std::string& name) const {
  const auto found = news_.find(name);
  return found == news_.end() ? News{} : found->second;
}

Result<channel::PeerId> Member::relay_of(std::uint16_t node, std::uint64_t deadline_ns) {
  const auto what = fmt::format("looking for the relay of node {}", node_name(node));
  COUPLET_TRY(may_ask(what));
  const auto key = fmt::format("relay of {}", node);
  const auto request = requests_.begin_or_go_on(key, [&](RequestId number) {
    return RelayOfMessage{number, node, true};
  });
  COUPLET_TRY_VALUE(const auto reply, await_answer(request, deadline_ns, what));
  if (reply.code == Code::not_yet) {
    return fail(Code::timeout, "node {} has no relay yet", node_name(node));
  }
  return reply.peer;
}

}  // namespace couplet::universe
