// The register of series at the hub, as a member asks it.
#include "os/clock.hpp"
#include "universe/member.hpp"

namespace couplet::universe {
namespace {

// How long an answer that needs no waiting may take, when the caller does not want to wait.
constexpr std::uint64_t answer_grace_ns = 5'000'000'000;

}  // namespace

Result<AnswerMessage> Member::ask(RequestId request, const MemberMessage& message, std::uint64_t deadline_ns,
                                  const std::string& what, bool interruptible) {
  if (left_) {
    return fail(Code::state, "{}: this process has left the universe", what);
  }
  if (!hub_status_.ok()) {
    return hub_status_.within(what);
  }
  auto bytes = std::make_shared<const std::string>(encode(message));
  if (bytes->size() > most_json_bytes) {
    return fail(Code::limit, "{}: {} bytes to the hub, at most {} are possible", what, bytes->size(), most_json_bytes);
  }
  answers_[request] = std::nullopt;
  connection_->send(control_json, std::move(bytes));
  const auto answered = [&] { return answers_[request].has_value() || !hub_status_.ok(); };
  auto status = wait(answered, deadline_ns, what, interruptible);
  auto reply = std::exchange(answers_[request], std::nullopt);
  answers_.erase(request);
  if (reply) {
    if (reply->code == Code::ok || reply->code == Code::not_yet) {
      return std::move(*reply);
    }
    return Status(reply->code, reply->text);
  }
  if (!hub_status_.ok()) {
    return hub_status_.within(what);
  }
  say(CancelMessage{request});
  return status;
}

Result<SeriesRecord> Member::announce(const SeriesRecord& record, std::uint64_t deadline_ns) {
  const auto request = next_request_++;
  COUPLET_TRY_VALUE(auto reply, ask(request, AnnounceMessage{request, record}, deadline_ns,
                                    fmt::format("announcing series '{}' to the hub", record.name)));
  if (!reply.record) {
    return fail(Code::protocol, "the hub's answer to series '{}' describes none", record.name);
  }
  return std::move(*reply.record);
}

Result<SeriesRecord> Member::find(const std::string& name, std::int64_t newer_than, std::uint64_t deadline_ns) {
  const auto request = next_request_++;
  const auto now = os::now_ns();
  const bool wait_for_it = deadline_ns > now;
  auto reply =
      ask(request, FindMessage{request, name, newer_than, wait_for_it},
          wait_for_it ? deadline_ns : now + answer_grace_ns, fmt::format("looking for series '{}'", name), wait_for_it);
  if (!reply.ok()) {
    return reply.code() == Code::timeout && wait_for_it ? Status(Code::not_yet) : reply.status();
  }
  if (reply->code == Code::not_yet) {
    return Code::not_yet;
  }
  if (!reply->record || reply->record->name != name) {
    return fail(Code::protocol, "the hub's answer to series '{}' describes another", name);
  }
  return std::move(*reply->record);
}

Status Member::note_series(SeriesNote note, const std::string& name, std::uint64_t deadline_ns) {
  const auto request = next_request_++;
  return ask(request, NoteMessage{request, note, name}, deadline_ns,
             fmt::format("telling the hub about series '{}'", name))
      .status();
}

Status Member::writer_closed(const std::string& name, std::uint64_t deadline_ns) {
  return note_series(SeriesNote::writer_closed, name, deadline_ns);
}

Status Member::reader_opened(const std::string& name, std::uint64_t deadline_ns) {
  return note_series(SeriesNote::reader_opened, name, deadline_ns);
}

Status Member::reader_closed(const std::string& name, std::uint64_t deadline_ns) {
  return note_series(SeriesNote::reader_closed, name, deadline_ns);
}

SeriesRegistry::News Member::news(const std::string& name) const {
  const auto found = news_.find(name);
  return found == news_.end() ? News{} : found->second;
}

Result<channel::PeerId> Member::relay_of(std::uint16_t node, std::uint64_t deadline_ns) {
  const auto request = next_request_++;
  const auto now = os::now_ns();
  const bool wait_for_it = deadline_ns > now;
  const auto what = fmt::format("looking for the relay of node {}", node_name(node));
  COUPLET_TRY_VALUE(const auto reply, ask(request, RelayOfMessage{request, node, wait_for_it},
                                          wait_for_it ? deadline_ns : now + answer_grace_ns, what));
  if (reply.code == Code::not_yet) {
    return fail(Code::timeout, "node {} has no relay yet", node_name(node));
  }
  return reply.peer;
}

}  // namespace couplet::universe
